//! The ledger: what either database does (`conformance`), what the store of one machine does, and what the
//! cluster's database does.

mod batches;
mod conformance;
mod crowds;
mod disputes;
mod faults;
mod files;
mod foreign;
mod interleavings;
mod leases;
mod local_store;
mod lookups;
mod made_up;
mod paces;
mod pooler;
mod postgres;
mod postgres_faults;
mod postgres_schema;
mod postgres_settings;
mod readers;
mod single;
mod small_disk;
mod trust;
mod workers;
