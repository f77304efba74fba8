//! The worker of Kazoe: takes leases, computes their segments on all cores, hands in tallies.
//!
//! The modules stand in the order in which a session uses them: [`stop`] is how it is asked to end,
//! [`count`] what counts a block, [`self_test`] how a build shows that it counts right, [`work_source`] where leases
//! come from and tallies go, [`compute`] what its cores do, [`session`] the loop that joins them. The
//! same loop serves `kazoe run`, where the desk is a ledger in the same process, and a worker on a
//! network, where it is [`remote`]: reached by a [`channel`], perhaps through a [`proxy`], with [`backoff`].

pub mod stop;

pub mod count;

pub mod self_test;

pub mod work_source;

mod cpu;

pub mod compute;

pub mod session;

pub mod channel;

pub mod proxy;

mod tunnel;

pub mod backoff;

pub mod remote;

/// The names of the places at which a test stops a process.
#[cfg(feature = "failpoints")]
pub const FAILPOINTS: [&str; 5] = [
    "worker.claimed",
    "worker.deliver",
    "worker.delivered",
    "worker.end",
    "worker.ended",
];
