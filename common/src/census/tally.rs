//! The tally: the exact histogram of some samples' records.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::outcome::Outcome;

/// A letter of a design's alphabet; in the design `plain` an [`Outcome`]'s byte.
pub type Cell = u32;

/// The sum modulo 2^128 of the blocks' fingerprints; printed as 32 hexadecimal digits, most
/// significant first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Digest(pub u128);

impl Digest {
    /// The digest of one block: its number and one outcome byte a sample.
    #[must_use]
    pub fn of_block(block: u64, outcomes: &[u8]) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&block.to_le_bytes());
        hasher.update(outcomes);
        let mut first = [0; 16];
        hasher.finalize_xof().fill(&mut first);
        Digest(u128::from_le_bytes(first))
    }

    /// The digest of two disjoint runs of blocks.
    #[must_use]
    pub const fn plus(self, other: Digest) -> Digest {
        Digest(self.0.wrapping_add(other.0))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Digest {
    type Err = TallyError;

    fn from_str(text: &str) -> Result<Self, TallyError> {
        if text.len() != 32 {
            return Err(TallyError::Digest(text.to_owned()));
        }
        u128::from_str_radix(text, 16)
            .map(Digest)
            .map_err(|_| TallyError::Digest(text.to_owned()))
    }
}

/// The exact histogram of some samples' records, the depths of the unreachable, and the digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many samples ended in each cell; no entry is zero.
    pub cells: BTreeMap<Cell, u64>,
    /// How many unreachable samples can be traced back so many plies; no entry is zero.
    pub depths: BTreeMap<u32, u64>,
    /// The blocks' digest.
    pub digest: Digest,
}

impl Tally {
    /// How many samples were counted.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.cells.values().sum()
    }

    /// How many ended so.
    #[must_use]
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.cells
            .get(&Cell::from(outcome as u8))
            .copied()
            .unwrap_or(0)
    }

    /// Adds the tally of other blocks.
    pub fn merge(&mut self, other: &Tally) {
        for (&cell, &count) in &other.cells {
            *self.cells.entry(cell).or_default() += count;
        }
        for (&depth, &count) in &other.depths {
            *self.depths.entry(depth).or_default() += count;
        }
        self.digest = self.digest.plus(other.digest);
    }

    /// Checks the identities of the design `plain`: known cells, no zero entry, outcomes that add up
    /// to `samples`, depths that add up to the unreachable.
    ///
    /// # Errors
    /// The first identity that fails.
    pub fn check(&self, samples: u64) -> Result<(), TallyError> {
        let last = Cell::from(Outcome::Undecided as u8);
        if let Some(&cell) = self.cells.keys().find(|&&cell| cell > last) {
            return Err(TallyError::Cell(cell));
        }
        if self
            .cells
            .values()
            .chain(self.depths.values())
            .any(|&n| n == 0)
        {
            return Err(TallyError::Zero);
        }
        let total = |counts: &BTreeMap<u32, u64>| {
            counts
                .values()
                .try_fold(0u64, |sum, &n| sum.checked_add(n))
                .ok_or(TallyError::Overflow)
        };
        let found = total(&self.cells)?;
        if found != samples {
            return Err(TallyError::Samples { found, samples });
        }
        let (found, unreachable) = (total(&self.depths)?, self.of(Outcome::Unreachable));
        if found != unreachable {
            return Err(TallyError::Depths { found, unreachable });
        }
        Ok(())
    }
}

/// Why a tally cannot be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TallyError {
    /// A cell outside the design's alphabet.
    Cell(Cell),
    /// An entry that counts nothing.
    Zero,
    /// Counts too large to add.
    Overflow,
    /// The outcomes do not add up to the samples.
    Samples {
        /// What they add up to.
        found: u64,
        /// What they should.
        samples: u64,
    },
    /// The depths do not add up to the unreachable.
    Depths {
        /// What they add up to.
        found: u64,
        /// What they should.
        unreachable: u64,
    },
    /// A digest that is not 32 hexadecimal digits.
    Digest(String),
}

impl fmt::Display for TallyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TallyError::Cell(cell) => write!(f, "cell {cell} is not in the alphabet of `plain`"),
            TallyError::Zero => write!(f, "an entry counts 0"),
            TallyError::Overflow => write!(f, "the counts are too large to add"),
            TallyError::Samples { found, samples } => {
                write!(
                    f,
                    "the outcomes add up to {found}, expected {samples} samples"
                )
            }
            TallyError::Depths { found, unreachable } => {
                write!(
                    f,
                    "the depths add up to {found}, expected {unreachable} unreachable"
                )
            }
            TallyError::Digest(text) => {
                write!(f, "`{text}` is not a digest of 32 hexadecimal digits")
            }
        }
    }
}

impl std::error::Error for TallyError {}
