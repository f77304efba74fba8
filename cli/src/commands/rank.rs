//! `kazoe rank`: from positions to ranks.

use kazoe_common::game::{Position, Rules, Variant};
use kazoe_common::population::{Candidates, RankOfError};

use super::unrank::write_ranked;
use crate::ending::{Ending, Stop};
use crate::lines::answer_each;
use crate::output::{FormArgs, Output};
use crate::position;
use crate::variant;

/// Print the ranks of these positions: rank, tab, SFEN.
///
/// Positions are given as SFEN, each in quotes. Without any as arguments they are read from standard
/// input, one a line. A position outside the population is an error that names the rank of its mirror
/// image if that one is inside.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe rank minishogi 'Kpb2/ksb2/gs3/gr3/pr3 b - 1'
  cut -f2 positions.tsv | kazoe rank minishogi")]
pub(super) struct Args {
    /// The game: shogi or minishogi.
    #[arg(value_parser = variant::parse)]
    variant: &'static Variant,

    /// The positions; without any: the lines of standard input.
    #[arg(value_name = "SFEN")]
    sfens: Vec<String>,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        position::expect_quoted(&self.sfens)?;
        let rules = Rules::<u128>::new(self.variant);
        let candidates = Candidates::new(self.variant).map_err(Stop::failed)?;
        let json = self.form.json();
        answer_each(&self.sfens, "SFENs", output, |line, text| {
            let position = rules.parse(line).map_err(|error| error.to_string())?;
            let rank = candidates
                .rank(&position)
                .map_err(|error| outside(&rules, &candidates, &position, error))?;
            write_ranked(&rules, rank, &position, json, text);
            Ok(())
        })
    }
}

/// Why a position has no rank, and its mirror image's rank if it has one.
fn outside(
    rules: &Rules<u128>,
    candidates: &Candidates,
    position: &Position<u128>,
    error: RankOfError,
) -> String {
    match candidates.rank(&rules.mirrored(position)) {
        Ok(rank) => format!("{error}: its rank is {rank}"),
        Err(_) => error.to_string(),
    }
}
