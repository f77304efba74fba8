//! Witnesses: the few samples of a block about which more is kept than their outcome.

/// What is kept of one sample, by rules that depend on its index alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Witness {
    /// Of every block, each of the first four unreachable samples of depth 1 or more.
    Unreachable {
        /// The sample's index in the campaign.
        index: u64,
        /// The most plies that can be traced back.
        depth: u32,
    },
    /// In each of the blocks 0 to 1023 and then in every 128th, the first reachable sample under the
    /// published search.
    Path {
        /// The sample's index in the campaign.
        index: u64,
        /// L: positions on the path found, both ends included.
        length: u32,
        /// E: positions taken from the open list.
        expansions: u32,
    },
}

impl Witness {
    /// The sample's index in the campaign.
    #[must_use]
    pub const fn index(&self) -> u64 {
        match *self {
            Witness::Unreachable { index, .. } | Witness::Path { index, .. } => index,
        }
    }
}
