//! The proof that a position is reachable: moves played forward.

use kazoe_common::game::{Move, Position, Rules, Side, Unmove};

/// Legal moves from a KK position to the position that was judged.
pub(crate) struct Path {
    /// The KK position, as SFEN.
    pub(crate) start: String,
    /// The moves, by their USI names.
    pub(crate) moves: Vec<String>,
}

impl Path {
    /// Plays un-moves backwards, and the moves that they undo forward again by the forward rules.
    ///
    /// # Errors
    /// If they do not lead from a KK position to this one by legal moves: a fault in the program.
    pub(crate) fn of(
        rules: &Rules<u128>,
        position: &Position<u128>,
        unmoves: &[Unmove],
    ) -> Result<Self, String> {
        let mut start = *position;
        let mut moves = Vec::with_capacity(unmoves.len());
        for &unmove in unmoves {
            start = rules.undo(&start, unmove);
            moves.push(played(unmove));
        }
        moves.reverse();
        let kings_only = Side::BOTH
            .into_iter()
            .all(|side| start.of(side).count_ones() == 1 && !rules.in_check(&start, side));
        if !kings_only {
            return Err(format!("the path begins at {}", rules.sfen(&start)));
        }
        let mut here = start;
        for &m in &moves {
            if !rules.is_legal(&here, m) {
                let (name, sfen) = (rules.variant().move_name(m), rules.sfen(&here));
                return Err(format!("the path holds {name} in {sfen}, which is illegal"));
            }
            here = rules.play(&here, m);
        }
        if here != *position {
            return Err(format!("the path ends at {}", rules.sfen(&here)));
        }
        Ok(Path {
            start: rules.sfen(&start),
            moves: moves
                .into_iter()
                .map(|m| rules.variant().move_name(m))
                .collect(),
        })
    }
}

/// The move that an un-move takes back.
pub(crate) fn played(unmove: Unmove) -> Move {
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
