//! The report as Markdown.

use std::fmt::Write;

use kazoe_common::estimate::numerals::{self, grouped};

use super::tables::{Table, depths, funnel, owners, paths};
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
        ("agreement", Agreement(report).to_string()),
    ];
    for (name, value) in facts {
        let _ = writeln!(text, "- {name}: {value}");
    }
    text += "\n## Estimate\n\n";
    match &report.estimates {
        None => text += "None yet: there are no samples in the prefix.\n",
        Some(estimates) => {
            text += "| convention | estimate | interval | what it promises |\n|---|---|---|---|\n";
            for (folded, folding) in [(true, &estimates.folded), (false, &estimates.unfolded)] {
                for (method, interval) in &folding.intervals {
                    let _ = writeln!(
                        text,
                        "| {} | {} | {} | {} |",
                        convention(folded),
                        estimate(folding),
                        numerals::interval(interval, 2),
                        method.promise()
                    );
                }
            }
        }
    }
    section(&mut text, "Funnel", &funnel(report));
    section(
        &mut text,
        "Unreachable, by the most plies that can be traced back",
        &depths(report),
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
