//! The counter: from a block's number to its tally and witnesses.

use std::collections::BTreeMap;

use super::campaign::{BLOCK, Block, Campaign};
use super::funnel::{Arm, Funnel};
use super::judge::{Judge, Ruling};
use super::outcome::Outcome;
use super::search::published_search;
use super::tally::{Cell, Digest, Tally};
use super::witness::Witness;
use crate::game::{Bits, Position, Rules};
use crate::population::{Candidates, CandidatesError, Sampler};

/// Counts the blocks of one campaign. Shared by all threads; it holds tables only.
#[derive(Clone, Debug)]
pub struct Counter(Width);

/// The machine word that holds a set of the board's squares.
#[derive(Clone, Debug)]
enum Width {
    Narrow(Box<Census<u64>>),
    Wide(Box<Census<u128>>),
}

/// What was counted in one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCount {
    /// The outcomes.
    pub tally: Tally,
    /// The witnesses, by sample index.
    pub witnesses: Vec<Witness>,
}

impl Counter {
    /// Builds the tables.
    ///
    /// # Errors
    /// If the variant's population cannot be ranked.
    pub fn new(campaign: &Campaign) -> Result<Self, CandidatesError> {
        Self::with_arm(campaign, Arm::detect())
    }

    /// Builds the tables for a chosen arm of the funnel; every arm counts the same.
    ///
    /// # Errors
    /// If the variant's population cannot be ranked.
    ///
    /// # Panics
    /// If this machine cannot run the arm.
    pub fn with_arm(campaign: &Campaign, arm: Arm) -> Result<Self, CandidatesError> {
        let narrow = campaign.variant.squares() <= u64::CAPACITY;
        Ok(Counter(if narrow {
            Width::Narrow(Box::new(Census::new(campaign, arm)?))
        } else {
            Width::Wide(Box::new(Census::new(campaign, arm)?))
        }))
    }

    /// Counts the first `samples` samples of a block.
    ///
    /// # Panics
    /// If `samples` is more than a block holds.
    #[must_use]
    pub fn block(&self, block: Block, samples: u64) -> BlockCount {
        match &self.0 {
            Width::Narrow(census) => census.block(block, samples),
            Width::Wide(census) => census.block(block, samples),
        }
    }
}

/// How many unreachable witnesses a block keeps.
const UNREACHABLE_WITNESSES: usize = 4;

/// Whether a block keeps L and E of its first reachable sample.
const fn keeps_path(block: Block) -> bool {
    block < 1024 || block.is_multiple_of(128)
}

#[derive(Clone, Debug)]
struct Census<B> {
    funnel: Funnel<B>,
    judge: Judge<B>,
    sampler: Sampler,
    cap: Option<u64>,
}

impl<B: Bits> Census<B> {
    fn new(campaign: &Campaign, arm: Arm) -> Result<Self, CandidatesError> {
        let candidates = Candidates::new(campaign.variant)?;
        let rules = Rules::new(campaign.variant);
        Ok(Census {
            judge: Judge::new(&rules),
            sampler: Sampler::new(&candidates, campaign.seed),
            funnel: Funnel::with_arm(rules, candidates, arm),
            cap: campaign.cap,
        })
    }

    fn block(&self, block: Block, samples: u64) -> BlockCount {
        assert!(samples <= BLOCK, "{samples} samples in a block");
        let mut outcomes = [0; BLOCK as usize];
        let outcomes = &mut outcomes[..samples as usize];
        let mut record = Record::new(block);
        self.funnel
            .block(&self.sampler, block, outcomes, |sample, position| {
                let ruling = Ruling::from(self.judge.verdict(position, self.cap));
                record.enter(sample, ruling, position);
                ruling.outcome
            });
        record.close(outcomes, self.judge.rules())
    }
}

/// What is kept of a block's judged samples while it is counted.
struct Record<B> {
    block: Block,
    depths: BTreeMap<u32, u64>,
    witnesses: Vec<Witness>,
    /// The first reachable sample, in the blocks that keep its L and E.
    first: Option<(u64, Position<B>)>,
}

impl<B: Bits> Record<B> {
    fn new(block: Block) -> Self {
        Record {
            block,
            depths: BTreeMap::new(),
            witnesses: Vec::new(),
            first: None,
        }
    }

    fn enter(&mut self, sample: usize, ruling: Ruling, position: &Position<B>) {
        let index = self.block * BLOCK + sample as u64;
        if let Some(depth) = ruling.depth {
            *self.depths.entry(depth).or_default() += 1;
            if depth > 0 && self.witnesses.len() < UNREACHABLE_WITNESSES {
                self.witnesses.push(Witness::Unreachable { index, depth });
            }
        }
        if ruling.outcome == Outcome::Reachable && self.first.is_none() && keeps_path(self.block) {
            self.first = Some((index, *position));
        }
    }

    fn close(mut self, outcomes: &[u8], rules: &Rules<B>) -> BlockCount {
        if let Some((index, position)) = self.first {
            let search = published_search(rules, &position, None);
            self.witnesses.push(Witness::Path {
                index,
                length: bounded(search.length()),
                expansions: bounded(search.expansions),
            });
            self.witnesses.sort_by_key(Witness::index);
        }
        BlockCount {
            tally: Tally {
                cells: cells(outcomes),
                depths: self.depths,
                digest: Digest::of_block(self.block, outcomes),
            },
            witnesses: self.witnesses,
        }
    }
}

/// The histogram of outcome bytes.
fn cells(outcomes: &[u8]) -> BTreeMap<Cell, u64> {
    let mut counts = [0; 256];
    for &outcome in outcomes {
        counts[usize::from(outcome)] += 1;
    }
    (0..).zip(counts).filter(|&(_, count)| count > 0).collect()
}

/// A search ends long before 2^32 positions: memory does.
fn bounded(count: u64) -> u32 {
    u32::try_from(count).expect("a search of fewer than 2^32 positions")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Variant;

    #[test]
    fn witnesses_are_kept_by_block_alone() {
        assert!(keeps_path(0) && keeps_path(1023) && keeps_path(1024) && keeps_path(1152));
        assert!(!keeps_path(1025) && !keeps_path(1151));
    }

    #[test]
    fn a_cut_block_is_the_beginning_of_a_whole_one() {
        let counter = Counter::new(&Campaign::new(&Variant::MINISHOGI, 1)).expect("tables");
        let whole = counter.block(5, BLOCK);
        let cut = counter.block(5, 100);
        assert_eq!(cut.tally.samples(), 100);
        assert_eq!(whole.tally.samples(), BLOCK);
        assert_ne!(cut.tally.digest, whole.tally.digest);
        let first = whole
            .witnesses
            .iter()
            .find(|w| matches!(w, Witness::Path { .. }));
        assert!(cut.witnesses.contains(first.expect("a reachable sample")));
    }
}
