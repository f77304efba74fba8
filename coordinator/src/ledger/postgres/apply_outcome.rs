//! One tally judged by what the log has of its segment, and the comparison carried out.

use kazoe_common::census::Segment;
use kazoe_proto::name::stored_owner;
use sqlx::PgConnection;

use super::audit_log::{Move, Retraction, write_audit};
use super::operator;
use super::prefix;
use super::results::{self, Provenance};
use crate::leasing::{Effect, LoggedTally, compare};
use crate::ledger::rows::{Failure, to_row};
use kazoe_common::census::SegmentResult;
use kazoe_proto::outcome::DeliveryOutcome;

pub(super) fn received(arrival: Provenance<'_>, delivery: &SegmentResult) -> LoggedTally {
    LoggedTally {
        owner: stored_owner(arrival.who.owner.clone()),
        operator: arrival.who.operator,
        lease: arrival.lease,
        samples: delivery.samples,
        tally: delivery.tally.clone(),
    }
}

/// Judges a tally of a segment that the log may have others of, and carries the comparison out.
pub(super) async fn receive(
    conn: &mut PgConnection,
    arrival: Provenance<'_>,
    samples: u64,
    delivery: &SegmentResult,
) -> Result<(DeliveryOutcome, Effect), Failure> {
    let segment = delivery.segment;
    let (segment_log, mut numbers) =
        results::docket(conn, arrival.campaign, segment, samples).await?;
    let comparison = compare(&segment_log, &received(arrival, delivery));
    if comparison.log {
        numbers.push(results::insert(conn, arrival, delivery, comparison.verdict).await?);
    }
    if comparison.verdict != DeliveryOutcome::Stale {
        close_own_loan(conn, arrival, segment).await?;
    }
    let newest = numbers.last().copied().unwrap_or_default();
    match comparison.effect {
        Effect::None => {}
        Effect::Accept => accept(conn, arrival, segment, newest).await?,
        Effect::Dispute => dispute(conn, arrival, segment, newest).await?,
        Effect::Settle {
            stands,
            by_operator,
        } => {
            let settlement = Settlement {
                segment,
                opened_by: newest,
                from: segment_log.accepted.map_or(newest, |index| numbers[index]),
                to: numbers[stands],
                by_operator,
            };
            settle(conn, arrival, settlement).await?;
        }
    }
    Ok((comparison.verdict, comparison.effect))
}

async fn close_own_loan(
    conn: &mut PgConnection,
    arrival: Provenance<'_>,
    segment: Segment,
) -> Result<(), Failure> {
    let Some(lease) = arrival.lease else {
        return Ok(());
    };
    sqlx::query(
        "-- deliver_close_loan
         UPDATE loans SET closed_at = $3, closing = 'delivered'
         WHERE lease = $1 AND segment = $2 AND closed_at IS NULL",
    )
    .bind(lease)
    .bind(to_row(segment))
    .bind(arrival.at)
    .execute(conn)
    .await?;
    Ok(())
}

/// The tally fills its segment, which stands nowhere else from now on.
async fn accept(
    conn: &mut PgConnection,
    arrival: Provenance<'_>,
    segment: Segment,
    result: i64,
) -> Result<(), Failure> {
    let left_aside = sqlx::query_scalar::<_, i64>(
        "-- accepted_insert
         WITH pointer AS (
             INSERT INTO accepted (campaign, segment, result) VALUES ($1, $2, $3)),
         lent AS (
             UPDATE loans SET closed_at = $4, closing = 'superseded'
             WHERE campaign = $1 AND purpose IN ('fill', 'resolve', 'audit') AND segment = $2
               AND closed_at IS NULL),
         waited AS (
             DELETE FROM waiting WHERE campaign = $1 AND segment = $2),
         aside AS (
             DELETE FROM set_aside WHERE campaign = $1 AND segment = $2 RETURNING segment)
         SELECT count(*) FROM aside",
    )
    .bind(arrival.campaign)
    .bind(to_row(segment))
    .bind(result)
    .bind(arrival.at)
    .fetch_one(&mut *conn)
    .await?;
    if left_aside > 0 {
        prefix::drop_checkpoints(conn, arrival.campaign, segment).await?;
    }
    Ok(())
}

async fn dispute(
    conn: &mut PgConnection,
    arrival: Provenance<'_>,
    segment: Segment,
    opened_by: i64,
) -> Result<(), Failure> {
    sqlx::query(
        "-- disputes_insert
         INSERT INTO disputes (campaign, segment, opened_at, opened_by) VALUES ($1, $2, $3, $4)",
    )
    .bind(arrival.campaign)
    .bind(to_row(segment))
    .bind(arrival.at)
    .bind(opened_by)
    .execute(&mut *conn)
    .await?;
    prefix::drop_checkpoints(conn, arrival.campaign, segment).await
}

/// How a dispute ends.
#[derive(Clone, Copy, Debug)]
struct Settlement {
    segment: Segment,
    opened_by: i64,
    from: i64,
    to: i64,
    by_operator: bool,
}

async fn settle(
    conn: &mut PgConnection,
    arrival: Provenance<'_>,
    settlement: Settlement,
) -> Result<(), Failure> {
    let Settlement { segment, to, .. } = settlement;
    let closing = if settlement.by_operator {
        "operator"
    } else {
        "agreed"
    };
    let closed = sqlx::query(
        "-- disputes_close
         UPDATE disputes SET closed_at = $3, closing = $4
         WHERE campaign = $1 AND segment = $2 AND closed_at IS NULL",
    )
    .bind(arrival.campaign)
    .bind(to_row(segment))
    .bind(arrival.at)
    .bind(closing)
    .execute(&mut *conn)
    .await?;
    if closed.rows_affected() == 0 {
        sqlx::query(
            "-- disputes_insert_settled
             INSERT INTO disputes (campaign, segment, opened_at, opened_by, closed_at, closing)
             VALUES ($1, $2, $3, $4, $3, $5)",
        )
        .bind(arrival.campaign)
        .bind(to_row(segment))
        .bind(arrival.at)
        .bind(settlement.opened_by)
        .bind(closing)
        .execute(&mut *conn)
        .await?;
    }
    sqlx::query(
        "-- accepted_move
         UPDATE accepted SET result = $3 WHERE campaign = $1 AND segment = $2",
    )
    .bind(arrival.campaign)
    .bind(to_row(segment))
    .bind(to)
    .execute(&mut *conn)
    .await?;
    operator::close_loans(conn, arrival.campaign, segment).await?;
    prefix::drop_checkpoints(conn, arrival.campaign, segment).await?;
    let entry = Retraction {
        campaign: arrival.campaign,
        segment,
        actor: &arrival.who.owner,
        action: "settle",
        why: if settlement.by_operator {
            "the operator's tally decides"
        } else {
            "tallies of two owners agree"
        },
    };
    let pointer = Move {
        at: arrival.at,
        from: Some(settlement.from),
        to: Some(to),
    };
    write_audit(conn, &entry, pointer).await?;
    Ok(())
}
