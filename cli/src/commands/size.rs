//! `kazoe size`: how many candidates there are.

use kazoe_common::game::Variant;
use kazoe_common::population::Candidates;
use serde_json::json;

use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output};
use crate::variant;

/// Print the exact size of a population, and nothing else.
///
/// The population `candidates` holds every position with Black to move whose King pair is not greater
/// than its mirror image's; the local rules are not required.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe size shogi
  kazoe size minishogi --json")]
pub(super) struct Args {
    #[arg(help = variant::help(""), value_parser = variant::parse)]
    variant: &'static Variant,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let candidates = Candidates::new(self.variant).map_err(Stop::failed)?;
        if self.form.json() {
            output.json(&json!({
                "version": JSON_VERSION,
                "variant": self.variant.id,
                "population": "candidates",
                "size": candidates.size().to_string(),
            }))?;
        } else {
            output.line(candidates.size())?;
        }
        Ok(Ending::Done)
    }
}
