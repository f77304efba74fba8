//! What a coordinator takes upon itself, on the command line.

use std::time::Duration;

use kazoe_coordinator::service::limits::Limits;
use tracing::warn;

use crate::fd_limit::{self, Shortage};
use crate::{duration_arg, quantity};

/// The heading of each of these flags: one of the whole group would stand over the flags after it as well.
const HEADING: &str = "Limits";

/// The bounds that an operator may change. Each has a default that holds 10,000 workers behind one address
/// with one token.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LimitArgs {
    /// The limit of concurrent connections.
    #[arg(
        help_heading = HEADING,
        long,
        value_name = "N",
        default_value_t = Limits::default().connections,
        value_parser = quantity::narrow::<usize>,
        env = "KAZOE_MAX_CONNECTIONS"
    )]
    max_connections: usize,

    /// The limit of concurrent connections from one address (IPv6: one /64). A laboratory behind one router is
    /// one address.
    #[arg(
        help_heading = HEADING,
        long,
        value_name = "N",
        default_value_t = Limits::default().connections_per_address,
        value_parser = quantity::narrow::<usize>,
        env = "KAZOE_MAX_CONNECTIONS_PER_ADDRESS"
    )]
    max_connections_per_address: usize,

    /// The limit of claims a second under one token, and of messages with tallies; bursts of four seconds are
    /// allowed.
    #[arg(
        help_heading = HEADING,
        long,
        value_name = "N",
        default_value_t = Limits::default().rate,
        value_parser = quantity::positive::<u32>,
        env = "KAZOE_MAX_RATE"
    )]
    max_rate: u32,

    /// The limit of concurrent leases under one token; a worker needs two.
    #[arg(
        help_heading = HEADING,
        long,
        value_name = "N",
        default_value_t = Limits::default().leases_per_token,
        value_parser = quantity::parse,
        env = "KAZOE_MAX_LEASES"
    )]
    max_leases: u64,

    /// The timeout of a connection without a valid token.
    #[arg(
        help_heading = HEADING,
        long,
        value_name = "TIME",
        default_value = "20s",
        value_parser = duration_arg::parse,
        env = "KAZOE_MAX_NEWCOMER"
    )]
    max_newcomer: Duration,

    /// The timeout of a call, and of an incoming message.
    #[arg(
        help_heading = HEADING,
        long,
        value_name = "TIME",
        default_value = "1m",
        value_parser = duration_arg::parse,
        env = "KAZOE_MAX_CALL"
    )]
    max_call: Duration,

    /// The timeout of an unread answer.
    #[arg(
        help_heading = HEADING,
        long,
        value_name = "TIME",
        default_value = "1m",
        value_parser = duration_arg::parse,
        env = "KAZOE_MAX_UNREAD"
    )]
    max_unread: Duration,

    /// The maximum age of a connection; its peer then reconnects.
    #[arg(
        help_heading = HEADING,
        long,
        value_name = "TIME",
        default_value = "1h",
        value_parser = duration_arg::parse,
        env = "KAZOE_MAX_AGE"
    )]
    max_age: Duration,
}

impl LimitArgs {
    /// The bounds.
    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            connections: self.max_connections,
            connections_per_address: self.max_connections_per_address,
            rate: self.max_rate,
            leases_per_token: self.max_leases,
            newcomer: self.max_newcomer,
            call: self.max_call,
            stall: self.max_unread,
            age: self.max_age,
        }
    }

    /// Raises the limit of open files for this number of connections, or says how many there are.
    pub(crate) fn prepare(&self) {
        let connections = self.limits().connections_and_strangers() as u64;
        if let Err(Shortage { wanted, most }) = fd_limit::raise_for(connections) {
            warn!(
                handles = most,
                wanted,
                "the limit of open files is below the limit of connections; raise `ulimit -n`, or \
                 LimitNOFILE in a unit of systemd"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        limits: LimitArgs,
    }

    #[test]
    fn flags_override_the_default_limits() {
        let limits = Line::try_parse_from(["kazoe"]).unwrap().limits.limits();
        assert_eq!(limits, Limits::default());
        let flags = ["kazoe", "--max-rate", "7", "--max-unread", "2s"];
        let limits = Line::try_parse_from(flags).unwrap().limits.limits();
        let wanted = Limits {
            rate: 7,
            stall: Duration::from_secs(2),
            ..Limits::default()
        };
        assert_eq!(limits, wanted);
        assert!(Line::try_parse_from(["kazoe", "--max-rate", "0"]).is_err());
    }
}
