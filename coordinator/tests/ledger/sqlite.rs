//! The conformance tests on SQLite.

use kazoe_coordinator::ledger::SqliteLedger;
use tempfile::TempDir;

use crate::conformance as suite;

/// A new ledger and the folder that must outlive it.
pub(crate) async fn fresh() -> (TempDir, SqliteLedger) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SqliteLedger::open(&folder.path().join("kazoe.db"))
        .await
        .unwrap();
    (folder, ledger)
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
async fn cpu_time_is_kept_beside_a_tally() {
    let (_folder, ledger) = fresh().await;
    suite::cpu_time_is_kept_beside_a_tally(ledger).await;
}

#[tokio::test]
async fn what_is_given_back_is_lent_first() {
    let (_folder, ledger) = fresh().await;
    suite::what_is_given_back_is_lent_first(ledger).await;
}

#[tokio::test]
async fn a_token_ends_and_extends_its_own_lease_only() {
    let (_folder, ledger) = fresh().await;
    suite::a_token_ends_and_extends_its_own_lease_only(ledger).await;
}

#[tokio::test]
async fn one_tally_sent_often_counts_once() {
    let (_folder, ledger) = fresh().await;
    suite::one_tally_sent_often_counts_once(ledger).await;
}

#[tokio::test]
async fn what_cannot_be_changes_nothing() {
    let (_folder, ledger) = fresh().await;
    suite::what_cannot_be_changes_nothing(ledger).await;
}

#[tokio::test]
async fn a_difference_is_disputed_until_two_owners_agree() {
    let (_folder, ledger) = fresh().await;
    suite::a_difference_is_disputed_until_two_owners_agree(ledger).await;
}

#[tokio::test]
async fn the_operator_settles_alone() {
    let (_folder, ledger) = fresh().await;
    suite::the_operator_settles_alone(ledger).await;
}

#[tokio::test]
async fn more_samples_reuse_every_whole_segment() {
    let (_folder, ledger) = fresh().await;
    suite::more_samples_reuse_every_whole_segment(ledger).await;
}

#[tokio::test]
async fn an_extension_recalls_the_cut_segment_from_its_lease() {
    let (_folder, ledger) = fresh().await;
    suite::an_extension_recalls_the_cut_segment_from_its_lease(ledger).await;
}

#[tokio::test]
async fn an_import_fills_and_compares() {
    let (_folder, ledger) = fresh().await;
    suite::an_import_fills_and_compares(ledger).await;
}

#[tokio::test]
async fn set_aside_counts_as_undecided() {
    let (_folder, ledger) = fresh().await;
    suite::set_aside_counts_as_undecided(ledger).await;
}

#[tokio::test]
async fn a_dead_worker_s_leases_go_back_at_once() {
    let (_folder, ledger) = fresh().await;
    suite::a_dead_worker_s_leases_go_back_at_once(ledger).await;
}

#[tokio::test]
async fn a_segment_that_kills_its_workers_is_set_aside() {
    let (_folder, ledger) = fresh().await;
    suite::a_segment_that_kills_its_workers_is_set_aside(ledger).await;
}
