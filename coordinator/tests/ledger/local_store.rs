//! The conformance tests on an SQLite file, and what a store of one machine does besides.

use kazoe_coordinator::ledger::{Ledger, LedgerError, LocalStore};
use tempfile::TempDir;

use crate::conformance as suite;
use crate::made_up::{assert_sound, delivery, owner, submission, wrong_delivery};

/// A new store and the folder that must outlive it.
pub(crate) async fn fresh() -> (TempDir, LocalStore) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = LocalStore::open(&folder.path().join("kazoe.db"))
        .await
        .unwrap();
    (folder, ledger)
}

/// The ranges of missing segments, in a word.
pub(crate) async fn missing(ledger: &LocalStore, id: &str) -> String {
    format!("{:?}", ledger.missing(id).await.unwrap())
}

#[tokio::test]
async fn a_campaign_is_what_it_counts() {
    let (_folder, ledger) = fresh().await;
    suite::a_campaign_is_what_it_counts(ledger).await;
}

#[tokio::test]
async fn a_build_that_counts_otherwise_is_refused() {
    let (_folder, ledger) = fresh().await;
    suite::a_build_that_counts_otherwise_is_refused(ledger).await;
}

#[tokio::test]
async fn a_campaign_is_counted_from_end_to_end() {
    let (_folder, ledger) = fresh().await;
    suite::a_campaign_is_counted_from_end_to_end(ledger).await;
}

#[tokio::test]
async fn a_gap_ends_the_prefix() {
    let (_folder, ledger) = fresh().await;
    suite::a_gap_ends_the_prefix(ledger).await;
}

#[tokio::test]
async fn more_samples_reuse_every_whole_segment() {
    let (_folder, ledger) = fresh().await;
    suite::more_samples_reuse_every_whole_segment(ledger).await;
}

#[tokio::test]
async fn an_import_fills_and_compares() {
    let (_folder, ledger) = fresh().await;
    suite::an_import_fills_and_compares(ledger).await;
}

#[tokio::test]
async fn an_impossible_tally_changes_nothing() {
    let (_folder, ledger) = fresh().await;
    suite::an_impossible_tally_changes_nothing(ledger).await;
}

#[tokio::test]
async fn cpu_time_is_kept_beside_a_tally() {
    let (_folder, ledger) = fresh().await;
    suite::cpu_time_is_kept_beside_a_tally(ledger).await;
}

#[tokio::test]
async fn a_tally_that_differs_is_an_error_that_changes_nothing() {
    let (_folder, ledger) = fresh().await;
    let (campaign, _) = ledger.submit(&submission(1, 3 * 4096)).await.unwrap();
    let id = &campaign.id;
    let first = [delivery(0, 4096), delivery(1, 4096)];
    ledger.import(id, &owner("a"), &first).await.unwrap();
    let before = ledger.snapshot(id).await.unwrap();
    let other = [delivery(2, 4096), wrong_delivery(1, 4096)];
    for name in ["a", "b"] {
        let error = ledger.import(id, &owner(name), &other).await.unwrap_err();
        let LedgerError::Differs {
            segment: 1,
            stored,
            arrived,
            ..
        } = &error
        else {
            panic!("{error:?}")
        };
        assert_eq!((&**stored, &**arrived), (&first[1].tally, &other[1].tally));
        let words = error.to_string();
        assert!(words.contains("segment 1") && words.contains(id), "{words}");
    }
    assert_eq!(ledger.snapshot(id).await.unwrap(), before);
    assert_eq!(ledger.log(id, 1).await.unwrap().len(), 1);
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn the_missing_segments_are_listed_as_ranges() {
    let (_folder, ledger) = fresh().await;
    let (campaign, _) = ledger.submit(&submission(1, 9 * 4096 + 1)).await.unwrap();
    let id = &campaign.id;
    assert_eq!(missing(&ledger, id).await, "[0..10]");
    for (segment, expected) in [
        (0, "[1..10]"),
        (5, "[1..5, 6..10]"),
        (4, "[1..4, 6..10]"),
        (9, "[1..4, 6..9]"),
    ] {
        let one = [delivery(segment, campaign.cut.samples_of(segment))];
        ledger.import(id, &owner("a"), &one).await.unwrap();
        assert_eq!(missing(&ledger, id).await, expected);
    }
    // The cut last segment is missing again, whole.
    ledger.submit(&submission(1, 12 * 4096)).await.unwrap();
    assert_eq!(missing(&ledger, id).await, "[1..4, 6..12]");
    assert!(matches!(
        ledger.missing("0123456789").await,
        Err(LedgerError::UnknownCampaign(_))
    ));
}
