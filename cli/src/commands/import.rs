//! `kazoe import`: a ledger file into the database, or to a coordinator.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use kazoe_common::census::{Block, Counter, Tally};
use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::ledger::Who;
use kazoe_coordinator::ledger_file::{
    FileError, ImportError, Imported, LedgerFile, check_self_tests, import,
};
use kazoe_coordinator::wire;
use kazoe_proto::admin::{self, Import};
use kazoe_proto::campaigns::{Submission, Target};
use kazoe_proto::census::Finished;
use kazoe_proto::work::MOST_FINISHED;
use kazoe_worker::proof;
use serde_json::json;

use crate::ending::{Ending, Stop};
use crate::local;
use crate::office::{Answer, Office};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::place::PlaceArgs;
use crate::quantity::counted;
use crate::store;

/// Read a ledger file into the database, or hand it to a coordinator.
///
/// Its segments fill those that are empty; those that are there already are compared, whole. A campaign
/// that is not there yet is begun, and 'kazoe run', or the coordinator's workers, go on with it. A
/// coordinator takes files from operators, and credits the owner of their token. Nothing is believed that this build
/// would count otherwise in the file's self-test; 'kazoe verify FILE' recomputes as much as one likes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe import minishogi-3f2a81c04d.ledger.tsv
  kazoe import part.ledger.tsv --coordinator http://127.0.0.1:7273 --token-file operator.token
  gzip -cd minishogi.ledger.tsv.gz | kazoe import - --db other.db")]
pub(super) struct Args {
    /// The ledger file, or - for standard input.
    file: PathBuf,

    /// Who answers for what the file says, in a database [default: import].
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    form: FormArgs,
}

/// A ledger file that is being read.
type File = LedgerFile<Box<dyn BufRead>>;

/// Witnesses in one request: they are most of it, and so it stays below a few megabytes, unless one segment
/// alone has more.
const MOST_WITNESSES: usize = 1 << 16;

/// Opens a ledger file; `-` is standard input.
///
/// # Errors
/// If it can't be opened, or is none.
pub(super) fn open(path: &Path) -> Result<File, Stop> {
    let reader: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let file = fs::File::open(path)
            .map_err(|error| Stop::failed(format_args!("{}: {error}", path.display())))?;
        Box::new(BufReader::new(file))
    };
    LedgerFile::open(reader).map_err(|error| wrong(path, &error))
}

/// What is wrong with a file, with its name.
pub(super) fn wrong(path: &Path, error: &FileError) -> Stop {
    Stop::failed(format_args!("{}: {error}", path.display()))
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let office = &self.place.office;
        if office.is_named() && self.owner.is_some() {
            return Err(Stop::usage(
                "--owner goes with a database: a coordinator credits the owner of the token",
            ));
        }
        let file = open(&self.file)?;
        let counter = Counter::new(&file.header().campaign).map_err(Stop::failed)?;
        let done = store::block_on(async {
            if office.is_named() {
                let self_tests = local::self_tests(&counter);
                check_self_tests(file.header(), &self_tests).map_err(Stop::failed)?;
                let tallies = proof::tallies(&counter);
                send(office.open()?, file, tallies, &self.file).await
            } else {
                self.keep(file, &counter).await
            }
        })?;
        self.tell(&done, output)
    }

    /// Into the database.
    async fn keep(&self, file: File, counter: &Counter) -> Result<Imported, Stop> {
        let who = Who {
            owner: self.owner.clone().unwrap_or_else(|| "import".to_owned()),
            operator: false,
            ..local::who()
        };
        let ledger = self.place.store.write().await?;
        let done = import(&ledger, &who, file, local::self_tests(counter)).await;
        let closed = ledger.close().await;
        let done = done.map_err(|error| match error {
            ImportError::File(error) => wrong(&self.file, &error),
            other => Stop::failed(other),
        })?;
        closed.map_err(Stop::failed)?;
        Ok(done)
    }

    fn tell(&self, done: &Imported, output: &mut Output) -> Result<Ending, Stop> {
        if self.form.json() {
            output.json(&json!({
                "version": JSON_VERSION,
                "campaign": done.campaign.id,
                "wanted_samples": done.campaign.cut.samples,
                "accepted": done.accepted,
                "audited": done.audited,
                "repeated": done.repeated,
                "stale": done.stale,
                "disputed": done.disputed,
            }))?;
        } else {
            output.line(format_args!(
                "{}\t{} filled, {} confirmed, {} known, {} of another size, {} disputed",
                done.campaign.id,
                counted(done.accepted, "segment"),
                grouped(done.audited),
                grouped(done.repeated),
                grouped(done.stale),
                done.disputed.len()
            ))?;
        }
        if done.disputed.is_empty() {
            return Ok(Ending::Done);
        }
        output.flush()?;
        for segment in done.disputed.iter().take(10) {
            tell(format_args!(
                "error: segment {segment} differs from the one that is there"
            ));
        }
        let remedy = if self.place.office.is_named() {
            "workers of a third owner settle that, or `kazoe resolve`"
        } else {
            "`kazoe run` settles that by computing again"
        };
        tell(format_args!(
            "error: disputed now: {}; {remedy}",
            counted(done.disputed.len() as u64, "segment")
        ));
        Ok(Ending::Failed)
    }
}

/// Hands a file to a coordinator, in requests of a bounded size; each may be sent again.
async fn send(
    mut office: Office,
    file: File,
    self_tests: BTreeMap<Block, Tally>,
    path: &Path,
) -> Result<Imported, Stop> {
    let cut = file.header().cut;
    let submission = Submission {
        campaign: file.header().campaign.clone(),
        target: Target::Samples(cut.samples),
        segment_blocks: cut.segment_blocks,
        priority: 0,
        self_tests,
        build: local::build(),
    };
    let Answer {
        record: campaign,
        how: submitted,
        ..
    } = office.submit(&submission).await?;
    if campaign.cut.segment_blocks != cut.segment_blocks {
        return Err(Stop::failed(ImportError::SegmentSize {
            file: cut.segment_blocks,
            ledger: campaign.cut.segment_blocks,
        }));
    }
    let mut done = Imported::new(campaign, submitted);
    let mut batch = Import {
        campaign: done.campaign.id.clone(),
        segment_blocks: cut.segment_blocks,
        build: String::new(),
        segments: Vec::new(),
    };
    let mut witnesses = 0;
    for entry in file {
        let entry = entry.map_err(|error| wrong(path, &error))?;
        witnesses += entry.witnesses.len();
        let full = batch.segments.len() == MOST_FINISHED || witnesses > MOST_WITNESSES;
        if full || entry.build != batch.build {
            hand_in(&mut office, &mut batch, &mut done).await?;
            witnesses = entry.witnesses.len();
            batch.build = entry.build;
        }
        batch.segments.push(Finished {
            segment: entry.segment,
            samples: entry.samples,
            tally: entry.tally,
            witnesses: entry.witnesses,
            cpu: None,
        });
    }
    hand_in(&mut office, &mut batch, &mut done).await?;
    Ok(done)
}

/// Sends what is there, if there is anything.
async fn hand_in(office: &mut Office, batch: &mut Import, done: &mut Imported) -> Result<(), Stop> {
    if batch.segments.is_empty() {
        return Ok(());
    }
    let request = admin::import_request(batch);
    let sent = std::mem::take(&mut batch.segments);
    let answer = office.admin.import(request).await;
    let answer = answer.map_err(|status| office.refused(&status))?;
    let verdicts = admin::imported(answer.into_inner(), sent.len());
    let verdicts = verdicts.map_err(|odd| office.odd(&odd))?;
    for (one, verdict) in sent.iter().zip(verdicts) {
        done.add(one.segment, wire::verdict_back(verdict));
    }
    Ok(())
}
