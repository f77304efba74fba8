//! The census: from a campaign and a block number to a tally.

mod campaign;
mod outcome;
mod tally;
mod witness;

pub use campaign::{BLOCK, Block, Campaign, CampaignError, Cut, Design, PopulationName, Segment};
pub use outcome::Outcome;
pub use tally::{Cell, Digest, Tally, TallyError};
pub use witness::Witness;
