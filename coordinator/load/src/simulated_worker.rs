//! A simulated worker: joins, claims, delivers and says that it is alive as a real one does, over a
//! connection of its own, and instead of computing waits as long as computing would take.
//!
//! It follows the loop of `kazoe_worker::session`: at most two leases, the second asked for while half a
//! lease's work is left, finished segments handed in once a second or when a lease is whole, a heartbeat as
//! often as it was told, and what fails tried again after a random wait that grows.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use kazoe_common::census::SegmentResult;
use kazoe_common::census::{Cut, Segment};
use kazoe_proto::v1::JoinRequest;
use kazoe_proto::v1::work_client::WorkClient;
use kazoe_proto::work::{self as messages, Joined, Notice, Offer, Report};
use kazoe_worker::backoff::{jittered, passes, pause};
use kazoe_worker::channel::{SILENCE, Wire};
use kazoe_worker::remote::{Talk, odd, within};
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::crowd_state::CrowdState;
use crate::latency::Call;
use crate::synthetic;

/// For how long finished segments wait to be handed in together.
const BATCH: Duration = Duration::from_secs(1);

/// With so much work left a worker asks for more: half of what a lease takes.
const AHEAD: Duration = Duration::from_secs(10);

/// At most so many leases are held.
const LEASES: usize = 2;

/// How often a worker that is to leave tries to say so.
const FAREWELLS: u32 = 5;

/// A lease that is held.
struct Held {
    talk: Talk,
    cut: Cut,
    /// Not computed yet.
    left: VecDeque<Segment>,
    /// Computed, and not acknowledged yet.
    ready: Vec<SegmentResult>,
    extend_at: Instant,
}

/// One worker.
pub(crate) struct SimulatedWorker {
    work: WorkClient<Wire>,
    join: Rc<JoinRequest>,
    state: Rc<CrowdState>,
    joined: Option<Joined>,
    leases: VecDeque<Held>,
    ask_at: Instant,
    handed_in: Instant,
    /// When the segment at hand is computed.
    finish_at: Option<Instant>,
    /// Which part of a segment's time its first segment takes, so that workers are not in step.
    phase: f64,
    epoch: Option<u64>,
    tries: u32,
}

impl SimulatedWorker {
    pub(crate) fn new(
        work: WorkClient<Wire>,
        join: Rc<JoinRequest>,
        state: Rc<CrowdState>,
        phase: f64,
    ) -> Self {
        let now = Instant::now();
        SimulatedWorker {
            work,
            join,
            state,
            joined: None,
            leases: VecDeque::new(),
            ask_at: now,
            handed_in: now,
            finish_at: None,
            phase,
            epoch: None,
            tries: 0,
        }
    }

    /// Works until it is told to leave, or refused for good.
    pub(crate) async fn live(mut self) {
        while !self.state.is_stopping() {
            self.compute();
            match self.step().await {
                Ok(true) => self.tries = 0,
                Ok(false) => self.rest().await,
                Err(status) => {
                    if !self.outlives(status).await {
                        return;
                    }
                }
            }
        }
        self.leave().await;
    }

    /// Whether a failure passes; waits for that.
    async fn outlives(&mut self, status: Status) -> bool {
        self.state.fail(status.code());
        if !passes(&status) {
            self.state.refuse(&status);
            self.state.left(self.joined.is_some());
            return false;
        }
        for held in &mut self.leases {
            held.talk.hang_up();
        }
        self.state.rest(pause(&status, self.tries)).await;
        self.tries = self.tries.saturating_add(1);
        true
    }

    /// Moves what is computed by now from what is left to what is ready.
    fn compute(&mut self) {
        let now = Instant::now();
        let pace = self.state.pace();
        loop {
            let Some(held) = self.leases.iter_mut().find(|held| !held.left.is_empty()) else {
                self.finish_at = None;
                return;
            };
            let phase = std::mem::replace(&mut self.phase, 1.0);
            let at = *self
                .finish_at
                .get_or_insert_with(|| now + pace.mul_f64(phase));
            if at > now {
                return;
            }
            if let Some(segment) = held.left.pop_front() {
                held.ready.push(synthetic::finished(segment, &held.cut));
            }
            self.finish_at = Some(at + pace);
        }
    }

    /// Makes the next call that is due; whether there was one.
    async fn step(&mut self) -> Result<bool, Status> {
        if self.joined.is_none() {
            self.join().await?;
            return Ok(true);
        }
        let now = Instant::now();
        if let Some(at) = self.leases.iter().position(|held| held.is_over()) {
            self.end(at).await?;
            return Ok(true);
        }
        // Also while its tallies are put off.
        if let Some(at) = self.leases.iter().position(|held| held.extend_at <= now) {
            self.extend(at).await?;
            return Ok(true);
        }
        let due = now >= self.handed_in + BATCH;
        let ready =
            |held: &Held| !held.ready.is_empty() && (due || held.left.is_empty() || held.is_full());
        if let Some(at) = self.leases.iter().position(ready) {
            self.hand_in(at).await?;
            if !self.leases.iter().any(|held| !held.ready.is_empty()) {
                self.handed_in = now;
            }
            return Ok(true);
        }
        if self.wants_more() && self.ask_at <= now {
            self.claim().await?;
            return Ok(true);
        }
        Ok(false)
    }

    fn wants_more(&self) -> bool {
        let left: usize = self.leases.iter().map(|held| held.left.len()).sum();
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        self.leases.len() < LEASES && self.state.pace().saturating_mul(left) <= AHEAD
    }

    /// Waits until something is due.
    async fn rest(&self) {
        let ready = self.leases.iter().any(|held| !held.ready.is_empty());
        let until_ask = self.wants_more().then_some(self.ask_at);
        let until_batch = ready.then_some(self.handed_in + BATCH);
        let until_extend = self.leases.iter().map(|held| held.extend_at).min();
        let moments = [until_ask, until_batch, until_extend, self.finish_at];
        let next = moments.into_iter().flatten().min();
        let wait = next.map_or(BATCH, |next| next.duration_since(Instant::now()));
        self.state.rest(wait).await;
    }

    fn hear(&mut self) {
        self.state.hear(&mut self.epoch);
    }

    async fn join(&mut self) -> Result<(), Status> {
        let begun = Instant::now();
        let answer = within(SILENCE, self.work.join(JoinRequest::clone(&self.join))).await?;
        self.state.time(Call::Join, begun);
        self.joined = Some(messages::joined(answer.into_inner()).map_err(odd)?);
        self.state.join();
        self.hear();
        Ok(())
    }

    async fn claim(&mut self) -> Result<(), Status> {
        let Some(joined) = self.joined.clone() else {
            return Ok(());
        };
        let claim = messages::Claim {
            worker: joined.worker,
            threads: 1,
            samples_per_second: self.state.speed(),
        };
        let begun = Instant::now();
        let answer = within(SILENCE, self.work.claim(messages::claim_request(&claim))).await;
        if let Err(status) = &answer
            && status.code() == Code::NotFound
        {
            self.joined = None;
            self.state.left(true);
            return Err(Status::unavailable(status.message()));
        }
        let offer = messages::offer(answer?.into_inner()).map_err(odd)?;
        self.state.time(Call::Claim, begun);
        self.hear();
        let now = Instant::now();
        match offer {
            Offer::Lease(lease) if lease.campaign == synthetic::campaign() => {
                self.state.lease(lease.cut);
                self.leases.push_back(Held {
                    talk: Talk::new(lease.key, lease.segments.iter().copied().collect()),
                    cut: lease.cut,
                    left: lease.segments.into(),
                    ready: Vec::new(),
                    extend_at: now + lease.hold.min(2 * joined.heartbeat) / 2,
                });
            }
            Offer::Lease(lease) => {
                let id = lease.campaign.id();
                return Err(Status::failed_precondition(format!(
                    "campaign {id} is not the campaign of this measurement"
                )));
            }
            Offer::Later(wait) => {
                self.state.later();
                self.ask_at = now + wait;
            }
            Offer::Leave => {
                return Err(Status::failed_precondition("a worker was told to leave"));
            }
        }
        Ok(())
    }

    /// Hands in what is ready of a lease, as much as fits in a message.
    async fn hand_in(&mut self, at: usize) -> Result<(), Status> {
        let Some(held) = self.leases.get_mut(at) else {
            return Ok(());
        };
        let size = held.ready.len().min(messages::MOST_FINISHED);
        let report = Report::Finished(held.ready[..size].to_vec());
        let begun = Instant::now();
        let answer = held.say(&mut self.work, &report).await?;
        self.state.time(Call::Deliver, begun);
        match answer {
            Some(Notice::Acknowledged(receipts)) if receipts.len() == size => {
                held.ready.drain(..size);
                self.state.acknowledge(held.talk.key(), &receipts)?;
            }
            // A lease that this database does not know: it was restored.
            None => {
                self.leases.remove(at);
            }
            Some(other) => {
                return Err(Status::failed_precondition(format!(
                    "tallies were answered with {other:?}"
                )));
            }
        }
        self.hear();
        Ok(())
    }

    async fn extend(&mut self, at: usize) -> Result<(), Status> {
        let heartbeat = self.joined.as_ref().map(|joined| joined.heartbeat);
        let Some(held) = self.leases.get_mut(at) else {
            return Ok(());
        };
        let begun = Instant::now();
        let answer = held.say(&mut self.work, &Report::Heartbeat).await?;
        self.state.time(Call::Heartbeat, begun);
        match answer {
            Some(Notice::Extended(hold)) => {
                let pause = heartbeat.map_or(hold, |heartbeat| hold.min(2 * heartbeat)) / 2;
                held.extend_at = Instant::now() + pause;
            }
            // What is ready is still handed in; what is not begun belongs to others.
            Some(Notice::Stop(_)) => held.stop(),
            Some(other) => {
                return Err(Status::failed_precondition(format!(
                    "a heartbeat was answered with {other:?}"
                )));
            }
            None => {
                self.leases.remove(at);
            }
        }
        self.hear();
        Ok(())
    }

    async fn end(&mut self, at: usize) -> Result<(), Status> {
        let Some(held) = self.leases.get_mut(at) else {
            return Ok(());
        };
        let begun = Instant::now();
        held.say(&mut self.work, &Report::Done).await?;
        self.state.time(Call::Done, begun);
        self.leases.remove(at);
        self.hear();
        Ok(())
    }

    /// Hands in what is ready, gives back the rest, and goes.
    async fn leave(mut self) {
        for held in &mut self.leases {
            held.left.clear();
        }
        let mut failed = 0;
        while !self.leases.is_empty() && failed < FAREWELLS {
            let at = self.leases.iter().position(|held| !held.ready.is_empty());
            let said = match at {
                Some(at) => self.hand_in(at).await,
                None => self.end(0).await,
            };
            if let Err(status) = said {
                self.state.fail(status.code());
                for held in &mut self.leases {
                    held.talk.hang_up();
                }
                tokio::time::sleep(jittered(failed)).await;
                failed += 1;
            }
        }
        self.state.left(self.joined.is_some());
    }
}

impl Held {
    fn is_full(&self) -> bool {
        self.ready.len() >= messages::MOST_FINISHED
    }

    fn is_over(&self) -> bool {
        self.left.is_empty() && self.ready.is_empty()
    }

    /// Nothing more of it is computed.
    fn stop(&mut self) {
        self.left.clear();
        self.extend_at = Instant::now() + BATCH;
    }

    /// Says something under the lease; nothing where the lease is not known, or after the last word.
    async fn say(
        &mut self,
        work: &mut WorkClient<Wire>,
        report: &Report,
    ) -> Result<Option<Notice>, Status> {
        match self.talk.say(work, SILENCE, report).await {
            Err(status) if status.code() == Code::NotFound => Ok(None),
            said => said,
        }
    }
}
