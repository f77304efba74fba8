//! The ways home of promoted pieces that move alike, found at once.

use super::quiet::Quiet;
use super::trail::Trail;
use crate::game::{Bits, Gait, Role, Side, Square};

/// The most roles that move alike.
const MEMBERS: usize = 8;

/// The free squares from which pieces that move alike can go home, found from home outwards.
///
/// Home is every square from which a piece of each role among them can have come unpromoted; a piece
/// that could only use a home of its own role waits until it goes alone. The pieces themselves hide no
/// King from each other's view: a way that one of them opens by leaving is no way. So each can go past
/// all others as they stand, and past those that are left when others have gone.
pub(super) struct Flood<'q, 'a, B> {
    quiet: &'q Quiet<'a, B>,
    side: Side,
    gait: &'a Gait<B>,
    /// The pieces that are to go.
    pieces: B,
    /// All others.
    others: B,
    /// The squares over which they may slide.
    free: B,
}

/// Where the pieces of a flood may stop and where they are at home.
struct Grounds<B> {
    /// Free squares from which the promoted pieces attack no King.
    passable: B,
    homes: Homes<B>,
}

/// Where the unpromoted pieces may have stood, attacking no King, on files with room.
enum Homes<B> {
    /// The same for all.
    Alike(B),
    /// By role of the gait.
    ByRole([B; MEMBERS]),
}

impl<'q, 'a, B: Bits> Flood<'q, 'a, B> {
    /// For some pieces of one side and gait, on whose lines to a King nobody else stands.
    pub(super) fn new(
        quiet: &'q Quiet<'a, B>,
        side: Side,
        gait: &'a Gait<B>,
        pieces: B,
        free: B,
    ) -> Self {
        Flood {
            quiet,
            side,
            gait,
            pieces,
            others: quiet.board.occupied() & !pieces,
            free,
        }
    }

    /// Pieces that can go home, their ways left in the trail: those that can do so giving the Kings a
    /// wide berth, or, if there are none, all that can.
    pub(super) fn run(&self, trail: &mut impl Trail) -> B {
        let berth = self.wide_berth();
        let found = self.lead(&berth, self.doors_of_berth(&berth), trail);
        if !found.is_empty() {
            return found;
        }
        let grounds = self.grounds();
        self.lead(&grounds, self.doors(&grounds), trail)
    }

    /// The pieces that can go home through some doors, their ways left in the trail.
    fn lead(&self, grounds: &Grounds<B>, doors: B, trail: &mut impl Trail) -> B {
        if trail.wants_squares() {
            self.lead_by_layers(grounds, doors, trail)
        } else {
            self.reached(doors, grounds.passable)
        }
    }

    /// Grounds without the squares from which a piece could attack a King on an empty board: fewer than
    /// [`grounds`](Self::grounds), never others, as pieces in between can only hide a King. They are two
    /// table entries, and wide enough for most.
    fn wide_berth(&self) -> Grounds<B> {
        let [a, b] = self.quiet.targets[self.side.other() as usize];
        let sees = &self.gait.sees[self.side as usize];
        let passable = self.free & !(sees[a] | sees[b]);
        let mut homes = passable;
        for &kind in &self.gait.limited {
            homes &= !self.quiet.full_files(self.side, kind);
        }
        Grounds {
            passable,
            homes: Homes::Alike(homes),
        }
    }

    /// Some of the doors to homes given a wide berth: of sliders, the pieces' own squares if a home is
    /// within sight; of others, those in the zone that each role enters by its pace straight ahead, or,
    /// if it has none, by any step.
    fn doors_of_berth(&self, berth: &Grounds<B>) -> B {
        let (rules, own) = (self.quiet.rules, self.side as usize);
        let zone = rules.zone[own];
        let homes = berth.homes.of(0);
        if self.gait.slides {
            let mut doors = B::EMPTY;
            for square in self.pieces.squares() {
                let role = rules.plain(rules.role_at(self.quiet.board, square).kind);
                let homes = if zone.has(square) {
                    homes
                } else {
                    homes & zone
                };
                if self.comes_from(role, square, homes) {
                    doors |= B::bit(square);
                }
            }
            return doors;
        }
        let mut doors = zone;
        if let Some(ahead) = &self.gait.ahead[own] {
            doors &= ahead.shifted(homes);
        }
        for &index in &self.gait.leapers {
            let role = &rules.roles[index];
            if !(self.quiet.board.kinds[role.kind] & self.pieces).is_empty() {
                doors &= rules.spread(role, self.side, homes);
            }
        }
        doors
    }

    /// Whether a piece in a role, which slides only, can have come to a square from one of some others.
    fn comes_from(&self, role: &Role<B>, square: Square, others: B) -> bool {
        let rules = self.quiet.rules;
        let origins = role.slides[self.side.other() as usize][square] & others;
        let mut origins = origins.squares();
        origins.any(|from| (rules.between(from, square) & !self.free).is_empty())
    }

    /// The pieces that can go home through some doors, when nobody asks how.
    ///
    /// The same closure as the layers', in any order: every pace spreads what the paces before it have
    /// reached, and pieces that go straight back run along the files at once.
    fn reached(&self, doors: B, passable: B) -> B {
        let side = self.side as usize;
        let (retreat, others) = (&self.gait.retreat[side], &self.gait.others[side]);
        let (mut touched, mut flooded) = (doors, doors & passable);
        if flooded.is_empty() {
            return self.pieces & touched;
        }
        loop {
            // Away from home most pieces came straight back along their file.
            let before = flooded;
            if let Some(retreat) = retreat {
                flooded = retreat.fill(flooded, passable);
                touched |= retreat.shifted(flooded);
            }
            if (self.pieces & !touched).is_empty() {
                return self.pieces;
            }
            for pace in others {
                touched |= pace.shifted(if pace.slides {
                    pace.fill(flooded, self.free)
                } else {
                    flooded
                });
                flooded |= touched & passable;
            }
            if flooded == before {
                return self.pieces & touched;
            }
        }
    }

    /// The same closure step by step, with the ways.
    fn lead_by_layers(&self, grounds: &Grounds<B>, doors: B, trail: &mut impl Trail) -> B {
        let rules = self.quiet.rules;
        let mut layers = Vec::new();
        let (mut rest, mut flooded, mut touched) = (self.pieces, B::EMPTY, doors);
        loop {
            for square in (rest & touched).squares() {
                let (way, origin) = self.way(&grounds.homes, square, &layers);
                trail.unpromote(self.side, &way, origin);
            }
            rest &= !touched;
            let fresh = touched & grounds.passable & !flooded;
            if rest.is_empty() || fresh.is_empty() {
                return self.pieces & !rest;
            }
            layers.push(fresh);
            flooded |= fresh;
            touched = rules.attacks_of_all(self.walker(), self.side, fresh, self.free);
        }
    }

    /// How the pieces move.
    fn walker(&self) -> &'a Role<B> {
        &self.quiet.rules.roles[self.gait.roles[0]]
    }

    /// All grounds.
    fn grounds(&self) -> Grounds<B> {
        let quiet = self.quiet;
        let walker = self.walker();
        let slides_alike = self.gait.slides_alike;
        let by_slide = |role| quiet.loud_by_slide(role, self.side, self.others);
        let shared = by_slide(walker);
        let mut homes = [B::EMPTY; MEMBERS];
        for (homes, role) in homes.iter_mut().zip(self.roles()) {
            if let Some(role) = role {
                let by_slide = if slides_alike { shared } else { by_slide(role) };
                let loud = quiet.loud_by_step(role, self.side) | by_slide;
                *homes = self.free & !loud & !quiet.full_files(self.side, role.kind);
            }
        }
        Grounds {
            passable: self.free & !shared & !quiet.loud_by_step(walker, self.side),
            homes: Homes::ByRole(homes),
        }
    }

    /// The roles of the gait, unpromoted; `None` for those without a piece here.
    fn roles(&self) -> impl Iterator<Item = Option<&'a Role<B>>> {
        let (rules, board, pieces) = (self.quiet.rules, &*self.quiet.board, self.pieces);
        self.gait.roles.iter().map(move |&index| {
            let role = &rules.roles[index];
            let absent = (role.of(board) & pieces).is_empty();
            (!absent).then(|| rules.plain(role.kind))
        })
    }

    /// The squares from which a piece of every role gets home by one return, unpromoted: at least those
    /// of them on which one of the pieces stands or may stop.
    fn doors(&self, grounds: &Grounds<B>) -> B {
        let (rules, side) = (self.quiet.rules, self.side);
        let zone = rules.zone[side as usize];
        let of_use = grounds.passable | self.pieces;
        let mut doors = of_use;
        for (member, role) in self.roles().enumerate() {
            let Some(role) = role else { continue };
            let homes = grounds.homes.of(member);
            let mut own = B::EMPTY;
            if !(of_use & zone).is_empty() {
                own = rules.attacks_of_all(role, side, homes, self.free) & zone;
            }
            if role.retreats && !(homes & zone).is_empty() {
                own |= rules.attacks_of_all(role, side, homes & zone, self.free);
            }
            doors &= own;
        }
        doors
    }

    /// The walk of a piece inwards through the layers, and the origin of its promotion.
    fn way(&self, homes: &Homes<B>, start: Square, layers: &[B]) -> (Vec<Square>, Square) {
        let rules = self.quiet.rules;
        let back = |role: &Role<B>, t: Square| rules.origins(role, self.side, t, !self.free);
        let index = rules.role_index_at(self.quiet.board, start);
        let role = &rules.roles[index];
        let mut way = vec![start];
        let mut here = start;
        for &layer in layers.iter().rev() {
            here = (back(role, here) & layer).first();
            way.push(here);
        }
        let member = self.gait.roles.iter().position(|&r| r == index);
        let homes = homes.of(member.expect("the piece moves so"));
        let zone = rules.zone[self.side as usize];
        let homes = if zone.has(here) { homes } else { homes & zone };
        (way, (back(rules.plain(role.kind), here) & homes).first())
    }
}

impl<B: Bits> Homes<B> {
    /// The homes of a role of the gait.
    fn of(&self, member: usize) -> B {
        match self {
            Homes::Alike(homes) => *homes,
            Homes::ByRole(homes) => homes[member],
        }
    }
}
