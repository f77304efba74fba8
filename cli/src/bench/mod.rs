//! How long each stage of the census takes on this machine, with every answer checked.
//!
//! A game is measured on one [stretch](reference_answers) of blocks whose answers are written down. The [stages] take
//! turns, round by round, so that whatever else the machine does hits all of them alike; a round that
//! answers anything but what is known ends the measurement. Then the cores are measured against each
//! other: see [scaling].

mod clock;
mod findings;
mod inputs;
mod interleave;
mod json;
mod reference_answers;
mod scaling;
mod stages;
mod text;

pub(crate) use findings::{Findings, Measured};
pub(crate) use json::render as render_json;
pub(crate) use text::render as render_text;

use std::time::Duration;

use kazoe_common::census::Arm;
use kazoe_common::game::{Bits, Variant};

use crate::progress::Steps;
use inputs::Inputs;
use interleave::Limit;
use reference_answers::{KNOWN, Known};

/// What can be measured, in the order in which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// The draw of a rank.
    Draws,
    /// The funnel with its draws, without verdicts.
    Funnel,
    /// Everything that a block takes, witnesses included.
    Pipeline,
    /// Whether the King of the side not to move is attacked.
    KingFilter,
    /// Whether a position has a predecessor.
    HasPredecessor,
    /// The verdict on positions that pass the filters.
    Verdict,
    /// The published search, which witnesses need.
    Search,
    /// All threads against one.
    Scaling,
}

/// What is to be measured, and for how long.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The parts; all if there are none.
    pub(crate) parts: Vec<Part>,
    /// The arms of the funnel, the one in use first.
    pub(crate) arms: Vec<Arm>,
    /// How many threads are measured against one.
    pub(crate) threads: usize,
    /// The most that each stage may take, but for its first round.
    pub(crate) time: Duration,
    /// This number of rounds of each stage instead.
    pub(crate) rounds: Option<u32>,
}

impl Plan {
    fn wants(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }
}

/// Measures a game.
///
/// # Errors
/// If an answer is wrong, in words.
pub(crate) fn measure(variant: &'static Variant, plan: &Plan) -> Result<Measured, String> {
    let known = KNOWN
        .iter()
        .find(|known| known.variant == variant.id)
        .ok_or_else(|| format!("no known results for {}", variant.id))?;
    if variant.squares() <= u64::CAPACITY {
        measure_as::<u64>(variant, known, plan)
    } else {
        measure_as::<u128>(variant, known, plan)
    }
    .map_err(|wrong| format!("{}: {wrong}", variant.id))
}

fn measure_as<B: Bits>(
    variant: &'static Variant,
    known: &'static Known,
    plan: &Plan,
) -> Result<Measured, String> {
    let inputs = Inputs::<B>::new(variant, known)?;
    let stages = stages::chosen(&inputs, plan)?;
    let limit = match plan.rounds {
        Some(rounds) => Limit::Rounds(rounds),
        None => Limit::Time(plan.time),
    };
    let mut steps = Steps::new(variant.name);
    let figures = interleave::take_turns(stages, limit, &mut steps)?;
    let scaling = if plan.wants(Part::Scaling) {
        Some(scaling::measure(&inputs, plan, &mut steps)?)
    } else {
        None
    };
    steps.end();
    Ok(Measured {
        variant,
        known,
        figures,
        scaling,
    })
}
