//! `kazoe report`: what a campaign found.

use clap_complete::engine::ArgValueCompleter;

use crate::campaign_source::PlaceArgs;
use crate::completion::ids;
use crate::exit::{Ending, Stop};
use crate::output::Output;
use crate::report::{Findings, ReportForm};
use crate::sqlite_args;

/// Print a campaign's results so far.
///
/// The funnel compared with published figures, the unreachable by depth, L and E of the published search, the
/// estimate with its intervals and their guarantees, the published estimate, and whether the two agree. All
/// figures are those of the prefix: the finished segments from the first on without a gap. docs/report.md lists
/// every figure of every format.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe report
  kazoe report shogi --format md > shogi.md
  kazoe report 3f2a --json
  kazoe report shogi --coordinator http://127.0.0.1:7273
  kazoe report --format csv > report.csv
  kazoe report --format csv | grep '^funnel'")]
pub(super) struct Args {
    /// The campaign: its id or the beginning of it, or a game [default: the newest].
    #[arg(add = ArgValueCompleter::new(ids::campaigns))]
    campaign: Option<String>,

    #[command(flatten)]
    place: PlaceArgs,

    /// The format of the report.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: ReportForm,

    /// The same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let form = if self.json {
            ReportForm::Json
        } else {
            self.format
        };
        sqlite_args::block_on(async {
            if self.place.office.is_named() {
                let mut office = self.place.office.open()?;
                let record = office.find(self.campaign.as_deref()).await?;
                output.text(&office.findings(&record.id).await?.render(form))?;
                return Ok(Ending::Done);
            }
            let store = &self.place.store;
            let findings = store.read(async |ledger| {
                let record = sqlite_args::find(ledger, self.campaign.as_deref()).await?;
                Findings::gather(ledger, record, store).await
            });
            output.text(&findings.await?.render(form))?;
            Ok(Ending::Done)
        })
    }
}
