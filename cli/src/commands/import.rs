//! `kazoe import`: a ledger file into the database.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use kazoe_common::census::Counter;
use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::ledger::Who;
use kazoe_coordinator::ledger_file::{FileError, ImportError, LedgerFile, import};
use serde_json::json;

use crate::ending::{Ending, Stop};
use crate::local;
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::quantity::counted;
use crate::store::{self, StoreArgs};

/// Read a ledger file into the database.
///
/// Its segments fill those that are empty; those that are there already are compared, whole. A campaign
/// that is not there yet is begun, and 'kazoe run' goes on with it. Nothing is believed that this build
/// would count otherwise in the file's self-test; 'kazoe verify FILE' recomputes as much as one likes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe import minishogi-3f2a81c04d.ledger.tsv
  gzip -cd minishogi.ledger.tsv.gz | kazoe import - --db other.db")]
pub(super) struct Args {
    /// The ledger file, or - for standard input.
    file: PathBuf,

    /// Who answers for what the file says.
    #[arg(long, value_name = "NAME", default_value = "import")]
    owner: String,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    form: FormArgs,
}

/// Opens a ledger file; `-` is standard input.
///
/// # Errors
/// If it can't be opened, or is none.
pub(super) fn open(path: &Path) -> Result<LedgerFile<Box<dyn BufRead>>, Stop> {
    let reader: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(path)
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
        let file = open(&self.file)?;
        let counter = Counter::new(&file.header().campaign).map_err(Stop::failed)?;
        let self_tests = local::self_tests(&counter);
        let who = Who {
            owner: self.owner.clone(),
            operator: false,
            ..local::who()
        };
        let done = store::block_on(async {
            let ledger = self.store.write().await?;
            let done = import(&ledger, &who, file, self_tests).await;
            ledger.close().await;
            done.map_err(|error| match error {
                ImportError::File(error) => wrong(&self.file, &error),
                other => Stop::failed(other),
            })
        })?;
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
        tell(format_args!(
            "error: disputed now: {}; `kazoe run` settles that by computing again",
            counted(done.disputed.len() as u64, "segment")
        ));
        Ok(Ending::Failed)
    }
}
