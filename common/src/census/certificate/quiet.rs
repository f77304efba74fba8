//! Emptying a quiet configuration, step by step.

use super::flood::Flood;
use super::shuttles::{Shuttle, Targets, reserved, targets};
use super::trail::Trail;
use super::trip::Trip;
use crate::game::{Bits, Piece, Position, Role, Rules, Side, Square};

/// A quiet configuration with its shuttles, and who made the last move.
pub(super) struct Quiet<'a, B> {
    pub(super) rules: &'a Rules<B>,
    /// The board without Kings and shuttles.
    pub(super) board: Position<B>,
    pub(super) shuttles: [Shuttle; 2],
    /// On which of its two squares each shuttle stands.
    pub(super) at: [usize; 2],
    mover: Side,
    pub(super) kings: [Square; 2],
    pub(super) targets: Targets,
    pub(super) reserved: B,
}

impl<'a, B: Bits> Quiet<'a, B> {
    pub(super) fn new(
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
    pub(super) fn pieces(&self) -> u32 {
        let shuttles = self.shuttles.iter().filter(|s| s.piece.kind != 0).count();
        self.board.occupied().count() + 2 + u32::try_from(shuttles).expect("two at most")
    }

    /// The whole board as it stands now, and who made the last move.
    pub(super) fn leave(self) -> (Position<B>, Side) {
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
    pub(super) fn stepped(&mut self, side: Side, steps: usize) {
        if steps > 0 {
            let passes = steps - usize::from(self.mover == side);
            self.at[side.other() as usize] ^= passes & 1;
            self.mover = side.other();
        }
    }

    /// Takes piece after piece off the board, as far as it goes.
    pub(super) fn empty_the_board(&mut self, trail: &mut impl Trail) {
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

    /// Leads promoted pieces home: sliders one by one, steppers that walk alike together. Each of those
    /// can go alone past all others as they stand, so they can go one after the other.
    fn lead_home(&mut self, side: Side, pieces: B, trail: &mut impl Trail) {
        let rules = self.rules;
        let own = pieces & self.board.of(side);
        if own.is_empty() {
            return;
        }
        for &index in &rules.slider_roles {
            let role = &rules.roles[index];
            for square in (role.of(&self.board) & own).squares() {
                if role.promoted {
                    self.demote(side, square, trail);
                }
            }
        }
        for gait in &rules.gaits {
            let flood = Flood::new(self, side, gait, own);
            let (mut gone, mut steps) = (B::EMPTY, 0);
            flood.run(|found, layers| {
                if trail.wants_squares() {
                    for square in found.squares() {
                        let (way, origin) = flood.way(&self.board, square, layers);
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
    pub(super) fn full_files(&self, side: Side, kind: usize) -> B {
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
    pub(super) fn is_last_shield(&self, square: Square) -> bool {
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
    pub(super) fn loud(&self, role: &Role<B>, side: Side, occupied: B) -> B {
        let [a, b] = self.targets[side.other() as usize];
        let found = self.rules.attacks(role, side.other(), a, occupied);
        if a == b {
            found
        } else {
            found | self.rules.attacks(role, side.other(), b, occupied)
        }
    }
}

/// The squares between each slider and the opposing squares of `targets` that it points at.
pub(super) fn lines<B: Bits, const N: usize>(
    rules: &Rules<B>,
    board: &Position<B>,
    targets: &[[Square; N]; 2],
) -> B {
    let mut found = B::EMPTY;
    for &index in &rules.slider_roles {
        let set = rules.roles[index].of(board);
        if set.is_empty() {
            continue;
        }
        for side in Side::BOTH {
            let own = set & board.of(side);
            for &target in &targets[side.other() as usize] {
                let bearing = &rules.bearings(side, target).1[index];
                for s in (own & bearing.slides).squares() {
                    found |= rules.between(s, target);
                }
            }
        }
    }
    found
}

/// Takes pieces off the board; the hands no longer matter once a certificate is under way.
pub(super) fn remove<B: Bits>(board: &mut Position<B>, squares: B) {
    board.sides[0] &= !squares;
    board.sides[1] &= !squares;
    board.promoted &= !squares;
    for kind in &mut board.kinds {
        *kind &= !squares;
    }
}

/// The unpromoted pieces other than the Kings.
pub(super) fn droppable<B: Bits>(board: &Position<B>) -> B {
    board.occupied() & !board.promoted & !board.kinds[0]
}
