//! Positions, moves and their notation, through the public interface.

#[path = "../data/reader.rs"]
mod data;

#[path = "../data/variants.rs"]
#[expect(dead_code, reason = "the tiny boards are for other tests")]
mod shared_variants;

mod independent;
mod local;
mod moves;
mod perft;
mod random;
mod sfen;
mod variants;
