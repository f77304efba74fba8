//! Predecessors: the positions from which a legal move leads here, made lazily and completely.
//!
//! In p the side O is to move and its opponent M made the last move. In a predecessor p' the King of
//! O must not be attacked, whatever M's last move was; this is what decides almost everything, so it
//! is answered by masks for all origins of a piece at once, and never by trying:
//!
//! * a piece of M that attacks the King by a step must itself be the one that moved;
//! * a slider of M that attacks it must have moved or be blocked in p' by the piece that moved, on
//!   the square that it came from;
//! * a slider of M behind one single piece attacks it as soon as that piece is gone.
//!
//! **Order.** By the square t of M's piece, ascending; for each: the undone drop, then board moves of
//! the piece as it is now, then board moves of its unpromoted self, each by the origin f ascending;
//! for each origin: without a capture first, then captures by kind ascending, unpromoted before
//! promoted. The published search's L and E do not depend on it: no position is made twice from one,
//! and which is taken next is decided by the positions themselves.

use std::ops::ControlFlow;

use super::bits::Bits;
use super::moves::Move;
use super::position::{Piece, Position, Side};
use super::roles::Role;
use super::rules::{Rules, Square};

/// What takes one move back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unmove {
    /// A dropped piece returns to its owner's hand.
    Drop {
        /// The kind's index.
        kind: usize,
        /// Where it stood.
        to: Square,
    },
    /// A piece returns to where it came from.
    Board {
        /// Where it came from.
        from: Square,
        /// Where it stood.
        to: Square,
        /// Whether the move promoted it.
        promoted: bool,
        /// The kind that the move captured, and whether that piece was promoted.
        captured: Option<(usize, bool)>,
    },
}

impl From<Unmove> for Move {
    fn from(unmove: Unmove) -> Move {
        match unmove {
            Unmove::Drop { kind, to } => Move::Drop { kind, to },
            Unmove::Board {
                from, to, promoted, ..
            } => Move::Board {
                from,
                to,
                promote: promoted,
            },
        }
    }
}

/// How M bears on the King of O.
struct Aim<B> {
    king: Square,
    /// M's pieces that attack it by a step.
    steppers: B,
    /// Sliders of M that attack it.
    open: B,
    /// Sliders of M that point at it with one single piece in between.
    barred: B,
    /// Those pieces.
    bars: B,
}

impl<B: Bits> Aim<B> {
    fn new(rules: &Rules<B>, position: &Position<B>) -> Self {
        let mover = position.turn.other();
        let king = position.king(position.turn);
        let occupied = position.occupied();
        let mut aim = Aim {
            king,
            steppers: B::EMPTY,
            open: B::EMPTY,
            barred: B::EMPTY,
            bars: B::EMPTY,
        };
        let own = position.of(mover);
        let (all, bearings) = rules.bearings(mover, king);
        let bearing = |s: Square| &bearings[rules.role_index_at(position, s)];
        for s in (own & all.steps).squares() {
            if bearing(s).steps.has(s) {
                aim.steppers |= B::bit(s);
            }
        }
        for s in (own & all.slides & rules.sliders(position)).squares() {
            if !bearing(s).slides.has(s) {
                continue;
            }
            let bars = rules.between(s, king) & occupied;
            if bars.is_empty() {
                aim.open |= B::bit(s);
            } else if !bars.is_many() {
                aim.barred |= B::bit(s);
                aim.bars |= bars;
            }
        }
        aim
    }
}

/// A visitor's position in p, shared by everything that is made from it.
struct Source<'a, B> {
    rules: &'a Rules<B>,
    position: &'a Position<B>,
    aim: Aim<B>,
    mover: Side,
    occupied: B,
}

impl<B: Bits> Rules<B> {
    /// Visits every predecessor of a position that satisfies the local rules, in the documented
    /// order, until the visitor breaks. Each satisfies the local rules again.
    pub fn predecessors<T>(
        &self,
        position: &Position<B>,
        mut visit: impl FnMut(Unmove, &Position<B>) -> ControlFlow<T>,
    ) -> ControlFlow<T> {
        let mover = position.turn.other();
        let source = Source {
            rules: self,
            position,
            aim: Aim::new(self, position),
            mover,
            occupied: position.occupied(),
        };
        if source.aim.steppers.is_many() {
            return ControlFlow::Continue(());
        }
        // A piece that attacks the King by a step made the move itself.
        let movers = if source.aim.steppers.is_empty() {
            position.of(mover)
        } else {
            source.aim.steppers
        };
        let mut reply = None;
        for to in movers.squares() {
            let role = self.role_at(position, to);
            if source.may_undrop(role, to) {
                let free = !self.variant.kinds[role.kind].mating_drop_forbidden
                    || *reply.get_or_insert_with(|| self.has_legal_move(position));
                if free {
                    let unmove = Unmove::Drop {
                        kind: role.kind,
                        to,
                    };
                    visit(unmove, &source.undrop(role, to))?;
                }
            }
            source.unmoves(role, to, role, &mut visit)?;
            if role.promoted {
                source.unmoves(role, to, self.plain(role.kind), &mut visit)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether a position that satisfies the local rules has a predecessor.
    #[must_use]
    pub fn has_predecessor(&self, position: &Position<B>) -> bool {
        self.predecessors(position, |_, _| ControlFlow::Break(()))
            .is_break()
    }

    /// The position from which an un-move of it led here.
    #[must_use]
    pub fn undo(&self, position: &Position<B>, unmove: Unmove) -> Position<B> {
        let side = position.turn.other();
        let mut before = *position;
        before.turn = side;
        match unmove {
            Unmove::Drop { kind, to } => {
                let piece = Piece {
                    side,
                    kind,
                    promoted: false,
                };
                before.lift(to, piece);
                before.hands[side as usize][kind] += 1;
            }
            Unmove::Board {
                from,
                to,
                promoted,
                captured,
            } => {
                let role = self.role_at(position, to);
                let now = Piece {
                    side,
                    kind: role.kind,
                    promoted: role.promoted,
                };
                before.lift(to, now);
                before.put(
                    from,
                    Piece {
                        promoted: role.promoted && !promoted,
                        ..now
                    },
                );
                if let Some((kind, promoted)) = captured {
                    before.hands[side as usize][kind] -= 1;
                    let piece = Piece {
                        side: side.other(),
                        kind,
                        promoted,
                    };
                    before.put(to, piece);
                }
            }
        }
        before
    }

    /// The role of a kind, unpromoted.
    #[inline]
    pub(crate) fn plain(&self, kind: usize) -> &Role<B> {
        &self.roles[self.plain_roles[kind]]
    }

    /// The role of a piece.
    #[inline]
    pub(crate) fn role_of(&self, piece: Piece) -> &Role<B> {
        &self.roles[self.plain_roles[piece.kind] + usize::from(piece.promoted)]
    }

    /// The role of the piece on an occupied square.
    #[inline]
    pub(crate) fn role_at(&self, position: &Position<B>, square: Square) -> &Role<B> {
        &self.roles[self.role_index_at(position, square)]
    }

    /// The index of the role of the piece on an occupied square.
    #[inline]
    pub(crate) fn role_index_at(&self, position: &Position<B>, square: Square) -> usize {
        let mut kind = 0;
        while !position.kinds[kind].has(square) {
            kind += 1;
        }
        self.plain_roles[kind] + usize::from(position.promoted.has(square))
    }

    /// The squares from which a piece of `side` in this role moves to `to` when the squares of
    /// `occupied` are not free: a piece of the other side, turned by 180 degrees, moves the other way.
    #[inline]
    pub(crate) fn origins(&self, role: &Role<B>, side: Side, to: Square, occupied: B) -> B {
        self.attacks(role, side.other(), to, occupied) & !occupied
    }

    /// Whether one more unpromoted piece of a kind may stand on the square's file.
    #[inline]
    pub(crate) fn file_allows(
        &self,
        position: &Position<B>,
        side: Side,
        kind: usize,
        square: Square,
    ) -> bool {
        self.variant.kinds[kind].file_limit.is_none_or(|limit| {
            let file = self.files[square / usize::from(self.variant.height)];
            let there = position.pieces(side, kind, false) & file;
            there.count() < u32::from(limit)
        })
    }
}

impl<B: Bits> Source<'_, B> {
    /// Where the piece that stands on `mover` must have come from so that no other piece of M attacks
    /// the King in p'; `None` if nowhere helps. `vacated`: its square is empty in p'.
    fn origins(&self, mover: B, vacated: bool) -> Option<B> {
        let (rules, aim) = (self.rules, &self.aim);
        if !(aim.steppers & !mover).is_empty() {
            return None;
        }
        let mut origins = !B::EMPTY;
        for s in (aim.open & !mover).squares() {
            origins &= rules.between(s, aim.king);
        }
        if vacated && !(aim.bars & mover).is_empty() {
            for s in aim.barred.squares() {
                let between = rules.between(s, aim.king);
                if between & self.occupied == mover {
                    origins &= between;
                }
            }
        }
        (!origins.is_empty()).then_some(origins)
    }

    /// Whether the piece on `to` may have been dropped, the pawn-drop mate aside.
    fn may_undrop(&self, role: &Role<B>, to: Square) -> bool {
        role.kind != 0 && !role.promoted && self.origins(B::bit(to), true) == Some(!B::EMPTY)
    }

    fn undrop(&self, role: &Role<B>, to: Square) -> Position<B> {
        let mut before = *self.position;
        before.turn = self.mover;
        before.lift(
            to,
            Piece {
                side: self.mover,
                kind: role.kind,
                promoted: false,
            },
        );
        before.hands[self.mover as usize][role.kind] += 1;
        before
    }

    /// Visits what the piece on `to`, now in the role `now`, did if it moved there as `before`.
    fn unmoves<T>(
        &self,
        now: &Role<B>,
        to: Square,
        before: &Role<B>,
        visit: &mut impl FnMut(Unmove, &Position<B>) -> ControlFlow<T>,
    ) -> ControlFlow<T> {
        let rules = self.rules;
        let promoted = now.promoted && !before.promoted;
        let here = B::bit(to);
        let mut reach = rules.origins(before, self.mover, to, self.occupied);
        if promoted && (rules.zone[self.mover as usize] & here).is_empty() {
            reach &= rules.zone[self.mover as usize];
        }
        // The piece itself must not attack the King from where it came; its own square blocks its
        // view only if it captured.
        let quiet = |occupied: B| {
            let seen = rules.attacks(before, self.mover.other(), self.aim.king, occupied);
            self.origins(here, occupied != self.occupied)
                .map_or(B::EMPTY, |origins| reach & origins & !seen)
        };
        if reach.is_empty() {
            return ControlFlow::Continue(());
        }
        let silent = quiet(self.occupied & !here);
        let captures = if self.holds_something() {
            quiet(self.occupied)
        } else {
            B::EMPTY
        };
        for from in (silent | captures).squares() {
            let mut base = *self.position;
            base.turn = self.mover;
            base.lift(
                to,
                Piece {
                    side: self.mover,
                    kind: now.kind,
                    promoted: now.promoted,
                },
            );
            if !before.promoted && !rules.file_allows(&base, self.mover, before.kind, from) {
                continue;
            }
            base.put(
                from,
                Piece {
                    side: self.mover,
                    kind: before.kind,
                    promoted: before.promoted,
                },
            );
            let unmove = |captured| Unmove::Board {
                from,
                to,
                promoted,
                captured,
            };
            if silent.has(from) {
                visit(unmove(None), &base)?;
            }
            if captures.has(from) {
                self.returns(&base, to, |captured, position| {
                    visit(unmove(Some(captured)), position)
                })?;
            }
        }
        ControlFlow::Continue(())
    }

    fn holds_something(&self) -> bool {
        self.position.hands[self.mover as usize] != [0; super::variant::KINDS]
    }

    /// Visits the board with each piece that M holds put back on `to` as O's.
    fn returns<T>(
        &self,
        base: &Position<B>,
        to: Square,
        mut visit: impl FnMut((usize, bool), &Position<B>) -> ControlFlow<T>,
    ) -> ControlFlow<T> {
        let owner = self.position.turn;
        let hand = self.mover as usize;
        for (kind, entry) in self.rules.variant.kinds.iter().enumerate().skip(1) {
            if base.hands[hand][kind] == 0 {
                continue;
            }
            for promoted in [false, true] {
                let fits = if promoted {
                    entry.promoted.is_some()
                } else {
                    self.rules.standing[owner as usize][kind].has(to)
                        && self.rules.file_allows(base, owner, kind, to)
                };
                if fits {
                    let mut before = *base;
                    before.hands[hand][kind] -= 1;
                    before.put(
                        to,
                        Piece {
                            side: owner,
                            kind,
                            promoted,
                        },
                    );
                    visit((kind, promoted), &before)?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}
