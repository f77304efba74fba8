//! The report's tables, before anyone knows how they look.

use kazoe_common::estimate::numerals::{grouped, percent, share_interval, z_score};
use kazoe_common::estimate::published::Source;
use kazoe_common::estimate::{Comparison, PathFigures, Report, Share};
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

/// The mark of a figure that is compared with our own check.
const OWN: &str = "*";

/// Whether the shares of a table stand with their intervals.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Intervals {
    /// A column has them.
    Shown,
    /// There is no room for them.
    LeftOut,
}

impl Intervals {
    /// The cells of a row with the interval's after the share's.
    fn row(
        self,
        words: String,
        count: u64,
        samples: u64,
        interval: &Share,
        rest: impl IntoIterator<Item = String>,
    ) -> Vec<String> {
        let mut cells = vec![words, grouped(count), share(count, samples)];
        if self == Intervals::Shown {
            cells.push(if samples == 0 {
                String::new()
            } else {
                share_interval(interval, 2)
            });
        }
        cells.extend(rest);
        cells
    }

    /// The head with the intervals' after the shares'.
    fn head<const N: usize>(self, names: [&str; N]) -> Vec<String> {
        let mut names = head(names);
        if self == Intervals::Shown {
            names.insert(3, "99.73% interval".to_owned());
        }
        names
    }

    /// What the column means, or where it is.
    fn note(self) -> String {
        match self {
            Intervals::Shown => {
                "Intervals: Clopper-Pearson, each for its own row and a number of samples fixed \
                 beforehand."
            }
            Intervals::LeftOut => {
                "Every share's 99.73% interval: kazoe report --format md, json or csv."
            }
        }
        .to_owned()
    }
}

/// The funnel, stage by stage.
pub(super) fn funnel(report: &Report, intervals: Intervals) -> Table {
    let mut rows: Vec<Vec<String>> = report
        .funnel
        .iter()
        .map(|row| {
            let compared = compared(row.comparison.as_ref());
            let rest = std::iter::once(grouped(row.rejected)).chain(compared);
            let label = row.stage.label().to_owned();
            intervals.row(label, row.passed, row.samples, &row.interval, rest)
        })
        .collect();
    if report.undecided > 0 {
        let head = vec![
            "undecided (set aside, or stopped by the cap)".to_owned(),
            grouped(report.undecided),
            share(report.undecided, report.samples),
        ];
        let empty = vec![String::new(); rows[0].len() - head.len()];
        rows.push([head, empty].concat());
    }
    let comparisons = report.funnel.iter().map(|row| row.comparison.as_ref());
    let mut notes = notes(comparisons.flatten());
    if let Some(missing) = report.published.not_at_hand {
        notes.push(format!("{missing}."));
    }
    notes.push(intervals.note());
    Table {
        head: intervals.head([
            "stage",
            "passed",
            "share",
            "rejected here",
            "share of others",
            "z",
        ]),
        rows,
        notes,
    }
}

/// The unreachable, by depth.
pub(super) fn depths(report: &Report, intervals: Intervals) -> Table {
    let rows = report
        .depths
        .iter()
        .map(|row| {
            let rest = compared(row.comparison.as_ref());
            let depth = row.depth.to_string();
            intervals.row(depth, row.count, report.samples, &row.interval, rest)
        })
        .collect();
    let comparisons = report.depths.iter().map(|row| row.comparison.as_ref());
    let mut notes = notes(comparisons.flatten());
    if intervals == Intervals::Shown {
        notes.push(intervals.note());
    }
    Table {
        head: intervals.head(["plies back", "samples", "share", "share of others", "z"]),
        rows,
        notes,
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
            "CPU hours: as reported by the workers; ~ if some are estimated from the last measured \
             speed, none if no speed is known."
                .to_owned(),
            "disagreed: tallies that a ruling found wrong; disputed: tallies in open disputes."
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
            Source::OwnCheck => {
                format!("{OWN} our own check by an independent program, of {samples} samples.")
            }
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
