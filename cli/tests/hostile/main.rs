//! Peers that mean ill. Whatever they do, the coordinator's memory stays bounded, no honest call is
//! refused, and the campaign ends with the digest that one process gets.
//!
//! With `HOSTILE_LATENCIES` naming a file, each test adds a line to it: how long honest calls took meanwhile.

mod floods;
mod healthy;
mod messages;
mod quiet;
mod resets;
mod secrets;
mod slow;
mod tokens;
