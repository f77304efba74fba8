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
    gait: &'a Gait,
    /// The pieces that are to go.
    pieces: B,
    /// All others.
    others: B,
    /// The squares over which they may slide.
    free: B,
    /// By role of the gait: where the unpromoted piece may have stood, attacking no King, on a file
    /// with room.
    homes: [B; MEMBERS],
    /// Which roles of the gait have pieces here: one bit a role.
    present: u8,
}

impl<'q, 'a, B: Bits> Flood<'q, 'a, B> {
    /// For some pieces of one side and gait, on whose lines to a King nobody else stands.
    pub(super) fn new(
        quiet: &'q Quiet<'a, B>,
        side: Side,
        gait: &'a Gait,
        pieces: B,
        free: B,
    ) -> Self {
        let rules = quiet.rules;
        let others = quiet.board.occupied() & !pieces;
        let (mut homes, mut present) = ([B::EMPTY; MEMBERS], 0);
        for (member, &index) in gait.roles.iter().enumerate() {
            let role = &rules.roles[index];
            if !(role.of(quiet.board) & pieces).is_empty() {
                let loud = quiet.loud(rules.plain(role.kind), side, others);
                homes[member] = free & !loud & !quiet.full_files(side, role.kind);
                present |= 1 << member;
            }
        }
        Flood {
            quiet,
            side,
            gait,
            pieces,
            others,
            free,
            homes,
            present,
        }
    }

    /// The pieces that can go home, their ways left in the trail.
    pub(super) fn run(&self, trail: &mut impl Trail) -> B {
        if trail.wants_squares() {
            self.run_by_layers(|found, layers| {
                for square in found.squares() {
                    let (way, origin) = self.way(square, layers);
                    trail.unpromote(self.side, &way, origin);
                }
            })
        } else if self.gait.slides {
            let at_once = self.leaving_at_once();
            if at_once == self.pieces {
                at_once
            } else {
                self.reached(self.doors())
            }
        } else {
            // The doors straight ahead do for nearly all boards and cost a fifth of all doors.
            let reached = self.reached(self.doors_ahead());
            if reached == self.pieces {
                reached
            } else {
                self.reached(self.doors())
            }
        }
    }

    /// The pieces that can go home through some doors, when nobody asks how.
    ///
    /// The same closure as the layers', in any order: every pace spreads what the paces before it have
    /// reached, and pieces that go straight back run along the files at once.
    fn reached(&self, doors: B) -> B {
        let passable = self.passable();
        let (mut touched, mut flooded) = (doors, doors & passable);
        let paces = &self.walker().paces[self.side as usize];
        // Away from home most pieces came straight back along their file.
        let retreat = paces.iter().find(|pace| pace.is_retreat(self.side));
        loop {
            let before = flooded;
            if let Some(retreat) = retreat {
                flooded = retreat.fill(flooded, passable);
                touched |= retreat.shifted(flooded);
            }
            if (self.pieces & !touched).is_empty() {
                return self.pieces;
            }
            for pace in paces {
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

    /// Calls `touch` with the pieces that can go home after as many walks as there are layers; all of
    /// them together.
    fn run_by_layers(&self, mut touch: impl FnMut(B, &[B])) -> B {
        let rules = self.quiet.rules;
        let passable = self.passable();
        let mut layers = Vec::new();
        let (mut rest, mut flooded) = (self.pieces, B::EMPTY);
        let mut touched = self.doors();
        loop {
            let found = rest & touched;
            if !found.is_empty() {
                touch(found, &layers);
                rest &= !found;
            }
            let fresh = touched & passable & !flooded;
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

    /// Where the promoted pieces may stop: free squares from which they attack no King.
    fn passable(&self) -> B {
        self.free & !self.quiet.loud(self.walker(), self.side, self.others)
    }

    /// The roles with pieces here, unpromoted, and their homes.
    fn members(&self) -> impl Iterator<Item = (&'a Role<B>, B)> {
        let rules = self.quiet.rules;
        let all = self.gait.roles.iter().zip(&self.homes).enumerate();
        all.filter(|&(member, _)| self.present >> member & 1 == 1)
            .map(|(_, (&role, &homes))| (rules.plain(rules.roles[role].kind), homes))
    }

    /// The squares from which a piece of every role gets home by one return, unpromoted.
    fn doors(&self) -> B {
        let (rules, side) = (self.quiet.rules, self.side);
        let zone = rules.zone[side as usize];
        let mut doors = rules.board;
        for (before, homes) in self.members() {
            let mut own = rules.attacks_of_all(before, side, homes, self.free) & zone;
            if before.retreats {
                own |= rules.attacks_of_all(before, side, homes & zone, self.free);
            }
            doors &= own;
        }
        doors
    }

    /// Those of the doors in the zone that each role enters by its pace straight ahead, or, if it has
    /// none, by any step.
    fn doors_ahead(&self) -> B {
        let (rules, side) = (self.quiet.rules, self.side);
        let mut doors = rules.zone[side as usize];
        for (before, homes) in self.members() {
            let paces = &before.paces[side as usize];
            let ahead = paces.iter().find(|pace| pace.is_retreat(side.other()));
            doors &= match ahead {
                Some(ahead) => ahead.shifted(homes),
                None => rules.spread(before, side, homes),
            };
        }
        doors
    }

    /// Sliders that need no door: most of them find a home within sight of where they stand.
    fn leaving_at_once(&self) -> B {
        let rules = self.quiet.rules;
        let zone = rules.zone[self.side as usize];
        let mut found = B::EMPTY;
        for (before, homes) in self.members() {
            for square in self.pieces.squares() {
                let homes = if zone.has(square) {
                    homes
                } else {
                    homes & zone
                };
                let origins = rules.origins(before, self.side, square, !self.free);
                if !(origins & homes).is_empty() {
                    found |= B::bit(square);
                }
            }
        }
        found
    }

    /// The walk of a piece inwards through the layers, and the origin of its promotion.
    fn way(&self, start: Square, layers: &[B]) -> (Vec<Square>, Square) {
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
        let homes = self.homes[member.expect("the piece moves so")];
        let zone = rules.zone[self.side as usize];
        let homes = if zone.has(here) { homes } else { homes & zone };
        (way, (back(rules.plain(role.kind), here) & homes).first())
    }
}
