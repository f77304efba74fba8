//! The filters and their order. [`Funnel`](super::Funnel)'s fast way takes them in the same order on whole batches,
//! and the tests compare the two.

use super::Outcome;
use crate::game::{Bits, Position, Rules};

/// Returns the first filter that rejects a position: the mirror filter, then the [local rules](break_of_rules).
#[must_use]
pub fn rejection<B: Bits>(rules: &Rules<B>, position: &Position<B>) -> Option<Outcome> {
    if rules.is_canonical(position) {
        break_of_rules(rules, position)
    } else {
        Some(Outcome::Mirrored)
    }
}

/// Returns the first rule that a position breaks and no position after a legal move does: two pawns, an immobile
/// piece, the King of the side not to move attacked.
#[must_use]
pub fn break_of_rules<B: Bits>(rules: &Rules<B>, position: &Position<B>) -> Option<Outcome> {
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
