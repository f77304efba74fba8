//! A database that cannot serve: the coordinator refuses it at the start, or says so in its log and in its
//! health until the database serves again.

use sqlx::{Executor, PgConnection};

use kazoe_coordinator_testkit::postgres_server::{Database, Server};
use kazoe_coordinator_testkit::test_cluster::{Process, TestCluster, until};

/// Runs one statement as PostgreSQL's administrator.
async fn administer(database: &Database<'_>, statement: &'static str) {
    database.admin().await.execute(statement).await.unwrap();
}

/// Ends all connections of the runtime role but the oldest.
async fn cut_all_but_the_oldest(admin: &mut PgConnection) {
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE usename = 'kazoe_runtime' AND backend_start >
                   (SELECT min(backend_start) FROM pg_stat_activity WHERE usename = 'kazoe_runtime')";
    admin.execute(cut).await.unwrap();
}

/// What a coordinator on this database says when it refuses to start.
fn refused_start(cluster: &TestCluster<'_>) -> String {
    let url = ["--database-url-file", "runtime.url"];
    cluster.refusal(&[&["coordinator", "--listen", "127.0.0.1:0"], url.as_slice()].concat())
}

fn wait_until_serving(cluster: &TestCluster<'_>) {
    until(|| cluster.run(&["health"]).status.success());
}

fn wait_until_not_serving(cluster: &TestCluster<'_>) {
    until(|| !cluster.run(&["health"]).status.success());
}

/// How often the log of a coordinator names a cause.
fn named(coordinator: &Process, cause: &str) -> usize {
    coordinator.log().matches(cause).count()
}

#[tokio::test]
async fn a_coordinator_that_gets_no_connection_says_how_many_it_wants_and_has() {
    let server = Server::private().await;
    let cluster = TestCluster::new(&server).await;
    let other_program = cluster.connection().await;
    let coordinator = cluster.coordinator();
    wait_until_serving(&cluster);
    let mut admin = cluster.database.admin().await;
    let limit = "ALTER ROLE kazoe_runtime CONNECTION LIMIT 1";
    admin.execute(limit).await.unwrap();
    cut_all_but_the_oldest(&mut admin).await;

    wait_until_not_serving(&cluster);
    for question in ["campaigns", "workers"] {
        let refusal = cluster.refusal(&[question]);
        assert!(refusal.contains("cannot serve at present"), "{refusal}");
    }
    until(|| named(&coordinator, "0 of the 17 connections that are needed") == 1);
    assert!(coordinator.log().contains("too many connections for role"));
    let refusal = cluster.refusal(&["workers"]);
    assert!(refusal.contains("of the 17 connections"), "{refusal}");

    let limit = "ALTER ROLE kazoe_runtime CONNECTION LIMIT -1";
    admin.execute(limit).await.unwrap();
    wait_until_serving(&cluster);
    cluster.ask(&["workers"]);
    let log = coordinator.log();
    assert_eq!(log.matches("the database serves again").count(), 1, "{log}");
    assert_eq!(named(&coordinator, "of the 17 connections"), 1, "{log}");
    assert!(!log.contains("messages too large"), "{log}");
    drop(coordinator);

    // At the start all connections are counted, not the first alone.
    let limit = "ALTER ROLE kazoe_runtime CONNECTION LIMIT 6";
    admin.execute(limit).await.unwrap();
    let refusal = refused_start(&cluster);
    drop(other_program);
    assert!(refusal.contains("5 of the 17 connections"), "{refusal}");
}

#[tokio::test]
async fn a_standby_is_refused_and_serves_when_it_is_promoted() {
    let server = Server::private().await;
    let cluster = TestCluster::new(&server).await;
    server.restart(&["wal_level=replica"]).await;
    let coordinator = cluster.coordinator();
    wait_until_serving(&cluster);
    server.restart_as_standby().await;
    until(|| named(&coordinator, "is a standby") == 1);
    wait_until_not_serving(&cluster);
    let refusal = refused_start(&cluster);
    assert!(refusal.contains("is a standby"), "{refusal}");

    administer(&cluster.database, "SELECT pg_promote()").await;
    wait_until_serving(&cluster);
    let submitted = cluster.ask(&["submit", "minishogi", "--samples", "100k"]);
    assert!(!submitted.is_empty());
    assert_eq!(named(&coordinator, "is a standby"), 1);
    assert!(coordinator.log().contains("the database serves again"));
}

#[tokio::test]
async fn a_database_that_became_read_only_or_forgetful_does_not_serve() {
    let server = Server::private().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    wait_until_serving(&cluster);
    for (setting, value, cause) in [
        ("default_transaction_read_only", "on", "is read-only"),
        ("fsync", "off", "has fsync = off"),
    ] {
        let again = named(&coordinator, "the database serves again");
        server.set(setting, Some(value)).await;
        until(|| named(&coordinator, cause) == 1);
        wait_until_not_serving(&cluster);
        let refusal = refused_start(&cluster);
        assert!(refusal.contains(cause), "{refusal}");
        let refusal = cluster.refusal(&["submit", "minishogi", "--samples", "100k"]);
        assert!(refusal.contains(cause), "{refusal}");
        server.set(setting, None).await;
        wait_until_serving(&cluster);
        assert_eq!(named(&coordinator, "the database serves again"), again + 1);
        assert_eq!(named(&coordinator, cause), 1);
    }
}

#[tokio::test]
async fn a_database_that_is_down_is_named_once_and_blames_no_caller() {
    let server = Server::private().await;
    let cluster = TestCluster::new(&server)
        .await
        .with(&["--max-call", "3s", "--no-tokens"]);
    let coordinator = cluster.coordinator();
    wait_until_serving(&cluster);
    server.kill_9();
    until(|| named(&coordinator, "is unreachable") == 1);
    wait_until_not_serving(&cluster);
    for question in ["campaigns", "workers", "campaigns"] {
        let refusal = cluster.refusal(&[question]);
        assert!(refusal.contains("cannot serve at present"), "{refusal}");
        assert!(refusal.contains("is unreachable"), "{refusal}");
    }
    server.start(&[]).await;
    wait_until_serving(&cluster);
    cluster.ask(&["workers"]);
    // More than one rhythm, so that the log has the counts.
    let log = coordinator.log();
    assert!(!log.contains("turned away"), "{log}");
    assert_eq!(log.matches("is unreachable").count(), 1, "{log}");
    assert_eq!(log.matches("the database serves again").count(), 1, "{log}");
}

/// A database that answers, and never as this build needs it.
#[tokio::test]
async fn a_permanent_error_is_named_once_in_the_log_of_the_coordinator() {
    let server = Server::private().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    // More than is computed here.
    cluster.ask(&["submit", "minishogi", "--samples", "1G"]);
    for (harm, cure, cause) in [
        (
            "ALTER TABLE workers RENAME COLUMN threads TO cores",
            "ALTER TABLE workers RENAME COLUMN cores TO threads",
            "column \"threads\" does not exist",
        ),
        (
            "REVOKE INSERT ON leases FROM kazoe_runtime",
            "GRANT INSERT ON leases TO kazoe_runtime",
            "permission denied for table leases",
        ),
        (
            "ALTER TABLE leases RENAME TO rents",
            "ALTER TABLE rents RENAME TO leases",
            "relation \"leases\" does not exist",
        ),
    ] {
        administer(&cluster.database, harm).await;
        let worker = cluster.worker("a", &[]);
        until(|| named(&coordinator, cause) == 1);
        wait_until_not_serving(&cluster);
        let again = named(&coordinator, "the database serves again");
        administer(&cluster.database, cure).await;
        drop(worker);
        // One that asks at once.
        let worker = cluster.worker("a", &[]);
        until(|| named(&coordinator, "the database serves again") > again);
        wait_until_serving(&cluster);
        drop(worker);
        assert_eq!(named(&coordinator, cause), 1, "{}", coordinator.log());
    }
}
