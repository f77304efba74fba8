//! Positions, moves and their notation, through the public interface.

#[path = "../data/reader.rs"]
mod data;

mod local;
mod perft;
mod sfen;
mod variants;
