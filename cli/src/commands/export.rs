//! `kazoe export`: a campaign as one text file.

use std::path::{Path, PathBuf};

use kazoe_coordinator::ledger_file::{ExportError, export, export_to_path};
use serde_json::json;

use crate::ending::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::quantity::counted;
use crate::store::{self, StoreArgs};

/// Write a campaign's ledger as one text file, which anyone can verify or import.
///
/// It holds every finished segment's tally with its provenance and witnesses. Prints the file's name.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe export
  kazoe export shogi --output shogi.ledger.tsv
  kazoe export --output - | gzip > minishogi.ledger.tsv.gz")]
pub(super) struct Args {
    /// The campaign: its id or the beginning of it, or a game [default: the newest].
    campaign: Option<String>,

    /// The file, or - for standard output [default: VARIANT-ID.ledger.tsv].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        store::block_on(async {
            let ledger = self.store.read().await?;
            let record = store::find(&ledger, self.campaign.as_deref()).await?;
            let id = &record.id;
            let path = self.output.clone().unwrap_or_else(|| {
                PathBuf::from(format!("{}-{id}.ledger.tsv", record.campaign.variant.id))
            });
            if path == Path::new("-") {
                export(&ledger, id, output).await.map_err(stop)?;
                return Ok(Ending::Done);
            }
            let done = export_to_path(&ledger, id, &path).await.map_err(stop)?;
            if self.form.json() {
                output.json(&json!({
                    "version": JSON_VERSION,
                    "campaign": id,
                    "file": path.display().to_string(),
                    "segments": done.segments,
                    "samples": done.samples,
                    "digest": done.digest.to_string(),
                }))?;
            } else {
                tell(format_args!(
                    "Campaign {id}: {}, {}, digest {}.",
                    counted(done.segments, "segment"),
                    counted(done.samples, "sample"),
                    done.digest
                ));
                output.line(path.display())?;
            }
            Ok(Ending::Done)
        })
    }
}

/// A closed standard output is no failure here either.
fn stop(error: ExportError) -> Stop {
    match error {
        ExportError::Write(error) => Stop::of_output(&error),
        other => Stop::failed(other),
    }
}
