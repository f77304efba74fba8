//! Rows of `campaigns` and `self_tests`.

use sqlx::PgConnection;

use super::prefix;
use crate::ledger::rows::{self, CampaignRow, Failure, to_row};
use crate::ledger::{CampaignRecord, LedgerError, Listed, SelfTest};

pub(super) async fn all(conn: &mut PgConnection) -> Result<Listed, Failure> {
    let rows = sqlx::query_as::<_, CampaignRow>(
        "-- campaigns_list
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, state, build,
                submitted_at, revision, priority
         FROM campaigns ORDER BY submitted_at, id",
    )
    .fetch_all(conn)
    .await?;
    Ok(rows::listed(rows))
}

pub(super) async fn one(conn: &mut PgConnection, id: &str) -> Result<CampaignRecord, Failure> {
    sqlx::query_as::<_, CampaignRow>(
        "-- campaigns_find
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, state, build,
                submitted_at, revision, priority
         FROM campaigns WHERE id = $1",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?
    .map(rows::campaign)
    .transpose()?
    .ok_or_else(|| LedgerError::UnknownCampaign(id.to_owned()).into())
}

pub(super) async fn self_tests(
    conn: &mut PgConnection,
    id: &str,
) -> Result<Vec<SelfTest>, Failure> {
    sqlx::query_as::<_, (i64, String)>(
        "-- self_tests_list
         SELECT block, tally FROM self_tests WHERE campaign = $1 ORDER BY block",
    )
    .bind(id)
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(|row| rows::self_test(id, row))
    .collect()
}

/// One campaign, locked until the transaction ends: nobody else writes to it meanwhile. `NO KEY`, for
/// the foreign keys of rows that are added take the key's share.
pub(super) async fn lock(conn: &mut PgConnection, id: &str) -> Result<CampaignRecord, Failure> {
    sqlx::query_as::<_, CampaignRow>(
        "-- campaigns_lock
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, state, build,
                submitted_at, revision, priority
         FROM campaigns WHERE id = $1 FOR NO KEY UPDATE",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?
    .map(rows::campaign)
    .transpose()?
    .ok_or_else(|| LedgerError::UnknownCampaign(id.to_owned()).into())
}

/// Locks a campaign as [`lock`] does, also one of another build, of which nothing else is read.
pub(super) async fn lock_any(conn: &mut PgConnection, id: &str) -> Result<(), Failure> {
    sqlx::query_scalar::<_, String>(
        "-- campaigns_lock_any
         SELECT id FROM campaigns WHERE id = $1 FOR NO KEY UPDATE",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?
    .map(drop)
    .ok_or_else(|| LedgerError::UnknownCampaign(id.to_owned()).into())
}

/// The campaign of another build that has this identity under another id.
pub(super) async fn same_identity(
    conn: &mut PgConnection,
    canonical: &str,
) -> Result<Option<Failure>, Failure> {
    let row = sqlx::query_as::<_, CampaignRow>(
        "-- campaigns_same_identity
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, state, build,
                submitted_at, revision, priority
         FROM campaigns WHERE canonical = $1",
    )
    .bind(canonical)
    .fetch_optional(conn)
    .await?;
    Ok(row
        .and_then(|row| rows::campaign(row).err())
        .map(Failure::from))
}

/// Whether every segment of a campaign is accepted and undisputed.
pub(super) async fn is_complete(
    conn: &mut PgConnection,
    campaign: &CampaignRecord,
) -> Result<bool, Failure> {
    // Before the newest checkpoint every segment is accepted, or set aside.
    let checked = prefix::checked(conn, &campaign.id).await?;
    let accepted = sqlx::query_scalar::<_, i64>(
        "-- campaigns_accepted
         SELECT $2 - (SELECT count(*) FROM set_aside WHERE campaign = $1 AND segment < $2)
                + (SELECT count(*) FROM accepted WHERE campaign = $1 AND segment >= $2)
                - (SELECT count(*) FROM disputes WHERE campaign = $1 AND closed_at IS NULL)",
    )
    .bind(&campaign.id)
    .bind(to_row(checked))
    .fetch_one(conn)
    .await?;
    Ok(accepted == to_row(campaign.cut.segments()))
}
