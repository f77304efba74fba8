//! The conformance tests on PostgreSQL.

use crate::conformance as suite;
use kazoe_coordinator_testkit::postgres_server::Server;

#[tokio::test]
async fn a_campaign_is_what_it_counts() {
    let server = Server::shared().await;
    suite::a_campaign_is_what_it_counts(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn a_build_that_counts_otherwise_is_refused() {
    let server = Server::shared().await;
    suite::a_build_that_counts_otherwise_is_refused(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn a_campaign_is_counted_from_end_to_end() {
    let server = Server::shared().await;
    suite::a_campaign_is_counted_from_end_to_end(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn a_gap_ends_the_prefix() {
    let server = Server::shared().await;
    suite::a_gap_ends_the_prefix(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn more_samples_reuse_every_whole_segment() {
    let server = Server::shared().await;
    suite::more_samples_reuse_every_whole_segment(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn an_import_fills_and_compares() {
    let server = Server::shared().await;
    suite::an_import_fills_and_compares(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn an_impossible_tally_changes_nothing() {
    let server = Server::shared().await;
    suite::an_impossible_tally_changes_nothing(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn cpu_time_is_kept_beside_a_tally() {
    let server = Server::shared().await;
    suite::cpu_time_is_kept_beside_a_tally(server.fresh().await.ledger().await).await;
}
