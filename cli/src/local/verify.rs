//! Computing random segments of a ledger again, and comparing.

use std::collections::BTreeMap;
use std::sync::Arc;

use kazoe_common::census::{Counter, Cut, Segment, Tally, Witness};
use kazoe_coordinator::ledger::{CampaignRecord, Ledger, LedgerError};
use kazoe_coordinator::ledger_file::{Entry, FileError, Sums};
use kazoe_worker::compute::{Computed, Engine};
use kazoe_worker::stop::{Order, Stop};
use kazoe_worker::work_source::Job;
use tokio::sync::mpsc::UnboundedReceiver;

/// A segment whose recomputation differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The segment.
    pub(crate) segment: Segment,
    /// What the ledger says.
    pub(crate) stored: Tally,
    /// What was computed now.
    pub(crate) computed: Tally,
    /// Whether the witnesses differ; the tallies may be equal then.
    pub(crate) witnesses: bool,
}

/// What was verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verified {
    /// Segments that there are.
    pub(crate) segments: u64,
    /// What the ledger says of all of them.
    pub(crate) stored: Sums,
    /// What was computed of those computed again.
    pub(crate) computed: Sums,
    /// How a ledger file differs from what it states of itself.
    pub(crate) changed: Option<String>,
    /// Segments computed again.
    pub(crate) checked: u64,
    /// Samples of those.
    pub(crate) samples: u64,
    /// Those that differ, ascending.
    pub(crate) differences: Vec<Difference>,
    /// Whether it was stopped before it was through.
    pub(crate) stopped: bool,
}

/// What a ledger says of a segment.
#[derive(Debug)]
struct Stored {
    segment: Segment,
    samples: u64,
    tally: Tally,
    witnesses: Vec<Witness>,
}

/// Computes a random share of segments again. Which ones depends on the seed and their numbers alone;
/// one at least is chosen. It writes nothing and holds a few segments at a time.
#[derive(Debug)]
pub(crate) struct Checker {
    engine: Engine<Counter>,
    counter: Arc<Counter>,
    finished: UnboundedReceiver<Computed>,
    stop: Arc<Stop>,
    cut: Cut,
    share: f64,
    seed: u64,
    /// At work.
    waiting: BTreeMap<Segment, Stored>,
    /// The one with the least number drawn, if none was chosen yet.
    least: Option<(u64, Stored)>,
    verified: Verified,
}

/// Segments at work at a time.
const AT_WORK: usize = 16;

/// Segments read from a ledger at a time.
const PAGE: u32 = 256;

impl Checker {
    /// Starts threads that compute a share, from 0 to 1, of the segments offered.
    pub(crate) fn start(
        counter: Arc<Counter>,
        cut: Cut,
        threads: usize,
        share: f64,
        seed: u64,
        stop: Arc<Stop>,
    ) -> Result<Self, String> {
        let (engine, finished) = Engine::start(threads, Arc::clone(&stop))
            .map_err(|error| format!("cannot start threads: {error}"))?;
        Ok(Checker {
            engine,
            counter,
            finished,
            stop,
            cut,
            share,
            seed,
            waiting: BTreeMap::new(),
            least: None,
            verified: Verified::default(),
        })
    }

    /// Verifies a campaign of a ledger; disputed segments are left out.
    pub(crate) async fn ledger<L: Ledger>(
        mut self,
        ledger: &L,
        campaign: &CampaignRecord,
    ) -> Result<Verified, LedgerError> {
        let mut from = 0;
        loop {
            let page = ledger.segments(&campaign.id, from, PAGE).await?;
            let Some(last) = page.last() else { break };
            from = last.segment + 1;
            for accepted in page {
                if accepted.disputed || self.stop.order() != Order::Run {
                    continue;
                }
                self.verified.stored.add(&accepted.tally);
                let segment = accepted.segment;
                let draw = self.draw(segment);
                if !self.wants(draw) {
                    self.verified.segments += 1;
                    continue;
                }
                let range = segment..segment + 1;
                let stored = Stored {
                    segment,
                    samples: accepted.samples,
                    tally: accepted.tally,
                    witnesses: ledger.witnesses(&campaign.id, range).await?,
                };
                self.offer(draw, stored).await;
            }
        }
        Ok(self.finish().await)
    }

    /// Verifies a ledger file, which is read to its end in any case. A file whose lines can all be read is
    /// verified even where it differs from what it states of itself.
    pub(crate) async fn file(
        mut self,
        file: impl Iterator<Item = Result<Entry, FileError>>,
    ) -> Result<Verified, FileError> {
        for entry in file {
            let entry = match entry {
                Err(error) if error.is_of_the_whole() => {
                    self.verified.changed = Some(error.to_string());
                    break;
                }
                other => other?,
            };
            self.verified.stored.add(&entry.tally);
            let draw = self.draw(entry.segment);
            let stored = Stored {
                segment: entry.segment,
                samples: entry.samples,
                tally: entry.tally,
                witnesses: entry.witnesses,
            };
            if self.wants(draw) {
                self.offer(draw, stored).await;
            } else {
                self.verified.segments += 1;
            }
        }
        Ok(self.finish().await)
    }

    /// A number drawn for a segment: the finaliser of SplitMix64 over both seeds' mix, which any seed
    /// makes another one.
    const fn draw(&self, segment: Segment) -> u64 {
        const fn mix(mut z: u64) -> u64 {
            z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
        mix(mix(self.seed) ^ segment)
    }

    fn chosen(&self, draw: u64) -> bool {
        // 53 bits, as many as the share has.
        #[expect(clippy::cast_precision_loss, reason = "exact: 53 bits fit")]
        let uniform = (draw >> 11) as f64 / (1u64 << 53) as f64;
        uniform < self.share
    }

    /// Whether a segment is chosen, or may be the one that is if none is.
    fn wants(&self, draw: u64) -> bool {
        let none = self.verified.checked == 0 && self.waiting.is_empty();
        let least = self.least.as_ref().is_none_or(|(least, _)| draw < *least);
        self.chosen(draw) || (none && least)
    }

    async fn offer(&mut self, draw: u64, stored: Stored) {
        self.verified.segments += 1;
        if !self.chosen(draw) {
            self.least = Some((draw, stored));
            return;
        }
        self.least = None;
        self.compute(stored);
        while self.waiting.len() > AT_WORK {
            match self.finished.recv().await {
                Some(finished) => self.compare(finished),
                None => break,
            }
        }
    }

    fn compute(&mut self, stored: Stored) {
        if self.stop.order() != Order::Run {
            return;
        }
        let job = Job {
            lease: 0,
            segment: stored.segment,
            first_block: stored.segment * self.cut.segment_blocks,
            samples: stored.samples,
        };
        self.engine.push(&self.counter, [job]);
        self.waiting.insert(stored.segment, stored);
    }

    fn compare(&mut self, (_, computed): Computed) {
        let Some(stored) = self.waiting.remove(&computed.segment) else {
            return;
        };
        self.verified.checked += 1;
        self.verified.samples += stored.samples;
        self.verified.computed.add(&computed.tally);
        let witnesses = stored.witnesses != computed.witnesses;
        if witnesses || stored.tally != computed.tally {
            self.verified.differences.push(Difference {
                segment: stored.segment,
                stored: stored.tally,
                computed: computed.tally,
                witnesses,
            });
        }
    }

    async fn finish(mut self) -> Verified {
        if let Some((_, stored)) = self.least.take() {
            self.compute(stored);
        }
        self.engine.close();
        while let Some(finished) = self.finished.recv().await {
            self.compare(finished);
        }
        self.verified.stopped = self.stop.order() != Order::Run;
        self.verified
            .differences
            .sort_by_key(|difference| difference.segment);
        self.verified
    }
}
