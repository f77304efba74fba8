//! The service Work: joining, claiming, delivering.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kazoe_common::census::{Block, Campaign, Cut, Segment, SegmentResult, Tally};

use crate::admin::OWNER;
use crate::campaigns::BUILD;
use crate::census;
use crate::invalid::{duration, length, millis, present, text, variant, within, word};
use crate::lease_key::LeaseKey;
use crate::outcome::{self, DeliveryOutcome};
use crate::{Invalid, name, v1};

/// The version of the protocol that this build speaks.
pub const PROTOCOL: u32 = 1;

/// The most segments of a lease.
pub const MOST_LENT: usize = 1 << 16;

/// The most segments handed in with one message.
pub const MOST_FINISHED: usize = 256;

const HOUR: u32 = 3_600_000;
const DAY: u32 = 24 * HOUR;

/// What a worker says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// The version of the protocol that it speaks; whether it will do is not judged here.
    pub protocol: u32,
    /// Its build.
    pub build: String,
    /// What its build computes for known blocks, for each way of counting that it knows.
    pub self_tests: Vec<(Campaign, BTreeMap<Block, Tally>)>,
    /// What people call its machine, made harmless ([`name::label`]).
    pub name: Option<String>,
}

/// What a worker says of itself, as a message.
#[must_use]
pub fn join_request(join: &Join) -> v1::JoinRequest {
    let self_tests = join.self_tests.iter();
    let self_tests = self_tests.map(|(campaign, tests)| v1::join_request::SelfTests {
        campaign: Some(census::campaign_message(campaign)),
        tests: census::self_test_messages(tests),
    });
    v1::JoinRequest {
        protocol: join.protocol,
        build: join.build.clone(),
        self_tests: self_tests.collect(),
        name: join.name.clone().unwrap_or_default(),
    }
}

/// What a worker says of itself in a message.
///
/// # Errors
/// The first field that cannot be.
pub fn join(message: v1::JoinRequest) -> Result<Join, Invalid> {
    length("self_tests", &message.self_tests, 0..=64)?;
    let self_tests = message.self_tests.into_iter().enumerate();
    let self_tests = self_tests.map(|(place, one)| {
        let at = |name: &str| format!("self_tests[{place}].{name}");
        length(&at("tests"), &one.tests, 1..=census::MOST_SELF_TESTS)?;
        let campaign = census::campaign(&at("campaign"), one.campaign)?;
        Ok((campaign, census::self_tests(&at("tests"), one.tests)?))
    });
    Ok(Join {
        protocol: within("protocol", message.protocol, 1..=u32::MAX)?,
        build: text("build", message.build, 1..=BUILD)?,
        self_tests: self_tests.collect::<Result<_, Invalid>>()?,
        name: name::label(&message.name),
    })
}

/// What a worker is told when it joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The id that it has from now on.
    pub worker: String,
    /// How often it should say that it is alive.
    pub heartbeat: Duration,
    /// Who answers for it.
    pub owner: String,
}

/// What a worker is told when it joined, as a message.
#[must_use]
pub fn join_response(joined: &Joined) -> v1::JoinResponse {
    v1::JoinResponse {
        worker: joined.worker.clone(),
        heartbeat_ms: millis(joined.heartbeat),
        owner: joined.owner.clone(),
    }
}

/// What a worker is told in a message when it joined.
///
/// # Errors
/// The first field that cannot be.
pub fn joined(message: v1::JoinResponse) -> Result<Joined, Invalid> {
    Ok(Joined {
        worker: word("worker", message.worker)?,
        heartbeat: duration("heartbeat_ms", message.heartbeat_ms, 100..=HOUR)?,
        owner: text("owner", message.owner, 1..=OWNER)?,
    })
}

/// A request for segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The worker's id. Whether it is the caller's is not judged here.
    pub worker: String,
    /// On how many threads it computes.
    pub threads: u32,
    /// Samples a second that it measured, if it has.
    pub samples_per_second: Option<u64>,
}

/// A request for segments as a message.
#[must_use]
pub fn claim_request(claim: &Claim) -> v1::ClaimRequest {
    v1::ClaimRequest {
        worker: claim.worker.clone(),
        threads: claim.threads,
        samples_per_second: claim.samples_per_second.unwrap_or(0),
    }
}

/// The request for segments that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn claim(message: v1::ClaimRequest) -> Result<Claim, Invalid> {
    let speed = within(
        "samples_per_second",
        message.samples_per_second,
        0..=1 << 50,
    )?;
    Ok(Claim {
        worker: word("worker", message.worker)?,
        threads: within("threads", message.threads, 1..=1 << 16)?,
        samples_per_second: (speed > 0).then_some(speed),
    })
}

/// The worker that leaves. Whether it is the caller's is not judged here.
///
/// # Errors
/// If it cannot be one's id.
pub fn left(message: v1::LeaveRequest) -> Result<String, Invalid> {
    word("worker", message.worker)
}

/// Segments lent to one worker. All of them belong to the campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Extends and ends it, and results arrive under it.
    pub key: LeaseKey,
    /// What is counted.
    pub campaign: Campaign,
    /// How the campaign is cut.
    pub cut: Cut,
    /// The segments, in the order in which they are wanted.
    pub segments: Vec<Segment>,
    /// How long it holds from now on.
    pub hold: Duration,
}

/// The answer to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Segments.
    Lease(Lease),
    /// Nothing now; ask again after a while.
    Later(Duration),
    /// Nothing ever again.
    Leave,
}

/// The answer to a claim as a message.
#[must_use]
pub fn claim_response(offer: &Offer) -> v1::ClaimResponse {
    use v1::claim_response::{Answer, Later, Leave};
    let answer = match offer {
        Offer::Lease(lease) => Answer::Lease(v1::Lease {
            token: lease.key.to_text(),
            campaign: Some(census::campaign_message(&lease.campaign)),
            cut: Some(census::cut_message(&lease.cut)),
            segments: lease.segments.clone(),
            hold_ms: millis(lease.hold),
        }),
        Offer::Later(wait) => Answer::Later(Later {
            wait_ms: millis(*wait),
        }),
        Offer::Leave => Answer::Leave(Leave {}),
    };
    v1::ClaimResponse {
        answer: Some(answer),
    }
}

/// The answer to a claim that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn offer(message: v1::ClaimResponse) -> Result<Offer, Invalid> {
    use v1::claim_response::Answer;
    Ok(match present("answer", message.answer)? {
        Answer::Lease(message) => Offer::Lease(lease(message)?),
        Answer::Later(later) => Offer::Later(duration("later.wait_ms", later.wait_ms, 0..=HOUR)?),
        Answer::Leave(_) => Offer::Leave,
    })
}

fn lease(message: v1::Lease) -> Result<Lease, Invalid> {
    let cut = census::cut("lease.cut", message.cut)?;
    length("lease.segments", &message.segments, 1..=MOST_LENT)?;
    let mut seen = BTreeSet::new();
    for (place, &segment) in message.segments.iter().enumerate() {
        let field = format!("lease.segments[{place}]");
        within(&field, segment, 0..=cut.segments() - 1)?;
        if !seen.insert(segment) {
            return Err(Invalid::new(field, "it is a duplicate"));
        }
    }
    Ok(Lease {
        key: LeaseKey::parse("lease.token", &message.token)?,
        campaign: census::campaign("lease.campaign", message.campaign)?,
        cut,
        segments: message.segments,
        hold: duration("lease.hold_ms", message.hold_ms, 0..=DAY)?,
    })
}

/// The lease that a delivery is checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its key.
    pub key: LeaseKey,
    /// Blocks in a segment of its campaign.
    pub segment_blocks: u64,
    /// Its segments, delivered or not.
    pub segments: BTreeSet<Segment>,
}

/// What a worker says under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Finished segments, at least one, all of its lease.
    Finished(Vec<SegmentResult>),
    /// It is alive and needs the lease.
    Heartbeat,
    /// It needs the lease no more.
    Done,
}

/// What a worker says under a lease, as a message.
#[must_use]
pub fn deliver_request(key: &LeaseKey, report: &Report) -> v1::DeliverRequest {
    use v1::deliver_request::{Done, Finished, Heartbeat, Step};
    let step = match report {
        Report::Finished(segments) => Step::Finished(Finished {
            segments: segments.iter().map(census::result_message).collect(),
        }),
        Report::Heartbeat => Step::Heartbeat(Heartbeat {}),
        Report::Done => Step::Done(Done {}),
    };
    v1::DeliverRequest {
        token: key.to_text(),
        step: Some(step),
    }
}

/// The lease's key in a message, by which [`Held`] is found.
///
/// # Errors
/// If it cannot be one.
pub fn key_of(message: &v1::DeliverRequest) -> Result<LeaseKey, Invalid> {
    LeaseKey::parse("token", &message.token)
}

/// Whether a message under a lease hands in tallies; if not it is short.
#[must_use]
pub const fn has_tallies(message: &v1::DeliverRequest) -> bool {
    use v1::deliver_request::Step;
    matches!(message.step, Some(Step::Finished(_)))
}

/// What a worker says in a message under a lease.
///
/// # Errors
/// The first field that cannot be: another token, a segment outside its lease, a tally that
/// breaks its design's identities, a witness of another segment.
pub fn report(message: v1::DeliverRequest, held: &Held) -> Result<Report, Invalid> {
    use v1::deliver_request::Step;
    if key_of(&message)? != held.key {
        return Err(Invalid::new("token", "it names another lease"));
    }
    let segments = match present("step", message.step)? {
        Step::Heartbeat(_) => return Ok(Report::Heartbeat),
        Step::Done(_) => return Ok(Report::Done),
        Step::Finished(finished) => finished.segments,
    };
    length("finished.segments", &segments, 1..=MOST_FINISHED)?;
    let mut seen = BTreeSet::new();
    let mut all = Vec::with_capacity(segments.len());
    for (place, message) in segments.into_iter().enumerate() {
        let field = format!("finished.segments[{place}]");
        let segment = message.segment;
        let wrong = |why| Invalid::new(format!("{field}.segment"), why);
        if !held.segments.contains(&segment) {
            return Err(wrong(format!("segment {segment} is not in this lease")));
        }
        if !seen.insert(segment) {
            return Err(wrong(format!("duplicate segment {segment}")));
        }
        all.push(census::result(&field, message, held.segment_blocks)?);
    }
    Ok(Report::Finished(all))
}

/// Why a worker is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The lease has ended or was lent to another.
    NotHeld,
    /// The campaign was cancelled.
    Cancelled,
    /// The worker was told to leave.
    Drained,
}

/// What a worker is told under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// These segments are safe, and what became of each; at least one.
    Acknowledged(Vec<(Segment, DeliveryOutcome)>),
    /// How long the lease holds from now on.
    Extended(Duration),
    /// Nothing more is wanted under this lease.
    Stop(StopReason),
}

/// What a worker is told under a lease, as a message.
#[must_use]
pub fn deliver_response(notice: &Notice) -> v1::DeliverResponse {
    use v1::deliver_response::{Acknowledged, Extended, Receipt, Step, Stop};
    let receipt = |&(segment, outcome): &(Segment, DeliveryOutcome)| Receipt {
        segment,
        verdict: outcome::message(outcome),
    };
    let step = match notice {
        Notice::Acknowledged(receipts) => Step::Acknowledged(Acknowledged {
            receipts: receipts.iter().map(receipt).collect(),
        }),
        Notice::Extended(hold) => Step::Extended(Extended {
            hold_ms: millis(*hold),
        }),
        Notice::Stop(reason) => {
            let reason = match reason {
                StopReason::NotHeld => v1::StopReason::NotHeld,
                StopReason::Cancelled => v1::StopReason::Cancelled,
                StopReason::Drained => v1::StopReason::Drained,
            };
            Step::Stop(Stop {
                reason: reason.into(),
            })
        }
    };
    v1::DeliverResponse { step: Some(step) }
}

/// What a worker is told in a message under a lease of these segments.
///
/// # Errors
/// The first field that cannot be.
pub fn notice(
    message: v1::DeliverResponse,
    segments: &BTreeSet<Segment>,
) -> Result<Notice, Invalid> {
    use v1::deliver_response::Step;
    Ok(match present("step", message.step)? {
        Step::Acknowledged(acknowledged) => {
            let receipts = acknowledged.receipts;
            length("acknowledged.receipts", &receipts, 1..=MOST_FINISHED)?;
            let receipts = receipts.into_iter().enumerate().map(|(place, receipt)| {
                let at = |name: &str| format!("acknowledged.receipts[{place}].{name}");
                if !segments.contains(&receipt.segment) {
                    let why = format!("segment {} is not in this lease", receipt.segment);
                    return Err(Invalid::new(at("segment"), why));
                }
                let outcome = outcome::outcome(&at("verdict"), receipt.verdict)?;
                Ok((receipt.segment, outcome))
            });
            Notice::Acknowledged(receipts.collect::<Result<_, Invalid>>()?)
        }
        Step::Extended(extended) => {
            Notice::Extended(duration("extended.hold_ms", extended.hold_ms, 0..=DAY)?)
        }
        Step::Stop(stop) => {
            let reason = variant("stop.reason", stop.reason, |reason| match reason {
                v1::StopReason::Unspecified => None,
                v1::StopReason::NotHeld => Some(StopReason::NotHeld),
                v1::StopReason::Cancelled => Some(StopReason::Cancelled),
                v1::StopReason::Drained => Some(StopReason::Drained),
            });
            Notice::Stop(reason?)
        }
    })
}
