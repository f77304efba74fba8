//! Claiming leases.

use kazoe_common::census::{Cut, Segment};
use kazoe_proto::name::stored_owner;
use sqlx::PgConnection;
use std::collections::{HashMap, HashSet};

use fail::fail_point;

use super::claimable::stock;
use super::{Memo, PostgresLedger, campaign_rows, clock, losses, note, noted};
use crate::leasing::{Millis, Purpose, choose};
use crate::ledger::rows::{self, Failure, from_row, millis, to_row};
use crate::ledger::{CampaignState, Claim, Lease, LedgerError, Lent, Who};
use kazoe_proto::lease_key::LeaseKey;

impl PostgresLedger {
    /// Leases segments of a campaign, in one transaction and in the order of the claims. A claim gets nothing if
    /// the campaign has no segment for its owner now, or is paused or cancelled.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn claim(
        &self,
        campaign: &str,
        claims: &[Claim],
    ) -> Result<Vec<Option<Lease>>, LedgerError> {
        let memo = &Memo::default();
        self.write(|mut tx, again| async move {
            let earlier: Vec<Option<LeaseKey>> = noted(memo).filter(|_| again).unwrap_or_default();
            if let Some(leases) = find(&mut tx, campaign, &earlier).await? {
                return Ok((tx, leases));
            }
            let leases = lease(&mut tx, campaign, claims).await?;
            if leases.iter().any(Option::is_some) {
                let keys = leases.iter().map(|lease| Some(lease.as_ref()?.key));
                note(memo, keys.collect());
                fail_point!("coordinator.claim.written");
            }
            Ok((tx, leases))
        })
        .await
    }
}

async fn lease(
    conn: &mut PgConnection,
    id: &str,
    claims: &[Claim],
) -> Result<Vec<Option<Lease>>, Failure> {
    let campaign = campaign_rows::lock(conn, id).await?;
    if campaign.pace != CampaignState::Running {
        return Ok(claims.iter().map(|_| None).collect());
    }
    let (at, frontier) = moment(conn, id).await?;
    if let Some(hold) = claims.iter().map(|claim| claim.hold).max() {
        clock::pull_back(conn, id, at, hold).await?;
    }
    let mut stock = stock(conn, id, &campaign.cut, claims, at, frontier).await?;
    losses::heed(conn, id, &mut stock, at).await?;
    let unleased: HashSet<Segment> = stock.unleased.iter().copied().collect();
    let mut chosen = Vec::with_capacity(claims.len());
    for claim in claims {
        let Claim { who, want, hold } = claim;
        let want = usize::try_from(*want).unwrap_or(usize::MAX);
        let asking = stored_owner(who.owner.clone());
        let segments = choose(&stock, &asking, who.operator, at, want);
        let deadline = at.saturating_add(millis(*hold));
        stock.lend(&segments, deadline);
        chosen.push((claim, deadline, segments));
    }
    let leases = insert_leases(conn, id, at, &chosen).await?;
    insert_loans(conn, id, &leases, &chosen, at, &unleased).await?;
    if let Some(end) = reach(&chosen, &unleased) {
        sqlx::query(
            "-- claim_move_frontier
             UPDATE campaigns SET frontier = $2 WHERE id = $1",
        )
        .bind(id)
        .bind(to_row(end))
        .execute(conn)
        .await?;
    }
    let lent = leases.into_iter().zip(chosen);
    Ok(lent
        .map(|(key, (_, deadline, segments))| {
            key.map(|key| Lease {
                key,
                campaign: id.to_owned(),
                segments: segments
                    .into_iter()
                    .map(|(segment, purpose)| Lent {
                        segment,
                        samples: campaign.cut.samples_of(segment),
                        purpose,
                    })
                    .collect(),
                claimed_at: at,
                deadline,
            })
        })
        .collect())
}

/// A claim, its lease's deadline, and its segments.
type Chosen<'a> = (&'a Claim, Millis, Vec<(Segment, Purpose)>);

/// The end of the segments that are lent for the first time.
fn reach(chosen: &[Chosen<'_>], unleased: &HashSet<Segment>) -> Option<Segment> {
    let all = chosen.iter().flat_map(|(_, _, segments)| segments);
    let fill =
        all.filter(|(segment, purpose)| *purpose == Purpose::Fill && unleased.contains(segment));
    fill.map(|&(segment, _)| segment + 1).max()
}

/// Now, and the campaign's frontier.
async fn moment(conn: &mut PgConnection, id: &str) -> Result<(Millis, Segment), Failure> {
    let (at, frontier) = sqlx::query_as::<_, (i64, i64)>(
        "-- claim_moment
         SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, frontier
         FROM campaigns WHERE id = $1",
    )
    .bind(id)
    .fetch_one(conn)
    .await?;
    Ok((at, from_row(frontier)?))
}

/// Finds the leases that an earlier attempt of the same claims committed: all of them, or none.
async fn find(
    conn: &mut PgConnection,
    id: &str,
    keys: &[Option<LeaseKey>],
) -> Result<Option<Vec<Option<Lease>>>, Failure> {
    if keys.is_empty() {
        return Ok(None);
    }
    // The earlier attempt may be about to be committed: then it holds the lock until it is.
    let cut = campaign_rows::lock(conn, id).await?.cut;
    let mut leases = Vec::with_capacity(keys.len());
    for key in keys {
        let lease = match key {
            Some(key) => Some(find_one(conn, id, &cut, *key).await?),
            None => None,
        };
        // What it says of the first it says of all.
        if matches!(lease, Some(None)) {
            return Ok(None);
        }
        leases.push(lease.flatten());
    }
    Ok(Some(leases))
}

async fn find_one(
    conn: &mut PgConnection,
    id: &str,
    cut: &Cut,
    key: LeaseKey,
) -> Result<Option<Lease>, Failure> {
    let times = sqlx::query_as::<_, (i64, i64)>(
        "-- claim_find_lease
         SELECT claimed_at, deadline FROM leases
         WHERE sequence = $1 AND secret = $2 AND campaign = $3",
    )
    .bind(key.sequence)
    .bind(key.secret.to_vec())
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
    .bind(key.sequence)
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
        key,
        campaign: id.to_owned(),
        segments,
        claimed_at,
        deadline,
    }))
}

/// Inserts a lease for each claim that gets segments. The random half of a key is of the leading bytes of
/// random UUIDs, none of which is fixed.
async fn insert_leases(
    conn: &mut PgConnection,
    id: &str,
    at: Millis,
    chosen: &[Chosen<'_>],
) -> Result<Vec<Option<LeaseKey>>, Failure> {
    let (mut owners, mut workers, mut operators) = (Vec::new(), Vec::new(), Vec::new());
    let (mut builds, mut deadlines) = (Vec::new(), Vec::new());
    for (Claim { who, .. }, deadline, _) in chosen.iter().filter(|(_, _, all)| !all.is_empty()) {
        owners.push(who.owner.as_str());
        workers.push(who.worker.as_str());
        operators.push(who.operator);
        builds.push(who.build.as_str());
        deadlines.push(*deadline);
    }
    if owners.is_empty() {
        return Ok(chosen.iter().map(|_| None).collect());
    }
    let rows = sqlx::query_as::<_, (i64, Vec<u8>, String, String, bool, String, i64)>(
        "-- leases_insert
         INSERT INTO leases (secret, campaign, owner, worker, operator, build, claimed_at, deadline,
                             hold)
         SELECT substring(uuid_send(gen_random_uuid()) FOR 6)
                || substring(uuid_send(gen_random_uuid()) FOR 2),
                $1, t.owner, t.worker, t.operator, t.build, $2, t.deadline, t.deadline - $2
         FROM unnest($3::text[], $4::text[], $5::boolean[], $6::text[], $7::bigint[])
              AS t (owner, worker, operator, build, deadline)
         RETURNING sequence, secret, owner, worker, operator, build, deadline",
    )
    .bind(id)
    .bind(at)
    .bind(owners)
    .bind(workers)
    .bind(operators)
    .bind(builds)
    .bind(deadlines)
    .fetch_all(conn)
    .await?;
    // Rows that say the same are as good as each other.
    let mut keys: HashMap<(Who, Millis), Vec<LeaseKey>> = HashMap::new();
    for (sequence, secret, owner, worker, operator, build, deadline) in rows {
        let secret = rows::secret(&secret)?;
        let who = Who {
            owner,
            worker,
            build,
            operator,
        };
        let same = keys.entry((who, deadline)).or_default();
        same.push(LeaseKey { sequence, secret });
    }
    chosen
        .iter()
        .map(|(claim, deadline, segments)| {
            if segments.is_empty() {
                return Ok(None);
            }
            let same = keys.get_mut(&(claim.who.clone(), *deadline));
            let key = same.and_then(Vec::pop);
            let missing = || LedgerError::Row("a lease that was not entered".to_owned());
            Ok(Some(key.ok_or_else(missing)?))
        })
        .collect()
}

/// Inserts the loans of new leases, and closes the expired loans of the same segments. Unleased segments have none.
async fn insert_loans(
    conn: &mut PgConnection,
    id: &str,
    leases: &[Option<LeaseKey>],
    chosen: &[Chosen<'_>],
    at: Millis,
    unleased: &HashSet<Segment>,
) -> Result<(), Failure> {
    let (mut sequences, mut segments, mut purposes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut old_segments, mut old_purposes) = (Vec::new(), Vec::new());
    for (key, (_, _, all)) in leases.iter().zip(chosen) {
        let Some(key) = key else { continue };
        for &(segment, purpose) in all {
            sequences.push(key.sequence);
            segments.push(to_row(segment));
            purposes.push(purpose.name());
            if purpose != Purpose::Fill || !unleased.contains(&segment) {
                old_segments.push(to_row(segment));
                old_purposes.push(purpose.name());
            }
        }
    }
    if segments.is_empty() {
        return Ok(());
    }
    if !old_segments.is_empty() {
        sqlx::query(
            "-- lend_close_expired
             UPDATE loans SET closed_at = $4, closing = 'expired'
             FROM unnest($2::bigint[], $3::text[]) AS chosen (segment, purpose),
                  LATERAL (SELECT o.lease FROM loans o
                           WHERE o.campaign = $1 AND o.purpose = chosen.purpose
                             AND o.segment = chosen.segment AND o.closed_at IS NULL OFFSET 0) AS open
             WHERE loans.lease = open.lease AND loans.segment = chosen.segment",
        )
        .bind(id)
        .bind(&old_segments)
        .bind(&old_purposes)
        .bind(at)
        .execute(&mut *conn)
        .await?;
        sqlx::query(
            "-- lend_stop_waiting
             DELETE FROM waiting WHERE campaign = $1 AND segment = ANY ($2)",
        )
        .bind(id)
        .bind(&old_segments)
        .execute(&mut *conn)
        .await?;
    }
    sqlx::query(
        "-- lend_insert
         INSERT INTO loans (lease, segment, campaign, purpose)
         SELECT chosen.lease, chosen.segment, $1, chosen.purpose
         FROM unnest($2::bigint[], $3::bigint[], $4::text[]) AS chosen (lease, segment, purpose)",
    )
    .bind(id)
    .bind(&sequences)
    .bind(&segments)
    .bind(&purposes)
    .execute(&mut *conn)
    .await?;
    end_emptied(conn, id, at).await
}

/// Expired leases of a campaign that lend nothing any more are over.
async fn end_emptied(conn: &mut PgConnection, id: &str, at: Millis) -> Result<(), Failure> {
    sqlx::query(
        "-- leases_end_emptied
         UPDATE leases SET ended_at = $1, ending = 'expired'
         WHERE campaign = $2 AND ended_at IS NULL AND deadline <= $1
           AND (SELECT true FROM loans o
                WHERE o.lease = sequence AND o.closed_at IS NULL LIMIT 1) IS NULL",
    )
    .bind(at)
    .bind(id)
    .execute(conn)
    .await?;
    Ok(())
}
