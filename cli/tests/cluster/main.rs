//! A coordinator on PostgreSQL and workers, as processes of the binary: whatever is killed, a campaign
//! ends with the digest that one process gets.

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
mod identity;
#[cfg(feature = "failpoints")]
mod late;
mod listening;
mod parts;
#[cfg(feature = "failpoints")]
mod points;
mod presence;
mod proxied;
mod random_kills;
mod repeats;
mod restore;
mod secure;
mod signals;
mod silent;
mod states;
mod tokens;
mod trust;
