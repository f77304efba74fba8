//! The worker of Kazoe: takes leases, computes their segments on all cores, hands in tallies.
//!
//! The modules stand in the order in which a session uses them: [`stop`] is how it is asked to end,
//! [`desk`] where it gets leases and hands in tallies, [`compute`] what its cores do, [`session`] the
//! loop that joins them. The same loop serves `kazoe run`, where the desk is a ledger in the same
//! process, and a worker on a network.

pub mod stop;

pub mod desk;

pub mod compute;

pub mod session;
