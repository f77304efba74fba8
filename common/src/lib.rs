//! The mathematics of Kazoe: a deterministic function from (campaign, block) to a tally, and from
//! tallies to an estimate.
//!
//! No clock, no thread, no float and no hash-map order reaches a tally, and nothing here does IO.
//! The modules stand in the order in which the data flows.

pub mod game;

pub mod population;

pub mod census;

pub mod estimate;
