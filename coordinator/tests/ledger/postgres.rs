//! The conformance tests on PostgreSQL.

use crate::conformance as suite;
use crate::server::Server;

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
async fn cpu_time_is_kept_beside_a_tally() {
    let server = Server::shared().await;
    suite::cpu_time_is_kept_beside_a_tally(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn what_is_given_back_is_lent_first() {
    let server = Server::shared().await;
    suite::what_is_given_back_is_lent_first(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn a_token_ends_and_extends_its_own_lease_only() {
    let server = Server::shared().await;
    suite::a_token_ends_and_extends_its_own_lease_only(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn one_tally_sent_often_counts_once() {
    let server = Server::shared().await;
    suite::one_tally_sent_often_counts_once(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn what_cannot_be_changes_nothing() {
    let server = Server::shared().await;
    suite::what_cannot_be_changes_nothing(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn a_difference_is_disputed_until_two_owners_agree() {
    let server = Server::shared().await;
    suite::a_difference_is_disputed_until_two_owners_agree(server.fresh().await.ledger().await)
        .await;
}

#[tokio::test]
async fn the_operator_settles_alone() {
    let server = Server::shared().await;
    suite::the_operator_settles_alone(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn more_samples_reuse_every_whole_segment() {
    let server = Server::shared().await;
    suite::more_samples_reuse_every_whole_segment(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn an_extension_recalls_the_cut_segment_from_its_lease() {
    let server = Server::shared().await;
    suite::an_extension_recalls_the_cut_segment_from_its_lease(server.fresh().await.ledger().await)
        .await;
}

#[tokio::test]
async fn an_import_fills_and_compares() {
    let server = Server::shared().await;
    suite::an_import_fills_and_compares(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn set_aside_counts_as_undecided() {
    let server = Server::shared().await;
    suite::set_aside_counts_as_undecided(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn a_dead_worker_s_leases_go_back_at_once() {
    let server = Server::shared().await;
    suite::a_dead_worker_s_leases_go_back_at_once(server.fresh().await.ledger().await).await;
}

#[tokio::test]
async fn a_segment_that_kills_its_workers_is_set_aside() {
    let server = Server::shared().await;
    suite::a_segment_that_kills_its_workers_is_set_aside(server.fresh().await.ledger().await).await;
}
