//! Rows of `campaigns` and `self_tests`.

use kazoe_common::census::{Campaign, Cut, Design, PopulationName};
use kazoe_common::game::Variant;
use sqlx::SqliteConnection;

use super::{Failure, from_row};
use crate::ledger::{CampaignRecord, LedgerError, Pace, SelfTest};
use crate::tally_text;

type Row = (
    String,
    String,
    String,
    String,
    String,
    Option<String>,
    i64,
    i64,
    String,
    String,
    i64,
    i64,
);

pub(super) async fn all(conn: &mut SqliteConnection) -> Result<Vec<CampaignRecord>, Failure> {
    sqlx::query_as::<_, Row>(
        "-- campaigns_list
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, state, build,
                submitted_at, revision
         FROM campaigns ORDER BY submitted_at, id",
    )
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(record)
    .collect()
}

pub(super) async fn find(
    conn: &mut SqliteConnection,
    id: &str,
) -> Result<Option<CampaignRecord>, Failure> {
    sqlx::query_as::<_, Row>(
        "-- campaigns_find
         SELECT id, variant, population, design, seed, cap, samples, segment_blocks, state, build,
                submitted_at, revision
         FROM campaigns WHERE id = ?1",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?
    .map(record)
    .transpose()
}

pub(super) async fn one(conn: &mut SqliteConnection, id: &str) -> Result<CampaignRecord, Failure> {
    find(conn, id)
        .await?
        .ok_or_else(|| LedgerError::UnknownCampaign(id.to_owned()).into())
}

fn record(row: Row) -> Result<CampaignRecord, Failure> {
    let (id, variant, population, design, seed, cap, samples, blocks, pace, build, at, revision) =
        row;
    let unknown = |what: &str, name: &str| {
        Failure::Ledger(LedgerError::Row(format!("campaign {id}: {what} `{name}`")))
    };
    let number =
        |what: &str, text: &str| tally_text::number::<u64>(text).ok_or_else(|| unknown(what, text));
    let campaign = Campaign {
        variant: Variant::by_id(&variant).ok_or_else(|| unknown("variant", &variant))?,
        population: PopulationName::by_name(&population)
            .ok_or_else(|| unknown("population", &population))?,
        design: Design::by_name(&design).ok_or_else(|| unknown("design", &design))?,
        seed: number("seed", &seed)?,
        cap: cap.as_deref().map(|cap| number("cap", cap)).transpose()?,
    };
    if campaign.id() != id {
        return Err(unknown("another identity,", &campaign.id()));
    }
    let cut = Cut::new(from_row(samples)?, from_row(blocks)?)
        .map_err(|error| unknown("cut", &error.to_string()))?;
    let pace = Pace::by_name(&pace).ok_or_else(|| unknown("state", &pace))?;
    Ok(CampaignRecord {
        id,
        campaign,
        cut,
        pace,
        build,
        submitted_at: at,
        revision: from_row(revision)?,
    })
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
    .map(|(block, tally)| {
        Ok(SelfTest {
            block: from_row(block)?,
            tally: tally_text::parse(&tally)
                .map_err(|error| LedgerError::Row(format!("a self-test: {error}")))?,
        })
    })
    .collect()
}
