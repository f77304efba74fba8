//! What a build proves of itself: the whole tallies of a few blocks.
//!
//! Two builds that count alike have the same ones. They are stored with each campaign, and a worker
//! shows those of [`known`] before its first lease.

use std::collections::BTreeMap;

use kazoe_common::census::{BLOCK, Block, Campaign, Counter, Tally};
use kazoe_common::game::Variant;
use kazoe_common::population::CandidatesError;

use crate::count::Count;

/// How many blocks of a campaign are computed, from block 0 on.
const BLOCKS: Block = 2;

/// The seed of the campaigns that workers are known by; any would do.
const SEED: u64 = 20_261_130;

/// Campaigns, each with the tallies of its first blocks.
pub type Tallies = Vec<(Campaign, BTreeMap<Block, Tally>)>;

/// The tallies of a campaign's first blocks.
pub fn tallies(count: &impl Count) -> BTreeMap<Block, Tally> {
    (0..BLOCKS)
        .map(|block| (block, count.block(block, BLOCK).0))
        .collect()
}

/// The tallies of one campaign for each way of counting that this build knows: about a second's work.
///
/// # Errors
/// If a variant's population cannot be ranked.
pub fn known() -> Result<Tallies, CandidatesError> {
    Variant::ALL
        .iter()
        .map(|variant| {
            let campaign = Campaign::new(variant, SEED);
            let tallies = tallies(&Counter::new(&campaign)?);
            Ok((campaign, tallies))
        })
        .collect()
}
