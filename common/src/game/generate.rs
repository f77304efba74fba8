//! Which moves are legal: moves that share a piece and its square, or a dropped kind, as one set.

use std::ops::ControlFlow;

use super::bits::Bits;
use super::families::Threats;
use super::march::March;
use super::position::{Piece, Position, Side};
use super::roles::Role;
use super::rules::{Rules, Square};

/// Legal moves that differ in their target alone; at least one set is not empty.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moves<B> {
    /// Moves of the piece on `from`.
    Board {
        /// The piece that moves.
        piece: Piece,
        /// Where it stands.
        from: Square,
        /// Where it may go as it is.
        plain: B,
        /// Where it may go and promote.
        promoting: B,
    },
    /// The only step that a kind has unpromoted, of several of its pieces.
    March {
        /// The kind's index.
        kind: usize,
        /// The step.
        march: March<B>,
        /// Where they may go as they are.
        plain: B,
        /// Where they may go and promote.
        promoting: B,
    },
    /// Drops of a kind.
    Drop {
        /// The kind's index.
        kind: usize,
        /// Where it may be dropped.
        to: B,
    },
}

impl<B: Bits> Rules<B> {
    /// Hands every legal move to `visit`, which may stop.
    pub(crate) fn visit_moves(
        &self,
        position: &Position<B>,
        visit: &mut impl FnMut(Moves<B>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let threats = self.threats(position, position.turn);
        self.visit_unrestrained(position, &threats, visit)?;
        self.visit_restrained_drops(position, &threats, visit)
    }

    /// All moves but the drops of the kinds that may not mate.
    #[inline]
    fn visit_unrestrained(
        &self,
        position: &Position<B>,
        threats: &Threats<B>,
        visit: &mut impl FnMut(Moves<B>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.visit_pieces(position, threats, visit)?;
        self.visit_king(position, visit)?;
        self.visit_drops(position, threats, visit)
    }

    /// Whether the side to move has a legal move; if not, it has lost.
    ///
    /// A Pawn drop counts only if it is legal itself, that is, if it leaves the opponent a legal move
    /// in turn: the definition is recursive and ends because hands are finite.
    #[inline]
    #[must_use]
    pub fn has_legal_move(&self, position: &Position<B>) -> bool {
        self.visit_moves(position, &mut |_| ControlFlow::Break(()))
            .is_break()
    }

    /// Moves of all pieces but the King.
    #[inline]
    fn visit_pieces(
        &self,
        position: &Position<B>,
        threats: &Threats<B>,
        visit: &mut impl FnMut(Moves<B>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if threats.targets.is_empty() {
            return ControlFlow::Continue(());
        }
        let me = position.turn;
        let (own, occupied) = (position.of(me), position.occupied());
        let targets = threats.targets & !own & !position.kinds[0];
        let zone = self.zone[me as usize];
        for role in &self.roles[1..] {
            let mut set = role.of(position) & own;
            if let Some(marches) = &role.march {
                self.visit_march(
                    role,
                    &marches[me as usize],
                    set & !threats.pinned,
                    targets,
                    visit,
                )?;
                set &= threats.pinned;
            }
            if set.is_empty() {
                continue;
            }
            let standing = if role.promoted {
                self.board
            } else {
                self.standing[me as usize][role.kind]
            };
            // Most pieces are neither shields nor in the zone; sets tell, so that no square is asked.
            let promoting_anywhere = if role.promotes { set & zone } else { B::EMPTY };
            let special = (set & threats.pinned) | promoting_anywhere;
            for (set, special) in [(set & !special, false), (special, true)] {
                for from in set.squares() {
                    let mut to = self.attacks(role, me, from, occupied) & targets;
                    let mut promoting = if role.promotes { zone } else { B::EMPTY };
                    if special {
                        if threats.pinned.has(from) {
                            to &= self.pinned_targets(position, threats, from);
                        }
                        if promoting_anywhere.has(from) {
                            promoting = self.board;
                        }
                    }
                    promoting &= to;
                    let mut plain = to & standing;
                    if role.crowds {
                        plain &= !self.full_files(position, me, role.kind, B::bit(from));
                    }
                    if (plain | promoting).is_empty() {
                        continue;
                    }
                    visit(Moves::Board {
                        piece: Piece {
                            side: me,
                            kind: role.kind,
                            promoted: role.promoted,
                        },
                        from,
                        plain,
                        promoting,
                    })?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// The step of all pieces of a role that has no other; none of them is a shield.
    #[inline]
    fn visit_march(
        &self,
        role: &Role<B>,
        march: &March<B>,
        set: B,
        targets: B,
        visit: &mut impl FnMut(Moves<B>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let to = march.shifted(set) & targets;
        if to.is_empty() {
            return ControlFlow::Continue(());
        }
        let promoting = if role.promotes {
            to & march.promotes
        } else {
            B::EMPTY
        };
        let plain = to & march.standing();
        if (plain | promoting).is_empty() {
            return ControlFlow::Continue(());
        }
        visit(Moves::March {
            kind: role.kind,
            march: *march,
            plain,
            promoting,
        })
    }

    /// Where a shield may go: along its line, the slider's square included.
    #[cold]
    fn pinned_targets(&self, position: &Position<B>, threats: &Threats<B>, from: Square) -> B {
        let king = position.king(position.turn);
        let mut targets = self.board;
        for pinner in threats.pinners.squares() {
            let line = self.between(pinner, king);
            if line.has(from) {
                targets &= line | B::bit(pinner);
            }
        }
        targets
    }

    #[inline]
    fn visit_king(
        &self,
        position: &Position<B>,
        visit: &mut impl FnMut(Moves<B>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let me = position.turn;
        let king = position.king(me);
        let to = self.attacks(&self.roles[0], me, king, position.occupied())
            & !position.of(me)
            & !position.kinds[0];
        // The King shields no square from a slider that attacks him.
        let vacated = position.occupied() & !B::bit(king);
        let plain = self.safe_targets(position, me, to, vacated);
        if plain.is_empty() {
            return ControlFlow::Continue(());
        }
        visit(Moves::Board {
            piece: Piece {
                side: me,
                kind: 0,
                promoted: false,
            },
            from: king,
            plain,
            promoting: B::EMPTY,
        })
    }

    /// Drops of the kinds whose drop may mate.
    #[inline]
    fn visit_drops(
        &self,
        position: &Position<B>,
        threats: &Threats<B>,
        visit: &mut impl FnMut(Moves<B>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (kind, entry) in self.variant.kinds.iter().enumerate() {
            if position.hands[position.turn as usize][kind] > 0 && !entry.mating_drop_forbidden {
                let to = self.drop_targets(position, threats, kind);
                if !to.is_empty() {
                    visit(Moves::Drop { kind, to })?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Drops of the kinds whose drop may not leave the opponent without a legal move.
    #[inline]
    fn visit_restrained_drops(
        &self,
        position: &Position<B>,
        threats: &Threats<B>,
        visit: &mut impl FnMut(Moves<B>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (kind, entry) in self.variant.kinds.iter().enumerate() {
            if position.hands[position.turn as usize][kind] > 0 && entry.mating_drop_forbidden {
                let mut to = self.drop_targets(position, threats, kind);
                if !to.is_empty() {
                    to &= !self.final_drops(position, kind, to);
                }
                if !to.is_empty() {
                    visit(Moves::Drop { kind, to })?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Where a kind may be dropped, mate or not.
    #[inline]
    fn drop_targets(&self, position: &Position<B>, threats: &Threats<B>, kind: usize) -> B {
        let me = position.turn;
        let empty = threats.targets & !position.occupied();
        let mut to = empty & self.standing[me as usize][kind];
        if self.variant.kinds[kind].file_limit.is_some() && !to.is_empty() {
            to &= !self.full_files(position, me, kind, B::EMPTY);
        }
        to
    }

    /// The files that can take no further unpromoted piece of a kind, `except` some not counted.
    #[inline]
    fn full_files(&self, position: &Position<B>, side: Side, kind: usize, except: B) -> B {
        let mut full = B::EMPTY;
        if let Some(limit) = self.variant.kinds[kind].file_limit {
            let set = position.pieces(side, kind, false) & !except;
            for &file in &self.files {
                if (set & file).count() >= u32::from(limit) {
                    full |= file;
                }
            }
        }
        full
    }

    /// Those of the drops of a kind on `to` that leave the opponent without a legal move.
    ///
    /// A drop that gives check is tried out, and so is one that [`hindering`](Self::hindering) leaves
    /// in doubt: few are.
    fn final_drops(&self, position: &Position<B>, kind: usize, to: B) -> B {
        let opponent = position.turn.other();
        let role = self.plain(kind);
        let king = position.king(opponent);
        // An attack turned around, as in `threats`.
        let checks = to & self.attacks(role, opponent, king, position.occupied());
        let quiet = to & !checks;
        let doubtful = if quiet.is_empty() {
            quiet
        } else {
            self.hindering(position, role, quiet)
        };
        let mut last = B::EMPTY;
        for t in (checks | doubtful).squares() {
            if !self.has_legal_move(&self.after_drop(position, kind, t)) {
                last |= B::bit(t);
            }
        }
        last
    }

    /// Those of the drops on `quiet`, none of which gives check, that touch all moves of the opponent.
    ///
    /// Suppose that it were the opponent's turn now. A legal move of his, other than a drop that may
    /// not mate, is legal after the drop too unless the dropped piece stands on its way or target or,
    /// when the King moves, attacks his target: a piece more of ours closes lines to his King and opens
    /// none. So every such move clears all drops but the few on its *footprint*, and two moves mostly
    /// clear them all.
    fn hindering(&self, position: &Position<B>, role: &Role<B>, quiet: B) -> B {
        let mut passed = *position;
        passed.turn = position.turn.other();
        let side = passed.turn as usize;
        let mut doubt = quiet;
        let mut clear = |moves: Moves<B>| {
            match moves {
                Moves::Drop { to, .. } if to.is_many() => doubt = B::EMPTY,
                Moves::Drop { to, .. } => doubt &= to,
                Moves::March {
                    plain, promoting, ..
                } => {
                    for t in (plain | promoting).squares() {
                        doubt &= B::bit(t);
                    }
                }
                Moves::Board {
                    piece,
                    from,
                    plain,
                    promoting,
                } => {
                    for t in (plain | promoting).squares() {
                        let mut footprint = B::bit(t) | self.between(from, t);
                        if piece.kind == 0 {
                            footprint |= role.steps[side][t] | role.slides[side][t];
                        }
                        doubt &= footprint;
                    }
                }
            }
            if doubt.is_empty() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let threats = self.threats(&passed, passed.turn);
        let _ = self.visit_unrestrained(&passed, &threats, &mut clear);
        doubt
    }
}
