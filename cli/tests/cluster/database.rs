//! A database that cannot serve: the coordinator refuses it at the start, or says so in its log and in its
//! health until the database serves again.

use sqlx::{Executor, PgConnection};

use crate::house::{House, Process, until};
use crate::server::{Database, Server};

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
fn refused_start(house: &House<'_>) -> String {
    let url = ["--database-url-file", "runtime.url"];
    house.refusal(&[&["coordinator", "--listen", "127.0.0.1:0"], url.as_slice()].concat())
}

fn wait_until_serving(house: &House<'_>) {
    until(|| house.run(&["health"]).status.success());
}

fn wait_until_not_serving(house: &House<'_>) {
    until(|| !house.run(&["health"]).status.success());
}

/// How often the log of a coordinator names a cause.
fn named(coordinator: &Process, cause: &str) -> usize {
    coordinator.log().matches(cause).count()
}

#[tokio::test]
async fn a_coordinator_that_gets_no_connection_says_how_many_it_wants_and_has() {
    let server = Server::private().await;
    let house = House::new(&server).await;
    let other_program = house.connection().await;
    let coordinator = house.coordinator();
    wait_until_serving(&house);
    let mut admin = house.database.admin().await;
    let limit = "ALTER ROLE kazoe_runtime CONNECTION LIMIT 1";
    admin.execute(limit).await.unwrap();
    cut_all_but_the_oldest(&mut admin).await;

    wait_until_not_serving(&house);
    for question in ["campaigns", "workers"] {
        let refusal = house.refusal(&[question]);
        assert!(refusal.contains("cannot serve at present"), "{refusal}");
    }
    until(|| named(&coordinator, "0 of the 17 connections that are needed") == 1);
    assert!(coordinator.log().contains("too many connections for role"));
    let refusal = house.refusal(&["workers"]);
    assert!(refusal.contains("of the 17 connections"), "{refusal}");

    let limit = "ALTER ROLE kazoe_runtime CONNECTION LIMIT -1";
    admin.execute(limit).await.unwrap();
    wait_until_serving(&house);
    house.ask(&["workers"]);
    let log = coordinator.log();
    assert_eq!(log.matches("the database serves again").count(), 1, "{log}");
    assert_eq!(named(&coordinator, "of the 17 connections"), 1, "{log}");
    assert!(!log.contains("messages too large"), "{log}");
    drop(coordinator);

    // At the start all connections are counted, not the first alone.
    let limit = "ALTER ROLE kazoe_runtime CONNECTION LIMIT 6";
    admin.execute(limit).await.unwrap();
    let refusal = refused_start(&house);
    drop(other_program);
    assert!(refusal.contains("5 of the 17 connections"), "{refusal}");
}

#[tokio::test]
async fn a_standby_is_refused_and_serves_when_it_is_promoted() {
    let server = Server::private().await;
    let house = House::new(&server).await;
    server.restart(&["wal_level=replica"]).await;
    let coordinator = house.coordinator();
    wait_until_serving(&house);
    server.restart_as_standby().await;
    until(|| named(&coordinator, "is a standby") == 1);
    wait_until_not_serving(&house);
    let refusal = refused_start(&house);
    assert!(refusal.contains("is a standby"), "{refusal}");

    administer(&house.database, "SELECT pg_promote()").await;
    wait_until_serving(&house);
    let submitted = house.ask(&["submit", "minishogi", "--samples", "100k"]);
    assert!(!submitted.is_empty());
    assert_eq!(named(&coordinator, "is a standby"), 1);
    assert!(coordinator.log().contains("the database serves again"));
}

#[tokio::test]
async fn a_database_that_became_read_only_or_forgetful_does_not_serve() {
    let server = Server::private().await;
    let house = House::new(&server).await;
    let coordinator = house.coordinator();
    wait_until_serving(&house);
    for (setting, value, cause) in [
        ("default_transaction_read_only", "on", "is read-only"),
        ("fsync", "off", "has fsync = off"),
    ] {
        let again = named(&coordinator, "the database serves again");
        server.set(setting, Some(value)).await;
        until(|| named(&coordinator, cause) == 1);
        wait_until_not_serving(&house);
        let refusal = refused_start(&house);
        assert!(refusal.contains(cause), "{refusal}");
        let refusal = house.refusal(&["submit", "minishogi", "--samples", "100k"]);
        assert!(refusal.contains(cause), "{refusal}");
        server.set(setting, None).await;
        wait_until_serving(&house);
        assert_eq!(named(&coordinator, "the database serves again"), again + 1);
        assert_eq!(named(&coordinator, cause), 1);
    }
}

#[tokio::test]
async fn a_database_that_is_down_is_named_once_and_blames_no_caller() {
    let server = Server::private().await;
    let house = House::new(&server)
        .await
        .with(&["--max-call", "3s", "--no-tokens"]);
    let coordinator = house.coordinator();
    wait_until_serving(&house);
    server.kill_9();
    until(|| named(&coordinator, "is unreachable") == 1);
    wait_until_not_serving(&house);
    for question in ["campaigns", "workers", "campaigns"] {
        let refusal = house.refusal(&[question]);
        assert!(refusal.contains("cannot serve at present"), "{refusal}");
        assert!(refusal.contains("is unreachable"), "{refusal}");
    }
    server.start(&[]).await;
    wait_until_serving(&house);
    house.ask(&["workers"]);
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
    let house = House::new(&server).await;
    let coordinator = house.coordinator();
    // More than is computed here.
    house.ask(&["submit", "minishogi", "--samples", "1G"]);
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
        administer(&house.database, harm).await;
        let worker = house.worker("a", &[]);
        until(|| named(&coordinator, cause) == 1);
        wait_until_not_serving(&house);
        let again = named(&coordinator, "the database serves again");
        administer(&house.database, cure).await;
        drop(worker);
        // One that asks at once.
        let worker = house.worker("a", &[]);
        until(|| named(&coordinator, "the database serves again") > again);
        wait_until_serving(&house);
        drop(worker);
        assert_eq!(named(&coordinator, cause), 1, "{}", coordinator.log());
    }
}
