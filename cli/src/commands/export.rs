//! `kazoe export`: a campaign as one text file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap_complete::engine::ArgValueCompleter;
use kazoe_coordinator::ledger::{CampaignRecord, LocalStore};
use kazoe_coordinator::ledger_file::{ExportError, Exported, export, export_to_path};
use kazoe_coordinator::output_file::{self, OutputFile};
use serde_json::json;

use super::import;
use crate::campaign_source::PlaceArgs;
use crate::completion::ids;
use crate::coordinator_client::Office;
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::quantity::counted;
use crate::sqlite_args;

/// Write a campaign's ledger as one text file, for 'kazoe verify' and 'kazoe import'.
///
/// The file has every finished segment's tally with its provenance and witnesses. Prints the file's name. The
/// command replaces an existing file atomically and keeps its permissions; it follows links, and writes to
/// pipes and devices directly.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe export
  kazoe export shogi --output shogi.ledger.tsv
  kazoe export shogi --coordinator http://127.0.0.1:7273
  kazoe export --output - | gzip > minishogi.ledger.tsv.gz
  kazoe export --output >(gzip > minishogi.ledger.tsv.gz)")]
pub(super) struct Args {
    /// The campaign: its id or the beginning of it, or a game [default: the newest].
    #[arg(add = ArgValueCompleter::new(ids::campaigns))]
    campaign: Option<String>,

    /// The file, or - for standard output [default: VARIANT-ID.ledger.tsv].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        sqlite_args::block_on(async {
            if self.place.office.is_named() {
                return self.fetch(output).await;
            }
            self.place
                .store
                .read(async |ledger| self.write(ledger, output).await)
                .await?;
            Ok(Ending::Done)
        })
    }

    async fn write(&self, ledger: &LocalStore, output: &mut Output) -> Result<(), Stop> {
        let record = sqlite_args::find(ledger, self.campaign.as_deref()).await?;
        let id = &record.id;
        let path = self.path(&record);
        if is_standard_output(&path) {
            export(ledger, id, output).await.map_err(stop)?;
            return Ok(());
        }
        let done = export_to_path(ledger, id, &path).await.map_err(stop)?;
        self.tell(id, &path, done, output)
    }

    fn path(&self, record: &CampaignRecord) -> PathBuf {
        let name = format!("{}-{}.ledger.tsv", record.campaign.variant.id, record.id);
        self.output.clone().unwrap_or_else(|| PathBuf::from(name))
    }

    fn tell(&self, id: &str, path: &Path, done: Exported, output: &mut Output) -> Result<(), Stop> {
        if self.form.json() {
            return output.json(&json!({
                "version": JSON_VERSION,
                "campaign": id,
                "file": path.display().to_string(),
                "segments": done.segments,
                "samples": done.samples,
                "digest": done.digest.to_string(),
                "fingerprint": done.fingerprint.to_string(),
            }));
        }
        tell(format_args!(
            "Campaign {id}: {}, {}, digest {}, fingerprint {}.",
            counted(done.segments, "segment"),
            counted(done.samples, "sample"),
            done.digest,
            done.fingerprint
        ));
        output.line(path.display())
    }

    /// Gets the file from a coordinator, and reads it to its last line before it appears.
    async fn fetch(&self, output: &mut Output) -> Result<Ending, Stop> {
        let mut office = self.place.office.open()?;
        let record = office.find(self.campaign.as_deref()).await?;
        let path = self.path(&record);
        if is_standard_output(&path) {
            let write = |text: &[u8]| {
                output
                    .write_all(text)
                    .map_err(|error| Stop::of_output(&error))
            };
            office.export(&record.id, write).await?;
            return Ok(Ending::Done);
        }
        let mut file = OutputFile::create_staged(&path).map_err(at(&path))?;
        let done = write_and_read(&mut office, &record.id, &mut file, &path).await?;
        file.finish().map_err(at(&path))?;
        self.tell(&record.id, &path, done, output)?;
        Ok(Ending::Done)
    }
}

/// Writes what a coordinator sends, and reads it from its first to its last line.
async fn write_and_read(
    office: &mut Office,
    id: &str,
    file: &mut OutputFile,
    path: &Path,
) -> Result<Exported, Stop> {
    let write = |text: &[u8]| file.write_all(text).map_err(at(path));
    office.export(id, write).await?;
    let staged = file.staged().map_err(at(path))?;
    let mut file = import::open(staged.unwrap_or(path))?;
    for entry in file.by_ref() {
        entry.map_err(|error| import::wrong(path, &error))?;
    }
    Ok(file.sums().exported(&file.header().campaign))
}

/// Whether a path is written to as `-` is, and its name not printed behind.
fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-") || output_file::is_standard_output(path)
}

/// What went wrong with a file, with its name.
fn at(path: &Path) -> impl Fn(io::Error) -> Stop + '_ {
    move |error| Stop::failed(format_args!("{}: {error}", path.display()))
}

/// A closed standard output is no failure here either.
fn stop(error: ExportError) -> Stop {
    match error {
        ExportError::Write(error) => Stop::of_output(&error),
        other => Stop::failed(other),
    }
}
