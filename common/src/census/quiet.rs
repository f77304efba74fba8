//! Emptying a quiet configuration, step by step.

use super::certificate::{droppable, lines, remove};
use super::shuttles::{Shuttle, Targets, reserved, targets};
use super::trail::Trail;
use crate::game::{Bits, Piece, Position, Role, Rules, Side, Square};

/// A quiet configuration with its shuttles, and who made the last move.
pub(crate) struct Quiet<'a, B> {
    rules: &'a Rules<B>,
    /// The board without Kings and shuttles.
    board: Position<B>,
    shuttles: [Shuttle; 2],
    /// On which of its two squares each shuttle stands.
    at: [usize; 2],
    mover: Side,
    kings: [Square; 2],
    targets: Targets,
    reserved: B,
}

impl<'a, B: Bits> Quiet<'a, B> {
    pub(crate) fn new(
        rules: &'a Rules<B>,
        board: &Position<B>,
        shuttles: [Shuttle; 2],
        mover: Side,
    ) -> Self {
        let kings = Side::BOTH.map(|side| board.king(side));
        let reserved = reserved(kings, &shuttles);
        let mut board = *board;
        remove(&mut board, reserved);
        Quiet {
            rules,
            board,
            shuttles,
            at: [0, 0],
            mover,
            kings,
            targets: targets(kings, &shuttles),
            reserved,
        }
    }

    /// How many pieces the whole board holds, Kings and shuttles included.
    pub(crate) fn pieces(&self) -> u32 {
        let shuttles = self.shuttles.iter().filter(|s| s.piece.kind != 0).count();
        self.board.occupied().count() + 2 + u32::try_from(shuttles).expect("two at most")
    }

    /// The whole board as it stands now, and who made the last move.
    pub(crate) fn leave(self) -> (Position<B>, Side) {
        let mut board = self.board;
        for side in Side::BOTH {
            let shuttle = &self.shuttles[side as usize];
            let here = shuttle.squares[self.at[side as usize]];
            board.put(here, shuttle.piece);
            if shuttle.piece.kind != 0 {
                let king = Piece {
                    side,
                    kind: 0,
                    promoted: false,
                };
                board.put(self.kings[side as usize], king);
            }
        }
        (board, self.mover)
    }

    /// Keeps account of the passes that `steps` steps of one side need.
    fn stepped(&mut self, side: Side, steps: usize) {
        if steps > 0 {
            let passes = steps - usize::from(self.mover == side);
            self.at[side.other() as usize] ^= passes & 1;
            self.mover = side.other();
        }
    }

    /// Takes piece after piece off the board, as far as it goes.
    pub(crate) fn empty_the_board(&mut self, trail: &mut impl Trail) {
        loop {
            let before = self.board.occupied();
            if before.is_empty() {
                return;
            }
            let shields = lines(self.rules, &self.board, &self.targets);
            self.undrop_all(droppable(&self.board) & !shields, trail);
            for side in Side::BOTH {
                self.lead_home(side, self.board.promoted & !shields, trail);
            }
            if self.board.occupied() == before && !self.free_one(shields, trail) {
                return;
            }
        }
    }

    /// Leads promoted pieces home, all steppers of a role at once. Each can go alone past all others as
    /// they stand, so they can go one after the other.
    fn lead_home(&mut self, side: Side, pieces: B, trail: &mut impl Trail) {
        let rules = self.rules;
        for role in &rules.roles {
            let rest = role.of(&self.board) & self.board.of(side) & pieces;
            let mut steps = 0;
            if !role.promoted || rest.is_empty() {
                continue;
            }
            if !role.directions[0].is_empty() {
                for square in rest.squares() {
                    self.demote(side, square, trail);
                }
                continue;
            }
            let flood = Flood::new(self, side, role, rest);
            let mut gone = B::EMPTY;
            flood.run(rest, |found, layers| {
                for square in found.squares() {
                    if trail.wants_squares() {
                        let (way, origin) = flood.way(square, layers);
                        trail.unpromote(side, &way, origin);
                    }
                }
                gone |= found;
                steps += found.count() as usize * (layers.len() + 2);
            });
            remove(&mut self.board, gone);
            self.stepped(side, steps);
        }
    }

    /// The files on which a side has as many unpromoted pieces of a kind as it may.
    fn full_files(&self, side: Side, kind: usize) -> B {
        let mut found = B::EMPTY;
        if let Some(limit) = self.rules.variant.kinds[kind].file_limit {
            let there = self.board.pieces(side, kind, false);
            if !there.is_empty() {
                for &file in &self.rules.files {
                    if (file & there).count() >= u32::from(limit) {
                        found |= file;
                    }
                }
            }
        }
        found
    }

    fn undrop_all(&mut self, squares: B, trail: &mut impl Trail) {
        for side in Side::BOTH {
            let own = squares & self.board.of(side);
            trail.undrop_all(side, own);
            self.stepped(side, own.count() as usize);
        }
        remove(&mut self.board, squares);
    }

    /// Takes off one piece: a promoted one by a way that the flood does not see, or one that stands on
    /// a line to a King but is not the last to shield it.
    fn free_one(&mut self, shields: B, trail: &mut impl Trail) -> bool {
        for square in self.board.occupied().squares() {
            if shields.has(square) && self.is_last_shield(square) {
                continue;
            }
            if self.board.promoted.has(square) {
                let side = if self.board.of(Side::Black).has(square) {
                    Side::Black
                } else {
                    Side::White
                };
                if self.demote(side, square, trail) {
                    return true;
                }
            } else {
                self.undrop_all(B::bit(square), trail);
                return true;
            }
        }
        false
    }

    /// Whether some King would be attacked without the piece on this square.
    fn is_last_shield(&self, square: Square) -> bool {
        let occupied = self.board.occupied() & !B::bit(square);
        Side::BOTH.into_iter().any(|side| {
            self.targets[side as usize].iter().any(|&target| {
                let attackers = self
                    .rules
                    .attackers(&self.board, target, side.other(), occupied);
                !attackers.is_empty()
            })
        })
    }

    /// Walks a promoted piece, which shields nothing, back to where it promoted, and undoes its drop.
    fn demote(&mut self, side: Side, square: Square, trail: &mut impl Trail) -> bool {
        let role = self.rules.role_at(&self.board, square);
        let others = self.board.occupied() & !B::bit(square);
        let trip = Trip {
            quiet: self,
            side,
            now: role,
            before: self.rules.plain(role.kind),
            others,
            blocked: others | self.reserved,
        };
        let Some(steps) = trip.run(square, trail) else {
            return false;
        };
        self.stepped(side, steps + 1);
        remove(&mut self.board, B::bit(square));
        true
    }

    /// The squares on which a piece of `side` in a role would attack the opposing King in some phase.
    fn loud(&self, role: &Role<B>, side: Side, occupied: B) -> B {
        let [a, b] = self.targets[side.other() as usize];
        let found = self.rules.attacks(role, side.other(), a, occupied);
        if a == b {
            found
        } else {
            found | self.rules.attacks(role, side.other(), b, occupied)
        }
    }

    /// Walks both Kings, one after the other, as far out of the way as they can; whether one moved.
    pub(crate) fn walk_the_kings(
        &mut self,
        [near, row]: [usize; 2],
        trail: &mut impl Trail,
    ) -> bool {
        let mut moved = false;
        for side in Side::BOTH {
            moved |= self.walk_the_king(side, [near, row], trail);
        }
        moved
    }

    /// Moves promoted sliders, as they are, to where they least bar the opposing King's way.
    pub(crate) fn scatter(&mut self, trail: &mut impl Trail) {
        let rules = self.rules;
        let height = usize::from(rules.variant.height);
        for &index in &rules.slider_roles {
            let role = &rules.roles[index];
            for side in Side::BOTH {
                let all = self.board.pieces(side, role.kind, role.promoted);
                for square in all.squares() {
                    if !role.promoted || self.is_last_shield(square) {
                        continue;
                    }
                    let occupied = self.board.occupied() & !B::bit(square);
                    let free = rules.origins(role, side, square, occupied | self.reserved)
                        & !self.loud(role, side, occupied);
                    let from_zone = |s: Square| match side {
                        Side::Black => s % height,
                        Side::White => height - 1 - s % height,
                    };
                    let Some(end) = free.squares().max_by_key(|&s| from_zone(s)) else {
                        continue;
                    };
                    if from_zone(end) > from_zone(square) {
                        trail.walk(side, &[square, end]);
                        self.stepped(side, 1);
                        let piece = Piece {
                            side,
                            kind: role.kind,
                            promoted: true,
                        };
                        self.board.lift(square, piece);
                        self.board.put(end, piece);
                    }
                }
            }
        }
    }

    fn walk_the_king(
        &mut self,
        side: Side,
        [near, row]: [usize; 2],
        trail: &mut impl Trail,
    ) -> bool {
        let shuttle = self.shuttles[side as usize];
        if shuttle.piece.kind != 0 {
            return false;
        }
        let start = shuttle.squares[self.at[side as usize]];
        let ring = &self.rules.roles[0].steps[0];
        let other = self.targets[side.other() as usize];
        let occupied = self.board.occupied();
        let blocked = occupied
            | ring[other[0]]
            | ring[other[1]]
            | (self.reserved & !B::bit(shuttle.squares[0]) & !B::bit(shuttle.squares[1]));
        let enemy_shuttle = self.shuttles[side.other() as usize];
        let enemy_role = self.rules.role_of(enemy_shuttle.piece);
        let mut reached = B::bit(start);
        let mut layers = vec![reached];
        loop {
            let mut next = B::EMPTY;
            for t in layers[layers.len() - 1].squares() {
                next |= ring[t];
            }
            next &= !blocked & !reached;
            let mut safe = B::EMPTY;
            for t in next.squares() {
                let hit = enemy_shuttle
                    .squares
                    .iter()
                    .any(|&s| enemy_role.steps[side.other() as usize][s].has(t));
                let attacked = self
                    .rules
                    .is_attacked(&self.board, t, side.other(), occupied);
                if !hit && !attacked {
                    safe |= B::bit(t);
                }
            }
            if safe.is_empty() {
                break;
            }
            reached |= safe;
            layers.push(safe);
        }
        let height = usize::from(self.rules.variant.height);
        let far = |s: usize, t: usize| {
            (s / height)
                .abs_diff(t / height)
                .max((s % height).abs_diff(t % height))
        };
        let score = |s: Square| {
            let mut sum = 0;
            for t in occupied.squares() {
                let zone_side = self.board.of(Side::Black).has(t);
                let y = s % height;
                sum += near * far(s, t).min(3) + row * if zone_side { y } else { height - 1 - y };
            }
            sum
        };
        let Some(end) = reached.squares().max_by_key(|&s| score(s)) else {
            return false;
        };
        if end == start {
            return false;
        }
        let mut way = vec![end];
        let depth = layers
            .iter()
            .position(|layer| layer.has(end))
            .expect("the end was reached");
        for layer in layers[..depth].iter().rev() {
            let here = way[way.len() - 1];
            way.push((*layer & ring[here]).first());
        }
        way.reverse();
        trail.walk(side, &way);
        self.stepped(side, way.len() - 1);
        self.at[side as usize] = 0;
        self.shuttles[side as usize].squares = [end, way[way.len() - 2]];
        self.kings[side as usize] = end;
        self.targets = targets(self.kings, &self.shuttles);
        self.reserved = reserved(self.kings, &self.shuttles);
        trail.shuttle([self.shuttles[0].squares, self.shuttles[1].squares]);
        true
    }
}

/// The free squares from which pieces of one role can go home, found from home outwards.
struct Flood<'a, B> {
    rules: &'a Rules<B>,
    side: Side,
    role: &'a Role<B>,
    /// Where the unpromoted piece may have stood: attacking no King, on a file with room.
    homes: B,
    /// Where the promoted piece may walk: free squares from which it attacks no King.
    passable: B,
}

impl<'a, B: Bits> Flood<'a, B> {
    /// `pieces`: those that are to go; no slide is barred by them, for they leave.
    fn new(quiet: &Quiet<'a, B>, side: Side, role: &'a Role<B>, pieces: B) -> Self {
        let rules = quiet.rules;
        let before = rules.plain(role.kind);
        let occupied = quiet.board.occupied();
        let free = rules.board & !occupied & !quiet.reserved;
        let loud = quiet.loud(before, side, occupied & !pieces);
        Flood {
            rules,
            side,
            role,
            homes: free & !loud & !quiet.full_files(side, role.kind),
            passable: free & !quiet.loud(role, side, occupied),
        }
    }

    /// Calls `touch` with the pieces that can go home after as many walks as there are layers.
    fn run(&self, pieces: B, mut touch: impl FnMut(B, &[B])) {
        let rules = self.rules;
        let before = rules.plain(self.role.kind);
        let zone = rules.zone[self.side as usize];
        let mut touched = (rules.spread(before, self.side, self.homes) & zone)
            | rules.spread(before, self.side, self.homes & zone);
        let mut layers = [B::EMPTY; LAYERS];
        let (mut rest, mut flooded) = (pieces, B::EMPTY);
        for walks in 0..LAYERS {
            let found = rest & touched;
            if !found.is_empty() {
                touch(found, &layers[..walks]);
                rest &= !found;
            }
            let fresh = touched & self.passable & !flooded;
            if rest.is_empty() || fresh.is_empty() {
                return;
            }
            layers[walks] = fresh;
            flooded |= fresh;
            touched = rules.spread(self.role, self.side, fresh);
        }
    }

    /// The walk of a piece inwards through the layers, and the origin of its promotion.
    fn way(&self, start: Square, layers: &[B]) -> (Vec<Square>, Square) {
        let rules = self.rules;
        let back = |role: &Role<B>, t: Square| rules.spread(role, self.side.other(), B::bit(t));
        let mut way = vec![start];
        let mut here = start;
        for &layer in layers.iter().rev() {
            here = (back(self.role, here) & layer).first();
            way.push(here);
        }
        let zone = rules.zone[self.side as usize];
        let origins = back(rules.plain(self.role.kind), here) & self.homes;
        let origins = if zone.has(here) {
            origins
        } else {
            origins & zone
        };
        (way, origins.first())
    }
}

/// The way back of one promoted piece over free squares, never attacking a King.
struct Trip<'q, 'a, B> {
    quiet: &'q Quiet<'a, B>,
    side: Side,
    now: &'q Role<B>,
    before: &'q Role<B>,
    /// The other pieces.
    others: B,
    /// Where it may not go: those and the shuttle squares.
    blocked: B,
}

/// The most steps of a walk.
const LAYERS: usize = 16;

impl<B: Bits> Trip<'_, '_, B> {
    /// How many steps it takes until the piece is unpromoted, if there is a way.
    fn run(&self, start: Square, trail: &mut impl Trail) -> Option<usize> {
        if let Some(f) = self.leave(start) {
            trail.unpromote(self.side, &[start], f);
            return Some(1);
        }
        let rules = self.quiet.rules;
        let loud = self.quiet.loud(self.now, self.side, self.others);
        let mut reached = B::bit(start);
        let mut layers = [B::EMPTY; LAYERS];
        layers[0] = reached;
        for last in 1..LAYERS {
            let mut next = B::EMPTY;
            for t in layers[last - 1].squares() {
                next |= rules.origins(self.now, self.side, t, self.blocked);
            }
            next &= !loud & !reached;
            if next.is_empty() {
                return None;
            }
            layers[last] = next;
            reached |= next;
            for t in next.squares() {
                if let Some(f) = self.leave(t) {
                    if trail.wants_squares() {
                        trail.unpromote(self.side, &self.way(&layers[..=last], t), f);
                    }
                    return Some(last + 1);
                }
            }
        }
        None
    }

    /// A square from which the unpromoted piece can have come to t.
    fn leave(&self, t: Square) -> Option<Square> {
        let rules = self.quiet.rules;
        let zone = rules.zone[self.side as usize];
        let mut origins = rules.origins(self.before, self.side, t, self.blocked);
        if !zone.has(t) {
            origins &= zone;
        }
        origins.squares().find(|&f| self.is_home(f))
    }

    /// Whether the unpromoted piece may have stood on f: within the limit of its file, and attacking
    /// no King in any phase.
    fn is_home(&self, f: Square) -> bool {
        let rules = self.quiet.rules;
        let turned = self.side.other() as usize;
        let quiet = self.quiet.targets[turned].iter().all(|&target| {
            let steps = self.before.steps[turned][target].has(f);
            let slides = self.before.slides[turned][target].has(f);
            let open = (rules.between(f, target) & self.others).is_empty();
            !(steps || (slides && open))
        });
        quiet && rules.file_allows(&self.quiet.board, self.side, self.before.kind, f)
    }

    /// The squares from the start to the end, one of each layer.
    fn way(&self, layers: &[B], end: Square) -> Vec<Square> {
        let mut way = vec![end];
        for layer in layers[..layers.len() - 1].iter().rev() {
            let here = way[way.len() - 1];
            let step = layer.squares().find(|&t| {
                let rules = self.quiet.rules;
                rules
                    .origins(self.now, self.side, t, self.blocked)
                    .has(here)
            });
            way.push(step.expect("each layer was reached from the one before"));
        }
        way.reverse();
        way
    }
}
