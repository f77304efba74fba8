//! The report's tables, before anyone knows how they look.

use kazoe_common::estimate::numerals::{grouped, percent, z_score};
use kazoe_common::estimate::published::Source;
use kazoe_common::estimate::{Comparison, PathFigures, Report};
use kazoe_coordinator::ledger::OwnerShare;
use num_bigint::BigUint;
use num_rational::Ratio;

use super::z_against_the_rest;

/// A table whose first column is words and whose others are figures.
pub(super) struct Table {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    /// What its marks mean.
    pub(super) notes: Vec<String>,
}

/// Significant digits of a share.
const SHARE_DIGITS: usize = 5;

/// The mark of a figure that nobody else published.
const OWN: &str = "*";

/// The funnel, stage by stage.
pub(super) fn funnel(report: &Report) -> Table {
    let mut rows: Vec<Vec<String>> = report
        .funnel
        .iter()
        .map(|row| {
            let mut cells = vec![
                row.stage.label().to_owned(),
                grouped(row.passed),
                share(row.passed, row.samples),
                grouped(row.rejected),
            ];
            cells.extend(compared(row.comparison.as_ref()));
            cells
        })
        .collect();
    if report.undecided > 0 {
        rows.push(vec![
            "undecided (set aside, or stopped by the cap)".to_owned(),
            grouped(report.undecided),
            share(report.undecided, report.samples),
            String::new(),
            String::new(),
            String::new(),
        ]);
    }
    let comparisons = report.funnel.iter().map(|row| row.comparison.as_ref());
    Table {
        head: head([
            "stage",
            "passed",
            "share",
            "rejected here",
            "share of others",
            "z",
        ]),
        rows,
        notes: notes(comparisons.flatten()),
    }
}

/// The unreachable, by depth.
pub(super) fn depths(report: &Report) -> Table {
    let rows = report
        .depths
        .iter()
        .map(|row| {
            let mut cells = vec![
                row.depth.to_string(),
                grouped(row.count),
                share(row.count, report.samples),
            ];
            cells.extend(compared(row.comparison.as_ref()));
            cells
        })
        .collect();
    let comparisons = report.depths.iter().map(|row| row.comparison.as_ref());
    Table {
        head: head(["plies back", "samples", "share", "share of others", "z"]),
        rows,
        notes: notes(comparisons.flatten()),
    }
}

/// L and E of the published search, with the published figures; empty without any.
pub(super) fn paths(report: &Report) -> Option<Table> {
    let PathFigures {
        count,
        length_min,
        length_median,
        length_max,
        ratio_median,
        ratio_p95,
        ratio_max,
    } = report.paths.clone()?;
    let others = report.published.search;
    let ratio = |ratio: Ratio<u64>| {
        let hundredths = (ratio * 100).round().to_integer();
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    };
    let row = |what: &str, here: String, other: Option<&'static str>| {
        vec![what.to_owned(), here, other.unwrap_or("").to_owned()]
    };
    let lengths = others.and_then(|others| others.lengths);
    Some(Table {
        head: head([
            &format!("over {} reachable samples", grouped(count)),
            "here",
            "published",
        ]),
        rows: vec![
            row("L, least to greatest", format!("{length_min} to {length_max}"), lengths),
            row("L, median", length_median.to_string(), None),
            row("E/L, median", ratio(ratio_median), others.map(|o| o.ratio_median)),
            row("E/L, 95th percentile", ratio(ratio_p95), others.map(|o| o.ratio_p95)),
            row("E/L, greatest", ratio(ratio_max), others.map(|o| o.ratio_max)),
        ],
        notes: vec![
            "L: positions on the path found, both ends included; E: positions taken from the open list."
                .to_owned(),
        ],
    })
}

/// Who answers for what; nothing where that is one alone.
pub(super) fn owners(owners: &[OwnerShare]) -> Option<Table> {
    if owners.len() < 2 {
        return None;
    }
    let segments = owners.iter().map(|one| one.segments).sum();
    let rows = owners.iter().map(|one| {
        let hours = one.core_seconds.map_or_else(String::new, |seconds| {
            // Tenths, rounded up.
            let tenths = seconds.div_ceil(360);
            let about = if one.estimated > 0 { "~" } else { "" };
            format!("{about}{}.{}", grouped(tenths / 10), tenths % 10)
        });
        let z = z_against_the_rest(one, owners);
        vec![
            one.owner.clone(),
            grouped(one.segments),
            share(one.segments, segments),
            hours,
            grouped(one.audited),
            grouped(one.disagreed),
            grouped(one.disputed),
            z.map_or_else(String::new, z_score),
        ]
    });
    Some(Table {
        head: head([
            "owner",
            "segments",
            "share",
            "CPU hours",
            "audited",
            "disagreed",
            "disputed",
            "z",
        ]),
        rows: rows.collect(),
        notes: vec![
            "CPU hours: as the workers told them; ~ where some are estimated by the speed measured last, none \
             where that is not known."
                .to_owned(),
            "disagreed: tallies that a ruling found wrong; disputed: tallies of which it is not known yet who is right."
                .to_owned(),
            "z: its share of reachable samples against that of all others together.".to_owned(),
        ],
    })
}

fn head<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

fn share(count: u64, all: u64) -> String {
    if all == 0 {
        String::new()
    } else {
        percent(count, all, SHARE_DIGITS)
    }
}

/// The share that others found, and z.
fn compared(comparison: Option<&Comparison>) -> [String; 2] {
    let Some(other) = comparison else {
        return [String::new(), String::new()];
    };
    let mark = match other.source {
        Source::Published => "",
        Source::OwnCheck => OWN,
    };
    let z = match (other.z, other.z_with_undecided) {
        (None, _) => String::new(),
        (Some(z), None) => z_score(z),
        (Some(z), Some(most)) => format!("{} to {}", z_score(z), z_score(most)),
    };
    [share(other.count, other.samples) + mark, z]
}

/// Who the others are, each once.
fn notes<'a>(comparisons: impl Iterator<Item = &'a Comparison>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for other in comparisons {
        let samples = grouped(BigUint::from(other.samples));
        let note = match other.source {
            Source::Published => format!("Shares of others: published, of {samples} samples."),
            Source::OwnCheck => format!(
                "{OWN} our own check by an independent program, of {samples} samples; published by nobody else."
            ),
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
