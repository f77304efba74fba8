//! Leases: who holds which segments until when.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use kazoe_common::census::{Cut, Segment, Tally, Witness};

use super::LedgerError;
use crate::leasing::{Millis, Purpose};

/// Who acts, by its credential and never by what a message says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Who {
    /// The person or laboratory that answers for the worker.
    pub owner: String,
    /// The worker's id.
    pub worker: String,
    /// The build it runs.
    pub build: String,
    /// Whether it acts as the operator, who settles disputes alone.
    pub operator: bool,
}

/// Names one lease: a number of the database's sequence and a random part.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token {
    /// The number.
    pub sequence: i64,
    /// The random part.
    pub secret: [u8; 8],
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}-{:016x}",
            self.sequence,
            u64::from_be_bytes(self.secret)
        )
    }
}

/// The secret stays out of logs.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}-..)", self.sequence)
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let (sequence, secret) = text.split_once('-').ok_or(TokenError)?;
        if secret.len() != 16 || !secret.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(TokenError);
        }
        Ok(Token {
            sequence: sequence.parse().map_err(|_| TokenError)?,
            secret: u64::from_str_radix(secret, 16)
                .map_err(|_| TokenError)?
                .to_be_bytes(),
        })
    }
}

/// A text that no token is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenError;

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token is a number, a hyphen and 16 hexadecimal digits")
    }
}

impl std::error::Error for TokenError {}

/// A request for segments of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The worker that asks.
    pub who: Who,
    /// The most segments that it wants.
    pub want: u32,
    /// How long the lease holds.
    pub hold: Duration,
}

/// One segment of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent {
    /// The segment.
    pub segment: Segment,
    /// How many samples it had when it was lent.
    pub samples: u64,
    /// What it is lent for.
    pub purpose: Purpose,
}

/// Segments lent to one worker until a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The token that extends or ends it and under which tallies arrive.
    pub token: Token,
    /// The campaign's id.
    pub campaign: String,
    /// What is lent, at least one segment.
    pub segments: Vec<Lent>,
    /// When it was claimed, by the database's clock.
    pub claimed_at: Millis,
    /// Until when it holds, by the database's clock.
    pub deadline: Millis,
}

/// The tally of one finished segment, as it arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The segment.
    pub segment: Segment,
    /// How many samples were counted: those the segment had when it was lent.
    pub samples: u64,
    /// What was counted.
    pub tally: Tally,
    /// What is kept of single samples, ascending by index.
    pub witnesses: Vec<Witness>,
    /// How much CPU time it took, by the word of whoever counted. It is kept beside the tally, and compared
    /// with nothing.
    pub cpu: Option<Duration>,
}

/// Tallies that arrive under one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// The token.
    pub token: Token,
    /// The tallies, each of another segment.
    pub deliveries: Arc<[Delivery]>,
}

impl Parcel {
    /// Returns about how many rows it becomes.
    pub(crate) fn rows(&self) -> usize {
        let rows = self
            .deliveries
            .iter()
            .map(|one| 8 + one.tally.cells.len() + one.tally.depths.len() + one.witnesses.len());
        rows.sum()
    }
}

impl Delivery {
    /// What can be checked of a tally by itself: its identities, and that its witnesses are its own.
    ///
    /// # Errors
    /// [`LedgerError::Samples`], [`LedgerError::Tally`] or [`LedgerError::Witness`].
    pub fn check(&self, cut: &Cut) -> Result<(), LedgerError> {
        let &Delivery {
            segment, samples, ..
        } = self;
        let broken = |broken| LedgerError::Tally { segment, broken };
        let most = cut.segment_samples();
        if !(1..=most).contains(&samples) {
            return Err(LedgerError::Samples {
                segment,
                samples,
                most,
            });
        }
        self.tally.check(samples).map_err(broken)?;
        let first = segment.saturating_mul(cut.segment_samples());
        let inside = first..first.saturating_add(samples);
        let mut last = None;
        for witness in &self.witnesses {
            let key = (witness.index(), matches!(witness, Witness::Path { .. }));
            let possible = match *witness {
                Witness::Unreachable { depth, .. } => depth >= 1,
                Witness::Path { length, .. } => length >= 1,
            };
            if !possible || !inside.contains(&key.0) || last.is_some_and(|last| last >= key) {
                return Err(LedgerError::Witness {
                    segment,
                    index: key.0,
                });
            }
            last = Some(key);
        }
        Ok(())
    }
}
