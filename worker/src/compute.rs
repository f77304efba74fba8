//! What the cores do: blocks in, finished segments out.
//!
//! Blocks are the unit of parallel work and are handed out in order, across the ends of segments and
//! of leases, so no core waits for another at a segment's end, and hardly more segments than one are
//! begun at a time. What is summed up is a sum over blocks, so who computed which changes nothing.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kazoe_common::census::{SegmentResult, Tally, Witness};
use tokio::sync::mpsc;

use crate::count::Count;
use crate::cpu;
use crate::stop::{Order, Stop};
use crate::work_source::{Job, LeaseNumber};

/// A computed segment, with the number of its lease.
pub type Computed = (LeaseNumber, SegmentResult);

/// The cores at work. They leave when there is no more to do and [`close`](Self::close) was called, or
/// when they are told to stop; the stream of finished segments ends then.
#[derive(Debug)]
pub struct Engine<C> {
    shared: Arc<Shared<C>>,
    pool: rayon::ThreadPool,
}

impl<C: Count> Engine<C> {
    /// Starts so many threads, at least 1.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn start(
        threads: usize,
        stop: Arc<Stop>,
    ) -> Result<(Self, mpsc::UnboundedReceiver<Computed>), rayon::ThreadPoolBuildError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.max(1))
            .thread_name(|number| format!("compute-{number}"))
            .build()?;
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue {
                segments: VecDeque::new(),
                handed_out: 0,
                waiting_samples: 0,
                closed: false,
            }),
            changed: Condvar::new(),
            samples_done: AtomicU64::new(0),
            busy_nanos: AtomicU64::new(0),
            stop,
        });
        // Bounded by what was leased, and leases are few.
        let (out, finished) = mpsc::unbounded_channel();
        let theirs = Arc::clone(&shared);
        pool.spawn_broadcast(move |_| theirs.run(&out));
        Ok((Engine { shared, pool }, finished))
    }

    /// Adds segments behind those that wait, and what counts their blocks.
    pub fn push(&self, count: &Arc<C>, jobs: impl IntoIterator<Item = Job>) {
        let mut queue = self.shared.queue();
        for job in jobs {
            queue.waiting_samples += job.samples;
            let begun = Begun::new(job, Arc::clone(count));
            queue.segments.push_back(Arc::new(begun));
        }
        drop(queue);
        self.shared.changed.notify_all();
    }

    /// Drops the segments of a lease that are not begun. Returns how many they are.
    pub fn forget(&self, lease: LeaseNumber) -> u64 {
        let mut queue = self.shared.queue();
        let begun = usize::from(queue.handed_out > 0);
        let before = queue.segments.len();
        let mut place = 0;
        let mut samples = 0;
        queue.segments.retain(|waiting| {
            let keep = place < begun || waiting.job.lease != lease;
            place += 1;
            samples += if keep { 0 } else { waiting.job.samples };
            keep
        });
        queue.waiting_samples -= samples;
        (before - queue.segments.len()) as u64
    }

    /// Says that no more will be pushed.
    pub fn close(&self) {
        self.shared.queue().closed = true;
        self.shared.changed.notify_all();
    }

    /// Samples computed since the start, those of unfinished segments included.
    #[must_use]
    pub fn samples_done(&self) -> u64 {
        self.shared.samples_done.load(Ordering::Relaxed)
    }

    /// Returns how long the threads computed since the start, on an average: the time that they waited for work is
    /// left out.
    #[must_use]
    pub fn busy(&self) -> Duration {
        let nanos = self.shared.busy_nanos.load(Ordering::Relaxed);
        Duration::from_nanos(nanos / self.threads().max(1) as u64)
    }

    /// Samples that wait and are not begun.
    #[must_use]
    pub fn waiting_samples(&self) -> u64 {
        self.shared.queue().waiting_samples
    }

    /// How many threads compute.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
}

#[derive(Debug)]
struct Shared<C> {
    queue: Mutex<Queue<C>>,
    changed: Condvar,
    samples_done: AtomicU64,
    /// What all threads together spent on blocks that are done.
    busy_nanos: AtomicU64,
    stop: Arc<Stop>,
}

#[derive(Debug)]
struct Queue<C> {
    segments: VecDeque<Arc<Begun<C>>>,
    /// Blocks of the first segment that are handed out.
    handed_out: u64,
    waiting_samples: u64,
    closed: bool,
}

/// A segment of which blocks are, or will be, at work.
#[derive(Debug)]
struct Begun<C> {
    job: Job,
    count: Arc<C>,
    sum: Mutex<Sum>,
}

#[derive(Debug)]
struct Sum {
    tally: Tally,
    witnesses: Vec<Witness>,
    cpu: Option<Duration>,
    blocks_left: u64,
}

impl<C: Count> Begun<C> {
    fn new(job: Job, count: Arc<C>) -> Self {
        Begun {
            job,
            count,
            sum: Mutex::new(Sum {
                tally: Tally::default(),
                witnesses: Vec::new(),
                cpu: Some(Duration::ZERO),
                blocks_left: job.blocks(),
            }),
        }
    }

    /// Adds a block; the segment, if that was its last one.
    fn add(
        &self,
        tally: &Tally,
        witnesses: Vec<Witness>,
        cpu: Option<Duration>,
    ) -> Option<Computed> {
        let mut sum = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        sum.tally.merge(tally);
        sum.witnesses.extend(witnesses);
        sum.cpu = sum.cpu.zip(cpu).map(|(sum, cpu)| sum + cpu);
        sum.blocks_left -= 1;
        if sum.blocks_left > 0 {
            return None;
        }
        let mut witnesses = std::mem::take(&mut sum.witnesses);
        witnesses.sort_unstable_by_key(|witness| {
            (witness.index(), matches!(witness, Witness::Path { .. }))
        });
        let result = SegmentResult {
            segment: self.job.segment,
            samples: self.job.samples,
            tally: std::mem::take(&mut sum.tally),
            witnesses,
            cpu: sum.cpu,
        };
        Some((self.job.lease, result))
    }
}

impl<C: Count> Shared<C> {
    fn queue(&self) -> MutexGuard<'_, Queue<C>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, out: &mpsc::UnboundedSender<Computed>) {
        while let Some((segment, number)) = self.next() {
            let job = &segment.job;
            let samples = job.samples_in(number);
            let began = Instant::now();
            let before = cpu::of_thread();
            let (tally, witnesses) = segment.count.block(job.first_block + number, samples);
            let cpu = before.zip(cpu::of_thread());
            let cpu = cpu.map(|(before, after)| after.saturating_sub(before));
            let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.busy_nanos.fetch_add(nanos, Ordering::Relaxed);
            self.samples_done.fetch_add(samples, Ordering::Relaxed);
            let finished = segment.add(&tally, witnesses, cpu);
            if finished.is_some_and(|finished| out.send(finished).is_err()) {
                return;
            }
        }
    }

    /// The next block, or `None` if this thread is to leave.
    fn next(&self) -> Option<(Arc<Begun<C>>, u64)> {
        /// How often an idle thread looks whether it is to stop.
        const LOOK: Duration = Duration::from_millis(50);
        let mut queue = self.queue();
        loop {
            match self.stop.order() {
                Order::Leave => return None,
                Order::Finish if queue.handed_out == 0 => return None,
                Order::Finish | Order::Run => {}
            }
            if let Some(first) = queue.segments.front().cloned() {
                let number = queue.handed_out;
                queue.handed_out += 1;
                queue.waiting_samples -= first.job.samples_in(number);
                if queue.handed_out == first.job.blocks() {
                    queue.segments.pop_front();
                    queue.handed_out = 0;
                }
                return Some((first, number));
            }
            if queue.closed {
                return None;
            }
            queue = self
                .changed
                .wait_timeout(queue, LOOK)
                .map_or_else(|poisoned| poisoned.into_inner().0, |(queue, _)| queue);
        }
    }
}
