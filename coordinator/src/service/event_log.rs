//! What happens, and how far it is, for whoever reads the log for hours.
//!
//! It only looks at the ledger, so two coordinators on one database each tell the whole story.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kazoe_common::estimate::Report;
use kazoe_common::estimate::numerals;
use kazoe_common::population::Candidates;
use tracing::{info, warn};

use super::Coordinator;
use super::clock::Clock;
use crate::leasing::{Presence, presence};
use crate::ledger::{
    AuditEntry, CampaignRecord, CampaignState, Ledger, LedgerError, Listed, Snapshot, StorageFault,
};
use crate::progress::{self, Pulse, duration};

/// How often the ledger is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What is remembered of a campaign, for comparison.
#[derive(Debug)]
struct Seen {
    revision: u64,
    /// The last line of its audit log that was told.
    audit: i64,
    complete: bool,
    pulse: Option<Pulse>,
}

impl Seen {
    /// Nothing of it was told yet.
    const NEW: Seen = Seen {
        revision: 0,
        audit: 0,
        complete: false,
        pulse: None,
    };

    /// As it is now: what happened before was told by somebody else.
    async fn already(coordinator: &Coordinator, id: &str) -> Result<Self, LedgerError> {
        let snapshot = coordinator.ledger.snapshot(id).await?;
        Ok(Seen {
            revision: snapshot.revision,
            audit: last_audit(coordinator, id).await?,
            complete: snapshot.is_complete(),
            pulse: None,
        })
    }
}

/// What was told already.
#[derive(Debug, Default)]
struct Chronicle {
    /// Whether all that was there at the beginning was looked at: what is there later, is new.
    begun: bool,
    campaigns: BTreeMap<String, Seen>,
    /// Campaigns of another build.
    foreign: BTreeSet<String>,
    overdue: BTreeSet<i64>,
    gone: BTreeSet<String>,
    clock: Clock,
}

/// Looks and logs until it is dropped. An error is logged once, and the next look tries again; why a database
/// cannot serve is logged by [`database`](super::database).
pub(super) async fn keep(coordinator: Arc<Coordinator>) {
    let mut chronicle = Chronicle::default();
    let mut told = Instant::now();
    let mut failed = false;
    loop {
        let line = told.elapsed() >= coordinator.settings.rhythm;
        if line {
            told = Instant::now();
            if let Some(words) = coordinator.turned_away.take() {
                info!("turned away: {words}");
            }
        }
        match chronicle.look(&coordinator, line).await {
            Ok(()) => {
                if std::mem::take(&mut failed) {
                    info!("the ledger can be read again");
                }
            }
            Err(LedgerError::Storage(error)) if error.fault != StorageFault::Busy => {}
            Err(error) if !failed => {
                failed = true;
                warn!("{error}");
            }
            Err(_) => {}
        }
        tokio::time::sleep(LOOK).await;
    }
}

impl Chronicle {
    async fn look(&mut self, coordinator: &Coordinator, line: bool) -> Result<(), LedgerError> {
        let Listed { known, foreign } = coordinator.ledger.listed().await?;
        for campaign in foreign {
            if self.foreign.insert(campaign.id.clone()) {
                warn!("{campaign}; its segments are not leased here");
            }
        }
        for record in known {
            self.readable(coordinator, &record, line).await?;
        }
        self.clock(coordinator).await?;
        self.leases(coordinator).await?;
        self.workers(coordinator).await?;
        self.begun = true;
        Ok(())
    }

    /// Looks at a campaign; one whose rows this build cannot read keeps no other from being looked at.
    async fn readable(
        &mut self,
        coordinator: &Coordinator,
        record: &CampaignRecord,
        line: bool,
    ) -> Result<(), LedgerError> {
        let (id, revision) = (record.id.as_str(), record.revision);
        if coordinator.barred.is_at(id, revision) {
            return Ok(());
        }
        match self.campaign(coordinator, record, line).await {
            Ok(()) => coordinator.barred.remove(id),
            Err(error) if error.is_of_one_campaign() => {
                if coordinator.barred.add(id, revision) {
                    warn!(campaign = id, "{error}");
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn campaign(
        &mut self,
        coordinator: &Coordinator,
        record: &CampaignRecord,
        line: bool,
    ) -> Result<(), LedgerError> {
        let ledger = &coordinator.ledger;
        let id = record.id.as_str();
        if !self.campaigns.contains_key(id) {
            let seen = if self.begun {
                Seen::NEW
            } else {
                Seen::already(coordinator, id).await?
            };
            self.campaigns.insert(id.to_owned(), seen);
        }
        let Some(seen) = self.campaigns.get_mut(id) else {
            return Ok(());
        };
        let changed = seen.revision != record.revision;
        let running = record.pace == CampaignState::Running && !seen.complete;
        let due = changed || (line && running);
        if !due {
            return Ok(());
        }
        let snapshot = ledger.snapshot(id).await?;
        seen.revision = snapshot.revision;
        for entry in ledger.audit_log(id, seen.audit, 1000).await? {
            seen.audit = entry.id;
            tell_audit(id, &entry);
        }
        let was_complete = std::mem::replace(&mut seen.complete, snapshot.is_complete());
        if snapshot.is_complete() && !was_complete {
            tell_completion(coordinator, record, &snapshot).await?;
        } else if line && running {
            let there = snapshot.accepted_samples;
            let pulse = seen.pulse.get_or_insert_with(|| Pulse::from_now(there));
            let rate = pulse.beat(there);
            let (workers, _) = ledger.holders(id, 1).await?;
            tell_progress(record, &snapshot, rate, workers);
        }
        Ok(())
    }

    async fn leases(&mut self, coordinator: &Coordinator) -> Result<(), LedgerError> {
        let overdue = coordinator.ledger.overdue().await?;
        for lease in &overdue {
            if self.overdue.insert(lease.sequence) {
                warn!(
                    lease = lease.sequence,
                    campaign = lease.campaign,
                    worker = lease.worker,
                    name = lease.name,
                    owner = lease.owner,
                    segments = lease.segments,
                    "lease expired"
                );
            }
        }
        self.overdue
            .retain(|told| overdue.iter().any(|lease| lease.sequence == *told));
        Ok(())
    }

    /// Leases and the silence of workers are judged by the database's clock: where that ran backwards, what it
    /// wrote before is wrong.
    async fn clock(&mut self, coordinator: &Coordinator) -> Result<(), LedgerError> {
        let (ledger, hold) = (&coordinator.ledger, coordinator.settings.hold);
        let (at, misdated) = ledger.clock(hold).await?;
        if let Some(behind) = self.clock.read(Instant::now(), at) {
            warn!(
                "the database's clock ran backwards by {}: leases that would outlast their hold \
                 expire now; slew that machine's clock, never step it back",
                duration(behind.as_secs())
            );
        }
        if misdated > 0 {
            let leases = ledger.expire_misdated(hold).await?;
            warn!(
                leases,
                "leases expired whose deadline was further away than their hold: the database's \
                 clock ran backwards"
            );
        }
        Ok(())
    }

    /// A worker that said that it left, or holds nothing and has not been heard for a while, is gone.
    async fn workers(&mut self, coordinator: &Coordinator) -> Result<(), LedgerError> {
        let patience = coordinator.patience();
        let present = coordinator.ledger.present_workers().await?;
        for one in &present {
            if presence(one.seen, patience) != Presence::Gone {
                self.gone.remove(&one.worker);
            } else if self.gone.insert(one.worker.clone()) && self.begun {
                info!(
                    worker = one.worker,
                    name = one.name,
                    owner = one.owner,
                    "worker left"
                );
            }
        }
        // Of those that are forgotten nothing is remembered here either.
        let remembered: BTreeSet<&str> = present.iter().map(|one| &*one.worker).collect();
        self.gone.retain(|one| remembered.contains(one.as_str()));
        Ok(())
    }
}

async fn last_audit(coordinator: &Coordinator, id: &str) -> Result<i64, LedgerError> {
    let mut last = 0;
    loop {
        let page = coordinator.ledger.audit_log(id, last, 10_000).await?;
        match page.last() {
            Some(entry) => last = entry.id,
            None => return Ok(last),
        }
    }
}

fn tell_audit(campaign: &str, entry: &AuditEntry) {
    let AuditEntry {
        segment,
        actor,
        action,
        note,
        ..
    } = entry;
    let what = match action.as_str() {
        "settle" => "dispute settled",
        "retract" => "segment taken back",
        "recut" => "segment recut",
        "set_aside" => "segment set aside",
        "retry" => "segment brought back",
        "reclaim" => "lease taken back",
        other => other,
    };
    info!(campaign, segment, by = actor, "{what}: {note}");
}

fn tell_progress(record: &CampaignRecord, snapshot: &Snapshot, rate: f64, workers: u32) {
    let (there, wanted) = (snapshot.accepted_samples, snapshot.cut.samples);
    let share = progress::share(there, wanted);
    let speed = progress::speed(wanted.saturating_sub(there), rate);
    let workers = match workers {
        1 => "1 worker".to_owned(),
        n => format!("{n} workers"),
    };
    let campaign = &record.campaign;
    let estimate = Candidates::new(campaign.variant).map_or_else(
        |error| error.to_string(),
        |candidates| progress::estimate(campaign, candidates.size(), &snapshot.prefix.counted()),
    );
    info!(
        campaign = record.id,
        "{}: {share}{speed}, {workers}; {estimate}; {}",
        campaign.variant.id,
        progress::trust(snapshot)
    );
}

/// The final report in short; `kazoe report` has the whole of it.
async fn tell_completion(
    coordinator: &Coordinator,
    record: &CampaignRecord,
    snapshot: &Snapshot,
) -> Result<(), LedgerError> {
    let id = record.id.as_str();
    let campaign = &record.campaign;
    let Ok(candidates) = Candidates::new(campaign.variant) else {
        return Ok(());
    };
    let paths = coordinator.paths(id, snapshot.prefix.segments).await?;
    let report = Report::new(
        campaign,
        candidates.size(),
        &candidates.self_mirrored(),
        &snapshot.prefix.counted(),
        &paths,
    );
    let size = candidates.size();
    let estimate = progress::estimate(campaign, size, &snapshot.prefix.counted());
    let agreement = report.greatest_z().map_or_else(String::new, |z| {
        format!("; greatest |z| {}", numerals::z_score(z))
    });
    let builds = coordinator.ledger.builds(id).await?;
    let first = builds.iter().map(|build| build.first_at).min();
    let last = builds.iter().map(|build| build.last_at).max();
    let took = first.zip(last).map_or(0, |(first, last)| {
        u64::try_from((last - first) / 1000).unwrap_or(0)
    });
    info!(
        campaign = id,
        digest = %snapshot.prefix.tally.digest,
        "{} done in {}: {}; {estimate}{agreement}; {}",
        campaign.variant.id,
        duration(took),
        progress::share(snapshot.accepted_samples, snapshot.cut.samples),
        progress::trust(snapshot)
    );
    Ok(())
}
