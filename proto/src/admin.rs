//! The service Admin: what only an operator may do.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use kazoe_common::census::{Segment, SegmentResult};

use crate::campaigns::{BUILD, CampaignRecord, record, record_message};
use crate::census::{self, campaign_id};
use crate::invalid::{length, present, text, variant, within, word};
use crate::outcome::{self, DeliveryOutcome};
use crate::work::MOST_FINISHED;
use crate::{Invalid, name, v1};

/// The most bytes of an owner's name that a coordinator tells.
pub(crate) const OWNER: usize = 4 * name::MOST_OWNER;

/// The most bytes of a reason.
const WHY: usize = 1_000;

/// The most entries of a list.
const MOST: usize = 1 << 16;

/// One worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its id.
    pub worker: String,
    /// Who answers for it.
    pub owner: String,
    /// What people call its machine.
    pub name: Option<String>,
    /// Its build.
    pub build: String,
    /// On how many threads it computes.
    pub threads: u32,
    /// Samples a second that it measured last, if it has.
    pub samples_per_second: Option<u64>,
    /// How many leases it holds whose deadline has not passed.
    pub leases: u32,
    /// How long ago it was last heard.
    pub silent: Duration,
    /// Whether it was told to leave.
    pub drained: bool,
    /// What it does now.
    pub presence: Presence,
    /// How many segments count with a tally of its.
    pub accepted: u64,
    /// How many of those another owner, or the operator, got as well.
    pub audited: u64,
    /// How many of its tallies differ from what counts now, by a ruling.
    pub disagreed: u64,
    /// How many of its tallies belong to an open dispute: the honest side's as well.
    pub disputed: u64,
}

/// What a worker does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It holds leases.
    AtWork,
    /// It holds none, and was heard lately.
    Idle,
    /// It is here and was told to leave.
    Leaving,
    /// It said that it left, or was not heard for long.
    Gone,
}

impl Presence {
    /// Returns the word on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Presence::AtWork => "at work",
            Presence::Idle => "idle",
            Presence::Leaving => "leaving",
            Presence::Gone => "gone",
        }
    }
}

/// The most workers in one message.
pub const MOST_WORKERS: u32 = 10_000;

/// Workers as a message, `left_out` more left out.
#[must_use]
pub fn workers_response(workers: &[Worker], left_out: u64) -> v1::WorkersResponse {
    let workers = workers.iter().map(|one| v1::workers_response::Worker {
        worker: one.worker.clone(),
        owner: one.owner.clone(),
        build: one.build.clone(),
        threads: one.threads,
        samples_per_second: one.samples_per_second.unwrap_or(0),
        leases: one.leases,
        silent_ms: u64::try_from(one.silent.as_millis()).unwrap_or(u64::MAX),
        drained: one.drained,
        accepted: one.accepted,
        audited: one.audited,
        disagreed: one.disagreed,
        name: one.name.clone().unwrap_or_default(),
        presence: match one.presence {
            Presence::AtWork => v1::Presence::AtWork,
            Presence::Idle => v1::Presence::Idle,
            Presence::Leaving => v1::Presence::Leaving,
            Presence::Gone => v1::Presence::Gone,
        }
        .into(),
        disputed: one.disputed,
    });
    v1::WorkersResponse {
        workers: workers.collect(),
        left_out,
    }
}

/// The workers that a message says. How many were left out stands in the message.
///
/// # Errors
/// The first field that cannot be.
pub fn workers(message: v1::WorkersResponse) -> Result<Vec<Worker>, Invalid> {
    length("workers", &message.workers, 0..=MOST)?;
    let workers = message.workers.into_iter().enumerate();
    let workers = workers.map(|(place, one)| {
        let at = |name: &str| format!("workers[{place}].{name}");
        let speed = one.samples_per_second;
        // A coordinator of an earlier build tells none.
        let told = match (one.drained, one.leases) {
            (true, _) => Presence::Leaving,
            (false, 0) => Presence::Idle,
            (false, _) => Presence::AtWork,
        };
        let presence = variant(&at("presence"), one.presence, |presence| match presence {
            v1::Presence::Unspecified => Some(told),
            v1::Presence::AtWork => Some(Presence::AtWork),
            v1::Presence::Idle => Some(Presence::Idle),
            v1::Presence::Leaving => Some(Presence::Leaving),
            v1::Presence::Gone => Some(Presence::Gone),
        });
        Ok(Worker {
            name: name::label(&one.name),
            presence: presence?,
            disputed: one.disputed,
            worker: word(&at("worker"), one.worker)?,
            owner: text(&at("owner"), one.owner, 1..=OWNER)?,
            build: text(&at("build"), one.build, 1..=BUILD)?,
            threads: within(&at("threads"), one.threads, 1..=1 << 16)?,
            samples_per_second: (speed > 0).then_some(speed),
            leases: one.leases,
            silent: Duration::from_millis(one.silent_ms),
            drained: one.drained,
            accepted: one.accepted,
            audited: within(&at("audited"), one.audited, 0..=one.accepted)?,
            disagreed: one.disagreed,
        })
    });
    workers.collect()
}

/// Whose tallies are taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of a worker.
    Worker(String),
    /// Those of all workers of an owner.
    Owner(String),
    /// Those of a build.
    Build(String),
    /// That of one segment.
    Segment(Segment),
}

/// Which tallies are taken back, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// The campaign's id.
    pub campaign: String,
    /// Whose.
    pub whose: Whose,
    /// Why, for the audit log.
    pub why: String,
}

/// A purge as a message.
#[must_use]
pub fn purge_request(purge: &Purge) -> v1::PurgeRequest {
    use v1::purge_request::Whose as Wire;
    let whose = match &purge.whose {
        Whose::Worker(worker) => Wire::Worker(worker.clone()),
        Whose::Owner(owner) => Wire::Owner(owner.clone()),
        Whose::Build(build) => Wire::Build(build.clone()),
        Whose::Segment(segment) => Wire::Segment(*segment),
    };
    v1::PurgeRequest {
        campaign: purge.campaign.clone(),
        whose: Some(whose),
        why: purge.why.clone(),
    }
}

/// The purge that a message says. Whether the campaign has the segment is not judged here.
///
/// # Errors
/// The first field that cannot be.
pub fn purge(message: v1::PurgeRequest) -> Result<Purge, Invalid> {
    use v1::purge_request::Whose as Wire;
    let whose = match present("whose", message.whose)? {
        Wire::Worker(worker) => Whose::Worker(word("worker", worker)?),
        Wire::Owner(owner) => Whose::Owner(name::owner("owner", &owner)?),
        Wire::Build(build) => Whose::Build(text("build", build, 1..=BUILD)?),
        Wire::Segment(segment) => Whose::Segment(any_segment(segment)?),
    };
    Ok(Purge {
        campaign: campaign_id("campaign", message.campaign)?,
        whose,
        why: text("why", message.why, 1..=WHY)?,
    })
}

/// A segment that some campaign could have: those of one block begin before sample 2^62.
fn any_segment(segment: Segment) -> Result<Segment, Invalid> {
    within("segment", segment, 0..=(1 << 50) - 1)
}

/// The operator's tally of a disputed segment as a message.
#[must_use]
pub fn resolve_request(campaign: &str, finished: &SegmentResult) -> v1::ResolveRequest {
    v1::ResolveRequest {
        campaign: campaign.to_owned(),
        finished: Some(census::result_message(finished)),
    }
}

/// The campaign that a message is about, by which the size of its segments is found.
///
/// # Errors
/// If it cannot be one.
pub fn resolved_campaign(message: &v1::ResolveRequest) -> Result<String, Invalid> {
    campaign_id("campaign", message.campaign.clone())
}

/// The operator's tally that a message says, of a campaign with so many blocks in a segment.
///
/// # Errors
/// The first field that cannot be.
pub fn resolution(
    message: v1::ResolveRequest,
    segment_blocks: u64,
) -> Result<SegmentResult, Invalid> {
    let finished = present("finished", message.finished)?;
    census::result("finished", finished, segment_blocks)
}

/// Tallies that were computed without a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The campaign's id.
    pub campaign: String,
    /// Blocks in a segment as they were computed.
    pub segment_blocks: u64,
    /// The build that computed them.
    pub build: String,
    /// The segments, at least one, each once.
    pub segments: Vec<SegmentResult>,
}

/// Tallies that were computed without a network, as a message.
#[must_use]
pub fn import_request(import: &Import) -> v1::ImportRequest {
    v1::ImportRequest {
        campaign: import.campaign.clone(),
        segment_blocks: import.segment_blocks,
        build: import.build.clone(),
        segments: import.segments.iter().map(census::result_message).collect(),
    }
}

/// The tallies that a message says. Whether they are cut as the campaign is is not judged here.
///
/// # Errors
/// The first field that cannot be.
pub fn import(message: v1::ImportRequest) -> Result<Import, Invalid> {
    let campaign = campaign_id("campaign", message.campaign)?;
    let segment_blocks = within("segment_blocks", message.segment_blocks, 1..=1 << 20)?;
    let build = text("build", message.build, 1..=BUILD)?;
    length("segments", &message.segments, 1..=MOST_FINISHED)?;
    let mut seen = BTreeSet::new();
    let segments = message.segments.into_iter().enumerate();
    let segments = segments.map(|(place, message)| {
        let field = format!("segments[{place}]");
        if !seen.insert(message.segment) {
            let why = format!("duplicate segment {}", message.segment);
            return Err(Invalid::new(format!("{field}.segment"), why));
        }
        census::result(&field, message, segment_blocks)
    });
    Ok(Import {
        campaign,
        segment_blocks,
        build,
        segments: segments.collect::<Result<_, Invalid>>()?,
    })
}

/// What became of imported tallies, as a message.
#[must_use]
pub fn import_response(verdicts: &[DeliveryOutcome]) -> v1::ImportResponse {
    v1::ImportResponse {
        verdicts: verdicts.iter().copied().map(outcome::message).collect(),
    }
}

/// What became of so many imported tallies, as a message says it.
///
/// # Errors
/// The first field that cannot be.
pub fn imported(message: v1::ImportResponse, sent: usize) -> Result<Vec<DeliveryOutcome>, Invalid> {
    length("verdicts", &message.verdicts, sent..=sent)?;
    let verdicts = message.verdicts.into_iter().enumerate();
    let verdicts =
        verdicts.map(|(place, one)| outcome::outcome(&format!("verdicts[{place}]"), one));
    verdicts.collect()
}

/// Which segment of which campaign is tried again, as a message.
#[must_use]
pub fn retry_request(campaign: &str, segment: Segment) -> v1::RetryRequest {
    v1::RetryRequest {
        campaign: campaign.to_owned(),
        segment,
    }
}

/// The campaign and the segment that a message says. Whether the one has the other is not judged here.
///
/// # Errors
/// The first field that cannot be.
pub fn retry(message: v1::RetryRequest) -> Result<(String, Segment), Invalid> {
    let campaign = campaign_id("campaign", message.campaign)?;
    Ok((campaign, any_segment(message.segment)?))
}

/// A campaign's new priority as a message.
#[must_use]
pub fn set_priority_request(campaign: &str, priority: i64) -> v1::SetPriorityRequest {
    v1::SetPriorityRequest {
        campaign: campaign.to_owned(),
        priority,
    }
}

/// The campaign and its new priority that a message says.
///
/// # Errors
/// If it cannot be a campaign's id.
pub fn new_priority(message: v1::SetPriorityRequest) -> Result<(String, i64), Invalid> {
    let campaign = campaign_id("campaign", message.campaign)?;
    Ok((campaign, message.priority))
}

/// A campaign with its new priority, and the one before, as a message.
#[must_use]
pub fn set_priority_response(record: &CampaignRecord, before: i64) -> v1::SetPriorityResponse {
    v1::SetPriorityResponse {
        campaign: Some(record_message(record)),
        before,
    }
}

/// The campaign with its new priority, and the one before, that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn priority_set(message: v1::SetPriorityResponse) -> Result<(CampaignRecord, i64), Invalid> {
    let record = record("campaign", message.campaign)?;
    present("campaign.priority", record.priority)?;
    Ok((record, message.before))
}

/// The worker that is to leave.
///
/// # Errors
/// If it cannot be one's id.
pub fn drained(message: v1::DrainRequest) -> Result<String, Invalid> {
    word("worker", message.worker)
}

/// Whose leases are taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// All that a worker holds.
    Worker(String),
    /// The lease of this number.
    Lease(i64),
}

/// Whose leases are taken back, as a message.
#[must_use]
pub fn reclaim_request(reclaim: &Reclaim) -> v1::ReclaimRequest {
    use v1::reclaim_request::Whose as Wire;
    v1::ReclaimRequest {
        whose: Some(match reclaim {
            Reclaim::Worker(worker) => Wire::Worker(worker.clone()),
            Reclaim::Lease(lease) => Wire::Lease(*lease),
        }),
    }
}

/// Whose leases are taken back, as a message says it.
///
/// # Errors
/// The first field that cannot be.
pub fn reclaim(message: v1::ReclaimRequest) -> Result<Reclaim, Invalid> {
    use v1::reclaim_request::Whose as Wire;
    Ok(match present("whose", message.whose)? {
        Wire::Worker(worker) => Reclaim::Worker(word("worker", worker)?),
        Wire::Lease(lease) => Reclaim::Lease(within("lease", lease, 1..=i64::MAX)?),
    })
}

/// What a credential allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Read-only access.
    Viewer,
    /// To compute.
    Worker,
    /// Everything.
    Operator,
}

fn role_number(role: Role) -> i32 {
    let role = match role {
        Role::Viewer => v1::Role::Viewer,
        Role::Worker => v1::Role::Worker,
        Role::Operator => v1::Role::Operator,
    };
    role.into()
}

fn role(field: &str, number: i32) -> Result<Role, Invalid> {
    variant(field, number, |role| match role {
        v1::Role::Unspecified => None,
        v1::Role::Viewer => Some(Role::Viewer),
        v1::Role::Worker => Some(Role::Worker),
        v1::Role::Operator => Some(Role::Operator),
    })
}

/// Whose a new credential is and what it allows, as a message.
#[must_use]
pub fn create_token_request(owner: &str, role: Role) -> v1::CreateTokenRequest {
    v1::CreateTokenRequest {
        owner: owner.to_owned(),
        role: role_number(role),
    }
}

/// Whose a new credential is and what it allows, as a message says it.
///
/// # Errors
/// The first field that cannot be.
pub fn new_token(message: v1::CreateTokenRequest) -> Result<(String, Role), Invalid> {
    Ok((
        name::owner("owner", &message.owner)?,
        role("role", message.role)?,
    ))
}

/// A new credential: its name, and the secret that is told once.
#[derive(Clone, PartialEq, Eq)]
pub struct NewCredential {
    /// Names it.
    pub id: String,
    /// The credential itself.
    pub secret: String,
}

/// The secret stays out of logs.
impl fmt::Debug for NewCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewCredential")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A new credential as a message.
#[must_use]
pub fn create_token_response(new: &NewCredential) -> v1::CreateTokenResponse {
    v1::CreateTokenResponse {
        id: new.id.clone(),
        secret: new.secret.clone(),
    }
}

/// The new credential that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn new_credential(message: v1::CreateTokenResponse) -> Result<NewCredential, Invalid> {
    Ok(NewCredential {
        id: word("id", message.id)?,
        secret: text("secret", message.secret, 16..=200)?,
    })
}

/// A credential without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Names it.
    pub id: String,
    /// Who answers for it.
    pub owner: String,
    /// What it allows.
    pub role: Role,
    /// When it was made, in milliseconds since 1970 by the ledger's clock.
    pub created_at: i64,
    /// Whether it was revoked.
    pub revoked: bool,
}

/// Credentials as a message.
#[must_use]
pub fn list_tokens_response(credentials: &[Credential]) -> v1::ListTokensResponse {
    let tokens = credentials
        .iter()
        .map(|one| v1::list_tokens_response::Credential {
            id: one.id.clone(),
            owner: one.owner.clone(),
            role: role_number(one.role),
            created_at_ms: one.created_at,
            revoked: one.revoked,
        });
    v1::ListTokensResponse {
        tokens: tokens.collect(),
    }
}

/// The credentials that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn credentials(message: v1::ListTokensResponse) -> Result<Vec<Credential>, Invalid> {
    length("tokens", &message.tokens, 0..=MOST)?;
    let tokens = message.tokens.into_iter().enumerate();
    let tokens = tokens.map(|(place, one)| {
        let at = |name: &str| format!("tokens[{place}].{name}");
        Ok(Credential {
            id: word(&at("id"), one.id)?,
            owner: text(&at("owner"), one.owner, 1..=OWNER)?,
            role: role(&at("role"), one.role)?,
            created_at: one.created_at_ms,
            revoked: one.revoked,
        })
    });
    tokens.collect()
}

/// The credential that is to end.
///
/// # Errors
/// If it cannot be one's name.
pub fn revoked(message: v1::RevokeTokenRequest) -> Result<String, Invalid> {
    word("id", message.id)
}
