//! Readers of a ledger's file: what they see while another process writes, and that they change nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kazoe_common::census::SegmentResult;
use kazoe_coordinator::ledger::{Ledger, LocalStore, OpenError, StorageFault};
use sqlx::{Connection, SqliteConnection};

use crate::made_up::{delivery, owner, submission, tally};

/// How many segments the writing process hands in at a time.
const BATCH: u64 = 20;

/// Set for the process that writes.
const CHILD: &str = "KAZOE_TEST_WRITING_CHILD";

/// Writes batch after batch, and says on standard output that it has begun.
async fn write_until_killed(path: &Path) {
    let ledger = LocalStore::open(path).await.unwrap();
    let (campaign, _) = ledger.submit(&submission(1, 1 << 40)).await.unwrap();
    for first in (0..).step_by(BATCH as usize) {
        let batch: Vec<SegmentResult> = (first..first + BATCH)
            .map(|segment| delivery(segment, 4096))
            .collect();
        let imported = ledger.import(&campaign.id, &owner("a"), &batch).await;
        imported.unwrap();
        if first == 0 {
            let mut out = std::io::stdout();
            writeln!(out, "\nbegun").unwrap();
            out.flush().unwrap();
        }
    }
}

/// Runs the named test in a process that writes to the file.
fn writer(test: &str, path: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "begun"));
    child
}

/// Every file of a folder with its content and times.
fn folder(path: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let files = fs::read_dir(path).unwrap().map(Result::unwrap);
    files
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            let modified = file.metadata().unwrap().modified().unwrap();
            (name, (fs::read(file.path()).unwrap(), modified))
        })
        .collect()
}

/// Asserts that a reader sees whole batches, each tally as it was written. Returns how
/// many segments it sees.
async fn assert_one_moment(path: &Path) -> u64 {
    let reader = LocalStore::open_reader(path).await.unwrap();
    let id = submission(1, 1).campaign.id();
    let there = reader.snapshot(&id).await.unwrap().prefix.segments;
    assert!(there > 0 && there.is_multiple_of(BATCH), "{there}");
    let first = there.saturating_sub(10 * BATCH);
    let last = reader.segments(&id, first, 1_000).await.unwrap();
    assert_eq!(last.len() as u64, there - first);
    for one in last {
        assert_eq!(one.tally, tally(one.segment, 4096));
    }
    reader.close().await.unwrap();
    there
}

#[tokio::test]
async fn a_copy_is_one_moment_of_a_ledger_that_is_written() {
    const NAME: &str = "readers::a_copy_is_one_moment_of_a_ledger_that_is_written";
    if let Some(path) = std::env::var_os(CHILD) {
        return write_until_killed(Path::new(&path)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kazoe.db");
    let mut child = writer(NAME, &path);
    let mut seen = 0;
    let mut growths = 0;
    // Several checkpoints move the log into the file meanwhile, and it begins again.
    while growths < 40 || seen < 100 * BATCH {
        assert_eq!(child.try_wait().unwrap(), None);
        let there = assert_one_moment(&path).await;
        assert!(there >= seen, "{there} after {seen}");
        growths += u64::from(there > seen);
        seen = there;
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn what_a_killed_writer_left_in_its_log_is_read_and_left() {
    const NAME: &str = "readers::what_a_killed_writer_left_in_its_log_is_read_and_left";
    if let Some(path) = std::env::var_os(CHILD) {
        return write_until_killed(Path::new(&path)).await;
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("kazoe.db");
    let mut child = writer(NAME, &path);
    child.kill().unwrap();
    child.wait().unwrap();
    let log = place.path().join("kazoe.db-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0);
    // The index is of no use without its writer, and may be missing.
    for _ in 0..2 {
        let before = folder(place.path());
        assert!(assert_one_moment(&path).await >= BATCH);
        assert_eq!(folder(place.path()), before);
        let _ = fs::remove_file(place.path().join("kazoe.db-shm"));
    }
    // A commit that was not written to its end does not count; what was committed before it does.
    let whole = fs::read(&log).unwrap();
    for cut in [1, 5_000, whole.len() / 2] {
        fs::write(&log, &whole[..whole.len() - cut]).unwrap();
        let reader = LocalStore::open_reader(&path).await.unwrap();
        let mut twin = SqliteConnection::connect(&format!("sqlite://{}", path.display()))
            .await
            .unwrap();
        let expected = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM accepted")
            .fetch_one(&mut twin)
            .await
            .unwrap();
        // SQLite removes the log when it closes: it is put back.
        let (file, log_then) = (fs::read(&path).unwrap(), fs::read(&log).unwrap());
        twin.close().await.unwrap();
        fs::write(&path, file).unwrap();
        fs::write(&log, log_then).unwrap();
        let seen = match reader.campaigns().await.unwrap().pop() {
            Some(campaign) => reader.segments(&campaign.id, 0, 1_000_000).await.unwrap(),
            None => Vec::new(),
        };
        assert_eq!(seen.len() as i64, expected, "{cut}");
    }
}

#[tokio::test]
async fn a_log_without_its_pages_is_damage() {
    const NAME: &str = "readers::a_log_without_its_pages_is_damage";
    if let Some(path) = std::env::var_os(CHILD) {
        return write_until_killed(Path::new(&path)).await;
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("kazoe.db");
    let mut child = writer(NAME, &path);
    child.kill().unwrap();
    child.wait().unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..4096]).unwrap();
    let error = LocalStore::open_reader(&path).await.unwrap_err();
    assert!(
        matches!(&error, OpenError::Storage(error) if error.fault == StorageFault::Corrupt),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_new_database_in_the_middle_of_its_first_change_is_not_read() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("kazoe.db");
    let ledger = LocalStore::open(&path).await.unwrap();
    ledger.submit(&submission(1, 4096)).await.unwrap();
    ledger.close().await.unwrap();
    // As a writer leaves it that is killed while SQLite makes the first pages.
    let journal = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    fs::write(place.path().join("kazoe.db-journal"), journal).unwrap();
    let error = LocalStore::open_reader(&path).await.unwrap_err();
    assert!(
        matches!(&error, OpenError::Storage(error) if error.fault == StorageFault::Busy),
        "{error:?}"
    );
    assert!(
        error.to_string().contains("changed during each attempt"),
        "{error}"
    );
}
