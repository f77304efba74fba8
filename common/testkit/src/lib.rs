//! What the tests of several crates share and needs no coordinator: the tables of known answers in
//! `common/tests/data`, and variants that no game has.

pub mod tables;
pub mod variants;
