//! What one coordinator takes upon itself, and no more: every bound that keeps its memory and its
//! database's connections safe from peers that mean ill, or merely are too many.
//!
//! The operator may change [`Limits`]; the constants below follow from the protocol, from what an honest
//! peer needs, and from one another. docs/security.md says what they add up to.

use std::time::Duration;

use crate::ledger::CONNECTIONS;

/// The bounds that an operator may change. The defaults hold 10,000 workers behind one address and with
/// one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections that have shown a good token, in all.
    pub connections: usize,
    /// Connections that have shown a good token, of one address.
    pub connections_per_address: usize,
    /// Claims a second under one token in the long run, and as many messages with tallies.
    pub rate: u32,
    /// Leases that go on under one token.
    pub leases_per_token: u64,
    /// How long a connection may take to show a good token, the TLS handshake included.
    pub newcomer: Duration,
    /// How long a call may take, and one message of a stream to arrive.
    pub call: Duration,
    /// How long a peer may leave unread what it was sent.
    pub stall: Duration,
    /// How old a connection may grow. Then it takes no new calls, and ends five minutes later at the latest.
    pub age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 16_000,
            connections_per_address: 12_000,
            rate: 5_000,
            leases_per_token: 40_000,
            newcomer: Duration::from_secs(20),
            call: Duration::from_secs(60),
            stall: Duration::from_secs(60),
            age: Duration::from_secs(3600),
        }
    }
}

/// Connections that have not shown a good token yet. One more, and the oldest of the address that has
/// most of them goes: who shows its token at once gets in, however many wait in silence.
pub(super) const STRANGERS: usize = 2_048;

/// Calls without a good token, those that need none included, after which a stranger's connection is closed.
pub(super) const STRANGER_CALLS: u32 = 100;

/// How long the calls on a connection that is too old may go on.
pub(super) const GRACE: Duration = Duration::from_secs(300);

/// Calls at once on one connection. A worker has at most five.
pub(super) const STREAMS: u32 = 100;

/// What may be sent to us unread, on one stream and on one connection. Small, for there may be many
/// connections; a message of a megabyte takes a second or two over a slow line all the same.
pub(super) const STREAM_WINDOW: u32 = 64 << 10;
pub(super) const CONNECTION_WINDOW: u32 = 128 << 10;

/// What is kept for a peer on one stream that it does not read, beside the message at hand.
pub(super) const SEND_BUFFER: usize = 64 << 10;

/// The headers of one call: a token and a dozen short words.
pub(super) const HEADERS: u32 = 8 << 10;

/// Streams that a peer opened and reset before we came to them, and resets of ours for its errors,
/// until the connection is closed: CVE-2023-44487 and what came after it.
pub(super) const RESETS: usize = 20;
pub(super) const ERROR_RESETS: usize = 64;

/// How often a silent connection is asked whether it still lives, and how long it may take to answer.
pub(super) const KEEP_ALIVE: (Duration, Duration) =
    (Duration::from_secs(30), Duration::from_secs(20));

/// The largest message with tallies: those and the witnesses of a segment of some 300,000 blocks, or of many
/// smaller ones.
pub(super) const TALLIES: usize = 16 << 20;
/// Self-tests: 64 of 64 blocks are about half of it.
pub(super) const PROOFS: usize = 1 << 20;
/// What names a thing or two.
pub(super) const WORDS: usize = 64 << 10;
/// The largest answer: a report with the paths of a very large campaign.
pub(super) const ANSWER: usize = 64 << 20;

/// Messages of a size up to this one do not count against [`INTAKE`].
pub(super) const SMALL: usize = 16 << 10;

/// Bytes of larger messages that are taken in at once, those included that are being worked on. Decoded
/// they take at most [`kazoe_proto::decode_cost::MOST`] times as many.
pub(super) const INTAKE: usize = 32 << 20;

/// And of those under one token: whoever announces much and sends it slowly keeps no other from sending.
pub(super) const INTAKE_EACH: usize = INTAKE / 2;

const _: () = assert!(
    TALLIES <= INTAKE_EACH,
    "there is room for the largest message"
);

/// Calls to `Campaigns` and `Admin` whose answers are not read to their end: in all and of one token;
/// likewise calls to health and reflection that are streams, of one address.
pub(super) const UNREAD: Share = Share { all: 256, each: 32 };

/// What may be sent at once after a quiet while, as so many seconds of the rate.
pub(super) const BURST_SECONDS: u32 = 4;

/// Joins under one token: a laboratory's workers all at once, and then now and then one. Each leaves a row.
pub(super) const JOINS: Rate = Rate {
    each_second: 20.0,
    burst: 12_000.0,
};

/// Heartbeats under one token: those of 20,000 leases of a minute, each told four times.
pub(super) const BEATS: Rate = Rate {
    each_second: 2_000.0,
    burst: 20_000.0,
};

/// Calls of operators and viewers under one token.
pub(super) const CALLS: Rate = Rate {
    each_second: 200.0,
    burst: 1_000.0,
};

/// How often something may happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    /// In the long run.
    pub(super) each_second: f64,
    /// At once, after a quiet while.
    pub(super) burst: f64,
}

impl Limits {
    /// Connections at once, whoever they are from.
    #[must_use]
    pub const fn connections_and_strangers(&self) -> usize {
        self.connections.saturating_add(STRANGERS)
    }

    /// Claims under one token, and messages with tallies.
    pub(super) fn work_rate(&self) -> Rate {
        Rate {
            each_second: f64::from(self.rate),
            burst: f64::from(self.rate) * f64::from(BURST_SECONDS),
        }
    }
}

/// Connections to the database that batches of claims and joins have, of tallies, and of heartbeats and ends. Each
/// kind waits for its own connections only, so heartbeats wait for no claim.
pub(super) const CLAIMING: u32 = 3;
pub(super) const KEEPING: u32 = 4;
pub(super) const TELLING: u32 = 4;

/// Connections to the database for the calls of operators and viewers, one a call.
pub(super) const ASKING: u32 = 3;

/// How long a call of an operator or viewer waits for its connection.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The event log and the reading of the credentials.
const OWN: u32 = 2;

const _: () = assert!(
    CLAIMING + KEEPING + TELLING + ASKING + OWN <= CONNECTIONS,
    "each kind of call has database connections of its own"
);

/// Requests in progress, waiting ones included: in all, and of one token. A quarter for one token, so that others
/// find room however much one asks, and wait for no more than this part of the requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) all: usize,
    pub(super) each: usize,
}

impl Share {
    const fn quarters(all: usize) -> Self {
        Share {
            all,
            each: all.div_ceil(4),
        }
    }
}

/// Joins, claims and leaves. A claim beyond them is put off.
pub(super) const CLAIMS: Share = Share::quarters(2_560);

/// Messages with tallies, which are kept in memory meanwhile ([`INTAKE`] bounds the large ones).
pub(super) const DELIVERIES: Share = Share::quarters(5_120);

/// Heartbeats and ends of leases.
pub(super) const HEARTBEATS: Share = Share::quarters(41_024);

/// Calls of operators and viewers.
pub(super) const QUESTIONS: Share = Share::quarters(1_027);

/// After how long a claim is put off.
pub(super) const DELAY: Duration = Duration::from_millis(500);

/// When somebody that cannot be served now should ask again: this, and up to as much again by chance.
pub(super) const AGAIN: Duration = Duration::from_secs(2);
