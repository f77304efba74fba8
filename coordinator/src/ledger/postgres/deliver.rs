//! Tallies that arrive: under a key, or imported.

use std::collections::{HashMap, HashSet};

use fail::fail_point;
use kazoe_common::census::{Cut, Segment};
use kazoe_proto::name::stored_owner;
use sqlx::PgConnection;

use super::apply_outcome::{receive, received};
use super::results::{self, Provenance};
use super::{PostgresLedger, campaign_rows, now, pending_audits, prefix};
use crate::leasing::{Effect, SegmentLog, compare};
use crate::ledger::lease::check;
use crate::ledger::rows::{self, Failure, from_row, to_row};
use crate::ledger::{Delivery, LedgerError, Who};
use kazoe_common::census::SegmentResult;
use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::outcome::DeliveryOutcome;

impl PostgresLedger {
    /// Takes deliveries of one campaign in one transaction, under keys of active, expired or ended leases. Takes all
    /// tallies of a delivery or none, and answers each delivery with the outcomes of its tallies.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`]. For a delivery: [`LedgerError::NotHeld`] for a key that is unknown or of
    /// another campaign, [`LedgerError::NotLent`] for a segment outside its lease, [`LedgerError::Samples`],
    /// [`LedgerError::Tally`] and [`LedgerError::Witness`] for an impossible tally.
    pub async fn deliver(
        &self,
        campaign: &str,
        deliveries: &[Delivery],
    ) -> Result<Vec<Result<Vec<DeliveryOutcome>, LedgerError>>, LedgerError> {
        self.write(|mut tx, _| async move {
            let outcomes = take(&mut tx, campaign, deliveries).await?;
            fail_point!("coordinator.deliver.written");
            Ok((tx, outcomes))
        })
        .await
    }
}

async fn take(
    conn: &mut PgConnection,
    campaign: &str,
    deliveries: &[Delivery],
) -> Result<Vec<Result<Vec<DeliveryOutcome>, LedgerError>>, Failure> {
    let cut = campaign_rows::lock(conn, campaign).await?.cut;
    let senders = senders(conn, campaign, deliveries).await?;
    let lent = lent(conn, deliveries).await?;
    let at = now(conn).await?;
    let mut items = Vec::new();
    let mut answers = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        match admit(delivery, &senders, &lent, &cut) {
            Ok(who) => {
                let lease = Some(delivery.key.sequence);
                let first = items.len();
                items.extend(delivery.results.iter().map(|result| {
                    let arrival = Provenance {
                        campaign,
                        who,
                        lease,
                        at,
                    };
                    (arrival, result)
                }));
                answers.push(Ok(first..items.len()));
            }
            Err(error) => answers.push(Err(error)),
        }
    }
    let outcomes = receive_all(conn, campaign, &cut, &items).await?;
    let answers = answers.into_iter();
    Ok(answers
        .map(|answer| answer.map(|range| outcomes[range].to_vec()))
        .collect())
}

/// Whether all of a delivery may be taken, and from whom it is.
fn admit<'a>(
    delivery: &Delivery,
    senders: &'a HashMap<LeaseKey, Who>,
    lent: &HashSet<(i64, Segment)>,
    cut: &Cut,
) -> Result<&'a Who, LedgerError> {
    let who = senders
        .get(&delivery.key)
        .ok_or(LedgerError::NotHeld(delivery.key))?;
    for result in delivery.results.iter() {
        if !lent.contains(&(delivery.key.sequence, result.segment)) {
            return Err(LedgerError::NotLent(result.segment));
        }
        check(result, cut)?;
    }
    Ok(who)
}

/// Who holds or held the leases of this campaign under which deliveries arrive.
async fn senders(
    conn: &mut PgConnection,
    campaign: &str,
    deliveries: &[Delivery],
) -> Result<HashMap<LeaseKey, Who>, Failure> {
    let leases: Vec<i64> = deliveries
        .iter()
        .map(|delivery| delivery.key.sequence)
        .collect();
    let rows = sqlx::query_as::<_, (i64, Vec<u8>, String, String, bool, String)>(
        "-- deliver_find_leases
         SELECT sequence, secret, owner, worker, operator, build FROM leases
         WHERE sequence = ANY ($1) AND campaign = $2",
    )
    .bind(leases)
    .bind(campaign)
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|(sequence, secret, owner, worker, operator, build)| {
            let key = LeaseKey {
                sequence,
                secret: rows::secret(&secret)?,
            };
            let who = Who {
                owner: stored_owner(owner),
                worker,
                build,
                operator,
            };
            Ok((key, who))
        })
        .collect()
}

/// Which of the segments that arrive their leases lent, whether handed in already or not.
async fn lent(
    conn: &mut PgConnection,
    deliveries: &[Delivery],
) -> Result<HashSet<(i64, Segment)>, Failure> {
    let (mut leases, mut segments) = (Vec::new(), Vec::new());
    for delivery in deliveries {
        for result in delivery.results.iter() {
            leases.push(delivery.key.sequence);
            segments.push(to_row(result.segment));
        }
    }
    sqlx::query_as::<_, (i64, i64)>(
        "-- deliver_find_loans
         SELECT lease, segment FROM (
             SELECT told.lease, told.segment,
                    (SELECT true FROM loans o
                     WHERE o.lease = told.lease AND o.segment = told.segment) AS lent
             FROM unnest($1::bigint[], $2::bigint[]) AS told (lease, segment)) all_told
         WHERE lent",
    )
    .bind(leases)
    .bind(segments)
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(|(lease, segment)| Ok((lease, from_row(segment)?)))
    .collect()
}

pub(super) async fn import(
    conn: &mut PgConnection,
    id: &str,
    who: &Who,
    results: &[SegmentResult],
) -> Result<Vec<DeliveryOutcome>, Failure> {
    let cut = campaign_rows::lock(conn, id).await?.cut;
    for result in results {
        if result.segment >= cut.segments() {
            return Err(LedgerError::NotLent(result.segment).into());
        }
        check(result, &cut)?;
    }
    let arrival = Provenance {
        campaign: id,
        who,
        lease: None,
        at: now(conn).await?,
    };
    let items: Vec<_> = results.iter().map(|one| (arrival, one)).collect();
    receive_all(conn, id, &cut, &items).await
}

/// Judges tallies in their order. Those whose segments the log has none of yet, which are nearly all, are
/// entered together; the others one by one after them.
async fn receive_all(
    conn: &mut PgConnection,
    campaign: &str,
    cut: &Cut,
    items: &[(Provenance<'_>, &SegmentResult)],
) -> Result<Vec<DeliveryOutcome>, Failure> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let mut known =
        results::known(conn, campaign, items.iter().map(|(_, one)| one.segment)).await?;
    let mut outcomes = vec![DeliveryOutcome::Accepted; items.len()];
    let (mut fresh, mut others) = (Vec::new(), Vec::new());
    for (place, &(arrival, result)) in items.iter().enumerate() {
        let segment_log = SegmentLog {
            samples: cut.samples_of(result.segment),
            ..SegmentLog::default()
        };
        let fills = || compare(&segment_log, &received(arrival, result)).effect == Effect::Accept;
        if !known.contains(&result.segment) && fills() {
            known.insert(result.segment);
            fresh.push((arrival, result));
        } else {
            others.push(place);
        }
    }
    let mut effects = to_row(fresh.len() as u64);
    let choice = pending_audits::choice(conn, campaign).await?;
    if !fresh.is_empty() {
        let reopened = results::accept_all(conn, campaign, &fresh).await?;
        if let Some(first) = reopened {
            prefix::drop_checkpoints(conn, campaign, first).await?;
        }
        let accepted = fresh
            .iter()
            .map(|(arrival, one)| (one.segment, &*arrival.who.owner));
        pending_audits::want(conn, campaign, accepted, choice).await?;
    }
    for place in others {
        let (arrival, result) = items[place];
        let samples = cut.samples_of(result.segment);
        let (verdict, effect) = receive(conn, arrival, samples, result).await?;
        if effect == Effect::Accept {
            let accepted = [(result.segment, &*arrival.who.owner)].into_iter();
            pending_audits::want(conn, campaign, accepted, choice).await?;
        } else if effect != Effect::None || verdict == DeliveryOutcome::Audit {
            pending_audits::forget(conn, campaign, result.segment).await?;
        }
        effects += i64::from(effect != Effect::None);
        outcomes[place] = verdict;
    }
    if effects > 0 {
        prefix::bump_revision(conn, campaign, effects).await?;
        prefix::advance_checkpoints(conn, campaign, cut).await?;
    }
    Ok(outcomes)
}
