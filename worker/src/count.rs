//! What counts a block.

use kazoe_common::census::{Block, Counter, Tally, Witness};

/// The census of one block: its tally, and its witnesses ascending by index.
pub trait Count: Send + Sync + 'static {
    /// Counts the first `samples` samples of a block. A pure function.
    fn block(&self, block: Block, samples: u64) -> (Tally, Vec<Witness>);
}

impl Count for Counter {
    fn block(&self, block: Block, samples: u64) -> (Tally, Vec<Witness>) {
        let count = Counter::block(self, block, samples);
        (count.tally, count.witnesses)
    }
}

impl<F> Count for F
where
    F: Fn(Block, u64) -> (Tally, Vec<Witness>) + Send + Sync + 'static,
{
    fn block(&self, block: Block, samples: u64) -> (Tally, Vec<Witness>) {
        self(block, samples)
    }
}
