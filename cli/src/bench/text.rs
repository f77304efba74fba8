//! What was measured, for people.

use std::fmt::Write;

use kazoe_common::census::{Arm, BLOCK};
use kazoe_common::estimate::numerals::grouped;

use super::findings::{Figure, Findings, Measured};
use super::interleave::Spread;
use super::reference_answers::{BLOCKS, SEED};
use super::scaling::Scaling;
use crate::quantity::counted;

pub(crate) fn render(findings: &Findings, measured: &Measured) -> String {
    let mut text = String::new();
    let known = measured.known;
    let _ = writeln!(
        text,
        "{}, seed {SEED}, blocks {} to {}: {} samples, one witness search\n",
        measured.variant.name,
        grouped(known.first_block),
        grouped(known.first_block + BLOCKS - 1),
        grouped(BLOCKS * BLOCK),
    );
    row(
        &mut text,
        [
            "stage", "arm", "clock", "median", "least", "greatest", "rounds", "per",
        ],
    );
    for figure in &measured.figures {
        stage(&mut text, figure);
    }
    if !measured.figures.is_empty() {
        text.push('\n');
    }
    if let Some(measured) = &measured.scaling {
        scaling(&mut text, measured, findings.arm);
    }
    let _ = match measured.digest() {
        Some(digest) => writeln!(text, "All answers as known; digest {digest}\n"),
        None => writeln!(text, "All answers as known\n"),
    };
    text
}

/// Words, and what they are about, to the left; figures to the right.
fn row(text: &mut String, cells: [&str; 8]) {
    let [stage, arm, clock, median, least, greatest, rounds, per] = cells;
    let line = format!(
        "  {stage:34}  {arm:9}  {clock:5}  {median:>10}  {least:>10}  {greatest:>10}  {rounds:>6}  {per}"
    );
    let _ = writeln!(text, "{}", line.trim_end());
}

fn stage(text: &mut String, figure: &Figure) {
    let Figure { label, spread } = figure;
    row(
        text,
        [
            label.words,
            label.arm.map_or("", Arm::name),
            label.clock,
            &time(spread.median),
            &time(spread.least),
            &time(spread.greatest),
            &spread.rounds.to_string(),
            label.per,
        ],
    );
}

fn scaling(text: &mut String, scaling: &Scaling, arm: Arm) {
    let Scaling {
        threads,
        one,
        all,
        ratio,
        loop_ratio,
    } = scaling;
    let mut line = |words: &str, arm: &str, spread: &Spread, show: fn(f64) -> String| {
        let shown = [spread.median, spread.least, spread.greatest].map(show);
        let rounds = spread.rounds.to_string();
        let [median, least, greatest] = &shown;
        row(
            text,
            [words, arm, "wall", median, least, greatest, &rounds, ""],
        );
    };
    line("samples a second, 1 thread", arm.name(), one, whole);
    let words = format!("samples a second, {}", counted(*threads as u64, "thread"));
    line(&words, arm.name(), all, whole);
    line("ratio of the two", arm.name(), ratio, times);
    line("the same of bare arithmetic", "", loop_ratio, times);
    text.push('\n');
}

/// Nanoseconds in a unit that suits them, three digits or more: `27.1 ns`, `13.1 ms`.
fn time(nanoseconds: f64) -> String {
    let (number, unit) = match nanoseconds {
        ..1e4 => (nanoseconds, "ns"),
        1e4..1e6 => (nanoseconds / 1e3, "us"),
        _ => (nanoseconds / 1e6, "ms"),
    };
    let digits = match number {
        ..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{number:.digits$} {unit}")
}

fn whole(number: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate for people, not negative"
    )]
    let number = number.round() as u64;
    grouped(number)
}

fn times(ratio: f64) -> String {
    format!("{ratio:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_that_suit_them() {
        for (nanoseconds, text) in [
            (3.456, "3.46 ns"),
            (27.13, "27.1 ns"),
            (645.2, "645 ns"),
            (3512.0, "3512 ns"),
            (51_234.0, "51.2 us"),
            (13_084_464.0, "13.1 ms"),
        ] {
            assert_eq!(time(nanoseconds), text);
        }
        assert_eq!(whole(4_123_456.7), "4,123,457");
        assert_eq!(times(1.9876), "1.988");
    }
}
