//! Rows of `campaigns` and `self_tests`.

use sqlx::SqliteConnection;

use crate::ledger::rows::{self, CampaignRow, Failure};
use crate::ledger::{CampaignRecord, LedgerError, Listed, SelfTest};

pub(super) async fn all(conn: &mut SqliteConnection) -> Result<Listed, Failure> {
    let rows = sqlx::query_as::<_, CampaignRow>(
        "-- campaigns_list
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, 'running', build,
                submitted_at, revision, 0
         FROM campaigns ORDER BY submitted_at, id",
    )
    .fetch_all(conn)
    .await?;
    Ok(rows::listed(rows))
}

/// The campaign with this id, or the one of another build that has this identity under another id.
pub(super) async fn find(
    conn: &mut SqliteConnection,
    id: &str,
    canonical: Option<&str>,
) -> Result<Option<CampaignRecord>, Failure> {
    let row = sqlx::query_as::<_, CampaignRow>(
        "-- campaigns_find
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, 'running', build,
                submitted_at, revision, 0
         FROM campaigns WHERE id = ?1 OR canonical = ?2 ORDER BY id = ?1 DESC LIMIT 1",
    )
    .bind(id)
    .bind(canonical)
    .fetch_optional(conn)
    .await?;
    row.map(rows::campaign).transpose().map_err(Failure::from)
}

pub(super) async fn one(conn: &mut SqliteConnection, id: &str) -> Result<CampaignRecord, Failure> {
    let found = find(conn, id, None).await?;
    found.ok_or_else(|| LedgerError::UnknownCampaign(id.to_owned()).into())
}

pub(super) async fn self_tests(
    conn: &mut SqliteConnection,
    id: &str,
) -> Result<Vec<SelfTest>, Failure> {
    let rows = sqlx::query_as::<_, (i64, String)>(
        "-- self_tests_list
         SELECT block, tally FROM self_tests WHERE campaign = ?1 ORDER BY block",
    );
    let rows = rows.bind(id).fetch_all(conn).await?;
    rows.into_iter()
        .map(|row| rows::self_test(id, row))
        .collect()
}
