//! The outcome of one position.

use std::fmt;

use kazoe_common::census::{Judge, Outcome, Verdict};
use kazoe_common::game::{Position, Rules};

/// How a position with Black to move ends in the funnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) outcome: Outcome,
    /// The most plies that can be traced back, for an unreachable position.
    pub(crate) depth: Option<u32>,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.depth {
            Some(depth) => write!(f, "{} (depth {depth})", self.outcome),
            None => write!(f, "{}", self.outcome),
        }
    }
}

/// Judges a position with Black to move; `mirror`: whether only canonical positions pass.
pub(crate) fn judge(
    rules: &Rules<u128>,
    judge: &Judge<u128>,
    position: &Position<u128>,
    mirror: bool,
) -> Judgement {
    let verdict = || match judge.verdict(position, None) {
        Verdict::Reachable => (Outcome::Reachable, None),
        Verdict::Unreachable { depth } => (Outcome::Unreachable, Some(depth)),
        Verdict::Undecided => (Outcome::Undecided, None),
    };
    let (outcome, depth) = if mirror && !rules.is_canonical(position) {
        (Outcome::Mirrored, None)
    } else {
        match local_obstacle(rules, position) {
            Some(outcome) => (outcome, None),
            None => verdict(),
        }
    };
    Judgement { outcome, depth }
}

/// The outcome of a position that fails a filter that looks at it alone, whoever is to move.
pub(crate) fn local_obstacle(rules: &Rules<u128>, position: &Position<u128>) -> Option<Outcome> {
    if rules.has_two_pawns(position) {
        Some(Outcome::TwoPawns)
    } else if rules.has_immobile(position) {
        Some(Outcome::Immobile)
    } else if rules.in_check(position, position.turn().other()) {
        Some(Outcome::InCheck)
    } else {
        None
    }
}
