//! Clocks that are off by a day: only the database's own counts.

use std::process::Command;

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{Process, TestCluster};

const RUN: [&str; 5] = ["minishogi", "--samples", "400k", "--segment", "4"];

/// Shifts the clock of processes started from now on by this number of days.
fn set_off(cluster: &mut TestCluster<'_>, days: i32) {
    let library = cluster.path("wrong_clock.so");
    if !library.exists() {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/wrong_clock.c");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .args([source, "-ldl"])
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{compiled:?}");
    }
    let seconds = (days * 24 * 3600).to_string();
    cluster.environment = vec![
        ("LD_PRELOAD", library.into_os_string()),
        ("CLOCK_IS_OFF", seconds.into()),
    ];
}

/// The day that a process believes it is, by its log.
fn day(process: &Process) -> String {
    let log = process.log();
    let date = log.split(|c: char| c.is_whitespace() || c == 'T').next();
    let date = date.unwrap().trim_start_matches("\u{1b}[2m");
    assert!(date.starts_with("20"), "{log}");
    date.to_owned()
}

#[tokio::test]
async fn workers_and_a_coordinator_whose_clocks_are_off_by_a_day_count_right() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let mut cluster = cluster.with(&["--hold", "2s", "--lease", "100ms", "--audit", "0%"]);
    set_off(&mut cluster, -1);
    let coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let id = id.trim();
    set_off(&mut cluster, 1);
    let mut early = cluster.worker("a", &[]);
    set_off(&mut cluster, -1);
    let mut late = cluster.worker("b", &[]);
    early.wait_for("a lease");
    late.wait_for("a lease");
    assert_ne!(day(&early), day(&late));
    assert_eq!(day(&late), day(&coordinator));
    cluster.ask(&["watch", id]);
    cluster.assert_counted(id, &RUN).await;

    // No lease was lost: a deadline is a matter between the worker's patience and the database's clock.
    let mut conn = cluster.connection().await;
    let lost: i64 = sqlx::query_scalar("SELECT count(*) FROM loans WHERE closing = 'expired'")
        .fetch_one(&mut conn)
        .await
        .unwrap();
    assert_eq!(lost, 0);
    let strange: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM results
         WHERE abs(received_at - extract(epoch FROM clock_timestamp()) * 1000) > 12 * 3600 * 1000",
    )
    .fetch_one(&mut conn)
    .await
    .unwrap();
    assert_eq!(strange, 0, "all times are the database's");
}
