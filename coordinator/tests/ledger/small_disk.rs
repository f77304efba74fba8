//! A disk that is full, or takes no writes: a small file system in memory ([`mounts`]). A full disk by
//! SQLite's own limit on a file is tested beside the code.

use std::path::{Path, PathBuf};

use kazoe_coordinator::ledger::{Ledger, LedgerError, LocalStore, OpenError, StorageFault};
use kazoe_coordinator::ledger_file::{ImportError, LedgerFile, export, import};
use rustix::mount::MountFlags;
use tempfile::TempDir;

use crate::made_up::{assert_sound, delivery, owner, submission};
use kazoe_coordinator_testkit::mounts;

/// A mounted file system; unmounted when dropped.
struct Disk(TempDir);

impl Disk {
    fn mount(size: &str) -> Self {
        let disk = Disk(tempfile::tempdir().unwrap());
        mounts::mount(disk.path(), &format!("size={size}")).unwrap();
        disk
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn database(&self) -> PathBuf {
        self.path().join("kazoe.db")
    }

    fn resize(&self, size: &str) {
        mounts::remount(self.path(), MountFlags::empty(), &format!("size={size}"));
    }

    fn take_no_writes(&self) {
        mounts::remount(self.path(), MountFlags::RDONLY, "");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        mounts::unmount(self.path());
    }
}

#[tokio::test]
async fn a_run_on_a_full_disk_loses_nothing_and_goes_on() {
    if !mounts::are_allowed("small_disk::a_run_on_a_full_disk_loses_nothing_and_goes_on") {
        return;
    }
    let disk = Disk::mount("1m");
    let ledger = LocalStore::open(&disk.database()).await.unwrap();
    let (campaign, _) = ledger.submit(&submission(1, 3_000 * 4096)).await.unwrap();
    let id = &campaign.id;
    let mut saved = 0;
    let mut failures = 0;
    // A few failures in a row: the ledger recovers from each by itself.
    while failures < 3 {
        match ledger
            .import(id, &owner("a"), &[delivery(saved, 4096)])
            .await
        {
            Ok(_) => saved += 1,
            Err(LedgerError::Storage(error)) => {
                assert_eq!(error.fault, StorageFault::Full, "{error}");
                failures += 1;
            }
            Err(other) => panic!("{other}"),
        }
        assert!(saved < 3_000);
    }
    assert!(saved > 10, "{saved}");
    assert_eq!(ledger.snapshot(id).await.unwrap().prefix.segments, saved);
    assert_sound(&ledger, &campaign).await;

    // The process ends on the full disk; there is room again later.
    drop(ledger);
    disk.resize("32m");
    let ledger = LocalStore::open(&disk.database()).await.unwrap();
    assert_eq!(ledger.snapshot(id).await.unwrap().prefix.segments, saved);
    assert_sound(&ledger, &campaign).await;
    let rest: Vec<_> = (saved..3_000)
        .map(|segment| delivery(segment, 4096))
        .collect();
    ledger.import(id, &owner("a"), &rest).await.unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
    ledger.close().await.unwrap();
}

#[tokio::test]
async fn a_file_that_does_not_fit_on_the_disk_leaves_nothing() {
    if !mounts::are_allowed("small_disk::a_file_that_does_not_fit_on_the_disk_leaves_nothing") {
        return;
    }
    let submission = submission(1, 3_000 * 4096);
    let roomy = tempfile::tempdir().unwrap();
    let ledger = LocalStore::open(&roomy.path().join("kazoe.db"))
        .await
        .unwrap();
    let (campaign, _) = ledger.submit(&submission).await.unwrap();
    let id = &campaign.id;
    let all: Vec<_> = (0..3_000).map(|segment| delivery(segment, 4096)).collect();
    ledger.import(id, &owner("a"), &all).await.unwrap();
    let mut text = Vec::new();
    export(&ledger, id, &mut text).await.unwrap();

    let disk = Disk::mount("1m");
    let ledger = LocalStore::open(&disk.database()).await.unwrap();
    let take = async |ledger: &LocalStore| {
        let file = LedgerFile::open(text.as_slice()).unwrap();
        let self_tests = submission.self_tests.clone();
        import(ledger, &owner("b"), file, self_tests, |_| true).await
    };
    for _ in 0..2 {
        let error = take(&ledger).await.unwrap_err();
        assert!(
            matches!(&error, ImportError::Ledger(LedgerError::Storage(storage))
                if storage.fault == StorageFault::Full),
            "{error}"
        );
        assert!(ledger.campaigns().await.unwrap().is_empty());
    }
    disk.resize("32m");
    assert_eq!(take(&ledger).await.unwrap().accepted, 3_000);
    assert_sound(&ledger, &campaign).await;
    ledger.close().await.unwrap();
}

#[tokio::test]
async fn a_ledger_cannot_begin_on_a_full_disk() {
    if !mounts::are_allowed("small_disk::a_ledger_cannot_begin_on_a_full_disk") {
        return;
    }
    let disk = Disk::mount("64k");
    let error = LocalStore::open(&disk.database()).await.unwrap_err();
    assert!(
        matches!(&error, OpenError::Storage(error) if error.fault == StorageFault::Full),
        "{error:?}"
    );
    disk.resize("4m");
    let ledger = LocalStore::open(&disk.database()).await.unwrap();
    let (campaign, _) = ledger.submit(&submission(1, 4096)).await.unwrap();
    assert_sound(&ledger, &campaign).await;
    ledger.close().await.unwrap();
}

#[tokio::test]
async fn a_medium_that_takes_no_writes_is_read() {
    if !mounts::are_allowed("small_disk::a_medium_that_takes_no_writes_is_read") {
        return;
    }
    let disk = Disk::mount("4m");
    let ledger = LocalStore::open(&disk.database()).await.unwrap();
    let (campaign, _) = ledger.submit(&submission(1, 4096)).await.unwrap();
    let id = &campaign.id;
    ledger
        .import(id, &owner("a"), &[delivery(0, 4096)])
        .await
        .unwrap();
    ledger.close().await.unwrap();
    disk.take_no_writes();
    let error = LocalStore::open(&disk.database()).await.unwrap_err();
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error:?}");
    let reader = LocalStore::open_reader(&disk.database()).await.unwrap();
    assert!(reader.snapshot(id).await.unwrap().is_complete());
    assert_sound(&reader, &campaign).await;
    reader.close().await.unwrap();
}
