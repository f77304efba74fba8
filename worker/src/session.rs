//! The loop: claim, compute, hand in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kazoe_common::census::{Segment, SegmentResult};
use kazoe_proto::outcome::DeliveryOutcome;
use tokio::sync::mpsc;

use crate::compute::{Computed, Engine};
use crate::stop::{Order, Stop};
use crate::work_source::{LeaseNumber, Offer, Wish, WorkSource};

/// How a session works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Threads that compute, at least 1.
    pub threads: usize,
    /// How long a lease should take.
    pub lease: Duration,
    /// How long finished segments may wait to be handed in together.
    pub batch: Duration,
    /// How often progress is told.
    pub tick: Duration,
}

impl Pattern {
    /// Leases of about 20 seconds, tallies handed in once a second.
    #[must_use]
    pub const fn new(threads: usize) -> Self {
        Pattern {
            threads,
            lease: Duration::from_secs(20),
            batch: Duration::from_secs(1),
            tick: Duration::from_millis(200),
        }
    }
}

/// How a session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Samples computed in this session, those of unfinished segments included.
    pub computed: u64,
    /// Samples handed in and safe.
    pub delivered: u64,
    /// Samples a second of late, while the cores computed.
    pub rate: f64,
    /// For how long the session has run.
    pub elapsed: Duration,
}

/// What a session did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// How it stood at the end.
    pub progress: Progress,
    /// Segments handed in, whatever became of them.
    pub segments: u64,
    /// Segments that were found to be disputed.
    pub disputed: Vec<Segment>,
    /// Whether it was asked to stop.
    pub stopped: bool,
}

/// Why a session ended early. What was handed in is safe.
#[derive(Debug)]
pub enum SessionError<E> {
    /// The system gives no threads.
    Threads(rayon::ThreadPoolBuildError),
    /// The work source failed.
    Source(E),
}

impl<E: std::fmt::Display> std::fmt::Display for SessionError<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SessionError::Threads(error) => {
                write!(f, "cannot start threads: {error}; reduce --threads")
            }
            SessionError::Source(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for SessionError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SessionError::Threads(error) => Some(error),
            SessionError::Source(error) => error.source(),
        }
    }
}

/// At most so many leases are held, so memory is bounded.
const LEASES: usize = 2;

/// Segments of the first leases, when the speed is not known yet.
const FIRST: u32 = 2;

/// Works until there is nothing more, or until it is asked to stop: then it finishes the segments at
/// hand, hands in and gives back the rest. `tell` hears of the progress at each tick.
///
/// # Errors
/// The desk's first error; the cores stop then.
pub async fn work<D: WorkSource>(
    desk: &mut D,
    pattern: Pattern,
    stop: Arc<Stop>,
    mut tell: impl FnMut(&Progress),
) -> Result<Summary, SessionError<D::Error>> {
    let (engine, finished) =
        Engine::start(pattern.threads, Arc::clone(&stop)).map_err(SessionError::Threads)?;
    let mut session = Session {
        desk,
        engine,
        finished,
        pattern,
        stop: Arc::clone(&stop),
        leases: BTreeMap::new(),
        began: Instant::now(),
        speed: Speed::default(),
        segment_samples: 0,
        ask_at: Some(Instant::now()),
        summary: Summary::default(),
    };
    let ended = session.run(&mut tell).await;
    if ended.is_err() {
        // Nobody hands in any more: let the cores go.
        stop.request();
        stop.request();
    }
    ended.map_err(SessionError::Source)?;
    Ok(session.summary)
}

/// A lease that is held.
#[derive(Debug)]
struct Held {
    /// Segments not handed in yet.
    open: u64,
    /// Finished, not handed in yet.
    ready: Vec<SegmentResult>,
    /// When to ask for more time.
    extend_at: Instant,
}

struct Session<'a, D: WorkSource> {
    desk: &'a mut D,
    engine: Engine<D::Count>,
    finished: mpsc::UnboundedReceiver<Computed>,
    pattern: Pattern,
    stop: Arc<Stop>,
    leases: BTreeMap<LeaseNumber, Held>,
    began: Instant,
    speed: Speed,
    segment_samples: u64,
    /// When to ask for work; `None` when there is no more.
    ask_at: Option<Instant>,
    summary: Summary,
}

impl<D: WorkSource> Session<'_, D> {
    async fn run(&mut self, tell: &mut impl FnMut(&Progress)) -> Result<(), D::Error> {
        let mut handed_in = Instant::now();
        let mut told = Instant::now();
        loop {
            self.ask_ahead().await?;
            let next = tokio::time::timeout(self.pattern.tick, self.finished.recv()).await;
            let over = matches!(next, Ok(None));
            if let Ok(Some(first)) = next {
                self.take(first);
                while let Ok(more) = self.finished.try_recv() {
                    self.take(more);
                }
            }
            let whole = self
                .leases
                .values()
                .any(|held| held.open == held.ready.len() as u64);
            if over || whole || handed_in.elapsed() >= self.pattern.batch {
                self.hand_in().await?;
                handed_in = Instant::now();
            }
            self.extend().await?;
            if over || told.elapsed() >= self.pattern.tick {
                self.measure();
                tell(&self.summary.progress);
                told = Instant::now();
            }
            if over {
                break;
            }
        }
        self.summary.stopped = self.stop.order() != Order::Run;
        for lease in std::mem::take(&mut self.leases).into_keys() {
            self.desk.end(lease).await?;
        }
        Ok(())
    }

    /// Claims while the cores would else run dry soon.
    async fn ask_ahead(&mut self) -> Result<(), D::Error> {
        if self.stop.order() != Order::Run {
            return Ok(());
        }
        while self.ask_at.is_some_and(|at| at <= Instant::now())
            && self.leases.len() < LEASES
            && self.speed.seconds_of(self.engine.waiting_samples())
                < self.pattern.lease.as_secs_f64() / 2.0
        {
            let wish = self.wish();
            match self.desk.claim(wish).await? {
                Offer::Lease {
                    lease,
                    count,
                    jobs,
                    hold,
                } => {
                    self.segment_samples = jobs.iter().map(|job| job.samples).max().unwrap_or(0);
                    let held = Held {
                        open: jobs.len() as u64,
                        ready: Vec::new(),
                        extend_at: Instant::now() + hold / 2,
                    };
                    self.leases.insert(lease, held);
                    self.engine.push(&count, jobs);
                }
                Offer::Later(wait) => self.ask_at = Some(Instant::now() + wait),
                Offer::Over => {
                    self.ask_at = None;
                    self.engine.close();
                }
            }
        }
        Ok(())
    }

    /// As much as takes as long as a lease should.
    fn wish(&self) -> Wish {
        let seconds = self.speed.seconds_of(self.segment_samples);
        if seconds <= 0.0 {
            return Wish {
                segments: FIRST,
                samples_per_second: None,
            };
        }
        let want = self.pattern.lease.as_secs_f64() / seconds;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to a small range first; a rate above 0"
        )]
        let (segments, rate) = (want.clamp(1.0, 4096.0) as u32, self.speed.rate as u64);
        Wish {
            segments,
            samples_per_second: Some(rate),
        }
    }

    fn take(&mut self, (lease, result): Computed) {
        if let Some(held) = self.leases.get_mut(&lease) {
            held.ready.push(result);
        }
    }

    async fn hand_in(&mut self) -> Result<(), D::Error> {
        let mut done = Vec::new();
        for (&lease, held) in &mut self.leases {
            let ready = std::mem::take(&mut held.ready);
            held.open -= ready.len() as u64;
            if held.open == 0 {
                done.push(lease);
            }
            if ready.is_empty() {
                continue;
            }
            let segments: Vec<Segment> = ready.iter().map(|one| one.segment).collect();
            let samples: u64 = ready.iter().map(|one| one.samples).sum();
            let outcomes = self.desk.deliver(lease, ready).await?;
            self.summary.segments += segments.len() as u64;
            self.summary.progress.delivered += samples;
            let disputed = segments
                .into_iter()
                .zip(outcomes)
                .filter(|(_, outcome)| *outcome == DeliveryOutcome::Disputed)
                .map(|(segment, _)| segment);
            self.summary.disputed.extend(disputed);
        }
        for lease in done {
            self.leases.remove(&lease);
            self.desk.end(lease).await?;
        }
        Ok(())
    }

    async fn extend(&mut self) -> Result<(), D::Error> {
        let now = Instant::now();
        for (&lease, held) in &mut self.leases {
            if held.extend_at <= now {
                held.extend_at = match self.desk.extend(lease).await? {
                    Some(hold) => now + hold / 2,
                    None => {
                        // What is begun may still fill what is empty, and goes in all the same.
                        held.open -= self.engine.forget(lease);
                        now + Duration::from_secs(3600)
                    }
                };
            }
        }
        Ok(())
    }

    fn measure(&mut self) {
        let computed = self.engine.samples_done();
        self.speed.measure(computed, self.engine.busy());
        let progress = &mut self.summary.progress;
        progress.computed = computed;
        progress.rate = self.speed.rate;
        progress.elapsed = self.began.elapsed();
    }
}

/// The speed of late: an average that forgets with a time constant of a few seconds of computing. A worker that
/// waits for work is no slower by that.
#[derive(Debug, Default)]
struct Speed {
    samples: u64,
    busy: Duration,
    rate: f64,
}

impl Speed {
    /// Takes how many samples were computed since the start, in how long a time of computing.
    fn measure(&mut self, samples: u64, busy: Duration) {
        const MEMORY: f64 = 5.0;
        let seconds = busy.saturating_sub(self.busy).as_secs_f64();
        if seconds <= 0.0 || samples <= self.samples {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a speed for people")]
        let fresh = (samples - self.samples) as f64 / seconds;
        // Since the beginning at first, so that the start counts no less than it should.
        let weight = (seconds / MEMORY).max(seconds / busy.as_secs_f64());
        self.rate += (fresh - self.rate) * weight.min(1.0);
        self.samples = samples;
        self.busy = busy;
    }

    /// How long so many samples take; 0 if that is not known yet.
    fn seconds_of(&self, samples: u64) -> f64 {
        if self.rate <= 0.0 {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "an estimate of a time")]
        let samples = samples as f64;
        samples / self.rate
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Speed;

    #[test]
    fn waiting_for_work_makes_nobody_slower() {
        let mut speed = Speed::default();
        let busy = |ticks| Duration::from_millis(200 * ticks);
        for tick in 1..=50 {
            speed.measure(1_000 * tick, busy(tick));
        }
        assert!((speed.rate - 5_000.0).abs() < 1e-6, "{speed:?}");
        // An hour without work, told of five times a second.
        for _ in 0..18_000 {
            speed.measure(50_000, busy(50));
        }
        assert!((speed.rate - 5_000.0).abs() < 1e-6, "{speed:?}");
        // A machine that gets slower is: half as fast after a while of computing.
        for tick in 51..=250 {
            speed.measure(50_000 + 500 * (tick - 50), busy(tick));
        }
        assert!((speed.rate - 2_500.0).abs() < 5.0, "{speed:?}");
    }

    #[test]
    fn the_start_counts_no_less_than_it_should() {
        let mut speed = Speed::default();
        assert_eq!(speed.seconds_of(1_000), 0.0, "it is not known yet");
        speed.measure(100, Duration::from_millis(10));
        assert!((speed.seconds_of(1_000) - 0.1).abs() < 1e-9, "{speed:?}");
    }
}
