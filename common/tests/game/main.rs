//! Positions, moves and their notation, through the public interface.

mod independent;
mod local;
mod moves;
mod perft;
mod random;
mod sfen;
mod variants;
