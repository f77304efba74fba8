//! The service Campaigns: submissions, records, snapshots and reports.

mod foreign;
mod report;

use std::collections::BTreeMap;

use kazoe_common::census::{Block, Campaign, Cut, Segment, Tally};

use crate::census::{self, campaign_id};
use crate::invalid::{length, present, text, variant, within, word};
use crate::{Invalid, name, v1};

pub use foreign::{ForeignCampaign, Listed, list_response, listed, printable};
pub use report::{
    BuildShare, Findings, MOST_WORKERS, OwnerShare, WorkerShare, findings, report_response,
};

/// The most bytes of a build's name.
pub(crate) const BUILD: usize = 200;

/// The most bytes of a ledger file in one message.
pub const EXPORT_CHUNK: usize = 1 << 20;

/// How much is to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// So many samples.
    Samples(u64),
}

/// What is to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// It makes the campaign's identity.
    pub campaign: Campaign,
    /// How much of it.
    pub target: Target,
    /// Blocks in a segment, which count at the first submission alone.
    pub segment_blocks: u64,
    /// Higher ones are served first.
    pub priority: i64,
    /// What the submitter's build computes for a few blocks.
    pub self_tests: BTreeMap<Block, Tally>,
    /// That build.
    pub build: String,
}

/// A submission as a message.
#[must_use]
pub fn submit_request(submission: &Submission) -> v1::SubmitRequest {
    let Target::Samples(samples) = submission.target;
    v1::SubmitRequest {
        campaign: Some(census::campaign_message(&submission.campaign)),
        target: Some(v1::submit_request::Target::Samples(samples)),
        segment_blocks: Some(submission.segment_blocks),
        priority: submission.priority,
        self_tests: census::self_test_messages(&submission.self_tests),
        build: submission.build.clone(),
    }
}

/// Blocks in a segment, at most: its tally and its witnesses are one message, of at most 16 MiB.
const MOST_BLOCKS: u64 = 1 << 18;

/// The submission that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn submission(message: v1::SubmitRequest) -> Result<Submission, Invalid> {
    let v1::submit_request::Target::Samples(samples) = present("target", message.target)?;
    let blocks = message.segment_blocks.unwrap_or(Cut::SEGMENT_BLOCKS);
    Ok(Submission {
        campaign: census::campaign("campaign", message.campaign)?,
        target: Target::Samples(within("samples", samples, 1..=1 << 62)?),
        segment_blocks: within("segment_blocks", blocks, 1..=MOST_BLOCKS)?,
        priority: message.priority,
        self_tests: census::self_tests("self_tests", message.self_tests)?,
        build: text("build", message.build, 1..=BUILD)?,
    })
}

/// The id of a campaign as a message.
#[must_use]
pub fn campaign_ref(id: &str) -> v1::CampaignRef {
    v1::CampaignRef { id: id.to_owned() }
}

/// The id that a message says.
///
/// # Errors
/// If it cannot be one.
pub fn named(message: v1::CampaignRef) -> Result<String, Invalid> {
    campaign_id("id", message.id)
}

/// A campaign in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignRecord {
    /// [`Campaign::id`].
    pub id: String,
    /// What is counted.
    pub campaign: Campaign,
    /// How many samples are wanted, and how they are cut.
    pub cut: Cut,
    /// Whether it is worked on.
    pub pace: CampaignState,
    /// Higher ones are served first; `None` from a coordinator that does not report it.
    pub priority: Option<i64>,
    /// The build that submitted it first.
    pub build: String,
    /// When it was first submitted, in milliseconds since 1970 by the ledger's clock.
    pub submitted_at: i64,
    /// Grows whenever what is accepted, disputed or set aside changes.
    pub revision: u64,
}

impl CampaignRecord {
    /// The campaign's state in a word: `complete`, or its state.
    #[must_use]
    pub const fn state(&self, complete: bool) -> &'static str {
        if complete {
            "complete"
        } else {
            self.pace.name()
        }
    }
}

/// Whether a campaign is worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignState {
    /// Segments are lent.
    Running,
    /// No new leases for now.
    Paused,
    /// No new leases; the results stay.
    Cancelled,
}

impl CampaignState {
    /// The word in the database and on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CampaignState::Running => "running",
            CampaignState::Paused => "paused",
            CampaignState::Cancelled => "cancelled",
        }
    }

    /// Returns the state with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<CampaignState> {
        [
            CampaignState::Running,
            CampaignState::Paused,
            CampaignState::Cancelled,
        ]
        .into_iter()
        .find(|state| state.name() == name)
    }
}

const fn pace_message(pace: CampaignState) -> v1::Pace {
    match pace {
        CampaignState::Running => v1::Pace::Running,
        CampaignState::Paused => v1::Pace::Paused,
        CampaignState::Cancelled => v1::Pace::Cancelled,
    }
}

fn pace(field: &str, number: i32) -> Result<CampaignState, Invalid> {
    variant(field, number, |pace| match pace {
        v1::Pace::Unspecified => None,
        v1::Pace::Running => Some(CampaignState::Running),
        v1::Pace::Paused => Some(CampaignState::Paused),
        v1::Pace::Cancelled => Some(CampaignState::Cancelled),
    })
}

/// A campaign in the ledger as a message.
#[must_use]
pub fn record_message(record: &CampaignRecord) -> v1::CampaignRecord {
    v1::CampaignRecord {
        id: record.id.clone(),
        campaign: Some(census::campaign_message(&record.campaign)),
        cut: Some(census::cut_message(&record.cut)),
        pace: pace_message(record.pace).into(),
        build: record.build.clone(),
        submitted_at_ms: record.submitted_at,
        revision: record.revision,
        priority: record.priority,
    }
}

/// The campaign in the ledger that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn record(field: &str, message: Option<v1::CampaignRecord>) -> Result<CampaignRecord, Invalid> {
    let message = present(field, message)?;
    let at = |name: &str| format!("{field}.{name}");
    let campaign = census::campaign(&at("campaign"), message.campaign)?;
    if campaign.id() != message.id {
        return Err(Invalid::new(at("id"), "it is another campaign's"));
    }
    Ok(CampaignRecord {
        id: message.id,
        campaign,
        cut: census::cut(&at("cut"), message.cut)?,
        pace: pace(&at("pace"), message.pace)?,
        build: text(&at("build"), message.build, 0..=BUILD)?,
        submitted_at: message.submitted_at_ms,
        revision: message.revision,
        priority: message.priority,
    })
}

/// What a submission did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// The campaign is new.
    New,
    /// It was there with as many samples: it goes on where it stopped.
    Existing,
    /// It was there with fewer samples: every whole segment is reused.
    Extended {
        /// How many samples it had.
        from: u64,
    },
    /// It was there with more samples, which stay wanted; nothing changed.
    Fewer {
        /// How many samples were asked for now.
        asked: u64,
    },
}

impl Submitted {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Submitted::New => "new",
            Submitted::Existing => "existing",
            Submitted::Extended { .. } => "extended",
            Submitted::Fewer { .. } => "fewer",
        }
    }
}

/// The answer to a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmitAnswer {
    /// The campaign as it is now.
    pub record: CampaignRecord,
    /// What the submission did.
    pub how: Submitted,
    /// Whether the campaign is complete; `None` from a coordinator that does not report it.
    pub complete: Option<bool>,
}

/// The answer to a submission as a message.
#[must_use]
pub fn submit_response(answer: &SubmitAnswer) -> v1::SubmitResponse {
    use v1::submit_response::{Existing, Extended, Fewer, How, New};
    let how = match answer.how {
        Submitted::New => How::New(New {}),
        Submitted::Existing => How::Existing(Existing {}),
        Submitted::Extended { from } => How::Extended(Extended { from }),
        Submitted::Fewer { asked } => How::Fewer(Fewer { asked }),
    };
    v1::SubmitResponse {
        campaign: Some(record_message(&answer.record)),
        how: Some(how),
        complete: answer.complete,
    }
}

/// The answer to a submission that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn submitted(message: v1::SubmitResponse) -> Result<SubmitAnswer, Invalid> {
    use v1::submit_response::How;
    let record = record("campaign", message.campaign)?;
    let wanted = record.cut.samples;
    let how = match present("how", message.how)? {
        How::New(_) => Submitted::New,
        How::Existing(_) => Submitted::Existing,
        How::Extended(extended) => Submitted::Extended {
            from: within("extended.from", extended.from, 1..=wanted - 1)?,
        },
        How::Fewer(fewer) => Submitted::Fewer {
            asked: within("fewer.asked", fewer.asked, 1..=wanted - 1)?,
        },
    };
    Ok(SubmitAnswer {
        record,
        how,
        complete: message.complete,
    })
}

/// How many segments stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accepted and undisputed.
    pub accepted: u64,
    /// Disputed.
    pub disputed: u64,
    /// Set aside.
    pub set_aside: u64,
    /// Lent to be filled.
    pub leased: u64,
    /// Given back.
    pub returned: u64,
    /// Taken back or cut anew.
    pub retracted: u64,
    /// Never lent.
    pub unleased: u64,
}

/// A campaign at one moment. The prefix satisfies its design's identities, and the counts add up to the
/// campaign's segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The campaign's id.
    pub campaign: String,
    /// How many samples are wanted, and how they are cut.
    pub cut: Cut,
    /// The ledger's revision that this was read at.
    pub revision: u64,
    /// How many segments the prefix has.
    pub prefix_segments: Segment,
    /// How many of its samples are set aside.
    pub set_aside_samples: u64,
    /// The sum of the prefix's accepted tallies.
    pub tally: Tally,
    /// How many segments stand where.
    pub counts: Counts,
    /// Samples of all accepted and undisputed segments.
    pub accepted_samples: u64,
    /// Accepted and undisputed segments of which an audit arrived.
    pub audited: u64,
    /// How many workers hold leases of it whose deadline has not passed.
    pub workers: u32,
    /// Whether it is worked on; `None` from a coordinator that does not report it.
    pub pace: Option<CampaignState>,
    /// Some of those workers, by id.
    pub holders: Vec<Holder>,
}

/// The most holders in a snapshot.
pub const MOST_HOLDERS: usize = 16;

/// A worker that holds leases of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its id.
    pub worker: String,
    /// What people call its machine.
    pub name: Option<String>,
}

/// A snapshot as a message.
#[must_use]
pub fn snapshot_message(snapshot: &Snapshot) -> v1::Snapshot {
    let counts = &snapshot.counts;
    v1::Snapshot {
        campaign: snapshot.campaign.clone(),
        cut: Some(census::cut_message(&snapshot.cut)),
        revision: snapshot.revision,
        prefix: Some(v1::snapshot::Prefix {
            segments: snapshot.prefix_segments,
            set_aside_samples: snapshot.set_aside_samples,
            tally: Some(census::tally_message(&snapshot.tally)),
        }),
        counts: Some(v1::snapshot::Counts {
            accepted: counts.accepted,
            disputed: counts.disputed,
            set_aside: counts.set_aside,
            leased: counts.leased,
            returned: counts.returned,
            retracted: counts.retracted,
            unleased: counts.unleased,
        }),
        accepted_samples: snapshot.accepted_samples,
        audited: snapshot.audited,
        workers: snapshot.workers,
        pace: snapshot
            .pace
            .map_or(v1::Pace::Unspecified, pace_message)
            .into(),
        holders: snapshot
            .holders
            .iter()
            .map(|holder| v1::snapshot::Holder {
                worker: holder.worker.clone(),
                name: holder.name.clone().unwrap_or_default(),
            })
            .collect(),
    }
}

/// The snapshot that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn snapshot(field: &str, message: Option<v1::Snapshot>) -> Result<Snapshot, Invalid> {
    let message = present(field, message)?;
    let at = |name: &str| format!("{field}.{name}");
    let cut = census::cut(&at("cut"), message.cut)?;
    let counts = counts(&at("counts"), &cut, message.counts)?;
    let prefix = present(&at("prefix"), message.prefix)?;
    let segments = within(&at("prefix.segments"), prefix.segments, 0..=cut.segments())?;
    let samples = cut.samples.min(segments * cut.segment_samples());
    let set_aside_samples = within(
        &at("prefix.set_aside_samples"),
        prefix.set_aside_samples,
        0..=samples,
    )?;
    let counted = samples - set_aside_samples;
    Ok(Snapshot {
        campaign: campaign_id(&at("campaign"), message.campaign)?,
        cut,
        revision: message.revision,
        prefix_segments: segments,
        set_aside_samples,
        tally: census::tally_of(&at("prefix.tally"), counted, prefix.tally)?,
        counts,
        accepted_samples: within(
            &at("accepted_samples"),
            message.accepted_samples,
            counted..=cut.samples,
        )?,
        audited: within(&at("audited"), message.audited, 0..=counts.accepted)?,
        workers: message.workers,
        pace: match message.pace {
            unspecified if unspecified == i32::from(v1::Pace::Unspecified) => None,
            number => Some(pace(&at("pace"), number)?),
        },
        holders: holders(&at("holders"), message.holders)?,
    })
}

fn holders(field: &str, messages: Vec<v1::snapshot::Holder>) -> Result<Vec<Holder>, Invalid> {
    length(field, &messages, 0..=MOST_HOLDERS)?;
    let holders = messages.into_iter().enumerate();
    let holders = holders.map(|(place, one)| {
        Ok(Holder {
            worker: word(&format!("{field}[{place}].worker"), one.worker)?,
            name: name::label(&one.name),
        })
    });
    holders.collect()
}

fn counts(
    field: &str,
    cut: &Cut,
    message: Option<v1::snapshot::Counts>,
) -> Result<Counts, Invalid> {
    let message = present(field, message)?;
    let counts = Counts {
        accepted: message.accepted,
        disputed: message.disputed,
        set_aside: message.set_aside,
        leased: message.leased,
        returned: message.returned,
        retracted: message.retracted,
        unleased: message.unleased,
    };
    let sum = [
        counts.accepted,
        counts.disputed,
        counts.set_aside,
        counts.leased,
        counts.returned,
        counts.retracted,
        counts.unleased,
    ]
    .into_iter()
    .try_fold(0_u64, u64::checked_add);
    if sum != Some(cut.segments()) {
        let why = format!("they do not add up to {} segments", cut.segments());
        return Err(Invalid::new(field, why));
    }
    Ok(counts)
}

/// A piece of a ledger file, as a message says it.
///
/// # Errors
/// If it is larger than a piece may be.
pub fn export_text(message: v1::ExportChunk) -> Result<Vec<u8>, Invalid> {
    length("text", &message.text, 0..=EXPORT_CHUNK)?;
    Ok(message.text)
}
