//! `kazoe export`: a campaign as one text file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap_complete::engine::ArgValueCompleter;
use kazoe_common::census::Digest;
use kazoe_coordinator::ledger::{CampaignRecord, SqliteLedger};
use kazoe_coordinator::ledger_file::{ExportError, Exported, export, export_to_path};
use serde_json::json;

use super::import;
use crate::completion::ids;
use crate::ending::{Ending, Stop};
use crate::office::Office;
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::place::PlaceArgs;
use crate::quantity::counted;
use crate::store;

/// Write a campaign's ledger as one text file, which anyone can verify or import.
///
/// It holds every finished segment's tally with its provenance and witnesses. Prints the file's name.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe export
  kazoe export shogi --output shogi.ledger.tsv
  kazoe export shogi --coordinator http://127.0.0.1:7273
  kazoe export --output - | gzip > minishogi.ledger.tsv.gz")]
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
        store::block_on(async {
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

    async fn write(&self, ledger: &SqliteLedger, output: &mut Output) -> Result<(), Stop> {
        let record = store::find(ledger, self.campaign.as_deref()).await?;
        let id = &record.id;
        let path = self.path(&record);
        if path == Path::new("-") {
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
            }));
        }
        tell(format_args!(
            "Campaign {id}: {}, {}, digest {}.",
            counted(done.segments, "segment"),
            counted(done.samples, "sample"),
            done.digest
        ));
        output.line(path.display())
    }

    /// Gets the file from a coordinator. It appears whole, and read to its last line; or what was there
    /// stays.
    async fn fetch(&self, output: &mut Output) -> Result<Ending, Stop> {
        let mut office = self.place.office.open()?;
        let record = office.find(self.campaign.as_deref()).await?;
        let path = self.path(&record);
        if path == Path::new("-") {
            let write = |text: &[u8]| {
                output
                    .write_all(text)
                    .map_err(|error| Stop::of_output(&error))
            };
            office.export(&record.id, write).await?;
            return Ok(Ending::Done);
        }
        let mut beside = path.clone().into_os_string();
        beside.push(format!(".{}.part", std::process::id()));
        let beside = PathBuf::from(beside);
        let done = write_and_read(&mut office, &record.id, &beside).await;
        let done = done.and_then(|done| {
            std::fs::rename(&beside, &path).map_err(at(&path))?;
            Ok(done)
        });
        if done.is_err() {
            // There may be nothing to remove; the first error is the one to tell.
            let _ = std::fs::remove_file(&beside);
        }
        self.tell(&record.id, &path, done?, output)?;
        Ok(Ending::Done)
    }
}

/// Writes what a coordinator sends into a new file, and reads it from its first to its last line.
async fn write_and_read(office: &mut Office, id: &str, path: &Path) -> Result<Exported, Stop> {
    let mut file = BufWriter::new(File::create_new(path).map_err(at(path))?);
    let write = |text: &[u8]| file.write_all(text).map_err(at(path));
    office.export(id, write).await?;
    let file = file
        .into_inner()
        .map_err(|error| at(path)(error.into_error()))?;
    file.sync_all().map_err(at(path))?;
    let mut sum = Exported {
        segments: 0,
        samples: 0,
        digest: Digest::default(),
    };
    for entry in import::open(path)? {
        let entry = entry.map_err(|error| import::wrong(path, &error))?;
        sum.segments += 1;
        sum.samples += entry.samples;
        sum.digest = sum.digest.plus(entry.tally.digest);
    }
    Ok(sum)
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
