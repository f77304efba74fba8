//! Rows of `campaigns` and `self_tests`.

use sqlx::SqliteConnection;

use crate::ledger::rows::{self, CampaignRow, Failure};
use crate::ledger::{CampaignRecord, LedgerError, Listed, SelfTest};

pub(super) async fn all(conn: &mut SqliteConnection) -> Result<Listed, Failure> {
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

pub(super) async fn find(
    conn: &mut SqliteConnection,
    id: &str,
) -> Result<Option<CampaignRecord>, Failure> {
    sqlx::query_as::<_, CampaignRow>(
        "-- campaigns_find
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, state, build,
                submitted_at, revision, priority
         FROM campaigns WHERE id = ?1",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?
    .map(rows::campaign)
    .transpose()
    .map_err(Failure::from)
}

/// The campaign of another build that has this identity under another id.
pub(super) async fn same_identity(
    conn: &mut SqliteConnection,
    canonical: &str,
) -> Result<Option<Failure>, Failure> {
    let row = sqlx::query_as::<_, CampaignRow>(
        "-- campaigns_same_identity
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, state, build,
                submitted_at, revision, priority
         FROM campaigns WHERE canonical = ?1",
    )
    .bind(canonical)
    .fetch_optional(conn)
    .await?;
    Ok(row
        .and_then(|row| rows::campaign(row).err())
        .map(Failure::from))
}

pub(super) async fn one(conn: &mut SqliteConnection, id: &str) -> Result<CampaignRecord, Failure> {
    find(conn, id)
        .await?
        .ok_or_else(|| LedgerError::UnknownCampaign(id.to_owned()).into())
}

pub(super) async fn self_tests(
    conn: &mut SqliteConnection,
    id: &str,
) -> Result<Vec<SelfTest>, Failure> {
    sqlx::query_as::<_, (i64, String)>(
        "-- self_tests_list
         SELECT block, tally FROM self_tests WHERE campaign = ?1 ORDER BY block",
    )
    .bind(id)
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(|row| rows::self_test(id, row))
    .collect()
}
