//! A ledger file handed to a coordinator, in requests of a bounded size.
//!
//! Each request is one transaction of the coordinator's, and may be sent again. The whole file was read
//! before the first one; what interrupts an import is the network, the coordinator or Ctrl-C, and then
//! [`Taken`] says what was taken.

use std::collections::BTreeMap;
use std::path::Path;

use kazoe_common::census::SegmentResult;
use kazoe_common::census::{Block, Tally};
use kazoe_coordinator::ledger::{CampaignRecord, Submitted};
use kazoe_coordinator::ledger_file::{Header, ImportError, Imported};
use kazoe_proto::admin::{self, Import};
use kazoe_proto::campaigns::{Submission, Target};
use kazoe_proto::work::MOST_FINISHED;
use tonic::Code;

use super::interruption::Interruption;
use super::name;
use super::taken::Taken;
use super::whole::Whole;
use crate::coordinator_client::Office;
use crate::exit::Stop;
use crate::local;
use crate::output::tell;
use crate::quantity::counted;

/// Witnesses in one request: they are most of it, and so it stays below a few megabytes, unless one segment
/// alone has more.
const MOST_WITNESSES: usize = 1 << 16;

/// What became of the file.
pub(super) enum Sent {
    /// The coordinator has all of it.
    All(Box<Imported>),
    /// It was interrupted; what was taken was said.
    Interrupted,
}

/// Hands a file to a coordinator.
///
/// # Errors
/// What the coordinator says. What was taken was said then.
pub(super) async fn send(
    mut office: Office,
    mut whole: Whole,
    self_tests: BTreeMap<Block, Tally>,
    path: &Path,
    interruption: &Interruption,
) -> Result<Sent, Stop> {
    let taken = Taken::nothing_of(name(path), whole.sums.segments);
    let file = whole.again()?;
    let nothing = |stop| nothing_taken(stop, path);
    let campaign = begin(&mut office, file.header(), self_tests).await;
    let (campaign, submitted) = campaign.map_err(nothing)?;
    let mut sender = Sender {
        office,
        batch: Import {
            campaign: campaign.id.clone(),
            segment_blocks: campaign.cut.segment_blocks,
            build: String::new(),
            segments: Vec::new(),
        },
        done: Imported::new(campaign, submitted),
        taken,
        interruption,
    };
    let mut witnesses = 0;
    for entry in file {
        let entry = entry.map_err(|error| sender.half_way(super::wrong(path, &error)))?;
        witnesses += entry.witnesses.len();
        let batch = &sender.batch;
        let full = batch.segments.len() == MOST_FINISHED || witnesses > MOST_WITNESSES;
        if full || entry.build != batch.build {
            if !sender.hand_in().await? {
                return Ok(sender.interrupted());
            }
            witnesses = entry.witnesses.len();
            sender.batch.build = entry.build;
        }
        sender.batch.segments.push(SegmentResult {
            segment: entry.segment,
            samples: entry.samples,
            tally: entry.tally,
            witnesses: entry.witnesses,
            cpu: None,
        });
    }
    if !sender.hand_in().await? {
        return Ok(sender.interrupted());
    }
    Ok(Sent::All(Box::new(sender.done)))
}

/// A failure before anything was taken.
pub(super) fn nothing_taken(stop: Stop, path: &Path) -> Stop {
    match stop {
        Stop::Failed(why) => {
            Stop::Failed(format!("{why}; no segment of {} was imported", name(path)))
        }
        other => other,
    }
}

/// Submits the campaign, if its segments are as long as the file's.
async fn begin(
    office: &mut Office,
    header: &Header,
    self_tests: BTreeMap<Block, Tally>,
) -> Result<(CampaignRecord, Submitted), Stop> {
    let cut = header.cut;
    let as_long = |record: &CampaignRecord| {
        if record.cut.segment_blocks == cut.segment_blocks {
            return Ok(());
        }
        Err(Stop::failed(ImportError::SegmentSize {
            file: cut.segment_blocks,
            ledger: record.cut.segment_blocks,
        }))
    };
    // Before it is submitted, which might extend it.
    let id = header.campaign.id();
    let listed = office.list().await?;
    if let Some(record) = listed.known.iter().find(|record| record.id == id) {
        as_long(record)?;
    }
    let submission = Submission {
        campaign: header.campaign.clone(),
        target: Target::Samples(cut.samples),
        segment_blocks: cut.segment_blocks,
        priority: 0,
        self_tests,
        build: local::build(),
    };
    let answer = office.submit(&submission).await?;
    as_long(&answer.record)?;
    Ok((answer.record, answer.how))
}

/// What sends the requests.
struct Sender<'a> {
    office: Office,
    batch: Import,
    done: Imported,
    taken: Taken,
    interruption: &'a Interruption,
}

impl Sender<'_> {
    /// Sends what is there, if there is anything. Returns false, and sends nothing, after Ctrl-C.
    async fn hand_in(&mut self) -> Result<bool, Stop> {
        if self.batch.segments.is_empty() {
            return Ok(true);
        }
        if !self.interruption.allows_after(&self.taken) {
            return Ok(false);
        }
        let request = admin::import_request(&self.batch);
        let sent = std::mem::take(&mut self.batch.segments);
        self.taken.send(sent.iter().map(|one| one.segment));
        self.interruption.allows_after(&self.taken);
        let answer = match self.office.admin.import(request).await {
            Ok(answer) => answer.into_inner(),
            Err(status) => {
                if is_refusal(status.code()) {
                    self.taken.refuse();
                }
                let refused = self.office.refused(&status);
                return Err(self.half_way(refused));
            }
        };
        let verdicts = admin::imported(answer, sent.len());
        let verdicts = verdicts.map_err(|odd| self.half_way(self.office.odd(&odd)))?;
        for (one, verdict) in sent.iter().zip(verdicts) {
            self.done.add(one.segment, verdict);
        }
        self.taken.confirm();
        self.interruption.allows_after(&self.taken);
        Ok(true)
    }

    /// Says why, and makes an error of what was taken.
    fn half_way(&self, stop: Stop) -> Stop {
        if let Stop::Failed(why) = &stop {
            tell(format_args!("error: {why}"));
        }
        Stop::Failed(self.words())
    }

    /// Says what was taken, and what became of the campaign.
    fn words(&self) -> String {
        let id = &self.done.campaign.id;
        let campaign = match self.done.submitted {
            Submitted::New => format!("; campaign {id} was created there"),
            Submitted::Extended { from } => {
                format!(
                    "; campaign {id} was extended there, from {}",
                    counted(from, "sample")
                )
            }
            _ => String::new(),
        };
        self.taken.words() + &campaign
    }

    fn interrupted(&self) -> Sent {
        tell(format_args!("Interrupted: {}.", self.words()));
        Sent::Interrupted
    }
}

/// Whether a request that ended so has certainly changed nothing.
const fn is_refusal(code: Code) -> bool {
    matches!(
        code,
        Code::InvalidArgument
            | Code::NotFound
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::FailedPrecondition
            | Code::ResourceExhausted
            | Code::Unimplemented
            | Code::OutOfRange
    )
}
