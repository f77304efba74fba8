//! Why a position that has predecessors is unreachable all the same.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;

use crate::game::{Move, Position, Rules};

use super::{counted, last_move};

/// The ancestors, and one that is farthest away.
pub(super) fn describe(rules: &Rules<u128>, position: &Position<u128>) -> Vec<String> {
    let mut found: HashMap<Position<u128>, Option<(Move, Position<u128>)>> =
        HashMap::from([(*position, None)]);
    let mut queue = VecDeque::from([*position]);
    let mut farthest = *position;
    while let Some(here) = queue.pop_front() {
        farthest = here;
        let _: ControlFlow<()> = rules.predecessors(&here, |unmove, before| {
            found.entry(*before).or_insert_with(|| {
                queue.push_back(*before);
                Some((Move::from(unmove), here))
            });
            ControlFlow::Continue(())
        });
    }
    let mut moves = Vec::new();
    let mut here = farthest;
    while let Some(&Some((m, next))) = found.get(&here) {
        moves.push(rules.variant().move_name(m));
        here = next;
    }
    let mut lines = vec![
        format!(
            "Positions from which legal moves lead here: {}, none of them with only the Kings.",
            found.len() - 1
        ),
        format!(
            "The farthest back is {}: {} ({}) leads here.",
            rules.sfen(&farthest),
            moves.join(" "),
            counted(moves.len(), "ply", "plies"),
        ),
        "There:".to_owned(),
    ];
    let why = last_move::why_none(rules, &farthest);
    lines.extend(why.into_iter().map(|line| format!("  {line}")));
    lines
}
