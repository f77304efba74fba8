//! `kazoe sample`: a campaign's samples, one by one.

use std::fmt::Write;

use kazoe_common::census::{BLOCK, Judge};
use kazoe_common::game::{Rules, Variant};
use kazoe_common::population::{Candidates, Rank, Sampler};
use rayon::prelude::{ParallelIterator, ParallelSlice};
use serde_json::json;

use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output};
use crate::quantity;
use crate::threads;
use crate::variant;

/// The most samples that a campaign may have.
const MOST: u64 = 1 << 62;

/// Samples that one core answers in one go.
const SHARE: usize = 64;

/// Print samples: index, tab, rank, tab, SFEN, tab, outcome, tab, depth.
///
/// Sample number I of a seed is the same on every machine and in every campaign of the variant. Only
/// unreachable positions have a depth.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe sample minishogi --count 5
  kazoe sample shogi --seed 1 --first 4096 --count 4096 | cut -f4 | sort | uniq -c

Exit codes: 0 done, 1 failed, 2 wrong usage.")]
pub(super) struct Args {
    #[arg(help = variant::help(""), value_parser = variant::parse)]
    variant: &'static Variant,

    /// The campaign's seed, 0 to 2^64 - 1.
    #[arg(long, default_value = "1", value_parser = quantity::parse, allow_hyphen_values = true)]
    seed: u64,

    /// The index of the first sample.
    #[arg(long, value_name = "I", default_value = "0", value_parser = quantity::parse, allow_hyphen_values = true)]
    first: u64,

    /// The number of samples.
    #[arg(long, value_name = "N", default_value = "10", value_parser = quantity::parse, allow_hyphen_values = true)]
    count: u64,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        threads::start_pool()?;
        let end = self
            .first
            .checked_add(self.count)
            .filter(|&end| end <= MOST)
            .ok_or_else(|| Stop::usage("a campaign has at most 2^62 samples"))?;
        let rules = Rules::<u128>::new(self.variant);
        let judges = Judge::new(&rules);
        let candidates = Candidates::new(self.variant).map_err(Stop::failed)?;
        let sampler = Sampler::new(&candidates, self.seed);
        let write = |index: u64, rank: Rank, text: &mut String| -> Result<(), Stop> {
            let position = candidates.unrank(rank).map_err(Stop::failed)?;
            let ruling = judges.rule(&position, None);
            let outcome = ruling.outcome.name();
            if self.form.json() {
                let document = json!({
                    "version": JSON_VERSION,
                    "index": index,
                    "rank": rank.to_string(),
                    "sfen": rules.sfen(&position),
                    "outcome": outcome,
                    "depth": ruling.depth,
                });
                let _ = writeln!(text, "{document}");
            } else {
                let _ = write!(text, "{index}\t{rank}\t");
                rules.write_sfen(&position, text);
                let _ = write!(text, "\t{outcome}\t");
                if let Some(depth) = ruling.depth {
                    let _ = write!(text, "{depth}");
                }
                text.push('\n');
            }
            Ok(())
        };
        let mut next = self.first;
        while next < end {
            let (block, skipped) = (next / BLOCK, next % BLOCK);
            let wanted = (BLOCK - skipped).min(end - next);
            let ranks: Vec<(u64, Rank)> = sampler
                .ranks_of(block)
                .enumerate()
                .skip(usize::try_from(skipped).map_err(Stop::failed)?)
                .take(usize::try_from(wanted).map_err(Stop::failed)?)
                .map(|(place, rank)| (block * BLOCK + place as u64, rank))
                .collect();
            let texts: Vec<Result<String, Stop>> = ranks
                .par_chunks(SHARE)
                .map(|some| {
                    let mut text = String::new();
                    for &(index, rank) in some {
                        write(index, rank, &mut text)?;
                    }
                    Ok(text)
                })
                .collect();
            for text in texts {
                output.text(&text?)?;
            }
            output.flush()?;
            next += wanted;
        }
        Ok(Ending::Done)
    }
}
