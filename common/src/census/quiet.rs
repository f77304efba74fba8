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
            let promoted = self.board.promoted & !shields;
            for side in Side::BOTH {
                let own = promoted & self.board.of(side);
                let zone = self.rules.zone[side as usize];
                for square in (own & zone).squares().chain((own & !zone).squares()) {
                    self.demote(side, square, trail);
                }
            }
            if self.board.occupied() == before && !self.free_a_shield(shields, trail) {
                return;
            }
        }
    }

    fn undrop_all(&mut self, squares: B, trail: &mut impl Trail) {
        for side in Side::BOTH {
            let own = squares & self.board.of(side);
            trail.undrop_all(side, own);
            self.stepped(side, own.count() as usize);
        }
        remove(&mut self.board, squares);
    }

    /// Takes off one piece that stands on a line to a King but is not the last to shield it.
    fn free_a_shield(&mut self, shields: B, trail: &mut impl Trail) -> bool {
        for square in (shields & self.board.occupied()).squares() {
            if self.is_last_shield(square) {
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
        let trip = Trip {
            quiet: self,
            side,
            now: role,
            before: self.rules.plain(role.kind),
            blocked: (self.board.occupied() & !B::bit(square)) | self.reserved,
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
                let attackers = self.rules.attackers(&self.board, t, side.other(), occupied);
                if !hit && attackers.is_empty() {
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

/// The way back of one promoted piece over free squares, never attacking a King.
struct Trip<'a, B> {
    quiet: &'a Quiet<'a, B>,
    side: Side,
    now: &'a Role<B>,
    before: &'a Role<B>,
    blocked: B,
}

/// The most steps of a walk.
const LAYERS: usize = 16;

impl<B: Bits> Trip<'_, B> {
    /// How many steps it takes until the piece is unpromoted, if there is a way.
    fn run(&self, start: Square, trail: &mut impl Trail) -> Option<usize> {
        let rules = self.quiet.rules;
        let occupied = self.quiet.board.occupied() & !B::bit(start);
        let loud_before = self.quiet.loud(self.before, self.side, occupied);
        if let Some(f) = self.leave(start, loud_before) {
            trail.unpromote(self.side, &[start], f);
            return Some(1);
        }
        let loud_now = self.quiet.loud(self.now, self.side, occupied);
        let mut reached = B::bit(start);
        let mut layers = [B::EMPTY; LAYERS];
        layers[0] = reached;
        for last in 1..LAYERS {
            let mut next = B::EMPTY;
            for t in layers[last - 1].squares() {
                next |= rules.origins(self.now, self.side, t, self.blocked);
            }
            next &= !loud_now & !reached;
            if next.is_empty() {
                return None;
            }
            layers[last] = next;
            reached |= next;
            for t in next.squares() {
                if let Some(f) = self.leave(t, loud_before) {
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
    fn leave(&self, t: Square, loud: B) -> Option<Square> {
        let rules = self.quiet.rules;
        let zone = rules.zone[self.side as usize];
        let mut origins = rules.origins(self.before, self.side, t, self.blocked) & !loud;
        if !zone.has(t) {
            origins &= zone;
        }
        origins
            .squares()
            .find(|&f| rules.file_allows(&self.quiet.board, self.side, self.before.kind, f))
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
