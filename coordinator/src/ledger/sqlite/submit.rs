//! Submitting, resuming and extending a campaign.

use kazoe_common::census::Cut;
use sqlx::SqliteConnection;

use super::operator::{self, Retraction};
use super::{campaign_rows, now, prefix};
use crate::ledger::campaigns;
use crate::ledger::rows::{Failure, to_row};
use crate::ledger::{CampaignRecord, LedgerError, Submission, Submitted};
use crate::tally_text;

/// Refuses a campaign of made-up tallies: they are for benchmarks, on PostgreSQL.
pub(super) fn allowed(submission: &Submission) -> Result<(), LedgerError> {
    if submission.campaign.variant.is_made_up() {
        return Err(LedgerError::MadeUp(submission.campaign.id()));
    }
    Ok(())
}

pub(super) async fn submit(
    conn: &mut SqliteConnection,
    submission: &Submission,
) -> Result<(CampaignRecord, Submitted), Failure> {
    let id = submission.campaign.id();
    let Some(found) = campaign_rows::find(conn, &id).await? else {
        let canonical = submission.campaign.canonical();
        if let Some(foreign) = campaign_rows::same_identity(conn, &canonical).await? {
            return Err(foreign);
        }
        insert(conn, &id, submission).await?;
        return Ok((campaign_rows::one(conn, &id).await?, Submitted::New));
    };
    let stored = campaign_rows::self_tests(conn, &id).await?;
    campaigns::compare_self_tests(&id, &stored, &submission.self_tests)?;
    let (from, asked) = (found.cut.samples, submission.cut.samples);
    if asked == from {
        return Ok((found, Submitted::Existing));
    }
    if asked < from {
        return Ok((found, Submitted::Fewer { asked }));
    }
    extend(conn, &found, asked, &submission.build).await?;
    let record = campaign_rows::one(conn, &id).await?;
    Ok((record, Submitted::Extended { from }))
}

async fn insert(
    conn: &mut SqliteConnection,
    id: &str,
    submission: &Submission,
) -> Result<(), Failure> {
    let campaign = &submission.campaign;
    let at = now(conn).await?;
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
    .bind(at)
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

/// Asks for more samples. Segments never move, but the last one may have been cut: it is retracted.
async fn extend(
    conn: &mut SqliteConnection,
    found: &CampaignRecord,
    samples: u64,
    build: &str,
) -> Result<(), Failure> {
    let new = Cut {
        samples,
        ..found.cut
    };
    let last = found.cut.segments() - 1;
    if found.cut.samples_of(last) != new.samples_of(last) {
        let retraction = Retraction {
            campaign: &found.id,
            segment: last,
            actor: build,
            action: "recut",
            why: &format!(
                "extended from {} to {samples} samples: the segment has {} instead of {}",
                found.cut.samples,
                new.samples_of(last),
                found.cut.samples_of(last)
            ),
        };
        operator::take_back(conn, &retraction).await?;
        operator::recall_loans(conn, &found.id, last).await?;
        prefix::drop_checkpoints(conn, &found.id, last).await?;
    }
    sqlx::query(
        "-- campaigns_extend
         UPDATE campaigns SET samples = ?2, revision = revision + 1 WHERE id = ?1",
    )
    .bind(&found.id)
    .bind(to_row(samples))
    .execute(conn)
    .await?;
    Ok(())
}
