//! The population `candidates`, P_K: exact size, and rank <-> position in the published order.

use std::fmt;

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::category::{Categories, Category};
use super::combination::Binomials;
use super::kings::KingPairs;
use super::radix::{Digits, take_digit};
use super::rank::Rank;
use super::sections::{CandidatesError, Section, placements, sort_key, table};
use crate::game::{Bits, Hand, Piece, Position, Side, Square, Variant};

/// The owner and the promotion of a category's four groups, in the order of its entries.
pub(crate) const GROUPS: [(Side, bool); 4] = [
    (Side::Black, true),
    (Side::White, true),
    (Side::Black, false),
    (Side::White, false),
];

/// All positions with Black to move, the variant's whole piece set and a King pair that is not greater
/// than its mirror image's; the local rules are not required.
///
/// The rank order is the published experiments': sections by hand totals, and inside a section mixed
/// radix digits for the hands, the King pair and then kind by kind for the pieces on the board. This
/// is the plain computation; the census has a fast one that is tested against it.
#[derive(Clone, Debug)]
pub struct Candidates {
    variant: &'static Variant,
    king_pairs: KingPairs,
    binomials: Binomials,
    sections: Vec<Section>,
    size: BigUint,
    /// `categories[kind][b]`: those of b pieces of the kind on the board.
    categories: Vec<Vec<Categories>>,
}

impl Candidates {
    /// Computes the table of sections.
    ///
    /// # Errors
    /// If the variant has too many candidates for a 256-bit rank.
    pub fn new(variant: &'static Variant) -> Result<Self, CandidatesError> {
        let king_pairs = KingPairs::new(variant);
        let binomials = Binomials::up_to(variant.squares());
        let (sections, size) = table(variant, king_pairs.count(), &binomials)?;
        let room = variant.squares().saturating_sub(2);
        let categories = variant.kinds.iter().enumerate().map(|(index, kind)| {
            let most = if index == 0 {
                0
            } else {
                room.min(kind.count.into())
            };
            (0..=most)
                .map(|b| {
                    let b = u8::try_from(b).expect("at most a kind's count");
                    Categories::new(b, kind.promoted.is_some(), &binomials)
                })
                .collect()
        });
        Ok(Candidates {
            variant,
            king_pairs,
            sections,
            size,
            categories: categories.collect(),
            binomials,
        })
    }

    /// The variant.
    #[must_use]
    pub fn variant(&self) -> &'static Variant {
        self.variant
    }

    /// How many candidates there are.
    #[must_use]
    pub fn size(&self) -> &BigUint {
        &self.size
    }

    /// The position with this rank.
    ///
    /// # Errors
    /// If the rank is not less than the size.
    ///
    /// # Panics
    /// If `B` has fewer bits than the board squares.
    pub fn unrank<B: Bits>(&self, rank: Rank) -> Result<Position<B>, UnrankError> {
        assert!(self.variant.squares() <= B::CAPACITY, "board too large");
        let number = BigUint::from(rank);
        if number >= self.size {
            return Err(UnrankError {
                id: self.variant.id,
                rank,
                size: self.size.clone(),
            });
        }
        let index = self.sections.partition_point(|s| s.offset <= rank) - 1;
        let section = &self.sections[index];
        let mut rest = number - BigUint::from(section.offset);
        let mut position = Position::bare(Side::Black);

        for (kind, &total) in section.hands.iter().enumerate() {
            let black = small(&take_digit(&mut rest, &(u32::from(total) + 1).into()));
            position.hands[0][kind] = u8::try_from(black).expect("at most the total");
            position.hands[1][kind] = total - position.hands[0][kind];
        }

        let kings = small(&take_digit(&mut rest, &self.king_pairs.count().into()));
        let (black, white) = self.king_pairs.unrank(kings);
        for (side, square) in [(Side::Black, black), (Side::White, white)] {
            position.put(
                square,
                Piece {
                    side,
                    kind: 0,
                    promoted: false,
                },
            );
        }

        let mut empty: Vec<Square> = (0..self.variant.squares()).collect();
        empty.retain(|&square| square != black && square != white);
        for (kind, entry) in self.variant.kinds.iter().enumerate().skip(1) {
            let b = entry.count - section.hands[kind];
            let base = placements(empty.len(), b, entry.promoted.is_some(), &self.binomials);
            let digit = take_digit(&mut rest, &base);
            let (category, mut digit) = self.split(kind, b, empty.len(), digit);
            for (k, (side, promoted)) in category.into_iter().zip(GROUPS) {
                let (m, k) = (empty.len(), usize::from(k));
                let index = take_digit(&mut digit, &self.binomials.choose(m, k).into());
                let index = index.to_u128().expect("less than a binomial coefficient");
                let places = self.binomials.places_of(index, m, k);
                for &place in places.iter().rev() {
                    let square = empty.remove(place);
                    position.put(
                        square,
                        Piece {
                            side,
                            kind,
                            promoted,
                        },
                    );
                }
            }
        }
        Ok(position)
    }

    /// A kind's digit as the category that holds it and the number inside the category.
    fn split(&self, kind: usize, b: u8, empty: usize, digit: BigUint) -> (Category, BigUint) {
        let choices = BigUint::from(self.binomials.choose(empty, b.into()));
        let (category, start) = self.categories[kind][usize::from(b)].find(&(&digit / &choices));
        (category, digit - start * choices)
    }

    /// The rank of a position: the inverse of [`unrank`](Self::unrank).
    ///
    /// # Errors
    /// If the position is not a candidate. For a King pair greater than its mirror image's the
    /// position's mirror image is one, if nothing else is wrong.
    pub fn rank<B: Bits>(&self, position: &Position<B>) -> Result<Rank, RankOfError> {
        let hands = self.hand_totals(position)?;
        let (black, white) = (position.king(Side::Black), position.king(Side::White));
        let kings = self.king_pairs.rank(black, white);
        let kings = kings.ok_or(RankOfError::KingPairMirrored)?;
        let key = |hands: &Hand| sort_key(self.variant, hands);
        let section = self
            .sections
            .binary_search_by_key(&key(&hands), |section| key(&section.hands));
        let section = section.expect("a section with a position in it is in the table");
        let offset = self.sections[section].offset;

        let mut digits = Digits::new();
        for (kind, &total) in hands.iter().enumerate() {
            let base = BigUint::from(u32::from(total) + 1);
            digits.push(&position.hands[0][kind].into(), &base);
        }
        digits.push(&kings.into(), &self.king_pairs.count().into());
        let mut empty: Vec<Square> = (0..self.variant.squares()).collect();
        empty.retain(|&square| square != black && square != white);
        for (kind, entry) in self.variant.kinds.iter().enumerate().skip(1) {
            let b = entry.count - hands[kind];
            let promotes = entry.promoted.is_some();
            let base = placements(empty.len(), b, promotes, &self.binomials);
            let choices = self.binomials.choose(empty.len(), b.into());
            let sets = GROUPS.map(|(side, promoted)| position.pieces(side, kind, promoted));
            let category = sets.map(|set| u8::try_from(set.count()).expect("at most 128 squares"));
            let start = self.categories[kind][usize::from(b)].start_of(category);
            let start = start.ok_or(RankOfError::Promoted { name: entry.name })?;
            let mut inside = Digits::new();
            for set in sets {
                let m = empty.len();
                let places: Vec<usize> = (0..m).filter(|&place| set.has(empty[place])).collect();
                let index = self.binomials.index_of(&places, m);
                let choices = self.binomials.choose(m, places.len());
                inside.push(&index.into(), &choices.into());
                empty.retain(|&square| !set.has(square));
            }
            digits.push(&(start * choices + inside.number()), &base);
        }
        let rank = digits.number() + BigUint::from(offset);
        Ok(Rank::try_from(&rank).expect("less than the size"))
    }

    /// The hand totals of a position that has Black to move and the variant's whole set.
    fn hand_totals<B: Bits>(&self, position: &Position<B>) -> Result<Hand, RankOfError> {
        if position.turn() != Side::Black {
            return Err(RankOfError::WhiteToMove);
        }
        let mut totals = Hand::default();
        for (kind, entry) in self.variant.kinds.iter().enumerate().skip(1) {
            let held = Side::BOTH.map(|side| u32::from(position.hand(side)[kind]));
            let found = position.kinds[kind].count() + held[0] + held[1];
            if found != u32::from(entry.count) {
                return Err(RankOfError::NotTheWholeSet {
                    name: entry.name,
                    found,
                    expected: entry.count.into(),
                });
            }
            totals[kind] = position.hands[0][kind] + position.hands[1][kind];
        }
        Ok(totals)
    }

    /// The largest rank.
    pub(crate) fn last(&self) -> Rank {
        Rank::try_from(&(&self.size - 1u32)).expect("the table's last rank fits")
    }

    /// The first rank of each section, ascending: where ranks change their meaning.
    pub fn section_starts(&self) -> impl Iterator<Item = Rank> {
        self.sections.iter().map(|section| section.offset)
    }

    /// The hand totals of each section, in rank order.
    pub(crate) fn hand_vectors(&self) -> impl Iterator<Item = Hand> {
        self.sections.iter().map(|section| section.hands)
    }

    pub(crate) fn king_pairs(&self) -> &KingPairs {
        &self.king_pairs
    }

    /// The categories of b pieces of a kind on the board, by b.
    pub(crate) fn categories(&self, kind: usize) -> &[Categories] {
        &self.categories[kind]
    }

    pub(crate) fn binomials(&self) -> &Binomials {
        &self.binomials
    }
}

/// A digit whose base is at most the number of King pairs.
fn small(digit: &BigUint) -> usize {
    digit.to_usize().expect("less than a small base")
}

/// A rank that is not less than the population's size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnrankError {
    /// The variant's id.
    pub id: &'static str,
    /// The rank.
    pub rank: Rank,
    /// How many candidates there are.
    pub size: BigUint,
}

impl fmt::Display for UnrankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rank {} is out of range: {} has {} candidates, ranks from 0 to one less",
            self.rank, self.id, self.size
        )
    }
}

impl std::error::Error for UnrankError {}

/// Why a position is not a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankOfError {
    /// White is to move.
    WhiteToMove,
    /// The King pair is greater than its mirror image's, so the mirror image is the candidate.
    KingPairMirrored,
    /// Board and hands together are not the variant's whole piece set.
    NotTheWholeSet {
        /// The first kind whose number is wrong.
        name: &'static str,
        /// How many there are.
        found: u32,
        /// How many the game has.
        expected: u32,
    },
    /// A promoted piece of a kind that does not promote.
    Promoted {
        /// The kind.
        name: &'static str,
    },
}

impl fmt::Display for RankOfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankOfError::WhiteToMove => {
                write!(f, "White is to move; candidates have Black to move")
            }
            RankOfError::KingPairMirrored => write!(
                f,
                "the King pair is greater than its mirror image's; the mirror image is the candidate"
            ),
            RankOfError::NotTheWholeSet {
                name,
                found,
                expected,
            } => write!(
                f,
                "{found} pieces of kind {name}, the game has {expected}; candidates have the whole set"
            ),
            RankOfError::Promoted { name } => write!(f, "the {name} does not promote"),
        }
    }
}

impl std::error::Error for RankOfError {}
