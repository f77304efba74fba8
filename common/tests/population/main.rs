//! Ranks and sizes, through the public interface.

#[path = "../data/reader.rs"]
mod data;

#[path = "../data/variants.rs"]
mod variants;

mod published;
mod tiny;
