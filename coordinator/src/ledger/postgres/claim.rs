//! Claiming, extending and ending leases.

use std::time::Duration;

use kazoe_common::census::{Cut, Segment};
use sqlx::PgConnection;

use super::{audits, campaign_rows, losses, now};
use crate::leasing::{DisputedSegment, Millis, Purpose, Stock, choose};
use crate::ledger::rows::{self, Failure, from_row, millis, to_row};
use crate::ledger::{Lease, LedgerError, Lent, Pace, Token, Who};

pub(super) async fn claim(
    conn: &mut PgConnection,
    id: &str,
    who: &Who,
    want: u32,
    hold: Duration,
) -> Result<Option<Lease>, Failure> {
    let campaign = campaign_rows::lock(conn, id).await?;
    if campaign.pace != Pace::Running {
        return Ok(None);
    }
    let at = now(conn).await?;
    let mut stock = stock(conn, id, &campaign.cut, who, at, want).await?;
    losses::heed(conn, id, &mut stock, at).await?;
    let wanted = usize::try_from(want).unwrap_or(usize::MAX);
    let chosen = choose(&stock, &who.owner, who.operator, at, wanted);
    if chosen.is_empty() {
        return Ok(None);
    }
    let deadline = at.saturating_add(millis(hold));
    let token = insert_lease(conn, id, who, at, deadline).await?;
    lend(conn, id, token, &chosen, at).await?;
    end_emptied(conn, id, at).await?;
    if let Some(&last) = stock
        .unleased
        .iter()
        .rev()
        .find(|segment| chosen.contains(&(**segment, Purpose::Fill)))
    {
        sqlx::query(
            "-- claim_move_frontier
             UPDATE campaigns SET frontier = $2 WHERE id = $1",
        )
        .bind(id)
        .bind(to_row(last + 1))
        .execute(conn)
        .await?;
    }
    let segments = chosen
        .into_iter()
        .map(|(segment, purpose)| Lent {
            segment,
            samples: campaign.cut.samples_of(segment),
            purpose,
        })
        .collect();
    Ok(Some(Lease {
        token,
        campaign: id.to_owned(),
        segments,
        claimed_at: at,
        deadline,
    }))
}

/// The lease that an earlier attempt of the same claim committed, if it did.
pub(super) async fn find(
    conn: &mut PgConnection,
    id: &str,
    token: Option<Token>,
) -> Result<Option<Lease>, Failure> {
    let Some(token) = token else {
        return Ok(None);
    };
    // The earlier attempt may be about to be committed: then it holds the lock until it is.
    let cut = campaign_rows::lock(conn, id).await?.cut;
    let times = sqlx::query_as::<_, (i64, i64)>(
        "-- claim_find_lease
         SELECT claimed_at, deadline FROM leases
         WHERE sequence = $1 AND secret = $2 AND campaign = $3",
    )
    .bind(token.sequence)
    .bind(token.secret.to_vec())
    .bind(id)
    .fetch_optional(&mut *conn)
    .await?;
    let Some((claimed_at, deadline)) = times else {
        return Ok(None);
    };
    let segments = sqlx::query_as::<_, (i64, String)>(
        "-- claim_find_loans
         SELECT segment, purpose FROM loans WHERE lease = $1 ORDER BY segment",
    )
    .bind(token.sequence)
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(|(segment, purpose)| {
        let segment = from_row(segment)?;
        Ok(Lent {
            segment,
            samples: cut.samples_of(segment),
            purpose: Purpose::by_name(&purpose)
                .ok_or_else(|| LedgerError::Row(format!("a loan to {purpose}")))?,
        })
    })
    .collect::<Result<Vec<Lent>, Failure>>()?;
    Ok(Some(Lease {
        token,
        campaign: id.to_owned(),
        segments,
        claimed_at,
        deadline,
    }))
}

/// What there is to lend, of each sort no more than wanted.
async fn stock(
    conn: &mut PgConnection,
    id: &str,
    cut: &Cut,
    who: &Who,
    at: Millis,
    want: u32,
) -> Result<Stock, Failure> {
    Ok(Stock {
        retracted: waiting(conn, id, "retracted", want).await?,
        disputed: disputed(conn, id).await?,
        returned: waiting(conn, id, "returned", want).await?,
        lent: expired(conn, id, at, want).await?,
        unleased: unleased(conn, id, cut, want).await?,
        audits: audits::due(conn, id, &who.owner, at, want).await?,
        ..Stock::default()
    })
}

async fn waiting(
    conn: &mut PgConnection,
    id: &str,
    why: &str,
    want: u32,
) -> Result<Vec<Segment>, Failure> {
    sqlx::query_scalar::<_, i64>(
        "-- claim_waiting
         SELECT segment FROM waiting WHERE campaign = $1 AND why = $2 ORDER BY segment LIMIT $3",
    )
    .bind(id)
    .bind(why)
    .bind(i64::from(want))
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(from_row)
    .collect()
}

/// All disputed segments: there are few, or something is very wrong.
async fn disputed(conn: &mut PgConnection, id: &str) -> Result<Vec<DisputedSegment>, Failure> {
    let rows = sqlx::query_as::<_, (i64, Option<i64>)>(
        "-- claim_disputed
         SELECT d.segment,
                (SELECT max(l.deadline) FROM loans o JOIN leases l ON l.sequence = o.lease
                 WHERE o.campaign = d.campaign AND o.purpose = 'resolve'
                   AND o.segment = d.segment AND o.closed_at IS NULL)
         FROM disputes d WHERE d.campaign = $1 AND d.closed_at IS NULL ORDER BY d.segment",
    )
    .bind(id)
    .fetch_all(&mut *conn)
    .await?;
    let mut all = Vec::with_capacity(rows.len());
    for (segment, lent_until) in rows {
        let owners = sqlx::query_scalar::<_, String>(
            "-- claim_disputed_owners
             SELECT DISTINCT owner FROM results
             WHERE campaign = $1 AND segment = $2 AND verdict <> 'stale'",
        )
        .bind(id)
        .bind(segment)
        .fetch_all(&mut *conn)
        .await?;
        all.push(DisputedSegment {
            segment: from_row(segment)?,
            owners,
            lent_until,
        });
    }
    Ok(all)
}

async fn expired(
    conn: &mut PgConnection,
    id: &str,
    at: Millis,
    want: u32,
) -> Result<Vec<(Segment, Millis)>, Failure> {
    sqlx::query_as::<_, (i64, i64)>(
        "-- claim_expired
         SELECT o.segment, l.deadline FROM loans o JOIN leases l ON l.sequence = o.lease
         WHERE o.campaign = $1 AND o.purpose = 'fill' AND o.closed_at IS NULL AND l.deadline <= $2
         ORDER BY o.segment LIMIT $3",
    )
    .bind(id)
    .bind(at)
    .bind(i64::from(want))
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(|(segment, deadline)| Ok((from_row(segment)?, deadline)))
    .collect()
}

/// From the frontier on, leaving out what an import or an operator put elsewhere. The walk counts
/// what it found and stops there, so it costs what it skips and no more.
async fn unleased(
    conn: &mut PgConnection,
    id: &str,
    cut: &Cut,
    want: u32,
) -> Result<Vec<Segment>, Failure> {
    sqlx::query_scalar::<_, i64>(
        "-- claim_unleased
         WITH RECURSIVE walk (segment, free, found) AS (
             SELECT frontier - 1, false, 0::bigint FROM campaigns WHERE id = $1
             UNION ALL
             SELECT segment + 1, NOT EXISTS (
                 SELECT 1 FROM accepted a WHERE a.campaign = $1 AND a.segment = walk.segment + 1
                 UNION ALL
                 SELECT 1 FROM set_aside x WHERE x.campaign = $1 AND x.segment = walk.segment + 1
                 UNION ALL
                 SELECT 1 FROM waiting w WHERE w.campaign = $1 AND w.segment = walk.segment + 1
                 UNION ALL
                 SELECT 1 FROM loans o WHERE o.campaign = $1 AND o.purpose = 'fill'
                    AND o.segment = walk.segment + 1 AND o.closed_at IS NULL
             ), found + free::integer
             FROM walk WHERE found + free::integer < $3 AND segment + 1 < $2
         )
         SELECT segment FROM walk WHERE free ORDER BY segment",
    )
    .bind(id)
    .bind(to_row(cut.segments()))
    .bind(i64::from(want))
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(from_row)
    .collect()
}

/// The random half is of the leading bytes of random UUIDs, none of which is fixed.
async fn insert_lease(
    conn: &mut PgConnection,
    id: &str,
    who: &Who,
    at: Millis,
    deadline: Millis,
) -> Result<Token, Failure> {
    let (sequence, secret) = sqlx::query_as::<_, (i64, Vec<u8>)>(
        "-- leases_insert
         INSERT INTO leases (secret, campaign, owner, worker, operator, build, claimed_at, deadline)
         VALUES (substring(uuid_send(gen_random_uuid()) FOR 6)
                 || substring(uuid_send(gen_random_uuid()) FOR 2),
                 $1, $2, $3, $4, $5, $6, $7)
         RETURNING sequence, secret",
    )
    .bind(id)
    .bind(&who.owner)
    .bind(&who.worker)
    .bind(who.operator)
    .bind(&who.build)
    .bind(at)
    .bind(deadline)
    .fetch_one(conn)
    .await?;
    Ok(Token {
        sequence,
        secret: rows::secret(&secret)?,
    })
}

/// Lends segments: whoever held them before holds them no more.
async fn lend(
    conn: &mut PgConnection,
    id: &str,
    token: Token,
    chosen: &[(Segment, Purpose)],
    at: Millis,
) -> Result<(), Failure> {
    let segments: Vec<i64> = chosen.iter().map(|&(segment, _)| to_row(segment)).collect();
    let purposes: Vec<&str> = chosen.iter().map(|(_, purpose)| purpose.name()).collect();
    sqlx::query(
        "-- lend_close_expired
         UPDATE loans SET closed_at = $4, closing = 'expired'
         FROM unnest($2::bigint[], $3::text[]) AS chosen (segment, purpose)
         WHERE loans.campaign = $1 AND loans.purpose = chosen.purpose
           AND loans.segment = chosen.segment AND loans.closed_at IS NULL",
    )
    .bind(id)
    .bind(&segments)
    .bind(&purposes)
    .bind(at)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "-- lend_stop_waiting
         DELETE FROM waiting WHERE campaign = $1 AND segment = ANY ($2)",
    )
    .bind(id)
    .bind(&segments)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "-- lend_insert
         INSERT INTO loans (lease, segment, campaign, purpose)
         SELECT $1, chosen.segment, $2, chosen.purpose
         FROM unnest($3::bigint[], $4::text[]) AS chosen (segment, purpose)",
    )
    .bind(token.sequence)
    .bind(id)
    .bind(&segments)
    .bind(&purposes)
    .execute(conn)
    .await?;
    Ok(())
}

/// Expired leases of a campaign that lend nothing any more are over.
async fn end_emptied(conn: &mut PgConnection, id: &str, at: Millis) -> Result<(), Failure> {
    sqlx::query(
        "-- leases_end_emptied
         UPDATE leases SET ended_at = $1, ending = 'expired'
         WHERE campaign = $2 AND ended_at IS NULL AND deadline <= $1
           AND NOT EXISTS (SELECT 1 FROM loans o WHERE o.lease = sequence AND o.closed_at IS NULL)",
    )
    .bind(at)
    .bind(id)
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn extend(
    conn: &mut PgConnection,
    token: Token,
    hold: Duration,
) -> Result<Millis, Failure> {
    let deadline = now(conn).await?.saturating_add(millis(hold));
    let extended = sqlx::query(
        "-- leases_extend
         UPDATE leases SET deadline = $3 WHERE sequence = $1 AND secret = $2 AND ended_at IS NULL",
    )
    .bind(token.sequence)
    .bind(token.secret.to_vec())
    .bind(deadline)
    .execute(conn)
    .await?;
    if extended.rows_affected() == 1 {
        Ok(deadline)
    } else {
        Err(LedgerError::NotHeld(token).into())
    }
}

/// Ends a lease. `again` tells that an earlier attempt may have ended it: then its answer is repeated.
pub(super) async fn end(
    conn: &mut PgConnection,
    token: Token,
    again: bool,
) -> Result<u64, Failure> {
    let campaign = sqlx::query_scalar::<_, String>(
        "-- end_find_campaign
         SELECT campaign FROM leases WHERE sequence = $1 AND secret = $2",
    )
    .bind(token.sequence)
    .bind(token.secret.to_vec())
    .fetch_optional(&mut *conn)
    .await?
    .ok_or(LedgerError::NotHeld(token))?;
    campaign_rows::lock(conn, &campaign).await?;
    let at = now(conn).await?;
    let ended = sqlx::query(
        "-- leases_end
         UPDATE leases SET ended_at = $3, ending = 'ended'
         WHERE sequence = $1 AND secret = $2 AND ended_at IS NULL",
    )
    .bind(token.sequence)
    .bind(token.secret.to_vec())
    .bind(at)
    .execute(&mut *conn)
    .await?;
    if ended.rows_affected() == 1 {
        return give_back(conn, token.sequence, "returned", at).await;
    }
    let returned = sqlx::query_scalar::<_, i64>(
        "-- end_find_returned
         SELECT (SELECT count(*) FROM loans WHERE lease = leases.sequence AND closing = 'returned')
         FROM leases WHERE sequence = $1 AND ending = 'ended'",
    )
    .bind(token.sequence)
    .fetch_optional(conn)
    .await?;
    match returned {
        Some(returned) if again => from_row(returned),
        _ => Err(LedgerError::NotHeld(token).into()),
    }
}

/// Ends all leases of a worker. Sent again it finds none, and says so.
pub(super) async fn forfeit(conn: &mut PgConnection, worker: &str) -> Result<u64, Failure> {
    let campaigns = sqlx::query_scalar::<_, String>(
        "-- forfeit_find_campaigns
         SELECT DISTINCT campaign FROM leases
         WHERE worker = $1 AND ended_at IS NULL ORDER BY campaign",
    )
    .bind(worker)
    .fetch_all(&mut *conn)
    .await?;
    let mut returned = 0;
    // Locks are taken in the order of the ids, by whoever needs several.
    for campaign in campaigns {
        campaign_rows::lock(conn, &campaign).await?;
        let at = now(conn).await?;
        let leases = sqlx::query_scalar::<_, i64>(
            "-- leases_forfeit
             UPDATE leases SET ended_at = $3, ending = 'forfeited'
             WHERE worker = $1 AND campaign = $2 AND ended_at IS NULL RETURNING sequence",
        )
        .bind(worker)
        .bind(&campaign)
        .bind(at)
        .fetch_all(&mut *conn)
        .await?;
        for sequence in leases {
            returned += give_back(conn, sequence, "forfeited", at).await?;
        }
    }
    Ok(returned)
}

/// Closes what a lease still lends; segments that were to be filled wait for the next claim.
async fn give_back(
    conn: &mut PgConnection,
    lease: i64,
    closing: &str,
    at: Millis,
) -> Result<u64, Failure> {
    sqlx::query(
        "-- give_back_wait
         INSERT INTO waiting (campaign, segment, why)
         SELECT campaign, segment, 'returned' FROM loans
         WHERE lease = $1 AND closed_at IS NULL AND purpose = 'fill'",
    )
    .bind(lease)
    .execute(&mut *conn)
    .await?;
    let closed = sqlx::query(
        "-- give_back_close
         UPDATE loans SET closed_at = $2, closing = $3 WHERE lease = $1 AND closed_at IS NULL",
    )
    .bind(lease)
    .bind(at)
    .bind(closing)
    .execute(conn)
    .await?;
    Ok(closed.rows_affected())
}
