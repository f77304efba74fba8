//! The report as Markdown.

use std::fmt::Write;

use kazoe_common::estimate::Method;
use kazoe_common::estimate::numerals::{self, grouped};

use super::audits::audited;
use super::published::{PublishedEstimate, UNFOLDED, judgement};
use super::tables::{Intervals, Table, depths, funnel, owners, paths};
use super::text::{estimate, samples};
use super::{Agreement, Findings, convention};

pub(super) fn render(findings: &Findings) -> String {
    let report = &findings.report;
    let campaign = &findings.record.campaign;
    let mut text = format!("# Reachable positions of {}\n\n", campaign.variant.name);
    let facts = [
        ("campaign", format!("`{}`", findings.record.id)),
        ("variant", campaign.variant.id.to_owned()),
        (
            "population",
            format!(
                "{} of {} positions",
                campaign.population.name(),
                grouped(report.size.clone())
            ),
        ),
        ("design", campaign.design.name().to_owned()),
        ("seed", campaign.seed.to_string()),
        (
            "cap",
            campaign
                .cap
                .map_or_else(|| "none".to_owned(), |cap| cap.to_string()),
        ),
        ("samples", samples(findings)),
        ("digest", format!("`{}`", report.digest)),
        ("fingerprint", format!("`{}`", findings.fingerprint)),
        ("agreement", Agreement::of(findings).to_string()),
    ];
    let audited = audited(findings).map(|audited| ("audited", audited));
    for (name, value) in facts.into_iter().chain(audited) {
        let _ = writeln!(text, "- {name}: {value}");
    }
    estimates(findings, &mut text);
    section(&mut text, "Funnel", &funnel(report, Intervals::Shown));
    section(
        &mut text,
        "Unreachable, by the most plies that can be traced back",
        &depths(report, Intervals::Shown),
    );
    if let Some(figures) = paths(report) {
        section(&mut text, "The published search", &figures);
    }
    if let Some(owners) = owners(&findings.owners) {
        section(&mut text, "Owners", &owners);
    }
    if let Some(workers) = findings.machines.table(findings.snapshot.counts.accepted) {
        section(&mut text, "Workers", &workers);
    }
    text
}

/// Our estimates, each with the published one below it, and whether the two agree.
fn estimates(findings: &Findings, text: &mut String) {
    let report = &findings.report;
    let beside = report.beside.as_ref();
    *text += "\n## Estimate\n\n";
    *text += "| convention | estimate | interval | what it promises |\n|---|---|---|---|\n";
    let mut row = |cells: [&str; 4]| {
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    let ours = report.estimates.as_ref();
    for folded in [true, false] {
        let folding = ours.map(|ours| if folded { &ours.folded } else { &ours.unfolded });
        match folding {
            None => row([
                convention(folded),
                "none yet",
                "",
                "no samples in the prefix",
            ]),
            Some(folding) => {
                for (method, interval) in &folding.intervals {
                    row([
                        convention(folded),
                        &estimate(folding),
                        &numerals::interval(interval, 2),
                        method.promise(),
                    ]);
                }
            }
        }
        let name = findings.record.campaign.variant.name;
        let PublishedEstimate {
            estimate,
            interval,
            origin,
        } = PublishedEstimate::new(beside, folded, name);
        let promise = interval.as_ref().map_or("", |_| Method::Normal.promise());
        let interval = interval.unwrap_or_default();
        row([
            &format!("published ({origin})"),
            &estimate,
            &interval,
            promise,
        ]);
    }
    let Some(beside) = beside.filter(|_| ours.is_some()) else {
        return;
    };
    let _ = write!(
        text,
        "\n{}",
        judgement(beside, findings.snapshot.is_complete())
    );
    if beside.printed.unfolded.is_some() {
        let _ = write!(text, " {UNFOLDED}");
    }
    text.push('\n');
}

fn section(text: &mut String, title: &str, table: &Table) {
    let _ = writeln!(text, "\n## {title}\n");
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| cell.replace('*', r"\*").replace('|', r"\|"))
            .collect();
        format!("| {} |\n", cells.join(" | "))
    };
    *text += &row(&table.head);
    *text += &format!("|---|{}\n", "--:|".repeat(table.head.len() - 1));
    for cells in &table.rows {
        *text += &row(cells);
    }
    for note in &table.notes {
        let _ = writeln!(text, "\n{}", note.replace('*', r"\*"));
    }
}
