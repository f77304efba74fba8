//! Taking a ledger file into a ledger.

use std::fmt;
use std::io::BufRead;

use kazoe_common::census::Segment;

use super::{FileError, Header, LedgerFile};
use crate::ledger::{
    CampaignRecord, LedgerError, LocalStore, SelfTest, Service, Submission, Submitted, Who,
    WholeImport,
};
use kazoe_common::census::SegmentResult;
use kazoe_proto::outcome::DeliveryOutcome;

/// Segments taken at a time: what bounds the memory.
const BATCH: usize = 256;

/// What an import does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It takes some more segments, which may still be undone.
    Taking,
    /// It commits all of them.
    Committing,
}

/// What an import did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The campaign, in the ledger now.
    pub campaign: CampaignRecord,
    /// What its submission did.
    pub submitted: Submitted,
    /// Segments that were empty and are filled now.
    pub accepted: u64,
    /// Segments that were there, of another owner, with an equal tally.
    pub audited: u64,
    /// Segments that were there, of the same owner, with an equal tally.
    pub repeated: u64,
    /// Segments that have another number of samples in the ledger: the file's cut last one.
    pub stale: u64,
    /// Segments that differ, or were disputed already.
    pub disputed: Vec<Segment>,
}

impl Imported {
    /// Nothing yet but the submission.
    #[must_use]
    pub const fn new(campaign: CampaignRecord, submitted: Submitted) -> Self {
        Imported {
            campaign,
            submitted,
            accepted: 0,
            audited: 0,
            repeated: 0,
            stale: 0,
            disputed: Vec::new(),
        }
    }

    /// Counts what became of a segment.
    pub fn add(&mut self, segment: Segment, verdict: DeliveryOutcome) {
        match verdict {
            DeliveryOutcome::Accepted => self.accepted += 1,
            DeliveryOutcome::Audit => self.audited += 1,
            DeliveryOutcome::Repeat => self.repeated += 1,
            DeliveryOutcome::Stale => self.stale += 1,
            DeliveryOutcome::Disputed => self.disputed.push(segment),
        }
    }
}

/// Takes all segments of a file into the ledger, in one transaction: they fill empty segments and are
/// compared with the others. The campaign is submitted, or extended, with the file's samples. `who` is
/// credited, with the builds that the file names. `self_tests` are what this build makes of the campaign.
/// `go_on` is asked before each step; when it says no, nothing is taken.
///
/// # Errors
/// What the file or the ledger says, or [`ImportError::Interrupted`]; the ledger is as it was before.
pub async fn import<R: BufRead>(
    ledger: &LocalStore,
    who: &Who,
    file: LedgerFile<R>,
    self_tests: Vec<SelfTest>,
    mut go_on: impl FnMut(Step) -> bool,
) -> Result<Imported, ImportError> {
    let header = file.header();
    check_self_tests(header, &self_tests)?;
    let submission = Submission {
        campaign: header.campaign.clone(),
        cut: header.cut,
        self_tests,
        build: who.build.clone(),
        service: Service::default(),
    };
    let file_cut = header.cut;
    let mut allowed = |step| match go_on(step) {
        true => Ok(()),
        false => Err(ImportError::Interrupted),
    };
    allowed(Step::Taking)?;
    let mut whole = ledger.begin_import().await?;
    let (campaign, submitted) = whole.submit(&submission).await?;
    if campaign.cut.segment_blocks != file_cut.segment_blocks {
        return Err(ImportError::SegmentSize {
            file: file_cut.segment_blocks,
            ledger: campaign.cut.segment_blocks,
        });
    }
    let mut done = Imported::new(campaign, submitted);
    let mut who = who.clone();
    let mut batch: Vec<SegmentResult> = Vec::new();
    for entry in file {
        let entry = entry?;
        if batch.len() == BATCH || entry.build != who.build {
            allowed(Step::Taking)?;
            send(&mut whole, &who, &mut batch, &mut done).await?;
            who.build = entry.build;
        }
        batch.push(SegmentResult {
            segment: entry.segment,
            samples: entry.samples,
            tally: entry.tally,
            witnesses: entry.witnesses,
            cpu: None,
        });
    }
    send(&mut whole, &who, &mut batch, &mut done).await?;
    allowed(Step::Committing)?;
    whole.commit().await?;
    Ok(done)
}

/// Whether this build counts as those that wrote a file's self-tests; `ours` is what it computes.
///
/// # Errors
/// [`ImportError::SelfTest`] with the first block that it counts otherwise.
pub fn check_self_tests(header: &Header, ours: &[SelfTest]) -> Result<(), ImportError> {
    let differs = |theirs: &&SelfTest| {
        let mut same_block = ours.iter().filter(|ours| ours.block == theirs.block);
        same_block.any(|ours| ours != *theirs)
    };
    match header.self_tests.iter().find(differs) {
        Some(theirs) => Err(ImportError::SelfTest(theirs.clone())),
        None => Ok(()),
    }
}

async fn send(
    whole: &mut WholeImport<'_>,
    who: &Who,
    batch: &mut Vec<SegmentResult>,
    done: &mut Imported,
) -> Result<(), LedgerError> {
    let deliveries = std::mem::take(batch);
    if deliveries.is_empty() {
        return Ok(());
    }
    let verdicts = whole.import(&done.campaign.id, who, &deliveries).await?;
    for (verdict, delivery) in verdicts.into_iter().zip(&deliveries) {
        done.add(delivery.segment, verdict);
    }
    Ok(())
}

/// Why a file was not taken in.
#[derive(Debug)]
pub enum ImportError {
    /// The file is wrong.
    File(FileError),
    /// The ledger refused or failed.
    Ledger(LedgerError),
    /// The builds that computed the file count otherwise than this one: what they say of one block.
    SelfTest(SelfTest),
    /// It was not to go on.
    Interrupted,
    /// The file's segments are of another size than the ledger's.
    SegmentSize {
        /// Blocks in a segment of the file.
        file: u64,
        /// Blocks in a segment of the ledger.
        ledger: u64,
    },
}

impl From<FileError> for ImportError {
    fn from(error: FileError) -> Self {
        ImportError::File(error)
    }
}

impl From<LedgerError> for ImportError {
    fn from(error: LedgerError) -> Self {
        ImportError::Ledger(error)
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::File(error) => error.fmt(f),
            ImportError::Ledger(error) => error.fmt(f),
            ImportError::SelfTest(theirs) => write!(
                f,
                "self-test mismatch: this build computes another tally of block {} than the file's self-test [{}]; use \
                 the release that wrote the file",
                theirs.block,
                crate::tally_text::write(&theirs.tally)
            ),
            ImportError::Interrupted => write!(f, "the import was interrupted"),
            ImportError::SegmentSize { file, ledger } => write!(
                f,
                "the file's segments have {file} blocks, the ledger's {ledger}: import it into \
                 another database (--db)"
            ),
        }
    }
}

impl std::error::Error for ImportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ImportError::File(error) => Some(error),
            ImportError::Ledger(error) => Some(error),
            ImportError::SelfTest(_)
            | ImportError::Interrupted
            | ImportError::SegmentSize { .. } => None,
        }
    }
}
