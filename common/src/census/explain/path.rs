//! The proof that a position is reachable: moves played forward.

use std::fmt;

use crate::game::{Move, Position, Rules, Side, Unmove};

/// Legal moves from a KK position to the position that was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The KK position, as SFEN.
    pub start: String,
    /// The moves, by their USI names.
    pub moves: Vec<String>,
}

/// The un-moves of a proof are no legal game to its position: a fault in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError(String);

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PathError {}

impl Path {
    /// Plays un-moves backwards, and the moves that they undo forward again by the forward rules.
    ///
    /// # Errors
    /// If they do not lead from a KK position to this one by legal moves.
    pub(super) fn of(
        rules: &Rules<u128>,
        position: &Position<u128>,
        unmoves: &[Unmove],
    ) -> Result<Self, PathError> {
        let mut start = *position;
        let mut moves = Vec::with_capacity(unmoves.len());
        for &unmove in unmoves {
            start = rules.undo(&start, unmove);
            moves.push(Move::from(unmove));
        }
        moves.reverse();
        let kings_only = Side::BOTH
            .into_iter()
            .all(|side| start.of(side).count_ones() == 1 && !rules.in_check(&start, side));
        if !kings_only {
            let sfen = rules.sfen(&start);
            return Err(PathError(format!("the path begins at {sfen}")));
        }
        let mut here = start;
        for &m in &moves {
            if !rules.is_legal(&here, m) {
                let (name, sfen) = (rules.variant().move_name(m), rules.sfen(&here));
                return Err(PathError(format!(
                    "the path holds {name} in {sfen}, which is illegal"
                )));
            }
            here = rules.play(&here, m);
        }
        if here != *position {
            let sfen = rules.sfen(&here);
            return Err(PathError(format!("the path ends at {sfen}")));
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
