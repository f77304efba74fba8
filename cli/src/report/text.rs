//! The report on a terminal.

use std::fmt::Write;

use kazoe_common::estimate::numerals::{self, grouped};
use kazoe_common::estimate::{Folding, Method, Report, largest_wrong_share};
use num_bigint::BigUint;
use num_rational::Ratio;

use super::tables::{Table, depths, funnel, owners, paths};
use super::{Agreement, Findings, convention};

pub(super) fn render(findings: &Findings) -> String {
    let (report, snapshot) = (&findings.report, &findings.snapshot);
    let campaign = &findings.record.campaign;
    let mut text = String::new();
    let mut line = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    line(format!("Reachable positions of {}", campaign.variant.name));
    line(String::new());
    line(format!(
        "campaign  {}: {}, {} of {} positions, design {}, seed {}{}",
        findings.record.id,
        campaign.variant.id,
        campaign.population.name(),
        grouped(report.size.clone()),
        campaign.design.name(),
        campaign.seed,
        campaign
            .cap
            .map_or_else(String::new, |cap| format!(", cap {cap}")),
    ));
    line(format!("samples   {}", samples(findings)));
    line(String::new());
    line("Funnel".to_owned());
    table(&funnel(report), &mut line);
    line(String::new());
    line("Unreachable, by the most plies that can be traced back".to_owned());
    table(&depths(report), &mut line);
    if let Some(figures) = paths(report) {
        line(String::new());
        line("The published search".to_owned());
        table(&figures, &mut line);
    }
    if let Some(owners) = owners(&findings.owners) {
        line(String::new());
        line("Owners".to_owned());
        table(&owners, &mut line);
    }
    if let Some(workers) = findings.machines.table(snapshot.counts.accepted) {
        line(String::new());
        line("Workers".to_owned());
        table(&workers, &mut line);
    }
    line(String::new());
    estimates(report, &mut line);
    line(String::new());
    line(format!("agreement  {}", Agreement(report)));
    if let Some(audited) = audited(findings) {
        line(format!("audited    {audited}"));
    }
    line(format!("digest     {}", report.digest));
    line(format!("fingerprint {}", findings.fingerprint));
    line(format!(
        "stored in  {}, revision {}",
        findings.home.name(),
        snapshot.revision
    ));
    line(format!("next       {}", findings.next_command()));
    text
}

/// What was computed by another owner as well, and what that excludes; nothing where nothing was.
fn audited(findings: &Findings) -> Option<String> {
    let snapshot = &findings.snapshot;
    let (audited, accepted) = (snapshot.audited, snapshot.counts.accepted);
    if audited == 0 {
        return None;
    }
    let wrong = largest_wrong_share(audited);
    // As exact as a share of this kind is: a millionth of a millionth.
    const PARTS: u64 = 1_000_000_000_000;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "0 to 10^12"
    )]
    let parts = (wrong * PARTS as f64).ceil() as u64;
    let moved = Ratio::new(&findings.report.size * parts, BigUint::from(PARTS));
    Some(format!(
        "{} of {} segments by another owner, and confirmed: at 99.73% no more than {:.2}% of the \
         segments are wrong, which could move the estimate by {}",
        grouped(audited),
        grouped(accepted),
        100.0 * wrong,
        numerals::nearest(&moved, 3)
    ))
}

/// How many samples, and whether that is all.
pub(super) fn samples(findings: &Findings) -> String {
    let (samples, wanted) = (findings.report.samples, findings.record.cut.samples);
    if findings.snapshot.is_complete() {
        return format!("{}, all that are wanted", grouped(samples));
    }
    format!(
        "{} in the finished prefix, of {} wanted; {} are there in all",
        grouped(samples),
        grouped(wanted),
        grouped(findings.snapshot.accepted_samples)
    )
}

fn estimates(report: &Report, line: &mut impl FnMut(String)) {
    let Some(estimates) = &report.estimates else {
        line("No estimate yet: there are no samples in the prefix.".to_owned());
        return;
    };
    for (folded, folding) in [(true, &estimates.folded), (false, &estimates.unfolded)] {
        line(format!(
            "Estimate  {}   ({})",
            estimate(folding),
            convention(folded)
        ));
        for (method, interval) in &folding.intervals {
            line(format!(
                "  {:25}  {}",
                numerals::interval(interval, 2),
                method.promise()
            ));
        }
    }
    line(format!(
        "At most {} candidates are their own mirror image; the unfolded intervals allow for that.",
        numerals::nearest(&report.self_mirrored.clone().into(), 3)
    ));
}

/// The estimate with as many digits as its 3-sigma interval makes worth showing.
pub(super) fn estimate(folding: &Folding) -> String {
    let digits = numerals::significant_digits(folding.interval(Method::Normal), 2);
    numerals::nearest(&folding.estimate, digits)
}

/// Words to the left, figures to the right, two spaces between.
fn table(table: &Table, line: &mut impl FnMut(String)) {
    let mut widths: Vec<usize> = table.head.iter().map(|cell| cell.chars().count()).collect();
    for row in &table.rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in std::iter::once(&table.head).chain(&table.rows) {
        let mut text = String::from(" ");
        for (i, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let _ = if i == 0 {
                write!(text, " {cell:width$}")
            } else {
                write!(text, "  {cell:>width$}")
            };
        }
        line(text.trim_end().to_owned());
    }
    for note in &table.notes {
        line(format!("  {note}"));
    }
}
