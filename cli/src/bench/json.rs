//! What was measured as one JSON document. Times are nanoseconds.

use kazoe_common::census::{Arm, BLOCK};
use serde_json::{Value, json};

use super::findings::{Figure, Findings, Measured};
use super::interleave::Spread;
use super::reference_answers::{BLOCKS, SEED};
use super::scaling::Scaling;
use crate::local::build;
use crate::output::JSON_VERSION;

pub(crate) fn render(findings: &Findings) -> String {
    format!("{:#}\n", document(findings))
}

fn document(findings: &Findings) -> Value {
    json!({
        "version": JSON_VERSION,
        "build": build(),
        "arm": findings.arm.name(),
        "threads": findings.threads,
        "seconds": findings.rounds.is_none().then_some(findings.time.as_secs_f64()),
        "rounds": findings.rounds,
        "games": findings.games.iter().map(game).collect::<Vec<_>>(),
    })
}

fn game(measured: &Measured) -> Value {
    json!({
        "variant": measured.variant.id,
        "seed": SEED.to_string(),
        "first_block": measured.known.first_block,
        "blocks": BLOCKS,
        "samples": BLOCKS * BLOCK,
        "digest": measured.digest(),
        "stages": measured.figures.iter().map(figure).collect::<Vec<_>>(),
        "scaling": measured.scaling.as_ref().map(scaling),
    })
}

fn figure(figure: &Figure) -> Value {
    json!({
        "name": figure.label.name,
        "arm": figure.label.arm.map(Arm::name),
        "per": figure.label.per,
        "clock": figure.label.clock,
        "ns": spread(&figure.spread),
    })
}

fn scaling(scaling: &Scaling) -> Value {
    json!({
        "threads": scaling.threads,
        "samples_per_second_one_thread": spread(&scaling.one),
        "samples_per_second_all_threads": spread(&scaling.all),
        "ratio": spread(&scaling.ratio),
        "arithmetic_ratio": spread(&scaling.loop_ratio),
    })
}

fn spread(spread: &Spread) -> Value {
    json!({
        "min": spread.least,
        "median": spread.median,
        "max": spread.greatest,
        "rounds": spread.rounds,
    })
}
