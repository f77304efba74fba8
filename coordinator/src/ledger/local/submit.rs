//! Submitting, resuming and extending a campaign.

use kazoe_common::census::Segment;
use sqlx::SqliteConnection;

use super::{campaign_rows, now, prefix};
use crate::ledger::campaigns::{self, Plan};
use crate::ledger::rows::{Failure, to_row};
use crate::ledger::{CampaignRecord, Submission, Submitted};
use crate::tally_text;

pub(super) async fn submit(
    conn: &mut SqliteConnection,
    submission: &Submission,
) -> Result<(CampaignRecord, Submitted), Failure> {
    let id = submission.campaign.id();
    let canonical = submission.campaign.canonical();
    let Some(found) = campaign_rows::find(conn, &id, Some(&canonical)).await? else {
        insert(conn, &id, submission).await?;
        return Ok((campaign_rows::one(conn, &id).await?, Submitted::New));
    };
    let stored = campaign_rows::self_tests(conn, &id).await?;
    match campaigns::plan(&found, &stored, submission)? {
        Plan::Keep(how) => Ok((found, how)),
        Plan::Extend { from, recut } => {
            if let Some((last, why)) = recut {
                recount(conn, &found.id, last, &submission.build, &why).await?;
            }
            extend(conn, &id, submission.cut.samples).await?;
            let record = campaign_rows::one(conn, &id).await?;
            Ok((record, Submitted::Extended { from }))
        }
    }
}

async fn insert(
    conn: &mut SqliteConnection,
    id: &str,
    submission: &Submission,
) -> Result<(), Failure> {
    let campaign = &submission.campaign;
    sqlx::query(
        "-- campaigns_insert
         INSERT INTO campaigns (id, canonical, variant, population, design, seed, cap, samples,
                                segment_blocks, build, submitted_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
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
    .bind(now(conn).await?)
    .execute(&mut *conn)
    .await?;
    for test in &submission.self_tests {
        sqlx::query(
            "-- self_tests_insert
             INSERT INTO self_tests (campaign, block, tally) VALUES (?1, ?2, ?3)",
        )
        .bind(id)
        .bind(to_row(test.block))
        .bind(tally_text::write(&test.tally))
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Takes back the tally of the cut last segment, which grows. The log keeps it.
async fn recount(
    conn: &mut SqliteConnection,
    id: &str,
    segment: Segment,
    actor: &str,
    why: &str,
) -> Result<(), Failure> {
    let at = now(conn).await?;
    sqlx::query(
        "-- audit_log_insert
         INSERT INTO audit_log (at, campaign, segment, actor, action, from_result, note)
         SELECT ?3, campaign, segment, ?4, 'recut', result, ?5
         FROM accepted WHERE campaign = ?1 AND segment = ?2",
    )
    .bind(id)
    .bind(to_row(segment))
    .bind(at)
    .bind(actor)
    .bind(why)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "-- accepted_delete
         DELETE FROM accepted WHERE campaign = ?1 AND segment = ?2",
    )
    .bind(id)
    .bind(to_row(segment))
    .execute(&mut *conn)
    .await?;
    prefix::drop_checkpoints(conn, id, segment).await
}

async fn extend(conn: &mut SqliteConnection, id: &str, samples: u64) -> Result<(), Failure> {
    sqlx::query(
        "-- campaigns_extend
         UPDATE campaigns SET samples = ?2, revision = revision + 1 WHERE id = ?1",
    )
    .bind(id)
    .bind(to_row(samples))
    .execute(conn)
    .await?;
    Ok(())
}
