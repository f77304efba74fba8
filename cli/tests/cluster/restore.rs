//! An older backup in the place of the database, while workers live.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use sqlx::AssertSqlSafe;

use crate::house::{House, accepted, until};
use crate::server::{ADMIN, Server, command};

/// One of PostgreSQL's programs at a house's database.
fn program(server: &Server, house: &House<'_>, name: &str) -> Command {
    let mut program = command(&[], name);
    program.args(["--username", ADMIN, "--dbname", &house.database.name]);
    program.arg("--host").arg(&server.folder);
    program
}

fn back_up(server: &Server, house: &House<'_>, file: &Path) {
    let dumped = program(server, house, "pg_dump")
        .arg("--format=custom")
        .output();
    let dumped = dumped.unwrap();
    assert!(dumped.status.success(), "{dumped:?}");
    fs::write(file, dumped.stdout).unwrap();
}

/// Puts an earlier state in the place of the present one, despite open connections.
async fn restore(server: &Server, house: &House<'_>, file: &Path) {
    let name = &house.database.name;
    let mut admin = server.admin("postgres").await;
    for statement in [
        format!("DROP DATABASE {name} WITH (FORCE)"),
        format!("CREATE DATABASE {name} OWNER kazoe_owner"),
    ] {
        let done = sqlx::query(AssertSqlSafe(statement)).execute(&mut admin);
        done.await.unwrap();
    }
    let mut restored = program(server, house, "pg_restore");
    let restored = restored.stdin(File::open(file).unwrap()).output().unwrap();
    assert!(restored.status.success(), "{restored:?}");
}

#[tokio::test]
async fn workers_outlive_the_restoring_of_an_older_backup() {
    let server = Server::private().await;
    let house = House::new(&server).await;
    let house = house.with(&["--hold", "2s", "--lease", "100ms"]);
    let coordinator = house.coordinator();
    let run = ["minishogi", "--samples", "200k", "--segment", "4"];
    let id = house.ask(&[&["submit"], run.as_slice()].concat());
    let id = id.trim();
    let mut early = house.worker("a", &[]);
    house.ask(&["watch", id]);
    let backup = house.path("backup");
    back_up(&server, &house, &backup);

    // After the backup: another worker joins, and a larger campaign is at work.
    let run = ["minishogi", "--samples", "4M", "--segment", "4"];
    house.ask(&[&["submit"], run.as_slice()].concat());
    let mut late = house.worker("b", &[]);
    late.wait_for("a lease");
    until(|| accepted(&house) > 400_000);
    coordinator.kill_9();
    restore(&server, &house, &backup).await;
    let coordinator = house.coordinator();
    assert_eq!(house.json(&["workers"]).len(), 1, "the earlier state");
    assert_eq!(accepted(&house), 200_000);
    house.assert_lawful(id).await;

    // Both go on: what they hold is not known any more, and one is not known itself.
    house.ask(&[&["submit"], run.as_slice()].concat());
    house.ask(&["watch", id]);
    until(|| late.log().matches("joined").count() == 2);
    house.assert_counted(id, &run).await;
    for worker in [&mut early, &mut late] {
        worker.signal("-TERM");
        assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    }
    drop(coordinator);
}
