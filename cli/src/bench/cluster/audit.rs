//! The end of every bench: nothing that was acknowledged is missing or there twice, and the sums are those
//! of a serial run.

use std::collections::BTreeSet;

use kazoe_coordinator::ledger::Ledger;

use super::findings::Audit;
use super::made_up;
use super::site::{Site, words};
use crate::output::tell;

/// Tallies asked for in one statement.
const PAGE: usize = 20_000;

/// How many of a kind of fault are told.
const TOLD: usize = 5;

/// Audits the ledger: these tallies were acknowledged, each by the number half of its token and its segment.
///
/// # Errors
/// What is wrong with it.
pub(super) async fn check(site: &Site, acknowledged: &[(i64, u64)]) -> Result<Audit, String> {
    tell("Auditing the ledger.");
    let (ledger, campaign) = (&site.ledger, site.campaign.as_str());
    let told: BTreeSet<(i64, u64)> = acknowledged.iter().copied().collect();
    let told: Vec<(i64, u64)> = told.into_iter().collect();
    let mut wrong = Vec::new();
    for page in told.chunks(PAGE) {
        let found = ledger
            .not_logged_once(campaign, page)
            .await
            .map_err(words)?;
        wrong.extend(found.into_iter().map(|(lease, segment, times)| {
            format!(
                "segment {segment} was acknowledged under lease {lease} and is there {times} times"
            )
        }));
    }
    let breaches = ledger.check_invariants(campaign).await.map_err(words)?;
    wrong.extend(breaches.iter().map(|breach| {
        let segment = breach
            .segment
            .map_or_else(String::new, |n| format!(" of segment {n}"));
        format!("{}{segment}: {}", breach.invariant, breach.detail)
    }));
    let snapshot = ledger.snapshot(campaign).await.map_err(words)?;
    if snapshot.prefix.tally != made_up::sum(&snapshot.cut, snapshot.prefix.segments) {
        let segments = snapshot.prefix.segments;
        wrong.push(format!(
            "the first {segments} segments do not add up to a serial run's"
        ));
    }
    if snapshot.counts.disputed > 0 {
        wrong.push(format!(
            "{} segments are disputed",
            snapshot.counts.disputed
        ));
    }
    if !wrong.is_empty() {
        let more = wrong.len().saturating_sub(TOLD);
        wrong.truncate(TOLD);
        let more = if more > 0 {
            format!("; and {more} more")
        } else {
            String::new()
        };
        return Err(format!("the ledger is wrong: {}{more}", wrong.join("; ")));
    }
    Ok(Audit {
        acknowledged: u64::try_from(told.len()).unwrap_or(u64::MAX),
        accepted: snapshot.counts.accepted,
        prefix: snapshot.prefix.segments,
        bytes: ledger.bytes().await.map_err(words)?,
    })
}
