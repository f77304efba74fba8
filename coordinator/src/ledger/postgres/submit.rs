//! Submitting, resuming and extending a campaign.

use kazoe_common::census::Segment;
use sqlx::PgConnection;

use super::audit_log::Retraction;
use super::operator;
use super::{campaign_rows, now, prefix};
use crate::ledger::campaigns::{self, Plan};
use crate::ledger::rows::{Failure, to_row};
use crate::ledger::{CampaignRecord, Submission, Submitted};
use crate::tally_text;

pub(super) async fn submit(
    conn: &mut PgConnection,
    submission: &Submission,
) -> Result<(CampaignRecord, Submitted), Failure> {
    let id = submission.campaign.id();
    if insert(conn, &id, submission).await? {
        return Ok((campaign_rows::one(conn, &id).await?, Submitted::New));
    }
    let canonical = submission.campaign.canonical();
    if let Some(foreign) = campaign_rows::same_identity(conn, &canonical).await? {
        return Err(foreign);
    }
    let found = campaign_rows::lock(conn, &id).await?;
    let stored = campaign_rows::self_tests(conn, &id).await?;
    match campaigns::plan(&found, &stored, submission)? {
        Plan::Keep(how) => Ok((found, how)),
        Plan::Extend { from, recut } => {
            if let Some((last, why)) = recut {
                recount(conn, &id, last, &submission.build, &why).await?;
            }
            extend(conn, &id, submission.cut.samples).await?;
            let record = campaign_rows::one(conn, &id).await?;
            Ok((record, Submitted::Extended { from }))
        }
    }
}

/// Inserts the campaign, or waits for whoever inserts it and returns false.
async fn insert(
    conn: &mut PgConnection,
    id: &str,
    submission: &Submission,
) -> Result<bool, Failure> {
    let campaign = &submission.campaign;
    let at = now(conn).await?;
    let inserted = sqlx::query(
        "-- campaigns_insert
         INSERT INTO campaigns (id, canonical, variant, population, design, seed, cap, samples,
                                segment_blocks, build, submitted_at, priority,
                                audit_millionths)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
         ON CONFLICT DO NOTHING",
    )
    .bind(id)
    .bind(campaign.canonical())
    .bind(campaign.variant.id)
    .bind(campaign.population.name())
    .bind(campaign.design.name())
    .bind(campaign.seed.to_string())
    .bind(campaign.cap.map(|cap| cap.to_string()))
    .bind(to_row(submission.cut.samples))
    .bind(to_row(submission.cut.segment_blocks))
    .bind(&submission.build)
    .bind(at)
    .bind(submission.service.priority)
    .bind(i64::from(submission.service.audit_millionths))
    .execute(&mut *conn)
    .await?;
    if inserted.rows_affected() == 0 {
        return Ok(false);
    }
    for test in &submission.self_tests {
        sqlx::query(
            "-- self_tests_insert
             INSERT INTO self_tests (campaign, block, tally) VALUES ($1, $2, $3)",
        )
        .bind(id)
        .bind(to_row(test.block))
        .bind(tally_text::write(&test.tally))
        .execute(&mut *conn)
        .await?;
    }
    Ok(true)
}

/// Takes back the tally of the cut last segment, which grows, and recalls it from its lease.
async fn recount(
    conn: &mut PgConnection,
    id: &str,
    segment: Segment,
    actor: &str,
    why: &str,
) -> Result<(), Failure> {
    let retraction = Retraction {
        campaign: id,
        segment,
        actor,
        action: "recut",
        why,
    };
    operator::take_back(conn, &retraction).await?;
    operator::recall_loans(conn, id, segment).await?;
    prefix::drop_checkpoints(conn, id, segment).await
}

async fn extend(conn: &mut PgConnection, id: &str, samples: u64) -> Result<(), Failure> {
    sqlx::query(
        "-- campaigns_extend
         UPDATE campaigns SET samples = $2, revision = revision + 1 WHERE id = $1",
    )
    .bind(id)
    .bind(to_row(samples))
    .execute(conn)
    .await?;
    Ok(())
}
