//! Tallies that arrive: under a token, or imported.

use std::collections::{HashMap, HashSet};

use fail::fail_point;
use kazoe_common::census::{Cut, Segment};
use kazoe_proto::name::stored_owner;
use sqlx::PgConnection;

use super::results::{self, Arrival};
use super::ruling::{receive, received};
use super::{PostgresLedger, audits, campaign_rows, now, prefix};
use crate::leasing::{Docket, Effect, Verdict, judge};
use crate::ledger::rows::{self, Failure, from_row, to_row};
use crate::ledger::{Delivery, LedgerError, Parcel, Token, Who};

impl PostgresLedger {
    /// Takes parcels of one campaign in one transaction, under tokens of active, expired or ended leases. Takes all
    /// tallies of a parcel or none, and answers each parcel with the verdicts of its tallies.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`]. For a parcel: [`LedgerError::NotHeld`] for a token that is unknown or of
    /// another campaign, [`LedgerError::NotLent`] for a segment outside its lease, [`LedgerError::Samples`],
    /// [`LedgerError::Tally`] and [`LedgerError::Witness`] for an impossible tally.
    pub async fn deliver(
        &self,
        campaign: &str,
        parcels: &[Parcel],
    ) -> Result<Vec<Result<Vec<Verdict>, LedgerError>>, LedgerError> {
        self.write(|mut tx, _| async move {
            let verdicts = take(&mut tx, campaign, parcels).await?;
            fail_point!("coordinator.deliver.written");
            Ok((tx, verdicts))
        })
        .await
    }
}

async fn take(
    conn: &mut PgConnection,
    campaign: &str,
    parcels: &[Parcel],
) -> Result<Vec<Result<Vec<Verdict>, LedgerError>>, Failure> {
    let cut = campaign_rows::lock(conn, campaign).await?.cut;
    let senders = senders(conn, campaign, parcels).await?;
    let lent = lent(conn, parcels).await?;
    let at = now(conn).await?;
    let mut items = Vec::new();
    let mut answers = Vec::with_capacity(parcels.len());
    for parcel in parcels {
        match admit(parcel, &senders, &lent, &cut) {
            Ok(who) => {
                let lease = Some(parcel.token.sequence);
                let first = items.len();
                items.extend(parcel.deliveries.iter().map(|delivery| {
                    let arrival = Arrival {
                        campaign,
                        who,
                        lease,
                        at,
                    };
                    (arrival, delivery)
                }));
                answers.push(Ok(first..items.len()));
            }
            Err(error) => answers.push(Err(error)),
        }
    }
    let verdicts = receive_all(conn, campaign, &cut, &items).await?;
    let answers = answers.into_iter();
    Ok(answers
        .map(|answer| answer.map(|range| verdicts[range].to_vec()))
        .collect())
}

/// Whether all of a parcel may be taken, and from whom it is.
fn admit<'a>(
    parcel: &Parcel,
    senders: &'a HashMap<Token, Who>,
    lent: &HashSet<(i64, Segment)>,
    cut: &Cut,
) -> Result<&'a Who, LedgerError> {
    let who = senders
        .get(&parcel.token)
        .ok_or(LedgerError::NotHeld(parcel.token))?;
    for delivery in parcel.deliveries.iter() {
        if !lent.contains(&(parcel.token.sequence, delivery.segment)) {
            return Err(LedgerError::NotLent(delivery.segment));
        }
        delivery.check(cut)?;
    }
    Ok(who)
}

/// Who holds or held the leases of this campaign under which parcels arrive.
async fn senders(
    conn: &mut PgConnection,
    campaign: &str,
    parcels: &[Parcel],
) -> Result<HashMap<Token, Who>, Failure> {
    let leases: Vec<i64> = parcels.iter().map(|parcel| parcel.token.sequence).collect();
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
            let token = Token {
                sequence,
                secret: rows::secret(&secret)?,
            };
            let who = Who {
                owner: stored_owner(owner),
                worker,
                build,
                operator,
            };
            Ok((token, who))
        })
        .collect()
}

/// Which of the segments that arrive their leases lent, whether handed in already or not.
async fn lent(
    conn: &mut PgConnection,
    parcels: &[Parcel],
) -> Result<HashSet<(i64, Segment)>, Failure> {
    let (mut leases, mut segments) = (Vec::new(), Vec::new());
    for parcel in parcels {
        for delivery in parcel.deliveries.iter() {
            leases.push(parcel.token.sequence);
            segments.push(to_row(delivery.segment));
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
    deliveries: &[Delivery],
) -> Result<Vec<Verdict>, Failure> {
    let cut = campaign_rows::lock(conn, id).await?.cut;
    for delivery in deliveries {
        if delivery.segment >= cut.segments() {
            return Err(LedgerError::NotLent(delivery.segment).into());
        }
        delivery.check(&cut)?;
    }
    let arrival = Arrival {
        campaign: id,
        who,
        lease: None,
        at: now(conn).await?,
    };
    let items: Vec<_> = deliveries.iter().map(|one| (arrival, one)).collect();
    receive_all(conn, id, &cut, &items).await
}

/// Judges tallies in their order. Those whose segments the log has none of yet, which are nearly all, are
/// entered together; the others one by one after them.
async fn receive_all(
    conn: &mut PgConnection,
    campaign: &str,
    cut: &Cut,
    items: &[(Arrival<'_>, &Delivery)],
) -> Result<Vec<Verdict>, Failure> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let mut known =
        results::known(conn, campaign, items.iter().map(|(_, one)| one.segment)).await?;
    let mut verdicts = vec![Verdict::Accepted; items.len()];
    let (mut fresh, mut others) = (Vec::new(), Vec::new());
    for (place, &(arrival, delivery)) in items.iter().enumerate() {
        let docket = Docket {
            samples: cut.samples_of(delivery.segment),
            ..Docket::default()
        };
        let fills = || judge(&docket, &received(arrival, delivery)).effect == Effect::Accept;
        if !known.contains(&delivery.segment) && fills() {
            known.insert(delivery.segment);
            fresh.push((arrival, delivery));
        } else {
            others.push(place);
        }
    }
    let mut effects = to_row(fresh.len() as u64);
    let choice = audits::choice(conn, campaign).await?;
    if !fresh.is_empty() {
        let reopened = results::accept_all(conn, campaign, &fresh).await?;
        if let Some(first) = reopened {
            prefix::drop_checkpoints(conn, campaign, first).await?;
        }
        let accepted = fresh
            .iter()
            .map(|(arrival, one)| (one.segment, &*arrival.who.owner));
        audits::want(conn, campaign, accepted, choice).await?;
    }
    for place in others {
        let (arrival, delivery) = items[place];
        let samples = cut.samples_of(delivery.segment);
        let (verdict, effect) = receive(conn, arrival, samples, delivery).await?;
        if effect == Effect::Accept {
            let accepted = [(delivery.segment, &*arrival.who.owner)].into_iter();
            audits::want(conn, campaign, accepted, choice).await?;
        } else if effect != Effect::None || verdict == Verdict::Audit {
            audits::forget(conn, campaign, delivery.segment).await?;
        }
        effects += i64::from(effect != Effect::None);
        verdicts[place] = verdict;
    }
    if effects > 0 {
        prefix::bump_revision(conn, campaign, effects).await?;
        prefix::advance_checkpoints(conn, campaign, cut).await?;
    }
    Ok(verdicts)
}
