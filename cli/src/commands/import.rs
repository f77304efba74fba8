//! `kazoe import`: a ledger file into the database, or to a coordinator.

mod afar;
mod interruption;
mod taken;
mod whole;

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use kazoe_common::census::{Counter, Fingerprint};
use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::ledger::Who;
use kazoe_coordinator::ledger_file::{
    FileError, ImportError, Imported, LedgerFile, check_self_tests, import,
};
use kazoe_worker::self_test;
use serde_json::json;

use self::afar::{Sent, nothing_taken};
use self::interruption::Interruption;
use self::whole::Whole;
use crate::campaign_source::PlaceArgs;
use crate::exit::{Ending, Stop};
use crate::local;
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::quantity::counted;
use crate::sqlite_args;

/// Import a ledger file into the database, or into a coordinator's.
///
/// Its segments fill empty segments; existing tallies are compared as a whole. A new campaign is created, and
/// 'kazoe run', or the coordinator's workers, continue it. A coordinator accepts files from operators only, and
/// credits the owner of their token. A file is rejected if this build computes its self-test differently;
/// 'kazoe verify FILE' recomputes any share of it.
///
/// The command reads the whole file first, and compares it with the digest, the fingerprint and the checksum in
/// the file. It imports the file into a database in one transaction: an error in the file, a full disk or
/// Ctrl-C leave the database unchanged. It sends the file to a coordinator in requests of at most 256 segments;
/// an interrupted import names the imported segments. Repeating an import is always safe.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe import minishogi-3f2a81c04d.ledger.tsv
  kazoe import part.ledger.tsv --coordinator http://127.0.0.1:7273 --token-file operator.token
  gzip -cd minishogi.ledger.tsv.gz | kazoe import - --db other.db")]
pub(super) struct Args {
    /// The ledger file, or - for standard input.
    file: PathBuf,

    /// The owner that is credited in a database [default: import].
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    form: FormArgs,
}

/// A ledger file that is being read.
type File = LedgerFile<Box<dyn BufRead>>;

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

/// A file as messages name it.
fn name(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".to_owned();
    }
    path.display().to_string()
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
                "--owner requires a database: a coordinator credits the owner of the token",
            ));
        }
        let interruption = Interruption::hear(name(&self.file))?;
        let nothing = |stop| nothing_taken(stop, &self.file);
        let mut whole = Whole::read(&self.file).map_err(nothing)?;
        let header = whole.again()?.header().clone();
        let counter = Counter::new(&header.campaign).map_err(Stop::failed)?;
        let sums = whole.sums.clone();
        let stated = whole.stated;
        if stated.is_none() && sums.segments > 0 {
            tell(format_args!(
                "{} has no fingerprint: its counts are checked for consistency only; `kazoe \
                 verify` computes them again",
                name(&self.file)
            ));
        }
        let sent = sqlite_args::block_on(async {
            if !office.is_named() {
                return self.keep(whole, &counter, &interruption).await;
            }
            let self_tests = local::self_tests(&counter);
            check_self_tests(&header, &self_tests)
                .map_err(Stop::failed)
                .map_err(nothing)?;
            let tallies = self_test::tallies(&counter);
            afar::send(office.open()?, whole, tallies, &self.file, &interruption).await
        })?;
        let Sent::All(done) = sent else {
            return Ok(Ending::Interrupted);
        };
        let fingerprint = sums.fingerprint(&header.campaign);
        self.tell(&done, (fingerprint, stated), output)
    }

    /// Into the database, in one transaction.
    async fn keep(
        &self,
        mut whole: Whole,
        counter: &Counter,
        interruption: &Interruption,
    ) -> Result<Sent, Stop> {
        let who = Who {
            owner: self.owner.clone().unwrap_or_else(|| "import".to_owned()),
            operator: false,
            ..local::who()
        };
        let ledger = self.place.store.write().await?;
        let self_tests = local::self_tests(counter);
        let go_on = |step| interruption.allows(step);
        let done = import(&ledger, &who, whole.again()?, self_tests, go_on).await;
        let closed = ledger.close().await;
        match done {
            Ok(done) => {
                closed.map_err(Stop::failed)?;
                Ok(Sent::All(Box::new(done)))
            }
            Err(ImportError::Interrupted) => Ok(Sent::Interrupted),
            Err(ImportError::File(error)) => {
                Err(nothing_taken(wrong(&self.file, &error), &self.file))
            }
            Err(error) => Err(nothing_taken(Stop::failed(error), &self.file)),
        }
    }

    fn tell(
        &self,
        done: &Imported,
        (fingerprint, stated): (Fingerprint, Option<Fingerprint>),
        output: &mut Output,
    ) -> Result<Ending, Stop> {
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
                "fingerprint": fingerprint.to_string(),
                "stated_fingerprint": stated.map(|it| it.to_string()),
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
                "error: segment {segment} differs from the accepted tally"
            ));
        }
        tell(format_args!(
            "error: disputed now: {}; a third owner's workers settle the dispute, or `kazoe resolve`",
            counted(done.disputed.len() as u64, "segment")
        ));
        Ok(Ending::Failed)
    }
}
