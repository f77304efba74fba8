//! An older backup in the place of the database, while workers live.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use sqlx::AssertSqlSafe;

use kazoe_coordinator_testkit::postgres_server::{ADMIN, Server, command};
use kazoe_coordinator_testkit::test_cluster::{TestCluster, accepted, until};

/// One of PostgreSQL's programs at a cluster's database.
fn program(server: &Server, cluster: &TestCluster<'_>, name: &str) -> Command {
    let mut program = command(&[], name);
    program.args(["--username", ADMIN, "--dbname", &cluster.database.name]);
    program.arg("--host").arg(&server.folder);
    program
}

fn back_up(server: &Server, cluster: &TestCluster<'_>, file: &Path) {
    let dumped = program(server, cluster, "pg_dump")
        .arg("--format=custom")
        .output();
    let dumped = dumped.unwrap();
    assert!(dumped.status.success(), "{dumped:?}");
    fs::write(file, dumped.stdout).unwrap();
}

/// Puts an earlier state in the place of the present one, despite open connections.
async fn restore(server: &Server, cluster: &TestCluster<'_>, file: &Path) {
    let name = &cluster.database.name;
    let mut admin = server.admin("postgres").await;
    for statement in [
        format!("DROP DATABASE {name} WITH (FORCE)"),
        format!("CREATE DATABASE {name} OWNER kazoe_owner"),
    ] {
        let done = sqlx::query(AssertSqlSafe(statement)).execute(&mut admin);
        done.await.unwrap();
    }
    let mut restored = program(server, cluster, "pg_restore");
    let restored = restored.stdin(File::open(file).unwrap()).output().unwrap();
    assert!(restored.status.success(), "{restored:?}");
}

#[tokio::test]
async fn workers_outlive_the_restoring_of_an_older_backup() {
    let server = Server::private().await;
    let cluster = TestCluster::new(&server).await;
    let cluster = cluster.with(&["--hold", "2s", "--lease", "100ms"]);
    let coordinator = cluster.coordinator();
    let run = ["minishogi", "--samples", "200k", "--segment", "4"];
    let id = cluster.ask(&[&["submit"], run.as_slice()].concat());
    let id = id.trim();
    let mut early = cluster.worker("a", &[]);
    cluster.ask(&["watch", id]);
    let backup = cluster.path("backup");
    back_up(&server, &cluster, &backup);

    // After the backup: another worker joins, and a larger campaign is at work.
    let run = ["minishogi", "--samples", "4M", "--segment", "4"];
    cluster.ask(&[&["submit"], run.as_slice()].concat());
    let mut late = cluster.worker("b", &[]);
    late.wait_for("a lease");
    until(|| accepted(&cluster) > 400_000);
    coordinator.kill_9();
    restore(&server, &cluster, &backup).await;
    let coordinator = cluster.coordinator();
    assert_eq!(cluster.json(&["workers"]).len(), 1, "the earlier state");
    assert_eq!(accepted(&cluster), 200_000);
    cluster.assert_lawful(id).await;

    // Both go on: what they hold is not known any more, and one is not known itself.
    cluster.ask(&[&["submit"], run.as_slice()].concat());
    cluster.ask(&["watch", id]);
    until(|| late.log().matches("joined").count() == 2);
    cluster.assert_counted(id, &run).await;
    for worker in [&mut early, &mut late] {
        worker.signal("-TERM");
        assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    }
    drop(coordinator);
}
