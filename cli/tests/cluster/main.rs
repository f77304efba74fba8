//! A coordinator on PostgreSQL and workers, as processes of the binary: whatever is killed, a campaign
//! ends with the digest that one process gets.

mod by_hand;
mod campaign;
mod faults;
mod house;
mod identity;
mod parts;
mod random_kills;
mod secure;
#[path = "../../../coordinator/tests/ledger/server.rs"]
#[expect(dead_code, reason = "the coordinator's tests use more of it")]
mod server;
mod trust;
