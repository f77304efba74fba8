//! The end of every measurement: each acknowledged tally is in the ledger once, and the sums are those of a
//! serial run.

use std::collections::BTreeSet;

use kazoe_coordinator::ledger::Ledger;
use sqlx::{Connection, PgConnection};

use crate::environment::{Environment, words};
use crate::findings::Audit;
use crate::{probes, synthetic, tell};

/// Tallies asked for in one statement.
const PAGE: usize = 20_000;

/// How many faults the error names.
const NAMED: usize = 5;

/// Audits the ledger. The coordinator acknowledged these tallies, each a lease's number and a segment.
///
/// # Errors
/// What is wrong with it.
pub(crate) async fn check(
    environment: &Environment,
    acknowledged: &[(i64, u64)],
) -> Result<Audit, String> {
    tell("Auditing the ledger.");
    let (ledger, campaign) = (&environment.ledger, environment.campaign.as_str());
    let distinct: BTreeSet<(i64, u64)> = acknowledged.iter().copied().collect();
    let acknowledged: Vec<(i64, u64)> = distinct.into_iter().collect();
    let mut conn = PgConnection::connect(&environment.url)
        .await
        .map_err(words)?;
    let mut wrong = Vec::new();
    for page in acknowledged.chunks(PAGE) {
        let found = probes::not_logged_once(&mut conn, campaign, page)
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
    if snapshot.prefix.tally != synthetic::sum(&snapshot.cut, snapshot.prefix.segments) {
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
        let more = wrong.len().saturating_sub(NAMED);
        wrong.truncate(NAMED);
        let more = if more > 0 {
            format!("; and {more} more")
        } else {
            String::new()
        };
        return Err(format!("the ledger is wrong: {}{more}", wrong.join("; ")));
    }
    Ok(Audit {
        acknowledged: u64::try_from(acknowledged.len()).unwrap_or(u64::MAX),
        accepted: snapshot.counts.accepted,
        prefix: snapshot.prefix.segments,
        bytes: probes::bytes(&mut conn).await.map_err(words)?,
    })
}
