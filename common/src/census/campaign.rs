//! What is counted and how the work is cut.

use std::fmt;
use std::ops::Range;

use crate::game::Variant;

/// Samples in a block.
pub const BLOCK: u64 = 4096;

/// A block's number in its campaign.
pub type Block = u64;

/// A segment's number in its campaign.
pub type Segment = u64;

/// The populations there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PopulationName {
    /// The published population P_K.
    Candidates,
}

impl PopulationName {
    /// The name in keys and on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PopulationName::Candidates => "candidates",
        }
    }

    /// The population with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        (name == "candidates").then_some(PopulationName::Candidates)
    }
}

/// The designs there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Design {
    /// Each sample ends in one outcome; the outcomes are the alphabet.
    Plain,
}

impl Design {
    /// The name on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Design::Plain => "plain",
        }
    }

    /// The design with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        (name == "plain").then_some(Design::Plain)
    }
}

/// What is counted: everything that can change an outcome, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// The rules.
    pub variant: &'static Variant,
    /// Where samples are drawn.
    pub population: PopulationName,
    /// How a sample becomes a record.
    pub design: Design,
    /// The seed of the draws.
    pub seed: u64,
    /// The most positions that one search may expand; `None` searches to the end.
    pub cap: Option<u64>,
}

impl Campaign {
    /// The campaign `plain` on `candidates` without a cap.
    #[must_use]
    pub const fn new(variant: &'static Variant, seed: u64) -> Self {
        Campaign {
            variant,
            population: PopulationName::Candidates,
            design: Design::Plain,
            seed,
            cap: None,
        }
    }

    /// The text that the campaign's identity is made of.
    #[must_use]
    pub fn canonical(&self) -> String {
        let cap = self
            .cap
            .map_or_else(|| "none".to_owned(), |cap| cap.to_string());
        format!(
            "kazoe-campaign/1 variant={} population={} design={} seed={} cap={cap}",
            self.variant.id,
            self.population.name(),
            self.design.name(),
            self.seed
        )
    }

    /// The short stable name of the campaign: the first 10 hexadecimal digits of the BLAKE3 hash of
    /// [`canonical`](Self::canonical).
    #[must_use]
    pub fn id(&self) -> String {
        blake3::hash(self.canonical().as_bytes()).to_hex()[..10].to_owned()
    }
}

/// How a campaign's samples are cut into segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// How many samples are wanted, at least 1.
    pub samples: u64,
    /// Blocks in a segment, at least 1; the last segment may have fewer and its last block be cut.
    pub segment_blocks: u64,
}

impl Cut {
    /// Segments of 256 blocks unless the campaign says otherwise.
    pub const SEGMENT_BLOCKS: u64 = 256;

    /// Checks the numbers.
    ///
    /// # Errors
    /// Samples outside 1 to 2^62, or a segment outside 1 to 2^20 blocks.
    pub fn new(samples: u64, segment_blocks: u64) -> Result<Self, CampaignError> {
        if !(1..=1 << 62).contains(&samples) {
            return Err(CampaignError::Samples(samples));
        }
        if !(1..=1 << 20).contains(&segment_blocks) {
            return Err(CampaignError::SegmentBlocks(segment_blocks));
        }
        Ok(Cut {
            samples,
            segment_blocks,
        })
    }

    /// Samples in a whole segment.
    #[must_use]
    pub const fn segment_samples(&self) -> u64 {
        self.segment_blocks * BLOCK
    }

    /// How many segments there are.
    #[must_use]
    pub const fn segments(&self) -> Segment {
        self.samples.div_ceil(self.segment_samples())
    }

    /// How many samples a segment has.
    #[must_use]
    pub fn samples_of(&self, segment: Segment) -> u64 {
        let first = segment * self.segment_samples();
        self.samples
            .saturating_sub(first)
            .min(self.segment_samples())
    }

    /// A segment's blocks.
    #[must_use]
    pub fn blocks_of(&self, segment: Segment) -> Range<Block> {
        let first = segment * self.segment_blocks;
        first..first + self.samples_of(segment).div_ceil(BLOCK)
    }

    /// How many samples a block has.
    #[must_use]
    pub fn samples_in(&self, block: Block) -> u64 {
        self.samples.saturating_sub(block * BLOCK).min(BLOCK)
    }
}

/// Why a campaign cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CampaignError {
    /// Too few or too many samples.
    Samples(u64),
    /// A segment too small or too large.
    SegmentBlocks(u64),
}

impl fmt::Display for CampaignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CampaignError::Samples(n) => {
                write!(f, "{n} samples: a campaign has 1 to 2^62 of them")
            }
            CampaignError::SegmentBlocks(n) => {
                write!(f, "{n} blocks in a segment: it has 1 to 2^20 of them")
            }
        }
    }
}

impl std::error::Error for CampaignError {}
