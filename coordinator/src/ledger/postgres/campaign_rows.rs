//! Rows of `campaigns` and `self_tests`.

use sqlx::PgConnection;

use crate::ledger::rows::{self, CampaignRow, Failure};
use crate::ledger::{CampaignRecord, LedgerError, SelfTest};

pub(super) async fn all(conn: &mut PgConnection) -> Result<Vec<CampaignRecord>, Failure> {
    sqlx::query_as::<_, CampaignRow>(
        "-- campaigns_list
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, state, build,
                submitted_at, revision
         FROM campaigns ORDER BY submitted_at, id",
    )
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(rows::campaign)
    .collect()
}

pub(super) async fn one(conn: &mut PgConnection, id: &str) -> Result<CampaignRecord, Failure> {
    sqlx::query_as::<_, CampaignRow>(
        "-- campaigns_find
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, state, build,
                submitted_at, revision
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
    .map(rows::self_test)
    .collect()
}

/// One campaign, locked until the transaction ends: nobody else writes to it meanwhile. `NO KEY`, for
/// the foreign keys of rows that are added take the key's share.
pub(super) async fn lock(conn: &mut PgConnection, id: &str) -> Result<CampaignRecord, Failure> {
    sqlx::query_as::<_, CampaignRow>(
        "-- campaigns_lock
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, state, build,
                submitted_at, revision
         FROM campaigns WHERE id = $1 FOR NO KEY UPDATE",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?
    .map(rows::campaign)
    .transpose()?
    .ok_or_else(|| LedgerError::UnknownCampaign(id.to_owned()).into())
}
