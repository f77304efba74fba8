//! Emptying a quiet configuration, step by step.

use super::flood::Flood;
use super::shuttles::{Shuttle, Targets, reserved, targets};
use super::trail::Trail;
use crate::game::{Bits, Piece, Position, Role, Rules, Side, Square};

/// A quiet configuration with its shuttles.
pub(super) struct Quiet<'a, B> {
    pub(super) rules: &'a Rules<B>,
    /// The board, without Kings and shuttles until they [`leave`](Self::leave).
    pub(super) board: &'a mut Position<B>,
    pub(super) shuttles: [Shuttle; 2],
    pub(super) kings: [Square; 2],
    pub(super) targets: Targets,
    pub(super) reserved: B,
}

impl<'a, B: Bits> Quiet<'a, B> {
    pub(super) fn new(
        rules: &'a Rules<B>,
        board: &'a mut Position<B>,
        shuttles: [Shuttle; 2],
        trail: &mut impl Trail,
    ) -> Self {
        trail.shuttle([shuttles[0].squares, shuttles[1].squares]);
        let kings = Side::BOTH.map(|side| board.king(side));
        let reserved = reserved(kings, &shuttles);
        remove(board, reserved);
        Quiet {
            rules,
            board,
            shuttles,
            kings,
            targets: targets(kings, &shuttles),
            reserved,
        }
    }

    /// Puts the Kings and the shuttles back, on their first squares.
    pub(super) fn leave(self, trail: &mut impl Trail) {
        trail.settle();
        for side in Side::BOTH {
            let shuttle = &self.shuttles[side as usize];
            self.board.put(shuttle.squares[0], shuttle.piece);
            if shuttle.piece.kind != 0 {
                let king = Piece {
                    side,
                    kind: 0,
                    promoted: false,
                };
                self.board.put(self.kings[side as usize], king);
            }
        }
    }

    /// Takes piece after piece off the board, as far as it goes; whether any went.
    pub(super) fn take_pieces(&mut self, trail: &mut impl Trail) -> bool {
        let all = self.board.occupied();
        while !self.board.occupied().is_empty() && self.take_all_at_hand(trail) {}
        let left = self.board.occupied();
        for kind in &mut self.board.kinds {
            *kind &= left;
        }
        left != all
    }

    /// Takes all pieces that can go as they stand, or one of the others; whether any went.
    fn take_all_at_hand(&mut self, trail: &mut impl Trail) -> bool {
        let before = self.board.occupied();
        let shields = lines(self.rules, self.board, &self.targets);
        self.undrop_all(droppable(self.board) & !shields, trail);
        let promoted = self.board.promoted & !shields;
        let mut stuck = B::EMPTY;
        if !promoted.is_empty() {
            stuck = self.lead_home(promoted, trail);
        }
        self.board.occupied() != before || self.free_one(shields, stuck, trail)
    }

    /// Takes pieces off. That they are of their kinds is not forgotten until all have gone that can: a
    /// square that is empty is asked for no kind.
    fn take(&mut self, squares: B) {
        self.board.sides[0] &= !squares;
        self.board.sides[1] &= !squares;
        self.board.promoted &= !squares;
    }

    /// Leads promoted pieces home, those that move alike together. Each of them can go alone past all
    /// others as they stand, so they can go one after the other. Returns those that could not go though
    /// nobody else that moves so was to go with them.
    fn lead_home(&mut self, pieces: B, trail: &mut impl Trail) -> B {
        let rules = self.rules;
        let mut stuck = B::EMPTY;
        for gait in &rules.gaits {
            let alike = gait.of(self.board) & pieces;
            if alike.is_empty() {
                continue;
            }
            for side in Side::BOTH {
                let alike = alike & self.board.of(side);
                if alike.is_empty() {
                    continue;
                }
                let mut free = rules.board & !self.board.occupied() & !self.reserved;
                if !alike.is_many() {
                    free |= alike;
                }
                let gone = Flood::new(self, side, gait, alike, free).run(trail);
                self.take(gone);
                if gone.is_empty() && !alike.is_many() {
                    stuck |= alike;
                }
            }
        }
        stuck
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
            trail.undrop_all(side, squares & self.board.of(side));
        }
        self.take(squares);
    }

    /// Takes off one piece that stands on a line to a King but is not the last to shield it, or one whose
    /// way leads over its own square; `stuck`: pieces known to have no way.
    fn free_one(&mut self, shields: B, stuck: B, trail: &mut impl Trail) -> bool {
        for square in (self.board.occupied() & !stuck).squares() {
            if shields.has(square) && self.is_last_shield(square) {
                continue;
            }
            if !self.board.promoted.has(square) {
                self.undrop_all(B::bit(square), trail);
                return true;
            }
            if self.lead_home_alone(square, trail) {
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
                self.rules
                    .is_attacked(self.board, target, side.other(), occupied)
            })
        })
    }

    /// Leads a promoted piece home that shields nothing.
    fn lead_home_alone(&mut self, square: Square, trail: &mut impl Trail) -> bool {
        let rules = self.rules;
        let index = rules.role_index_at(self.board, square);
        let gait = rules.gaits.iter().find(|gait| gait.roles.contains(&index));
        let gait = gait.expect("a promoted role has a gait");
        let side = if self.board.of(Side::Black).has(square) {
            Side::Black
        } else {
            Side::White
        };
        let piece = B::bit(square);
        let free = rules.board & !(self.board.occupied() & !piece) & !self.reserved;
        let gone = Flood::new(self, side, gait, piece, free).run(trail);
        self.take(gone);
        !gone.is_empty()
    }

    /// The squares on which a piece of `side` in a role would attack the opposing King in some phase.
    pub(super) fn loud(&self, role: &Role<B>, side: Side, occupied: B) -> B {
        let by_step = self.loud_by_step(role, side);
        if role.directions[0].is_empty() {
            by_step
        } else {
            by_step | self.loud_by_slide(role, side, occupied)
        }
    }

    /// Those on which it would do so by a step.
    pub(super) fn loud_by_step(&self, role: &Role<B>, side: Side) -> B {
        let turned = side.other() as usize;
        let [a, b] = self.targets[turned];
        role.steps[turned][a] | role.steps[turned][b]
    }

    /// Those on which it would do so by a slide.
    pub(super) fn loud_by_slide(&self, role: &Role<B>, side: Side, occupied: B) -> B {
        let turned = side.other();
        let [a, b] = self.targets[turned as usize];
        let found = self.rules.slides(role, turned, a, occupied);
        if a == b {
            found
        } else {
            found | self.rules.slides(role, turned, b, occupied)
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
    let sliders = rules.sliders(board);
    for side in Side::BOTH {
        for slider in (sliders & board.of(side)).squares() {
            let reach = rules.role_at(board, slider).slides[side as usize][slider];
            for &target in &targets[side.other() as usize] {
                if reach.has(target) {
                    found |= rules.between(slider, target);
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
