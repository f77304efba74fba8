//! `kazoe unrank`: from ranks to positions.

use std::fmt::Write;

use kazoe_common::game::{Rules, Variant};
use kazoe_common::population::{Candidates, Rank};
use serde_json::json;

use crate::batch_io::answer_each;
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output};
use crate::pasted;
use crate::quantity::ungrouped;
use crate::variant;

/// Print the positions with these ranks: rank, tab, SFEN.
///
/// Ranks are whole numbers from 0 to one less than the population's size, in the order of the published
/// experiments; commas, underscores or spaces may group their digits by three. Without arguments the command
/// reads ranks from standard input, one a line.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe unrank minishogi 0 16014219505238849249
  seq 0 999999 | kazoe unrank minishogi > positions.tsv
  kazoe unrank shogi 5 | cut -f2 | kazoe judge shogi")]
pub(super) struct Args {
    #[arg(help = variant::help(""), value_parser = variant::parse)]
    variant: &'static Variant,

    /// The ranks [default: the lines of standard input].
    #[arg(value_name = "RANK", allow_negative_numbers = true)]
    ranks: Vec<String>,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let rules = Rules::<u128>::new(self.variant);
        let candidates = Candidates::new(self.variant).map_err(Stop::failed)?;
        let json = self.form.json();
        answer_each(&self.ranks, "ranks", output, |line, text| {
            let line = pasted::ascii(line);
            let digits = ungrouped(line.trim());
            let rank: Rank = digits.parse().map_err(|error| format!("{error}"))?;
            let position = candidates.unrank(rank).map_err(|error| error.to_string())?;
            write_ranked(&rules, rank, &position, json, text);
            Ok(())
        })
    }
}

/// Appends a rank and its position.
pub(super) fn write_ranked(
    rules: &Rules<u128>,
    rank: Rank,
    position: &kazoe_common::game::Position<u128>,
    json: bool,
    text: &mut String,
) {
    if json {
        let document = json!({
            "version": JSON_VERSION,
            "rank": rank.to_string(),
            "sfen": rules.sfen(position),
        });
        let _ = writeln!(text, "{document}");
    } else {
        let _ = write!(text, "{rank}\t");
        rules.write_sfen(position, text);
        text.push('\n');
    }
}
