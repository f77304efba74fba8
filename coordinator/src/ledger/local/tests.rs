//! A full disk, and copies that are too long for memory.

use std::collections::BTreeMap;

use kazoe_common::census::{Campaign, Cut, SegmentResult, Tally};
use kazoe_common::game::Variant;
use sqlx::AssertSqlSafe;

use super::LocalStore;
use crate::ledger::{Ledger, LedgerError, Service, StorageFault, Submission, Who};

fn submission(seed: u64) -> Submission {
    Submission {
        campaign: Campaign::new(&Variant::SHOGI, seed),
        cut: Cut::new(4096 * 100_000, 1).unwrap(),
        self_tests: Vec::new(),
        build: "test".to_owned(),
        service: Service::default(),
    }
}

fn delivery(segment: u64) -> SegmentResult {
    SegmentResult {
        segment,
        samples: 4096,
        tally: Tally {
            cells: BTreeMap::from([(0, 4096)]),
            ..Tally::default()
        },
        witnesses: Vec::new(),
        cpu: None,
    }
}

/// SQLite's own limit on a file's pages fails in the same way as a device without room.
#[tokio::test]
async fn nothing_saved_is_lost_and_the_run_goes_on_later() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = LocalStore::open(&folder.path().join("kazoe.db"))
        .await
        .unwrap();
    let (campaign, _) = ledger.submit(&submission(1)).await.unwrap();
    let who = Who {
        owner: "a".to_owned(),
        worker: "a".to_owned(),
        build: "test".to_owned(),
        operator: false,
    };
    let id = &campaign.id;
    let pages: i64 = sqlx::query_scalar("PRAGMA page_count")
        .fetch_one(&ledger.pool)
        .await
        .unwrap();
    let limit = format!("PRAGMA max_page_count = {}", pages + 12);
    sqlx::query(AssertSqlSafe(limit))
        .execute(&ledger.pool)
        .await
        .unwrap();
    let mut saved = 0;
    let error = loop {
        match ledger.import(id, &who, &[delivery(saved)]).await {
            Ok(_) => saved += 1,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(&error, LedgerError::Storage(error) if error.fault == StorageFault::Full),
        "{error:?}"
    );
    assert!(
        error.to_string().contains("free some disk space"),
        "{error}"
    );
    let snapshot = ledger.snapshot(id).await.unwrap();
    assert_eq!(snapshot.prefix.segments, saved);

    // There is room again: the ledger opens the file again, without the limit.
    ledger.import(id, &who, &[delivery(saved)]).await.unwrap();
    assert_eq!(
        ledger.snapshot(id).await.unwrap().prefix.segments,
        saved + 1
    );
}

/// With a bound of 0 bytes on copies in memory.
#[tokio::test]
async fn a_copy_in_a_temporary_file_is_read_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kazoe.db");
    let ledger = LocalStore::open(&path).await.unwrap();
    ledger.submit(&submission(1)).await.unwrap();
    let reader = LocalStore::open_copy(&path, 0).await.unwrap();
    let copy = reader._copy.as_ref().unwrap().path().to_owned();
    assert!(copy.exists());
    let campaigns = ledger.campaigns().await.unwrap();
    assert_eq!(reader.campaigns().await.unwrap(), campaigns);
    assert!(reader.submit(&submission(2)).await.is_err());
    reader.close().await.unwrap();
    assert!(!copy.exists());
}
