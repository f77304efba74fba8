//! `kazoe watch`: follows a campaign.

use clap_complete::engine::ArgValueCompleter;
use kazoe_common::census::Fingerprint;
use kazoe_common::population::Candidates;
use kazoe_coordinator::ledger::{CampaignRecord, CampaignState, Snapshot};
use kazoe_coordinator::progress::{self, Pulse, share, trust};
use kazoe_worker::backoff::passes;
use serde_json::json;

use crate::completion::ids;
use crate::coordinator_client::{AGAIN, AtWork, Office, OfficeArgs};
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::progress::Progress;
use crate::quantity::counted;
use crate::{signals, sqlite_args};

/// Follow a campaign until it is complete: progress, speed, estimate, workers.
///
/// It waits for an unavailable coordinator and for a paused campaign; for a cancelled campaign it exits with
/// code 1. With --json each change is a document on standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe watch --coordinator http://127.0.0.1:7273
  kazoe watch shogi
  kazoe watch 3f2a --json | jq .accepted_samples")]
pub(super) struct Args {
    /// The campaign: its id or the beginning of it, or a game [default: the newest].
    #[arg(add = ArgValueCompleter::new(ids::campaigns))]
    campaign: Option<String>,

    #[command(flatten)]
    office: OfficeArgs,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        signals::leave_at_once()?;
        sqlite_args::block_on(async {
            let mut office = self.office.open()?;
            let record = office.find(self.campaign.as_deref()).await?;
            let last = follow(&mut office, &record.id, |snapshot, workers| {
                if self.form.json() {
                    output.json(&document(&record, snapshot, workers))?;
                    output.flush()?;
                }
                Ok(())
            });
            let last = last.await?;
            if !self.form.json() {
                let tally = &last.prefix.tally;
                output.line(format_args!("{}\tcomplete\t{}", record.id, tally.digest))?;
            }
            Ok(Ending::Done)
        })
    }
}

fn document(record: &CampaignRecord, snapshot: &Snapshot, workers: &AtWork) -> serde_json::Value {
    let fingerprint = Fingerprint::of(&record.campaign, &snapshot.prefix.tally);
    let counts = &snapshot.counts;
    json!({
        "version": JSON_VERSION,
        "campaign": snapshot.campaign,
        "revision": snapshot.revision,
        "state": now(record, snapshot).state(snapshot.is_complete()),
        "wanted_samples": snapshot.cut.samples,
        "accepted_samples": snapshot.accepted_samples,
        "prefix_segments": snapshot.prefix.segments,
        "digest": snapshot.prefix.tally.digest.to_string(),
        "fingerprint": fingerprint.to_string(),
        "workers": workers.number,
        "at_work": workers
            .some
            .iter()
            .map(|one| json!({ "worker": one.worker, "name": one.name }))
            .collect::<Vec<_>>(),
        "audited_segments": snapshot.audited,
        "segments": {
            "accepted": counts.accepted,
            "disputed": counts.disputed,
            "set_aside": counts.set_aside,
            "leased": counts.leased,
            "returned": counts.returned,
            "retracted": counts.retracted,
            "unleased": counts.unleased,
        },
    })
}

/// The campaign at the moment of a snapshot, which an older coordinator says nothing of.
fn now(record: &CampaignRecord, snapshot: &Snapshot) -> CampaignRecord {
    CampaignRecord {
        pace: snapshot.pace.unwrap_or(record.pace),
        cut: snapshot.cut,
        revision: snapshot.revision,
        ..record.clone()
    }
}

/// Shows a campaign's progress on standard error until it is complete, and hands each snapshot to
/// `heed`. Returns the last one.
///
/// # Errors
/// That the campaign is cancelled; what `heed` says, or the coordinator, unless that passes.
pub(super) async fn follow(
    office: &mut Office,
    id: &str,
    mut heed: impl FnMut(&Snapshot, &AtWork) -> Result<(), Stop>,
) -> Result<Snapshot, Stop> {
    let record = office.find(Some(id)).await?;
    let mut shown: Option<Shown> = None;
    let mut away = false;
    loop {
        let ended = async {
            let mut watched = office.watch(id).await?;
            while let Some(message) = watched.message().await? {
                away = false;
                let (snapshot, workers) = match office.read(Some(message)) {
                    Ok(read) => read,
                    Err(odd) => return Ok(Err(odd)),
                };
                let shown = shown.get_or_insert_with(|| Shown::new(&record, &snapshot));
                shown.show(&record, &snapshot, &workers);
                if let Err(stop) = heed(&snapshot, &workers) {
                    return Ok(Err(stop));
                }
                if snapshot.is_complete() {
                    return Ok(Ok(snapshot));
                }
                let record = now(&record, &snapshot);
                if record.pace == CampaignState::Cancelled {
                    return Ok(Err(cancelled(&record, &snapshot)));
                }
                shown.say_what_holds_it_up(&record, &snapshot);
            }
            Err(tonic::Status::unavailable("it closed the stream"))
        };
        match ended.await {
            Ok(over) => {
                if let Some(shown) = &shown {
                    shown.progress.end();
                }
                return over;
            }
            Err(status) if !passes(&status) => return Err(office.refused(&status)),
            Err(_) => {
                if !std::mem::replace(&mut away, true) {
                    tell(format_args!(
                        "{} does not answer; waiting for it.",
                        office.url
                    ));
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

/// Why a cancelled campaign is not waited for.
fn cancelled(record: &CampaignRecord, snapshot: &Snapshot) -> Stop {
    let id = &record.id;
    Stop::failed(format_args!(
        "campaign {id} is cancelled: {}; `kazoe resume {id}` resumes it",
        share(snapshot.accepted_samples, snapshot.cut.samples)
    ))
}

/// What is shown.
struct Shown {
    progress: Progress,
    /// What holds the campaign up, as it was said last.
    obstacle: Option<String>,
    pulse: Pulse,
    candidates: Option<Candidates>,
}

impl Shown {
    fn new(record: &CampaignRecord, first: &Snapshot) -> Self {
        Shown {
            progress: Progress::new(first.cut.samples, first.accepted_samples),
            obstacle: None,
            pulse: Pulse::from_now(first.accepted_samples),
            candidates: Candidates::new(record.campaign.variant).ok(),
        }
    }

    /// Says once what the campaign waits for besides workers, and that it goes on.
    fn say_what_holds_it_up(&mut self, record: &CampaignRecord, snapshot: &Snapshot) {
        let obstacle = obstacle(record, snapshot);
        if obstacle == self.obstacle {
            return;
        }
        match &obstacle {
            Some(words) => self.progress.say(words),
            None => self
                .progress
                .say(format_args!("Campaign {} continues.", record.id)),
        }
        self.obstacle = obstacle;
    }

    fn show(&mut self, record: &CampaignRecord, snapshot: &Snapshot, workers: &AtWork) {
        let counted = snapshot.prefix.counted();
        let estimate = self
            .candidates
            .as_ref()
            .map(|candidates| progress::estimate(&record.campaign, candidates.size(), &counted));
        let mut words = estimate.unwrap_or_default();
        words += &format!("; {workers}; {}", trust(snapshot));
        self.progress.set_estimate(words);
        let rate = self.pulse.beat(snapshot.accepted_samples);
        self.progress.set(snapshot.accepted_samples, rate);
    }
}

/// What a campaign waits for besides workers, and which command brings it on.
fn obstacle(record: &CampaignRecord, snapshot: &Snapshot) -> Option<String> {
    let (id, counts) = (&record.id, &snapshot.counts);
    if record.pace == CampaignState::Paused {
        return Some(format!(
            "Campaign {id} is paused; `kazoe resume {id}` resumes it. Waiting."
        ));
    }
    if counts.accepted + counts.disputed + counts.set_aside < snapshot.cut.segments() {
        return None;
    }
    let mut left = Vec::new();
    if counts.disputed > 0 {
        left.push(format!(
            "{} disputed: a worker of another owner settles it, or `kazoe resolve {id} SEGMENT`",
            counted(counts.disputed, "segment")
        ));
    }
    if counts.set_aside > 0 {
        left.push(format!(
            "{} set aside: `kazoe retry {id} SEGMENT` retries it",
            counted(counts.set_aside, "segment")
        ));
    }
    let left = left.join("; ");
    (!left.is_empty()).then(|| format!("Campaign {id} waits for {left}."))
}
