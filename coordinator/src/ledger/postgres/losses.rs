//! Segments over which workers were lost: lent alone, and given up for now when that goes on.

use sqlx::PgConnection;

use super::operator;
use crate::leasing::{Loss, Millis, Stock, hopeless};
use crate::ledger::rows::{Failure, from_row, to_row};

/// Who sets segments aside, in the audit log.
const ACTOR: &str = "coordinator";

/// Notes which segments of a stock were lost, and sets the hopeless ones aside.
pub(super) async fn heed(
    conn: &mut PgConnection,
    id: &str,
    stock: &mut Stock,
    at: Millis,
) -> Result<(), Failure> {
    let segments = stock.retracted.iter().chain(&stock.returned);
    let segments = segments.chain(stock.lent.iter().map(|(segment, _)| segment));
    let segments: Vec<i64> = segments.map(|&segment| to_row(segment)).collect();
    if segments.is_empty() {
        return Ok(());
    }
    let losses = losses(conn, id, segments, at).await?;
    stock.lost = losses.iter().map(|loss| loss.segment).collect();
    let given_up = hopeless(&losses);
    for (&segment, workers) in &given_up {
        let workers: Vec<&str> = workers.iter().map(String::as_str).collect();
        let why = format!(
            "these workers were lost over it while it was lent to each alone: {}",
            workers.join(", ")
        );
        operator::set_aside(conn, id, segment, ACTOR, &why).await?;
    }
    stock.leave_out(&given_up);
    Ok(())
}

/// The losses of these segments since they were last brought back, oldest first. A worker that was heard
/// after its deadline was late, and is not lost.
async fn losses(
    conn: &mut PgConnection,
    id: &str,
    segments: Vec<i64>,
    at: Millis,
) -> Result<Vec<Loss>, Failure> {
    sqlx::query_as::<_, (i64, String, bool)>(
        "-- claim_losses
         SELECT o.segment, l.worker,
                (SELECT count(*) FROM loans p WHERE p.lease = o.lease) = 1
         FROM loans o JOIN leases l ON l.sequence = o.lease
         WHERE o.campaign = $1 AND o.segment = ANY ($2) AND o.purpose = 'fill'
           AND (o.closing IN ('expired', 'forfeited') OR (o.closed_at IS NULL AND l.deadline <= $3))
           AND l.claimed_at > coalesce((SELECT max(t.at) FROM audit_log t
                                        WHERE t.campaign = $1 AND t.segment = o.segment
                                          AND t.action = 'retry'), -1)
           AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = l.worker AND w.seen_at > l.deadline)
         ORDER BY l.sequence",
    )
    .bind(id)
    .bind(segments)
    .bind(at)
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(|(segment, worker, alone)| {
        Ok(Loss {
            segment: from_row(segment)?,
            worker,
            alone,
        })
    })
    .collect()
}
