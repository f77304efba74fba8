//! The report on a terminal.

use std::fmt::Write;

use kazoe_common::estimate::numerals::{self, grouped};
use kazoe_common::estimate::{Folding, Method};

use super::audits::audited;
use super::published::{PublishedEstimate, UNFOLDED, judgement};
use super::tables::{Intervals, Table, depths, funnel, owners, paths};
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
    table(&funnel(report, Intervals::LeftOut), &mut line);
    line(String::new());
    line("Unreachable, by the most plies that can be traced back".to_owned());
    table(&depths(report, Intervals::LeftOut), &mut line);
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
    estimates(findings, &mut line);
    line(String::new());
    line(format!("agreement  {}", Agreement::of(findings)));
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

fn estimates(findings: &Findings, line: &mut impl FnMut(String)) {
    let report = &findings.report;
    let Some(estimates) = &report.estimates else {
        line("No estimate yet: there are no samples in the prefix.".to_owned());
        published(findings, true, line);
        return;
    };
    for (folded, folding) in [(true, &estimates.folded), (false, &estimates.unfolded)] {
        line(format!(
            "Estimate  {}   ({})",
            estimate(folding),
            convention(folded)
        ));
        for (method, interval) in &folding.intervals {
            line(with_promise(&numerals::interval(interval, 2), *method));
        }
        published(findings, folded, line);
        if let Some(beside) = &report.beside {
            if folded {
                line(judgement(beside, findings.snapshot.is_complete()));
            } else if beside.printed.unfolded.is_some() {
                line(UNFOLDED.to_owned());
            }
        }
    }
    line(format!(
        "At most {} candidates are their own mirror image; the unfolded intervals allow for that.",
        numerals::nearest(&report.self_mirrored.clone().into(), 3)
    ));
}

/// What is published of the folded or unfolded number.
fn published(findings: &Findings, folded: bool, line: &mut impl FnMut(String)) {
    let beside = findings.report.beside.as_ref();
    if beside.is_none() && !folded {
        return;
    }
    let name = findings.record.campaign.variant.name;
    let published = PublishedEstimate::new(beside, folded, name);
    line(format!(
        "Published {}   ({})",
        published.estimate, published.origin
    ));
    if let Some(interval) = published.interval {
        line(with_promise(&interval, Method::Normal));
    }
}

/// An interval with what it promises.
fn with_promise(interval: &str, method: Method) -> String {
    format!("  {interval:25}  {}", method.promise())
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
