//! The loop against a desk that is a list: whatever the threads and the cutting, the sums are the
//! serial run's; a stop hands in what is finished and gives the rest back.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kazoe_common::census::{BLOCK, Block, Digest, SegmentResult, Tally, Witness};
use kazoe_proto::outcome::DeliveryOutcome;
use kazoe_worker::count::Count;
use kazoe_worker::session::{Pattern, SessionError, work};
use kazoe_worker::stop::Stop;
use kazoe_worker::work_source::{Job, LeaseNumber, Offer, Wish, WorkSource};

fn count(block: Block, samples: u64) -> (Tally, Vec<Witness>) {
    let mut tally = Tally {
        digest: Digest::of_block(block, &samples.to_le_bytes()),
        ..Tally::default()
    };
    tally
        .cells
        .insert(u32::try_from(block % 3).unwrap(), samples);
    tally.cells.insert(5, block + 1);
    let index = block * BLOCK;
    let path = Witness::Path {
        index,
        length: 2,
        expansions: 3,
    };
    (tally, vec![Witness::Unreachable { index, depth: 1 }, path])
}

/// Segments of `blocks` blocks, handed out in order.
#[derive(Debug)]
struct List<C> {
    count: Arc<C>,
    samples: u64,
    blocks: u64,
    next: u64,
    leases: BTreeMap<LeaseNumber, BTreeSet<u64>>,
    given_back: u64,
    most_held: usize,
    finished: Vec<SegmentResult>,
}

impl<C: Count> List<C> {
    fn new(count: C, samples: u64, blocks: u64) -> Self {
        List {
            count: Arc::new(count),
            samples,
            blocks,
            next: 0,
            leases: BTreeMap::new(),
            given_back: 0,
            most_held: 0,
            finished: Vec::new(),
        }
    }

    fn job(&self, lease: LeaseNumber, segment: u64) -> Job {
        let whole = self.blocks * BLOCK;
        Job {
            lease,
            segment,
            first_block: segment * self.blocks,
            samples: whole.min(self.samples - segment * whole),
        }
    }

    fn segments(&self) -> u64 {
        self.samples.div_ceil(self.blocks * BLOCK)
    }

    fn sum(&self) -> (Tally, u64, Vec<Witness>) {
        let mut sum = Tally::default();
        let mut samples = 0;
        let mut witnesses = Vec::new();
        let mut finished: Vec<&SegmentResult> = self.finished.iter().collect();
        finished.sort_by_key(|one| one.segment);
        for one in finished {
            sum.merge(&one.tally);
            samples += one.samples;
            witnesses.extend_from_slice(&one.witnesses);
        }
        (sum, samples, witnesses)
    }
}

impl<C: Count> WorkSource for List<C> {
    type Error = Infallible;
    type Count = C;

    async fn claim(&mut self, wish: Wish) -> Result<Offer<C>, Infallible> {
        let end = self.segments().min(self.next + u64::from(wish.segments));
        if self.next == end {
            return Ok(Offer::Over);
        }
        let lease = self.next;
        let jobs: Vec<Job> = (self.next..end)
            .map(|segment| self.job(lease, segment))
            .collect();
        self.leases.insert(lease, (self.next..end).collect());
        self.most_held = self.most_held.max(self.leases.len());
        self.next = end;
        let hold = Duration::from_millis(1);
        let count = Arc::clone(&self.count);
        Ok(Offer::Lease {
            lease,
            count,
            jobs,
            hold,
        })
    }

    async fn deliver(
        &mut self,
        lease: LeaseNumber,
        finished: Vec<SegmentResult>,
    ) -> Result<Vec<DeliveryOutcome>, Infallible> {
        let open = self.leases.get_mut(&lease).unwrap();
        for one in &finished {
            let held = open.remove(&one.segment);
            assert!(held, "each segment once, under its lease");
        }
        let receipts = vec![DeliveryOutcome::Accepted; finished.len()];
        self.finished.extend(finished);
        Ok(receipts)
    }

    async fn extend(&mut self, lease: LeaseNumber) -> Result<Option<Duration>, Infallible> {
        let held = self.leases.contains_key(&lease);
        Ok(held.then_some(Duration::from_secs(9)))
    }

    async fn end(&mut self, lease: LeaseNumber) -> Result<(), Infallible> {
        self.given_back += self.leases.remove(&lease).unwrap().len() as u64;
        Ok(())
    }
}

#[tokio::test]
async fn threads_and_cutting_change_nothing() {
    let samples = 37 * BLOCK + 11;
    let mut serial = (Tally::default(), samples, Vec::new());
    for block in 0..38 {
        let (tally, witnesses) = count(block, BLOCK.min(samples - block * BLOCK));
        serial.0.merge(&tally);
        serial.2.extend(witnesses);
    }
    for threads in [1, 2, 5] {
        for blocks in [1, 3, 16, 64] {
            let mut list = List::new(count, samples, blocks);
            let mut told = 0;
            let pattern = Pattern::new(threads);
            let stop = Arc::new(Stop::new());
            let summary = work(&mut list, pattern, stop, |_| told += 1).await.unwrap();
            assert_eq!(list.sum(), serial, "{threads} {blocks}");
            assert!(list.leases.is_empty() && list.given_back == 0);
            assert!(list.most_held <= 2);
            assert_eq!(summary.segments, list.segments());
            assert_eq!(summary.progress.computed, samples);
            assert_eq!(summary.progress.delivered, samples);
            assert!(!summary.stopped && told > 0);
        }
    }
}

/// Runs until the 21st block asks to stop, so many times.
async fn stopped(times: u32) -> List<impl Count> {
    let stop = Arc::new(Stop::new());
    let theirs = Arc::clone(&stop);
    let seen = AtomicU64::new(0);
    let counter = move |block, samples| {
        if seen.fetch_add(1, Ordering::Relaxed) == 20 {
            for _ in 0..times {
                theirs.request();
            }
        }
        count(block, samples)
    };
    let mut list = List::new(counter, 1 << 40, 8);
    let summary = work(&mut list, Pattern::new(2), stop, |_| {})
        .await
        .unwrap();
    assert!(summary.stopped);
    assert!(list.leases.is_empty());
    assert_eq!(list.finished.len() as u64 + list.given_back, list.next);
    let (sum, samples, _) = list.sum();
    assert_eq!(summary.progress.delivered, samples);
    let mut expected = Tally::default();
    for one in &list.finished {
        let first = one.segment * list.blocks;
        for block in first..first + 8 {
            expected.merge(&count(block, BLOCK).0);
        }
    }
    assert_eq!(sum, expected);
    list
}

#[tokio::test]
async fn the_first_stop_finishes_what_is_begun() {
    // In the third segment of 8 blocks: it is finished, the fourth is not begun.
    assert_eq!(stopped(1).await.finished.len(), 3);
}

#[tokio::test]
async fn the_second_stop_leaves() {
    assert_eq!(stopped(2).await.finished.len(), 2);
}

/// A desk that fails when something is handed in.
struct Broken<C>(List<C>);

impl<C: Count> WorkSource for Broken<C> {
    type Error = &'static str;
    type Count = C;

    async fn claim(&mut self, wish: Wish) -> Result<Offer<C>, &'static str> {
        self.0.claim(wish).await.map_err(|never| match never {})
    }

    async fn deliver(
        &mut self,
        _: LeaseNumber,
        _: Vec<SegmentResult>,
    ) -> Result<Vec<DeliveryOutcome>, &'static str> {
        Err("no room left")
    }

    async fn extend(&mut self, _: LeaseNumber) -> Result<Option<Duration>, &'static str> {
        Ok(None)
    }

    async fn end(&mut self, _: LeaseNumber) -> Result<(), &'static str> {
        Ok(())
    }
}

#[tokio::test]
async fn a_desk_that_fails_ends_the_session_and_its_cores() {
    let mut desk = Broken(List::new(count, 1 << 40, 1));
    let stop = Arc::new(Stop::new());
    let ended = work(&mut desk, Pattern::new(2), stop, |_| {}).await;
    assert!(matches!(ended, Err(SessionError::Source("no room left"))));
}

/// A desk whose leases are over as soon as more time is asked for, so often.
struct Revoked<C> {
    list: List<C>,
    left: u32,
}

impl<C: Count> WorkSource for Revoked<C> {
    type Error = Infallible;
    type Count = C;

    async fn claim(&mut self, _: Wish) -> Result<Offer<C>, Infallible> {
        if self.left == 0 {
            return Ok(Offer::Over);
        }
        self.left -= 1;
        let wish = Wish {
            segments: 1000,
            samples_per_second: None,
        };
        self.list.claim(wish).await
    }

    async fn deliver(
        &mut self,
        lease: LeaseNumber,
        finished: Vec<SegmentResult>,
    ) -> Result<Vec<DeliveryOutcome>, Infallible> {
        self.list.deliver(lease, finished).await
    }

    async fn extend(&mut self, _: LeaseNumber) -> Result<Option<Duration>, Infallible> {
        Ok(None)
    }

    async fn end(&mut self, lease: LeaseNumber) -> Result<(), Infallible> {
        self.list.end(lease).await
    }
}

#[tokio::test]
async fn what_is_not_wanted_any_more_is_not_begun() {
    let slow = |block, samples| {
        std::thread::sleep(Duration::from_millis(5));
        count(block, samples)
    };
    let mut desk = Revoked {
        list: List::new(slow, 1 << 40, 2),
        left: 3,
    };
    let pattern = Pattern {
        tick: Duration::from_millis(20),
        ..Pattern::new(2)
    };
    let stop = Arc::new(Stop::new());
    let summary = work(&mut desk, pattern, stop, |_| {}).await.unwrap();
    let list = desk.list;
    assert_eq!(list.next, 3000);
    assert!(list.leases.is_empty());
    // Of each lease something was handed in, or nothing; most was given back; nothing was done twice.
    assert_eq!(list.finished.len() as u64 + list.given_back, 3000);
    assert!(list.given_back > 2000, "{}", list.given_back);
    assert_eq!(summary.segments, list.finished.len() as u64);
}
