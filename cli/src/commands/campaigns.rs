//! `kazoe campaigns`: what a database holds.

use kazoe_common::census::Outcome;
use kazoe_coordinator::ledger::{CampaignRecord, ForeignCampaign, Ledger, Snapshot};
use serde_json::{Value, json};

use crate::campaign_source::PlaceArgs;
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::sqlite_args;

/// List the campaigns, oldest first.
///
/// One campaign a line: id, variant, seed, cap, finished samples, requested samples, state, and at a
/// coordinator the priority; separated by tabs. The state is complete, or at a coordinator running, paused or
/// cancelled, and in a database file unfinished: `kazoe run` resumes it. A campaign of another build is
/// unknown, and one with rows that this build does not support is unreadable: a line on standard error gives
/// the reason, and `-` replaces its finished samples.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe campaigns
  kazoe campaigns --db other.db --json
  kazoe campaigns --coordinator http://127.0.0.1:7273")]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        sqlite_args::block_on(async {
            for entry in self.all().await? {
                if let Some(problem) = &entry.problem {
                    tell(format_args!("note: {problem}"));
                }
                if self.form.json() {
                    output.json(&entry.document())?;
                } else if self.place.office.is_named() {
                    let priority = entry
                        .priority
                        .map_or_else(nothing, |priority| priority.to_string());
                    output.line(format_args!("{}\t{priority}", entry.line()))?;
                } else {
                    output.line(entry.line())?;
                }
            }
            Ok(Ending::Done)
        })
    }

    /// All campaigns of the database, or of the coordinator if one was named.
    async fn all(&self) -> Result<Vec<Entry>, Stop> {
        let at_coordinator = self.place.office.is_named();
        let mut all = Vec::new();
        let foreign = if at_coordinator {
            let mut office = self.place.office.open()?;
            let listed = office.list().await?;
            for record in listed.known {
                let looked = office.look(&record.id).await?;
                let looked = looked.map(|(snapshot, _)| snapshot);
                all.push(Entry::known(&record, looked, at_coordinator));
            }
            listed.foreign
        } else {
            let read = self.place.store.read(async |ledger| {
                let listed = ledger.listed().await.map_err(Stop::failed)?;
                for record in listed.known {
                    let looked = match ledger.snapshot(&record.id).await {
                        Err(error) if error.is_of_one_campaign() => Err(error.to_string()),
                        looked => Ok(looked.map_err(Stop::failed)?),
                    };
                    all.push(Entry::known(&record, looked, at_coordinator));
                }
                Ok(listed.foreign)
            });
            read.await?
        };
        all.extend(foreign.into_iter().map(Entry::foreign));
        all.sort_by(|a, b| (a.submitted_at, &a.id).cmp(&(b.submitted_at, &b.id)));
        Ok(all)
    }
}

/// What stands where there is no figure.
fn nothing() -> String {
    "-".to_owned()
}

/// A campaign as it is listed.
struct Entry {
    id: String,
    submitted_at: i64,
    variant: String,
    population: String,
    design: String,
    seed: String,
    cap: Value,
    wanted: Option<u64>,
    /// What was counted, if it can be read.
    snapshot: Option<Snapshot>,
    state: &'static str,
    priority: Option<i64>,
    build: String,
    problem: Option<String>,
}

impl Entry {
    /// A campaign of this build, with its snapshot or why there is none.
    fn known(
        record: &CampaignRecord,
        looked: Result<Snapshot, String>,
        at_coordinator: bool,
    ) -> Self {
        let campaign = &record.campaign;
        let (snapshot, problem) = match looked {
            Ok(snapshot) => (Some(snapshot), None),
            Err(problem) => (None, Some(problem)),
        };
        let state = match &snapshot {
            None => "unreadable",
            Some(snapshot) if at_coordinator => record.state(snapshot.is_complete()),
            Some(snapshot) if snapshot.is_complete() => "complete",
            Some(_) => "unfinished",
        };
        Entry {
            id: record.id.clone(),
            submitted_at: record.submitted_at,
            variant: campaign.variant.id.to_owned(),
            population: campaign.population.name().to_owned(),
            design: campaign.design.name().to_owned(),
            seed: campaign.seed.to_string(),
            cap: campaign.cap.into(),
            wanted: Some(record.cut.samples),
            snapshot,
            state,
            priority: record.priority,
            build: record.build.clone(),
            problem,
        }
    }

    fn foreign(campaign: ForeignCampaign) -> Self {
        Entry {
            problem: Some(campaign.to_string()),
            id: campaign.id,
            submitted_at: campaign.submitted_at,
            variant: campaign.variant,
            population: campaign.population,
            design: campaign.design,
            seed: campaign.seed,
            cap: campaign.cap.into(),
            wanted: campaign.samples,
            snapshot: None,
            state: "unknown",
            priority: campaign.priority,
            build: campaign.build,
        }
    }

    /// The line for people, up to the state. Texts of another program are escaped.
    fn line(&self) -> String {
        let cap = match &self.cap {
            Value::Null => "none".to_owned(),
            Value::String(text) => text.clone(),
            number => number.to_string(),
        };
        let figure = |figure: Option<u64>| figure.map_or_else(nothing, |figure| figure.to_string());
        let there = self.snapshot.as_ref().map(|at| at.accepted_samples);
        format!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{}",
            self.id.escape_debug(),
            self.variant.escape_debug(),
            self.seed.escape_debug(),
            cap.escape_debug(),
            figure(there),
            figure(self.wanted),
            self.state
        )
    }

    fn document(&self) -> Value {
        let snapshot = self.snapshot.as_ref();
        let tally = snapshot.map(|at| &at.prefix.tally);
        json!({
            "version": JSON_VERSION,
            "campaign": self.id,
            "variant": self.variant,
            "population": self.population,
            "design": self.design,
            "seed": self.seed,
            "cap": self.cap,
            "wanted_samples": self.wanted,
            "accepted_samples": snapshot.map(|at| at.accepted_samples),
            "reachable": tally.map(|tally| tally.of(Outcome::Reachable)),
            "digest": tally.map(|tally| tally.digest.to_string()),
            "state": self.state,
            "priority": self.priority,
            "build": self.build,
            "problem": self.problem,
        })
    }
}
