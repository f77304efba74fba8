//! `kazoe rank`: from positions to ranks.

use kazoe_common::game::{Position, Rules};
use kazoe_common::population::{Candidates, RankOfError};

use super::unrank::write_ranked;
use crate::batch_io::answer_each;
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, Output};
use crate::quoting::PositionsArgs;

/// Print the ranks of these positions: rank, tab, SFEN.
///
/// Positions are SFEN, each in quotes, optionally after the words `sfen` or `position sfen`. Without arguments
/// the command reads positions from standard input, one a line. A position outside the population is an error,
/// which names the rank of its mirror image if that is inside.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe rank minishogi 'Kpb2/ksb2/gs3/gr3/pr3 b - 1'
  kazoe rank 'Kpb2/ksb2/gs3/gr3/pr3 b - 1'
  cut -f2 positions.tsv | kazoe rank minishogi")]
pub(super) struct Args {
    #[command(flatten)]
    positions: PositionsArgs,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let (games, sfens) = self.positions.read()?;
        let candidates = games
            .rules()
            .iter()
            .map(|rules| Candidates::new(rules.variant()));
        let candidates = candidates
            .collect::<Result<Vec<_>, _>>()
            .map_err(Stop::failed)?;
        let json = self.form.json();
        answer_each(&sfens, "SFENs", output, |line, text| {
            let (game, position) = games.read(line)?;
            let (rules, candidates) = (&games.rules()[game], &candidates[game]);
            let rank = candidates
                .rank(&position)
                .map_err(|error| outside(rules, candidates, &position, error))?;
            write_ranked(rules, rank, &position, json, text);
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
