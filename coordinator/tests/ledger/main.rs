//! The ledger: what every database must do (`conformance`), run on SQLite, and what only SQLite does.

mod conformance;
mod faults;
mod files;
mod interleavings;
mod made_up;
mod small_disk;
mod sqlite;
