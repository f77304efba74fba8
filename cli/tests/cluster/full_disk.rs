//! PostgreSQL's disk is full: first that of its tables, then that of its log. Small file systems in memory
//! ([`mounts`]).

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sqlx::{Connection, PgConnection};

use kazoe_coordinator_testkit::mounts;
use kazoe_coordinator_testkit::postgres_server::{ADMIN, Server};
use kazoe_coordinator_testkit::test_cluster::{TestCluster, until};

/// A file system of a fixed size in the place of a folder; unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    /// With what the folder holds.
    fn in_place_of(folder: &Path) -> Self {
        let before = folder.with_extension("before");
        fs::rename(folder, &before).unwrap();
        fs::create_dir(folder).unwrap();
        mounts::mount(folder, "size=96m,mode=0700").unwrap();
        let disk = Disk(folder.to_owned());
        let contents = before.join(".");
        let copied = Command::new("cp")
            .arg("-a")
            .arg(contents)
            .arg(folder)
            .status();
        assert!(copied.unwrap().success());
        disk
    }

    fn fill(&self) {
        let mut file = File::create(self.ballast()).unwrap();
        let zeros = [0; 4096];
        while file.write_all(&zeros).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        mounts::unmount(&self.0);
    }
}

#[tokio::test]
async fn a_full_disk_of_tables_loses_nothing() {
    if mounts::are_allowed("full_disk::a_full_disk_of_tables_loses_nothing") {
        outlive_a_full("base").await;
    }
}

#[tokio::test]
async fn a_full_disk_of_the_write_ahead_log_loses_nothing() {
    if mounts::are_allowed("full_disk::a_full_disk_of_the_write_ahead_log_loses_nothing") {
        outlive_a_full("pg_wal").await;
    }
}

/// The disk of a folder of PostgreSQL's is full for a while in the middle of a campaign.
async fn outlive_a_full(folder: &str) {
    let server = Server::private().await;
    let cluster = TestCluster::new(&server).await;
    let cluster = cluster.with(&["--hold", "2s", "--lease", "200ms"]);
    server.kill_9();
    let disk = Disk::in_place_of(&server.data().join(folder));
    server.start(&[]).await;
    let _coordinator = cluster.coordinator();
    let _workers = [cluster.worker("a", &[]), cluster.worker("b", &[])];
    let mut samples = 400_000;
    let submit = |samples: u64| {
        let samples = samples.to_string();
        let submit = ["submit", "minishogi", "--segment", "4", "--samples"];
        cluster.run(&[submit.as_slice(), &[&samples]].concat())
    };
    let submitted = submit(samples);
    assert!(submitted.status.success(), "{submitted:?}");
    cluster.ask(&["watch"]);
    let before = cluster.results().await;
    disk.fill();
    while !server.log().contains("No space left on device") {
        samples += 100_000;
        // It may fail already.
        submit(samples);
        if folder == "pg_wal" {
            write_much(&cluster).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    // Room again. Where even its log has no place PostgreSQL may have given up, and is started again.
    disk.make_room();
    if folder == "pg_wal" {
        if server.data().join("postmaster.pid").exists() {
            server.kill_9();
        }
        server.start(&[]).await;
    }
    let after = cluster.results().await;
    assert!(before.is_subset(&after), "I5");
    until(|| submit(samples).status.success());
    let id = String::from_utf8(submit(samples).stdout).unwrap();
    cluster.assert_lawful(id.trim()).await;
    cluster.ask(&["watch"]);
    let samples = samples.to_string();
    let run = ["minishogi", "--segment", "4", "--samples", &samples];
    cluster.assert_counted(id.trim(), &run).await;
}

/// Goes through the files of the log that are there already, until PostgreSQL breaks down.
async fn write_much(cluster: &TestCluster<'_>) {
    let Ok(mut admin) = PgConnection::connect(&cluster.database.url(ADMIN)).await else {
        return;
    };
    for _ in 0..200 {
        let written = sqlx::raw_sql("SELECT txid_current(); SELECT pg_switch_wal()");
        if written.execute(&mut admin).await.is_err() {
            return;
        }
    }
}
