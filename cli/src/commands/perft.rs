//! `kazoe perft`: how many games of a length there are.

use kazoe_common::game::{Move, Rules, Variant};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use serde_json::json;

use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output};
use crate::quantity;
use crate::quoting;
use crate::threads;
use crate::variant;

/// Count the sequences of legal moves of a length.
///
/// A Pawn drop that leaves the opponent without a legal move is illegal, in check or not. The position
/// may hold fewer pieces than the game has.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe perft shogi 4
  kazoe perft minishogi 5 --divide
  kazoe perft shogi 1 'R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1'

Exit codes: 0 done, 1 failed, 2 wrong usage.")]
pub(super) struct Args {
    #[arg(help = variant::help(""), value_parser = variant::parse)]
    variant: &'static Variant,

    /// The number of moves.
    #[arg(value_parser = quantity::narrow::<u32>)]
    depth: u32,

    /// The starting position, in quotes [default: the initial position].
    sfen: Option<String>,

    /// Print the count after each first move too: move, tab, count, and at last the total.
    #[arg(long)]
    divide: bool,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        threads::start_pool()?;
        let rules = Rules::<u128>::new(self.variant);
        let position = match &self.sfen {
            Some(sfen) => quoting::read(&rules, sfen).map_err(Stop::Usage)?,
            None => rules.initial(),
        };
        let parts: Vec<(Move, u64)> = match self.depth.checked_sub(1) {
            Some(rest) => rules
                .legal_moves(&position)
                .into_par_iter()
                .map(|m| (m, rules.perft(&rules.play(&position, m), rest)))
                .collect(),
            None => Vec::new(),
        };
        let total = if self.depth == 0 {
            1
        } else {
            parts.iter().map(|&(_, count)| count).sum()
        };
        let names = parts
            .iter()
            .map(|&(m, count)| (self.variant.move_name(m), count));
        if self.form.json() {
            let mut document = json!({
                "version": JSON_VERSION,
                "variant": self.variant.id,
                "sfen": rules.sfen(&position),
                "depth": self.depth,
                "count": total,
            });
            if self.divide {
                let moves: Vec<_> = names
                    .map(|(name, count)| json!({ "move": name, "count": count }))
                    .collect();
                document["moves"] = moves.into();
            }
            output.json(&document)?;
        } else if self.divide {
            for (name, count) in names {
                output.line(format_args!("{name}\t{count}"))?;
            }
            output.line(format_args!("total\t{total}"))?;
        } else {
            output.line(total)?;
        }
        Ok(Ending::Done)
    }
}
