//! What the measurement asks of the database past the coordinator.

use kazoe_common::census::Segment;
use sqlx::{Connection, PgConnection};

/// Opens a transaction that reads and then stays, as a forgotten `psql` does: until it is dropped, the
/// database keeps every row that it might still read.
///
/// # Errors
/// If the database fails.
pub(crate) async fn read_for_long(url: &str) -> Result<PgConnection, sqlx::Error> {
    let mut conn = PgConnection::connect(url).await?;
    for statement in [
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
        "SELECT count(*) FROM campaigns",
    ] {
        sqlx::query(statement).execute(&mut conn).await?;
    }
    Ok(conn)
}

/// How many bytes the database takes on disk, its indexes included.
///
/// # Errors
/// If the database fails.
pub(crate) async fn bytes(conn: &mut PgConnection) -> Result<u64, sqlx::Error> {
    let bytes: i64 = sqlx::query_scalar("SELECT pg_database_size(current_database())")
        .fetch_one(conn)
        .await?;
    Ok(bytes.unsigned_abs())
}

/// Of these tallies, each a lease's number and a segment, those that are not in the log exactly once, each
/// with how often it is; and those whose segment has no accepted tally, as 0.
///
/// # Errors
/// If the database fails.
pub(crate) async fn not_logged_once(
    conn: &mut PgConnection,
    campaign: &str,
    tallies: &[(i64, Segment)],
) -> Result<Vec<(i64, i64, i64)>, sqlx::Error> {
    let (leases, segments): (Vec<i64>, Vec<i64>) = tallies
        .iter()
        .map(|&(lease, segment)| (lease, segment.cast_signed()))
        .unzip();
    sqlx::query_as(
        "WITH acknowledged AS (SELECT DISTINCT * FROM unnest($2::bigint[], $3::bigint[]) AS t (lease, segment)),
         found AS (SELECT t.lease, t.segment,
                          (SELECT count(*) FROM results r
                           WHERE r.campaign = $1 AND r.segment = t.segment AND r.lease = t.lease)
                          * (SELECT count(*) FROM accepted a
                             WHERE a.campaign = $1 AND a.segment = t.segment) AS times
                   FROM acknowledged t)
         SELECT lease, segment, times FROM found WHERE times <> 1 ORDER BY segment, lease",
    )
    .bind(campaign)
    .bind(leases)
    .bind(segments)
    .fetch_all(conn)
    .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kazoe_coordinator::ledger::{Claim, Delivery, Ledger, Who};
    use kazoe_coordinator_testkit::postgres_server::Server;

    use super::*;
    use crate::synthetic;

    #[tokio::test]
    async fn tallies_that_are_not_in_the_log_once_are_found() {
        let server = Server::shared().await;
        let database = server.fresh().await;
        let ledger = database.ledger().await;
        let (campaign, _) = ledger.submit(&synthetic::submission()).await.unwrap();
        let claim = Claim {
            who: Who {
                owner: "a".to_owned(),
                worker: "w".to_owned(),
                build: "test".to_owned(),
                operator: false,
            },
            want: 3,
            hold: Duration::from_secs(3600),
        };
        let leases = ledger.claim(&campaign.id, &[claim]).await;
        let lease = leases.unwrap().remove(0).unwrap();
        let results = (0..2).map(|segment| synthetic::finished(segment, &campaign.cut));
        let delivery = Delivery {
            key: lease.key,
            results: results.collect(),
        };
        let delivered = ledger.deliver(&campaign.id, &[delivery]).await.unwrap();
        assert!(delivered[0].is_ok());
        let number = lease.key.sequence;
        let told = [(number, 0), (number, 1), (number, 2), (number + 1, 0)];
        let url = database.url("kazoe_runtime");
        let mut conn = read_for_long(&url).await.unwrap();
        let wrong = not_logged_once(&mut conn, &campaign.id, &told).await;
        assert_eq!(wrong.unwrap(), [(number + 1, 0, 0), (number, 2, 0)]);
        assert!(bytes(&mut conn).await.unwrap() > 0);
    }
}
