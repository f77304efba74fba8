//! Populations: finite sets of candidate positions with an exact size and a bijection rank <-> position.

mod candidates;
mod category;
mod combination;
mod kings;
mod radix;
mod rank;
mod sampler;
mod sections;
mod symmetry;

pub(crate) use candidates::GROUPS;
pub(crate) use category::Categories;
pub(crate) use combination::Binomials;

pub use candidates::{Candidates, RankOfError, UnrankError};
pub use rank::{Rank, RankError};
pub use sampler::{Draws, Sampler};
pub use sections::CandidatesError;
