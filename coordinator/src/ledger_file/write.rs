//! Writing a ledger file.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use kazoe_common::census::{Digest, Fingerprint, PopulationName, Segment, Witness};
use kazoe_common::population::{Candidates, CandidatesError};

use super::check::{Check, Sums};
use super::{MAGIC, date};
use crate::ledger::{CampaignRecord, Ledger, LedgerError};
use crate::output_file::OutputFile;
use crate::tally_text;

/// Segments read at a time: what bounds the memory.
const PAGE: u32 = 256;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// How many segments.
    pub segments: u64,
    /// How many samples they have.
    pub samples: u64,
    /// The sum of their digests.
    pub digest: Digest,
    /// The fingerprint of their counts.
    pub fingerprint: Fingerprint,
}

/// Writes a campaign's accepted and undisputed segments, in constant memory.
///
/// # Errors
/// What the ledger or the writer says; what was written until then has no last line.
pub async fn export<L: Ledger>(
    ledger: &L,
    id: &str,
    out: &mut impl Write,
) -> Result<Exported, ExportError> {
    let mut pages = Pages::of(ledger, id).await?;
    while let Some(page) = pages.next().await? {
        out.write_all(&page)?;
    }
    out.flush()?;
    Ok(pages.exported())
}

/// A ledger file in pieces of whole lines, each of a bounded number of segments.
#[derive(Debug)]
pub struct Pages<'a, L> {
    ledger: &'a L,
    campaign: CampaignRecord,
    builds: Vec<String>,
    sums: Sums,
    /// Over the lines written until now that a check covers.
    written: blake3::Hasher,
    step: Step,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Header,
    From(Segment),
    Over,
}

impl<'a, L: Ledger> Pages<'a, L> {
    /// Those of a campaign's accepted and undisputed segments.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn of(ledger: &'a L, id: &str) -> Result<Self, LedgerError> {
        Ok(Pages {
            ledger,
            campaign: ledger.campaign(id).await?,
            builds: Vec::new(),
            sums: Sums::default(),
            written: blake3::Hasher::new(),
            step: Step::Header,
        })
    }

    /// The next piece, UTF-8; `None` after the last.
    ///
    /// # Errors
    /// What the ledger says.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, ExportError> {
        let mut out = Vec::new();
        match self.step {
            Step::Header => {
                write_header(self.ledger, &self.campaign, &mut out).await?;
                self.step = Step::From(0);
            }
            Step::From(from) => self.write_segments(from, &mut out).await?,
            Step::Over => return Ok(None),
        }
        for line in out.split_inclusive(|&byte| byte == b'\n') {
            if Check::covers(line) {
                self.written.update(line);
            }
        }
        Ok(Some(out))
    }

    /// What was written until now.
    fn exported(&self) -> Exported {
        self.sums.exported(&self.campaign.campaign)
    }

    fn write_end(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let Exported {
            segments,
            samples,
            digest,
            fingerprint,
        } = self.exported();
        let check = Check {
            fingerprint,
            lines: Fingerprint::of_hasher(&self.written),
        };
        writeln!(out, "build\t{}\t{}", self.builds.len(), check.text())?;
        writeln!(out, "end\t{segments}\t{samples}\t{digest}")
    }

    async fn write_segments(
        &mut self,
        from: Segment,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let id = &self.campaign.id;
        let page = self.ledger.segments(id, from, PAGE).await?;
        let Some(last) = page.last() else {
            self.write_end(out)?;
            self.step = Step::Over;
            return Ok(());
        };
        let next = last.segment + 1;
        let witnesses = self.ledger.witnesses(id, from..next).await?;
        let mut witnesses = witnesses.into_iter().peekable();
        let cut = self.campaign.cut;
        for segment in page {
            let first = segment.segment * cut.segment_samples();
            let end = first + cut.segment_samples();
            while witnesses
                .next_if(|witness| witness.index() < first)
                .is_some()
            {}
            // An extension while this reads may cut the last segment anew.
            if segment.disputed || segment.samples != cut.samples_of(segment.segment) {
                continue;
            }
            let build = self.build(&segment.build, out)?;
            writeln!(
                out,
                "segment\t{}\t{}\t{}\t{build}",
                segment.segment,
                segment.samples,
                tally_text::write(&segment.tally)
            )?;
            while let Some(witness) = witnesses.next_if(|witness| witness.index() < end) {
                write_witness(&witness, out)?;
            }
            self.sums.add(&segment.tally);
        }
        self.step = Step::From(next);
        Ok(())
    }

    /// The number of a build in the file, told there where it is new.
    fn build(&mut self, build: &str, out: &mut Vec<u8>) -> io::Result<usize> {
        if let Some(known) = self.builds.iter().position(|known| known == build) {
            return Ok(known);
        }
        let number = self.builds.len();
        writeln!(out, "build\t{number}\t{}", one_line(build))?;
        self.builds.push(build.to_owned());
        Ok(number)
    }
}

fn write_witness(witness: &Witness, out: &mut Vec<u8>) -> io::Result<()> {
    match witness {
        Witness::Unreachable { index, depth } => {
            writeln!(out, "witness\tunreachable\t{index}\t{depth}")
        }
        Witness::Path {
            index,
            length,
            expansions,
        } => writeln!(out, "witness\tpath\t{index}\t{length}\t{expansions}"),
    }
}

/// Writes to a path: a regular file appears whole, or what was there stays; a pipe or a device is written
/// ([`OutputFile`]).
///
/// # Errors
/// As [`export`], and [`ExportError::Path`].
pub async fn export_to_path<L: Ledger>(
    ledger: &L,
    id: &str,
    path: &Path,
) -> Result<Exported, ExportError> {
    let at_path = |source| ExportError::Path {
        path: path.to_owned(),
        source,
    };
    // An unknown campaign opens no pipe.
    let mut pages = Pages::of(ledger, id).await?;
    let mut file = OutputFile::create(path).map_err(at_path)?;
    while let Some(page) = pages.next().await? {
        file.write_all(&page).map_err(at_path)?;
    }
    file.finish().map_err(at_path)?;
    Ok(pages.exported())
}

async fn write_header<L: Ledger>(
    ledger: &L,
    record: &CampaignRecord,
    out: &mut impl Write,
) -> Result<(), ExportError> {
    let campaign = &record.campaign;
    let size = match campaign.population {
        PopulationName::Candidates => Candidates::new(campaign.variant)
            .map_err(ExportError::Population)?
            .size()
            .clone(),
    };
    let builds = ledger.builds(&record.id).await?;
    let first = builds.iter().map(|build| build.first_at).min();
    let last = builds.iter().map(|build| build.last_at).max();
    let moment = |at: Option<i64>| at.map_or_else(|| "-".to_owned(), date::text);
    writeln!(out, "{MAGIC}")?;
    writeln!(out, "campaign\t{}", record.id)?;
    writeln!(out, "variant\t{}", campaign.variant.id)?;
    writeln!(out, "population\t{}", campaign.population.name())?;
    writeln!(out, "size\t{size}")?;
    writeln!(out, "design\t{}", campaign.design.name())?;
    writeln!(out, "seed\t{}", campaign.seed)?;
    match campaign.cap {
        Some(cap) => writeln!(out, "cap\t{cap}")?,
        None => writeln!(out, "cap\tnone")?,
    }
    writeln!(out, "samples\t{}", record.cut.samples)?;
    writeln!(out, "segment-blocks\t{}", record.cut.segment_blocks)?;
    writeln!(out, "submitted\t{}", date::text(record.submitted_at))?;
    writeln!(out, "computed\t{}\t{}", moment(first), moment(last))?;
    for test in ledger.self_tests(&record.id).await? {
        let tally = tally_text::write(&test.tally);
        writeln!(out, "self-test\t{}\t{tally}", test.block)?;
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

/// Why a ledger file was not written.
#[derive(Debug)]
pub enum ExportError {
    /// The ledger failed.
    Ledger(LedgerError),
    /// The population's size is not known.
    Population(CandidatesError),
    /// The writer failed.
    Write(io::Error),
    /// The file could not be written.
    Path {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl From<LedgerError> for ExportError {
    fn from(error: LedgerError) -> Self {
        ExportError::Ledger(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        ExportError::Write(error)
    }
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Ledger(error) => error.fmt(f),
            ExportError::Population(error) => error.fmt(f),
            ExportError::Write(error) => write!(f, "cannot write: {error}"),
            ExportError::Path { path, source } => {
                write!(f, "cannot write {}: {source}", path.display())
            }
        }
    }
}

impl std::error::Error for ExportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ExportError::Ledger(error) => Some(error),
            ExportError::Population(error) => Some(error),
            ExportError::Write(error) | ExportError::Path { source: error, .. } => Some(error),
        }
    }
}
