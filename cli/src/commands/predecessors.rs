//! `kazoe predecessors`: what can have been before.

use std::ops::ControlFlow;

use kazoe_common::census::break_of_rules;
use kazoe_common::game::{Move, Variant};
use serde_json::json;

use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::quoting::Games;
use crate::variant;

/// Print the positions from which a legal move leads to this one: move, tab, SFEN.
///
/// The order is documented and the same everywhere. The position may hold fewer pieces than the game has. A
/// position that breaks the local rules has no predecessors.
#[derive(Debug, clap::Args)]
#[command(
    allow_missing_positional = true,
    after_help = "\
Examples:
  kazoe predecessors minishogi 'rbsgk/4p/5/P4/KGSBR b - 1'
  kazoe predecessors 'rbsgk/4p/5/P4/KGSBR b - 1'
  kazoe predecessors minishogi 'rbsgk/4p/P4/5/KGSBR w - 1' | wc -l"
)]
pub(super) struct Args {
    #[arg(help = variant::help(" [default: the game with the position's board]"), value_parser = variant::parse)]
    variant: Option<&'static Variant>,

    /// The position, in quotes.
    sfen: String,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let games = Games::new(self.variant);
        let (game, position) = games.read(&self.sfen).map_err(Stop::Usage)?;
        let rules = &games.rules()[game];
        if let Some(outcome) = break_of_rules(rules, &position) {
            tell(format_args!(
                "No predecessors: the position is {outcome}, which no legal move leads to."
            ));
            return Ok(Ending::Done);
        }
        let visited = rules.predecessors(&position, |unmove, before| {
            let name = rules.variant().move_name(Move::from(unmove));
            let sfen = rules.sfen(before);
            let written = if self.form.json() {
                output.json(&json!({ "version": JSON_VERSION, "move": name, "sfen": sfen }))
            } else {
                output.line(format_args!("{name}\t{sfen}"))
            };
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(stop) => ControlFlow::Break(stop),
            }
        });
        match visited {
            ControlFlow::Continue(()) => Ok(Ending::Done),
            ControlFlow::Break(stop) => Err(stop),
        }
    }
}
