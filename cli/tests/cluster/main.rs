//! A coordinator on PostgreSQL and workers, as processes of the binary: whatever is killed, a campaign
//! ends with the digest that one process gets.

mod authority;
mod bench;
mod by_hand;
mod campaign;
mod clocks;
mod completing;
mod cutting;
mod database;
#[cfg(feature = "failpoints")]
mod deadly;
mod disputes;
#[cfg(feature = "failpoints")]
mod failpoints;
mod faults;
mod foreign;
mod full_disk;
mod house;
mod identity;
#[cfg(feature = "failpoints")]
mod late;
mod listening;
#[path = "../../../coordinator/tests/ledger/mounts.rs"]
#[expect(dead_code, reason = "the coordinator's tests use more of it")]
mod mounts;
mod parts;
#[cfg(feature = "failpoints")]
mod points;
mod presence;
mod proxied;
#[path = "../../../coordinator/tests/ledger/proxy.rs"]
mod proxy;
mod random_kills;
mod repeats;
mod restore;
mod secure;
#[path = "../../../coordinator/tests/ledger/server.rs"]
#[expect(dead_code, reason = "the coordinator's tests use more of it")]
mod server;
mod signals;
mod silent;
mod states;
mod tokens;
mod trust;
