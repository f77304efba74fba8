//! The verdict on a position that passed the filters.
//!
//! A cascade, each step deciding most of what reaches it, none of them able to err:
//!
//! 1. a calm position with a [certificate](super::certificate) is reachable;
//! 2. a position without a predecessor is unreachable, and one with a certified predecessor reachable;
//! 3. the complete [search](super::search) over all ancestors decides the rest: it stops at the first
//!    ancestor that is certified, and only when it has seen all of them says "unreachable".

use std::ops::ControlFlow;

use super::certificate::{Step, Trail, certify, expand};
use super::filters::break_of_rules;
use super::outcome::Outcome;
use super::search::{Ancestors, Found, Verdict, is_kings_only};
use crate::game::{Bits, Position, Rules, Unmove};

/// Decides positions of one variant.
#[derive(Clone, Debug)]
pub struct Judge<B> {
    rules: Rules<B>,
}

/// How a position ends in the funnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ruling {
    /// The outcome.
    pub outcome: Outcome,
    /// The most plies that can be traced back, for an unreachable position.
    pub depth: Option<u32>,
}

impl From<Verdict> for Ruling {
    fn from(verdict: Verdict) -> Self {
        let (outcome, depth) = match verdict {
            Verdict::Reachable => (Outcome::Reachable, None),
            Verdict::Unreachable { depth } => (Outcome::Unreachable, Some(depth)),
            Verdict::Undecided => (Outcome::Undecided, None),
        };
        Ruling { outcome, depth }
    }
}

/// A verdict with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The verdict.
    pub verdict: Verdict,
    /// For a reachable position the un-moves from it to a KK position, in the order in which they are
    /// undone; empty otherwise.
    pub path: Vec<Unmove>,
}

/// Where a certificate was found: the un-moves to that position, and its trail.
type Certified<T> = (Vec<Unmove>, T);

impl<B: Bits> Judge<B> {
    /// A judge by these rules.
    #[must_use]
    pub fn new(rules: &Rules<B>) -> Self {
        Judge {
            rules: rules.clone(),
        }
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &Rules<B> {
        &self.rules
    }

    /// How a position ends: the filters in the funnel's order, then the verdict.
    #[must_use]
    pub fn rule(&self, position: &Position<B>, cap: Option<u64>) -> Ruling {
        if self.rules.is_canonical(position) {
            self.rule_unfolded(position, cap)
        } else {
            Ruling {
                outcome: Outcome::Mirrored,
                depth: None,
            }
        }
    }

    /// [`rule`](Self::rule) without the mirror filter.
    #[must_use]
    pub fn rule_unfolded(&self, position: &Position<B>, cap: Option<u64>) -> Ruling {
        match break_of_rules(&self.rules, position) {
            Some(outcome) => Ruling {
                outcome,
                depth: None,
            },
            None => self.verdict(position, cap).into(),
        }
    }

    /// The verdict on a position that satisfies the local rules and in which the King of the side not
    /// to move is not attacked. `cap`: the most positions that the complete search may expand.
    #[must_use]
    pub fn verdict(&self, position: &Position<B>, cap: Option<u64>) -> Verdict {
        match self.decide::<()>(position, cap) {
            Ok(_) => Verdict::Reachable,
            Err(verdict) => verdict,
        }
    }

    /// The verdict with its evidence: for a reachable position a whole path from a KK position.
    #[must_use]
    pub fn prove(&self, position: &Position<B>, cap: Option<u64>) -> Proof {
        match self.decide::<Vec<Step>>(position, cap) {
            Ok((mut path, trail)) => {
                let mut here = *position;
                for unmove in &path {
                    here = self.rules.undo(&here, *unmove);
                }
                path.extend(expand(&self.rules, &here, &trail));
                Proof {
                    verdict: Verdict::Reachable,
                    path,
                }
            }
            Err(verdict) => Proof {
                verdict,
                path: Vec::new(),
            },
        }
    }

    fn decide<T: Trail + Default>(
        &self,
        position: &Position<B>,
        cap: Option<u64>,
    ) -> Result<Certified<T>, Verdict> {
        if let Some(trail) = self.certificate(position) {
            return Ok((Vec::new(), trail));
        }
        let mut seen = 0;
        let near = self.rules.predecessors(position, |unmove, before| {
            if let Some(trail) = self.certificate(before) {
                return ControlFlow::Break((vec![unmove], trail));
            }
            seen += 1;
            ControlFlow::Continue(())
        });
        match near {
            ControlFlow::Break(certified) => return Ok(certified),
            ControlFlow::Continue(()) if seen == 0 => {
                return Err(Verdict::Unreachable { depth: 0 });
            }
            _ => {}
        }
        let mut ancestors = Ancestors::new(&self.rules, position, 0);
        match ancestors.search_ahead(cap, |before| self.certificate(before)) {
            Found::Goal(node, trail) => Ok((ancestors.path(node), trail)),
            Found::Exhausted => Err(Verdict::Unreachable {
                depth: ancestors.depth(),
            }),
            Found::Capped => Err(Verdict::Undecided),
        }
    }

    /// The trail of a certificate, if the position is one of the Kings alone or can be certified.
    fn certificate<T: Trail + Default>(&self, position: &Position<B>) -> Option<T> {
        if is_kings_only(position) {
            return Some(T::default());
        }
        let calm = !self.rules.in_check(position, position.turn());
        if calm {
            certify(&self.rules, position)
        } else {
            None
        }
    }
}
