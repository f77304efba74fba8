//! A coordinator on a network as the desk that a session goes to.
//!
//! What fails and may pass is tried again for as long as it takes ([`Backoff`]); everything may be sent
//! twice. Nothing is written down here: what was not acknowledged when the worker must leave is computed
//! again by somebody.

mod batches;
mod conversation;
mod delivery_stats;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fail::fail_point;
use kazoe_common::census::{Campaign, Counter, SegmentResult};
use kazoe_proto::outcome::DeliveryOutcome;
use kazoe_proto::retry_after::pushback;
use kazoe_proto::v1::LeaveRequest;
use kazoe_proto::v1::work_client::WorkClient;
use kazoe_proto::work::{self as messages, Joined, Notice, Report};
use tonic::{Code, Status};
use tracing::{debug, info, warn};

use batches::batches;
pub use conversation::{Talk, odd, within};
pub use delivery_stats::DeliveryStats;

use crate::backoff::{Backoff, passes};
use crate::channel::{Link, LinkError, Wire};
use crate::self_test::Tallies;
use crate::stop::{Order, Stop};
use crate::work_source::{Job, LeaseNumber, Offer, Wish, WorkSource};

/// How long to wait before looking at the machine's load again.
const BUSY: Duration = Duration::from_secs(20);

/// What a worker is and how it behaves.
#[derive(Clone, Debug)]
pub struct Habits {
    /// Its build in a word for people.
    pub build: String,
    /// What people call its machine: a label, made harmless.
    pub name: Option<String>,
    /// On how many threads it computes.
    pub threads: u32,
    /// Whether it leaves after one lease.
    pub once: bool,
    /// After how long without work it leaves.
    pub idle_exit: Option<Duration>,
    /// Above which load of the machine, its own threads left out, it asks for nothing.
    pub most_load: Option<f64>,
}

/// A lease that is held.
#[derive(Debug)]
struct Held {
    talk: Talk,
    /// When the coordinator should have heard that it is still needed.
    alive_by: Instant,
}

/// A coordinator as a desk.
#[derive(Debug)]
pub struct RemoteSource {
    work: WorkClient<Wire>,
    habits: Habits,
    proof: Tallies,
    stop: Arc<Stop>,
    patience: Backoff,
    /// How long an answer may take.
    silence: Duration,
    joined: Option<Joined>,
    counters: BTreeMap<String, Arc<Counter>>,
    leases: BTreeMap<LeaseNumber, Held>,
    claimed: LeaseNumber,
    idle_since: Instant,
    contact: Contact,
    stats: Arc<DeliveryStats>,
}

/// Whether the coordinator ever answered.
#[derive(Debug)]
enum Contact {
    /// It was not asked yet.
    Untried,
    /// It did not answer, for this reason.
    Failed(String),
    /// It answered.
    Made,
}

impl RemoteSource {
    /// Reaches no one yet. `proof` is shown on joining.
    ///
    /// # Errors
    /// If the link makes no sense.
    pub fn new(
        link: &Link,
        habits: Habits,
        proof: Tallies,
        stop: Arc<Stop>,
    ) -> Result<Self, LinkError> {
        Ok(RemoteSource {
            work: WorkClient::new(link.open()?),
            habits,
            proof,
            patience: Backoff::new(Arc::clone(&stop)),
            stop,
            silence: link.silence,
            joined: None,
            counters: BTreeMap::new(),
            leases: BTreeMap::new(),
            claimed: 0,
            idle_since: Instant::now(),
            contact: Contact::Untried,
            stats: Arc::default(),
        })
    }

    /// What became of what it hands in.
    #[must_use]
    pub fn stats(&self) -> Arc<DeliveryStats> {
        Arc::clone(&self.stats)
    }

    /// Why the coordinator was never reached, if it was asked and never answered.
    #[must_use]
    pub fn never_reached(&self) -> Option<&str> {
        match &self.contact {
            Contact::Failed(why) => Some(why),
            Contact::Untried | Contact::Made => None,
        }
    }

    /// Notes whether an answer came from the coordinator.
    fn note<T>(&mut self, answer: &Result<T, Status>) {
        self.contact = match (answer, &self.contact) {
            (Err(status), Contact::Untried | Contact::Failed(_))
                if self.joined.is_none() && passes(status) && pushback(status).is_none() =>
            {
                Contact::Failed(status.message().to_owned())
            }
            _ => Contact::Made,
        };
    }

    /// Says that the worker leaves, so that it is not looked for. A coordinator that does not answer soon takes it
    /// for lost after a while.
    pub async fn leave(&mut self) {
        const FAREWELL: Duration = Duration::from_secs(2);
        let Some(joined) = self.joined.take() else {
            return;
        };
        let request = LeaveRequest {
            worker: joined.worker,
        };
        let left = tokio::time::timeout(FAREWELL, self.work.leave(request)).await;
        debug!(?left, "deregistered");
    }

    async fn try_join(&mut self) -> Result<Joined, Status> {
        let join = messages::Join {
            protocol: messages::PROTOCOL,
            build: self.habits.build.clone(),
            self_tests: self.proof.clone(),
            name: self.habits.name.clone(),
        };
        let answer = self.work.join(messages::join_request(&join));
        let answer = within(self.silence, answer).await?;
        let joined = messages::joined(answer.into_inner()).map_err(odd)?;
        info!(
            worker = joined.worker,
            name = self.habits.name,
            owner = joined.owner,
            threads = self.habits.threads,
            "joined"
        );
        Ok(joined)
    }

    async fn try_claim(&mut self, wish: Wish) -> Result<messages::Offer, Status> {
        let joined = match self.joined.clone() {
            Some(joined) => joined,
            None => self.try_join().await?,
        };
        self.joined = Some(joined.clone());
        let claim = messages::Claim {
            worker: joined.worker,
            threads: self.habits.threads,
            samples_per_second: wish.samples_per_second.filter(|&speed| speed > 0),
        };
        let answer = self.work.claim(messages::claim_request(&claim));
        let answer = within(self.silence, answer).await;
        if let Err(status) = &answer
            && status.code() == Code::NotFound
        {
            // Its database was restored from an older backup: we are new to it.
            self.joined = None;
            return Err(Status::unavailable(status.message()));
        }
        messages::offer(answer?.into_inner()).map_err(odd)
    }

    fn take(&mut self, lease: messages::Lease) -> Result<Offer<Counter>, RemoteError> {
        let count = self.counter(&lease.campaign)?;
        let number = self.claimed;
        self.claimed += 1;
        let (campaign, cut) = (&lease.campaign, lease.cut);
        let jobs = lease.segments.iter().map(|&segment| Job {
            lease: number,
            segment,
            first_block: segment * cut.segment_blocks,
            samples: cut.samples_of(segment),
        });
        let jobs: Vec<Job> = jobs.collect();
        info!(
            campaign = campaign.id(),
            segments = jobs.len(),
            samples = jobs.iter().map(|job| job.samples).sum::<u64>(),
            "a lease of {}",
            campaign.variant.name
        );
        let held = Held {
            talk: Talk::new(lease.key, lease.segments.into_iter().collect()),
            alive_by: Instant::now() + self.until_heartbeat(lease.hold) / 2,
        };
        self.leases.insert(number, held);
        Ok(Offer::Lease {
            lease: number,
            count,
            jobs,
            hold: self.until_heartbeat(lease.hold),
        })
    }

    /// The session asks for more time when half of a hold is over: not less often than we were told.
    fn until_heartbeat(&self, hold: Duration) -> Duration {
        let heartbeat = self.joined.as_ref().map(|joined| joined.heartbeat);
        heartbeat.map_or(hold, |heartbeat| hold.min(2 * heartbeat))
    }

    /// What counts a campaign's blocks; the tables of a few campaigns are kept.
    fn counter(&mut self, campaign: &Campaign) -> Result<Arc<Counter>, RemoteError> {
        const KEPT: usize = 4;
        let id = campaign.id();
        if let Some(counter) = self.counters.get(&id) {
            return Ok(Arc::clone(counter));
        }
        let counter =
            Counter::new(campaign).map_err(|error| RemoteError::new(error.to_string()))?;
        let counter = Arc::new(counter);
        if self.counters.len() >= KEPT {
            self.counters.pop_first();
        }
        self.counters.insert(id, Arc::clone(&counter));
        Ok(counter)
    }

    /// Says something under a lease until it is answered; nothing where the lease is not known or the
    /// stream ended.
    async fn report(
        &mut self,
        lease: LeaseNumber,
        report: &Report,
    ) -> Result<Option<Notice>, RemoteError> {
        loop {
            match self.try_report(lease, report).await {
                Ok(notice) => {
                    self.patience.succeed();
                    return Ok(notice);
                }
                Err(status) => {
                    if status.code() == Code::NotFound {
                        warn!(lease, why = status.message(), "the lease is lost");
                        return Ok(None);
                    }
                    if pushback(&status).is_some() {
                        self.stay_alive().await;
                    }
                    self.patience.wait(status).await?;
                }
            }
        }
    }

    /// A coordinator that has too much else to do hears in time that our leases are still needed: for that it has
    /// time. If it wants them to end, it will say so again when the session asks.
    async fn stay_alive(&mut self) {
        let now = Instant::now();
        let due = self.leases.iter().filter(|(_, held)| held.alive_by <= now);
        for lease in due.map(|(&lease, _)| lease).collect::<Vec<_>>() {
            let _ = self.try_report(lease, &Report::Heartbeat).await;
        }
    }

    async fn try_report(
        &mut self,
        lease: LeaseNumber,
        report: &Report,
    ) -> Result<Option<Notice>, Status> {
        let Some(held) = self.leases.get_mut(&lease) else {
            return Ok(None);
        };
        let answered = held.talk.say(&mut self.work, self.silence, report).await;
        if let Ok(Some(Notice::Extended(hold))) = answered {
            let pause = self.until_heartbeat(hold) / 2;
            if let Some(held) = self.leases.get_mut(&lease) {
                held.alive_by = Instant::now() + pause;
            }
        }
        answered
    }

    fn idle_for_too_long(&self) -> bool {
        let idle = self.leases.is_empty();
        let patience = self.habits.idle_exit.filter(|_| idle);
        patience.is_some_and(|patience| self.idle_since.elapsed() >= patience)
    }

    fn is_machine_busy(&self) -> bool {
        let most = self.habits.most_load;
        most.is_some_and(|most| {
            let own = if self.leases.is_empty() {
                0.0
            } else {
                f64::from(self.habits.threads)
            };
            load().is_some_and(|load| load - own > most)
        })
    }
}

/// The load of the last minute, where the system tells it.
fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

impl WorkSource for RemoteSource {
    type Error = RemoteError;
    type Count = Counter;

    async fn claim(&mut self, wish: Wish) -> Result<Offer<Counter>, RemoteError> {
        if self.habits.once && self.claimed > 0 {
            return Ok(Offer::Over);
        }
        if self.idle_for_too_long() {
            info!("no work for the time of --idle-exit; exiting");
            return Ok(Offer::Over);
        }
        if self.is_machine_busy() {
            return Ok(Offer::Later(BUSY));
        }
        loop {
            let claimed = self.try_claim(wish).await;
            self.note(&claimed);
            match claimed {
                Ok(offer) => {
                    self.patience.succeed();
                    return match offer {
                        messages::Offer::Lease(lease) => {
                            fail_point!("worker.claimed");
                            self.take(lease)
                        }
                        messages::Offer::Later(wait) => Ok(Offer::Later(wait)),
                        messages::Offer::Leave => {
                            info!("drained by the coordinator");
                            Ok(Offer::Over)
                        }
                    };
                }
                Err(status) => {
                    let waited = self.patience.wait(status).await;
                    if self.stop.order() != Order::Run || self.idle_for_too_long() {
                        return Ok(Offer::Over);
                    }
                    waited?;
                    // What was computed meanwhile is to be handed in first.
                    if !self.leases.is_empty() {
                        return Ok(Offer::Later(Duration::ZERO));
                    }
                }
            }
        }
    }

    async fn deliver(
        &mut self,
        lease: LeaseNumber,
        results: Vec<SegmentResult>,
    ) -> Result<Vec<DeliveryOutcome>, RemoteError> {
        let mut outcomes = Vec::with_capacity(results.len());
        fail_point!("worker.deliver");
        for batch in batches(results) {
            let number = batch.len();
            let report = Report::Finished(batch);
            match self.report(lease, &report).await? {
                Some(Notice::Acknowledged(receipts)) if receipts.len() == number => {
                    for (_, outcome) in receipts {
                        self.stats.add(outcome);
                        outcomes.push(outcome);
                    }
                }
                // The coordinator does not know the lease: its results are of no use.
                None => outcomes.extend((0..number).map(|_| DeliveryOutcome::Stale)),
                Some(other) => {
                    return Err(RemoteError::new(format!(
                        "the coordinator answered tallies with {other:?}"
                    )));
                }
            }
        }
        fail_point!("worker.delivered");
        Ok(outcomes)
    }

    async fn extend(&mut self, lease: LeaseNumber) -> Result<Option<Duration>, RemoteError> {
        match self.report(lease, &Report::Heartbeat).await? {
            Some(Notice::Extended(hold)) => Ok(Some(self.until_heartbeat(hold))),
            Some(Notice::Stop(reason)) => {
                info!(lease, ?reason, "the coordinator stopped the lease");
                Ok(None)
            }
            None => Ok(None),
            Some(other) => Err(RemoteError::new(format!(
                "the coordinator answered a heartbeat with {other:?}"
            ))),
        }
    }

    async fn end(&mut self, lease: LeaseNumber) -> Result<(), RemoteError> {
        fail_point!("worker.end");
        self.report(lease, &Report::Done).await?;
        fail_point!("worker.ended");
        self.leases.remove(&lease);
        self.idle_since = Instant::now();
        Ok(())
    }
}

/// Why a worker cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteError {
    why: String,
    of_the_token: bool,
}

impl RemoteError {
    const fn new(why: String) -> Self {
        RemoteError {
            why,
            of_the_token: false,
        }
    }

    /// Whether the coordinator refused the token.
    #[must_use]
    pub const fn is_of_the_token(&self) -> bool {
        self.of_the_token
    }
}

impl From<Status> for RemoteError {
    fn from(status: Status) -> Self {
        RemoteError {
            why: status.message().to_owned(),
            of_the_token: status.code() == Code::Unauthenticated,
        }
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for RemoteError {}
