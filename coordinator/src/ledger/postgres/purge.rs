//! Taking back whatever a worker, an owner or a build computed and nobody else confirmed.

use kazoe_proto::name::stored_owner;
use sqlx::PgConnection;

use super::audit_log::Retraction;
use super::operator;
use super::{PostgresLedger, campaign_rows, prefix};
use crate::ledger::rows::{Failure, from_row, to_row};
use crate::ledger::{LedgerError, Whose};

impl PostgresLedger {
    /// Takes back the accepted tallies of a campaign that are whose, in one transaction, through the
    /// audit log; their segments are computed again, and the prefix moves back. What another owner, or
    /// the operator, got as well is confirmed and stays, unless that one's tally of the segment was or is
    /// to be taken back as well; a segment that is named is taken back in any case. Returns how many segments it is; sent
    /// again it finds none.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn purge(
        &self,
        id: &str,
        whose: &Whose,
        actor: &str,
        why: &str,
    ) -> Result<u64, LedgerError> {
        let (worker, owner, build, segment) = match whose {
            Whose::Worker(worker) => (Some(worker), None, None, None),
            Whose::Owner(owner) => (None, Some(owner), None, None),
            Whose::Build(build) => (None, None, Some(build), None),
            Whose::Segment(segment) => (None, None, None, Some(to_row(*segment))),
        };
        self.write(|mut tx, _| async move {
            campaign_rows::lock(&mut tx, id).await?;
            let owners = match owner {
                Some(owner) => Some(spellings(&mut tx, owner).await?),
                None => None,
            };
            let segments = sqlx::query_scalar::<_, i64>(
                "-- purge_find
                 SELECT a.segment FROM accepted a JOIN results r ON r.id = a.result
                 WHERE a.campaign = $1
                   AND (r.worker = $2 OR r.owner = ANY ($3) OR r.build = $4 OR r.segment = $5)
                   AND (r.segment = $5 OR NOT EXISTS (
                       SELECT 1 FROM results o
                       WHERE o.campaign = r.campaign AND o.segment = r.segment
                         AND o.verdict <> 'stale' AND (o.owner <> r.owner OR o.operator)
                         AND NOT EXISTS (SELECT 1 FROM audit_log x JOIN results y ON y.id = x.from_result
                                         WHERE x.campaign = o.campaign AND x.segment = o.segment
                                           AND x.action = 'retract' AND y.owner = o.owner)
                         AND o.samples = r.samples AND o.digest = r.digest
                         AND o.worker IS DISTINCT FROM $2 AND (o.owner = ANY ($3)) IS NOT TRUE
                         AND o.build IS DISTINCT FROM $4
                         AND NOT EXISTS (SELECT cell, count FROM result_cells WHERE result = o.id
                                         EXCEPT
                                         SELECT cell, count FROM result_cells WHERE result = r.id)
                         AND NOT EXISTS (SELECT depth, count FROM result_depths WHERE result = o.id
                                         EXCEPT
                                         SELECT depth, count FROM result_depths WHERE result = r.id)))
                 ORDER BY a.segment",
            )
            .bind(id)
            .bind(worker)
            .bind(owners)
            .bind(build)
            .bind(segment)
            .fetch_all(&mut *tx)
            .await?;
            for &segment in &segments {
                let retraction = Retraction {
                    campaign: id,
                    segment: from_row(segment)?,
                    actor,
                    action: "retract",
                    why,
                };
                operator::take_back(&mut tx, &retraction).await?;
            }
            if let Some(&first) = segments.first() {
                prefix::drop_checkpoints(&mut tx, id, from_row(first)?).await?;
                prefix::bump_revision(&mut tx, id, 1).await?;
            }
            Ok((tx, segments.len() as u64))
        })
        .await
    }
}

/// An owner's name, and the other spellings of it that tokens were stored with.
async fn spellings(conn: &mut PgConnection, owner: &str) -> Result<Vec<String>, Failure> {
    let stored = sqlx::query_scalar::<_, String>(
        "-- purge_spellings
         SELECT DISTINCT owner FROM credentials",
    );
    let mut all = stored.fetch_all(conn).await?;
    all.retain(|one| stored_owner(one.clone()) == owner);
    all.push(owner.to_owned());
    Ok(all)
}
