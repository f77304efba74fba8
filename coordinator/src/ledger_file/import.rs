//! Taking a ledger file into a ledger.

use std::fmt;
use std::io::BufRead;

use kazoe_common::census::Segment;

use super::{FileError, LedgerFile};
use crate::leasing::Verdict;
use crate::ledger::{
    CampaignRecord, Delivery, Ledger, LedgerError, SelfTest, Service, Submission, Submitted, Who,
};

/// Segments in one transaction: what bounds the memory.
const BATCH: usize = 256;

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

/// Takes all segments of a file into the ledger: they fill empty segments and are compared with the
/// others. The campaign is submitted, or extended, with the file's samples. `who` is credited, with the
/// builds that the file names. `self_tests` computes what this build makes of the campaign.
///
/// # Errors
/// What the file or the ledger says. Segments before a wrong line are in the ledger then; importing the
/// mended file again counts none of them twice.
pub async fn import<L: Ledger, R: BufRead>(
    ledger: &L,
    who: &Who,
    file: LedgerFile<R>,
    self_tests: Vec<SelfTest>,
) -> Result<Imported, ImportError> {
    let header = file.header();
    let odd = header.self_tests.iter().find(|theirs| {
        self_tests
            .iter()
            .any(|ours| ours.block == theirs.block && ours != *theirs)
    });
    if let Some(theirs) = odd {
        return Err(ImportError::SelfTest(theirs.clone()));
    }
    let submission = Submission {
        campaign: header.campaign.clone(),
        cut: header.cut,
        self_tests,
        build: who.build.clone(),
        service: Service::default(),
    };
    let file_cut = header.cut;
    let (campaign, submitted) = ledger.submit(&submission).await?;
    if campaign.cut.segment_blocks != file_cut.segment_blocks {
        return Err(ImportError::SegmentSize {
            file: file_cut.segment_blocks,
            ledger: campaign.cut.segment_blocks,
        });
    }
    let mut done = Imported {
        campaign,
        submitted,
        accepted: 0,
        audited: 0,
        repeated: 0,
        stale: 0,
        disputed: Vec::new(),
    };
    let mut who = who.clone();
    let mut batch: Vec<Delivery> = Vec::new();
    for entry in file {
        let entry = entry?;
        if batch.len() == BATCH || entry.build != who.build {
            send(ledger, &who, &mut batch, &mut done).await?;
            who.build = entry.build;
        }
        batch.push(Delivery {
            segment: entry.segment,
            samples: entry.samples,
            tally: entry.tally,
            witnesses: entry.witnesses,
        });
    }
    send(ledger, &who, &mut batch, &mut done).await?;
    Ok(done)
}

async fn send<L: Ledger>(
    ledger: &L,
    who: &Who,
    batch: &mut Vec<Delivery>,
    done: &mut Imported,
) -> Result<(), LedgerError> {
    let deliveries = std::mem::take(batch);
    if deliveries.is_empty() {
        return Ok(());
    }
    let verdicts = ledger.import(&done.campaign.id, who, &deliveries).await?;
    for (verdict, delivery) in verdicts.into_iter().zip(&deliveries) {
        match verdict {
            Verdict::Accepted => done.accepted += 1,
            Verdict::Audit => done.audited += 1,
            Verdict::Repeat => done.repeated += 1,
            Verdict::Stale => done.stale += 1,
            Verdict::Disputed => done.disputed.push(delivery.segment),
        }
    }
    Ok(())
}

/// Why a file was not taken in, or not wholly.
#[derive(Debug)]
pub enum ImportError {
    /// The file is wrong.
    File(FileError),
    /// The ledger refused or failed.
    Ledger(LedgerError),
    /// The builds that computed the file count otherwise than this one: what they say of one block.
    SelfTest(SelfTest),
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
                "this build counts block {} otherwise than the file's self-test [{}]; nothing was \
                 imported",
                theirs.block,
                crate::tally_text::write(&theirs.tally)
            ),
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
            ImportError::SelfTest(_) | ImportError::SegmentSize { .. } => None,
        }
    }
}
