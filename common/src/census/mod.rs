//! The census: from a campaign and a block number to a tally.

mod campaign;
mod certificate;
mod counter;
mod explain;
mod filters;
mod fingerprint;
mod funnel;
mod judge;
mod key;
mod open;
mod outcome;
mod search;
mod segment_result;
mod tally;
mod witness;

pub use campaign::{BLOCK, Block, Campaign, CampaignError, Cut, Design, PopulationName, Segment};
pub use counter::{BlockCount, Counter};
pub use explain::{Explanation, Path, PathError};
pub use filters::{break_of_rules, rejection};
pub use fingerprint::{Fingerprint, FingerprintError};
pub use funnel::{Arm, Funnel};
pub use judge::{Judge, Proof, Ruling};
pub use outcome::Outcome;
pub use search::{Search, Verdict, published_search};
pub use segment_result::SegmentResult;
pub use tally::{Cell, Digest, Tally, TallyError};
pub use witness::Witness;
