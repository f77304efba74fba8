//! Sections: the candidates cut by how many pieces of each kind are in the hands.

use std::fmt;

use num_bigint::BigUint;
use num_traits::One;

use super::combination::Binomials;
use super::rank::Rank;
use crate::game::{Hand, KINDS, Variant};

/// The most sections that a table may have: a variant with more is refused rather than left to fill
/// the memory.
const MOST: usize = 1 << 22;

/// The candidates with given hand totals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    /// How many pieces of each kind both hands hold together.
    pub(crate) hands: Hand,
    /// The rank of its first candidate.
    pub(crate) offset: Rank,
}

/// All sections that hold a candidate, in rank order, and the number of candidates.
///
/// # Errors
/// No candidate, more than 2^256 of them, or more than 2^22 sections.
pub(crate) fn table(
    variant: &Variant,
    king_pairs: usize,
    binomials: &Binomials,
) -> Result<(Vec<Section>, BigUint), CandidatesError> {
    let sections: usize = variant.kinds[1..]
        .iter()
        .map(|kind| usize::from(kind.count) + 1)
        .try_fold(1, usize::checked_mul)
        .filter(|&sections| sections <= MOST)
        .ok_or(CandidatesError::TooManySections { id: variant.id })?;

    // Every vector of totals with its size, depth first along the kinds in the order T: a section's
    // size is the product of its digits' bases, and the empty squares shrink along the way.
    let mut found: Vec<(u128, Hand, BigUint)> = Vec::with_capacity(sections);
    let mut open = vec![(
        1,
        [0; KINDS],
        variant.squares().saturating_sub(2),
        BigUint::from(king_pairs),
    )];
    while let Some((kind, hands, empty, size)) = open.pop() {
        let Some(entry) = variant.kinds.get(kind) else {
            found.push((sort_key(variant, &hands), hands, size));
            continue;
        };
        for total in 0..=entry.count {
            let board = entry.count - total;
            let placements = placements(empty, board, entry.promoted.is_some(), binomials);
            if usize::from(board) <= empty {
                let mut hands = hands;
                hands[kind] = total;
                let size = &size * (u32::from(total) + 1) * placements;
                open.push((kind + 1, hands, empty - usize::from(board), size));
            }
        }
    }
    found.sort_unstable_by_key(|&(key, ..)| key);

    let too_large = |_| CandidatesError::TooLarge { id: variant.id };
    let mut next = BigUint::ZERO;
    let mut list = Vec::with_capacity(found.len());
    for (_, hands, size) in found {
        if size != BigUint::ZERO {
            let offset = Rank::try_from(&next).map_err(too_large)?;
            list.push(Section { hands, offset });
            next += size;
        }
    }
    if next == BigUint::ZERO {
        return Err(CandidatesError::Empty { id: variant.id });
    }
    // The last rank must fit; the size itself may be 2^256.
    if next > BigUint::one() << 256u32 {
        return Err(CandidatesError::TooLarge { id: variant.id });
    }
    Ok((list, next))
}

/// In how many ways `board` pieces of one kind can stand on `empty` squares: the base of its digit,
/// C(empty, board) times (number of groups)^board (see [`Categories`](super::category::Categories)).
pub(crate) fn placements(
    empty: usize,
    board: u8,
    promotes: bool,
    binomials: &Binomials,
) -> BigUint {
    let groups_log = if promotes { 2 } else { 1 };
    BigUint::from(binomials.choose(empty, board.into())) << (groups_log * u32::from(board))
}

/// A number that compares as the section's hand list does: 8 bits for the kind's place in
/// `section_order` plus one, 8 bits for its number, pair after pair from the top. What a shorter list
/// lacks is zero, so a prefix comes first.
pub(crate) fn sort_key(variant: &Variant, hands: &Hand) -> u128 {
    let mut key = 0;
    let mut shift = 128;
    for (kind, &total) in variant.kinds.iter().zip(hands) {
        if total > 0 {
            let place = variant.section_order.find(kind.letter);
            let place = place.expect("section_order names every kind but the King") + 1;
            shift -= 16;
            key |= ((place as u128) << 8 | u128::from(total)) << shift;
        }
    }
    key
}

/// Why a variant has no candidates to rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidatesError {
    /// More than 2^256 candidates: their ranks would not fit.
    TooLarge {
        /// The variant's id.
        id: &'static str,
    },
    /// No candidate at all: the board cannot hold two Kings.
    Empty {
        /// The variant's id.
        id: &'static str,
    },
    /// Too many vectors of hand totals to keep a table of them.
    TooManySections {
        /// The variant's id.
        id: &'static str,
    },
}

impl fmt::Display for CandidatesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CandidatesError::TooLarge { id } => {
                write!(f, "{id}: more than 2^256 candidates; ranks have 256 bits")
            }
            CandidatesError::Empty { id } => write!(f, "{id}: no room for two Kings"),
            CandidatesError::TooManySections { id } => {
                write!(f, "{id}: more than {MOST} vectors of hand totals")
            }
        }
    }
}

impl std::error::Error for CandidatesError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::kings::KingPairs;

    fn names(variant: &Variant) -> Vec<String> {
        let binomials = Binomials::up_to(variant.squares());
        let pairs = KingPairs::new(variant).count();
        let (list, _) = table(variant, pairs, &binomials).unwrap();
        let name = |section: &Section| {
            let entries = variant.kinds.iter().zip(section.hands);
            let held = entries.filter(|entry| entry.1 > 0);
            let texts: Vec<_> = held
                .map(|(kind, total)| format!("{}{total}", kind.letter))
                .collect();
            texts.join(" ")
        };
        list.iter().map(name).collect()
    }

    #[test]
    fn sections_come_in_the_published_order() {
        let shogi = names(&Variant::SHOGI);
        assert_eq!(shogi.len(), 106_875);
        assert_eq!(shogi[..4], ["", "G1", "G1 N1", "G1 N1 L1"]);
        assert_eq!(shogi[106_874], "B2");
        let minishogi = names(&Variant::MINISHOGI);
        assert_eq!(minishogi.len(), 243);
        assert_eq!(minishogi[..5], ["", "R1", "R1 B1", "R1 B2", "R2"]);
        assert_eq!(minishogi[242], "P2 S2 B2");
    }

    #[test]
    fn offsets_ascend_and_no_section_is_empty() {
        let binomials = Binomials::up_to(81);
        let (list, size) = table(&Variant::SHOGI, 3276, &binomials).unwrap();
        assert_eq!(list[0].offset, Rank::ZERO);
        assert!(list.is_sorted_by(|a, b| a.offset < b.offset));
        assert!(BigUint::from(list[106_874].offset) < size);
    }
}
