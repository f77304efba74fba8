//! Peers that mean ill. Whatever they do, the coordinator's memory stays bounded, no honest call is
//! refused, and the campaign ends with the digest that one process gets.
//!
//! With `HOSTILE_LATENCIES` naming a file, each test adds a line to it: how long honest calls took meanwhile.

#[path = "../cluster/authority.rs"]
mod authority;
#[path = "../cluster/by_hand.rs"]
#[expect(dead_code, reason = "the cluster's tests use more of it")]
mod by_hand;
mod floods;
mod healthy;
#[path = "../cluster/house.rs"]
#[expect(dead_code, reason = "the cluster's tests use more of it")]
mod house;
mod messages;
mod quiet;
mod raw;
mod resets;
mod secrets;
#[path = "../../../coordinator/tests/ledger/server.rs"]
#[expect(dead_code, reason = "the coordinator's tests use more of it")]
mod server;
mod slow;
mod tokens;
