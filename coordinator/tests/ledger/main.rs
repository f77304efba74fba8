//! The ledger: what every database must do (`conformance`, `interleavings`), run on SQLite and on
//! PostgreSQL, and what only one of them does.

mod conformance;
mod crowds;
mod faults;
mod files;
mod foreign;
mod interleavings;
mod lookups;
mod made_up;
mod mounts;
mod paces;
mod pooler;
mod postgres;
mod postgres_faults;
mod postgres_schema;
mod postgres_settings;
mod proxy;
mod readers;
mod server;
mod small_disk;
mod sqlite;
mod trust;
mod workers;
