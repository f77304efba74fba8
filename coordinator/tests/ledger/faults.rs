//! What can happen to a file: other programs, damage, a full disk, `kill -9`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use kazoe_common::census::SegmentResult;
use kazoe_coordinator::ledger::{Counts, Ledger, LedgerError, LocalStore, OpenError, StorageFault};
use kazoe_proto::outcome::DeliveryOutcome;
use sqlx::{Connection, SqliteConnection};

use crate::local_store::{fresh, missing};
use crate::made_up::{assert_sound, delivery, operator, owner, submission, tally};

async fn raw(path: &Path) -> SqliteConnection {
    let url = format!("sqlite://{}", path.display());
    SqliteConnection::connect(&url).await.unwrap()
}

async fn refusal(path: &Path) -> OpenError {
    match LocalStore::open(path).await {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

/// Some segments, closed, with everything in the one file.
async fn a_written_file(path: &Path) {
    let ledger = LocalStore::open(path).await.unwrap();
    let (campaign, _) = ledger.submit(&submission(1, 200 * 4096)).await.unwrap();
    let all: Vec<SegmentResult> = (0..150).map(|segment| delivery(segment, 4096)).collect();
    ledger
        .import(&campaign.id, &owner("a"), &all)
        .await
        .unwrap();
    ledger.close().await.unwrap();
}

#[tokio::test]
async fn a_second_writer_is_refused_and_readers_are_not() {
    let (folder, ledger) = fresh().await;
    let path = folder.path().join("kazoe.db");
    let (campaign, _) = ledger.submit(&submission(1, 10 * 4096)).await.unwrap();
    let error = refusal(&path).await;
    assert!(
        matches!(&error, OpenError::InUse { holder, .. } if *holder == Some(std::process::id())),
        "{error:?}"
    );
    assert!(error.to_string().contains("another kazoe"), "{error}");

    let earlier = LocalStore::open_reader(&path).await.unwrap();
    let before = ledger.snapshot(&campaign.id).await.unwrap();
    let first = [0, 1, 2].map(|segment| delivery(segment, 4096));
    let who = owner("a");
    ledger.import(&campaign.id, &who, &first).await.unwrap();
    // A reader sees the ledger as it was when it opened the file.
    assert_eq!(earlier.snapshot(&campaign.id).await.unwrap(), before);
    let reader = LocalStore::open_reader(&path).await.unwrap();
    assert_eq!(
        reader.snapshot(&campaign.id).await.unwrap(),
        ledger.snapshot(&campaign.id).await.unwrap()
    );
    let written = reader.submit(&submission(2, 1)).await.unwrap_err();
    assert!(
        matches!(&written, LedgerError::Storage(error) if error.fault == StorageFault::ReadOnly),
        "{written:?}"
    );
    reader.close().await.unwrap();
    ledger.close().await.unwrap();
    let ledger = LocalStore::open(&path).await.unwrap();
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn files_of_others_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);

    std::fs::write(
        path("note.txt"),
        "not a database, only some words of mine\n".repeat(9),
    )
    .unwrap();
    std::fs::write(path("short"), "x").unwrap();
    let other = path("other.sqlite");
    let url = format!("sqlite://{}?mode=rwc", other.display());
    let mut conn = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("CREATE TABLE theirs (x)")
        .execute(&mut conn)
        .await
        .unwrap();
    conn.close().await.unwrap();
    for name in ["note.txt", "short", "other.sqlite"] {
        let before = std::fs::read(path(name)).unwrap();
        let error = refusal(&path(name)).await;
        let reading = LocalStore::open_reader(&path(name)).await.unwrap_err();
        for error in [error, reading] {
            let expected = match name {
                "other.sqlite" => matches!(error, OpenError::Foreign(_)),
                _ => matches!(error, OpenError::NotSqlite(_)),
            };
            assert!(expected, "{name}: {error:?}");
            assert!(error.to_string().contains("--db"), "{error}");
        }
        assert_eq!(std::fs::read(path(name)).unwrap(), before, "{name}");
    }
    let mut left: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(
        left,
        ["note.txt", "other.sqlite", "short"],
        "nothing is left beside them"
    );
}

#[tokio::test]
async fn what_is_no_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let error = refusal(folder.path()).await;
    assert!(matches!(error, OpenError::NoFile { .. }), "{error:?}");
    let error = refusal(&folder.path().join("nowhere/kazoe.db")).await;
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error:?}");
    let missing = LocalStore::open_reader(&folder.path().join("kazoe.db")).await;
    assert!(matches!(missing, Err(OpenError::Missing(_))));

    // An empty file becomes a ledger.
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, "").unwrap();
    let ledger = LocalStore::open(&empty).await.unwrap();
    ledger.submit(&submission(1, 1)).await.unwrap();
}

#[tokio::test]
async fn a_later_schema_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kazoe.db");
    a_written_file(&path).await;
    let mut conn = raw(&path).await;
    sqlx::query("INSERT INTO schema_migrations VALUES (29991231000000, 'later', 0)")
        .execute(&mut conn)
        .await
        .unwrap();
    conn.close().await.unwrap();
    let error = refusal(&path).await;
    assert!(
        matches!(
            error,
            OpenError::Newer {
                version: 29_991_231_000_000,
                ..
            }
        ),
        "{error:?}"
    );
    let reading = LocalStore::open_reader(&path).await.unwrap_err();
    assert!(matches!(reading, OpenError::Newer { .. }), "{reading:?}");
}

#[tokio::test]
async fn damage_is_told_and_not_made_worse() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kazoe.db");
    a_written_file(&path).await;
    let whole = std::fs::read(&path).unwrap();
    let page = 4096;
    assert!(whole.len() > 8 * page);
    let mut damaged: Vec<Vec<u8>> = [50, 700, page, 5 * page, whole.len() - page, whole.len() - 1]
        .into_iter()
        .map(|length| whole[..length].to_vec())
        .collect();
    let mut zeroed = whole.clone();
    zeroed[4 * page..5 * page].fill(0);
    damaged.push(zeroed);
    for (bytes, number) in damaged.into_iter().zip(0..) {
        let path = folder.path().join(format!("damaged-{number}.db"));
        std::fs::write(&path, &bytes).unwrap();
        let error = refusal(&path).await;
        let told = match &error {
            OpenError::NotSqlite(_) => bytes.len() < 100,
            OpenError::Storage(error) => error.fault == StorageFault::Corrupt,
            _ => false,
        };
        assert!(told, "{number}: {error:?}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{number}");
    }
}

#[tokio::test]
async fn a_locked_file_is_told_and_works_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kazoe.db");
    a_written_file(&path).await;
    let mut other = raw(&path).await;
    let ledger = LocalStore::open(&path).await.unwrap();
    let id = submission(1, 1).campaign.id();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut other)
        .await
        .unwrap();
    let next = [delivery(150, 4096)];
    let busy = ledger.import(&id, &owner("a"), &next).await.unwrap_err();
    assert!(
        matches!(&busy, LedgerError::Storage(error) if error.fault == StorageFault::Busy),
        "{busy:?}"
    );
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    ledger.import(&id, &owner("a"), &next).await.unwrap();
    let campaign = ledger.campaign(&id).await.unwrap();
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn the_log_is_append_only_and_accepted_has_one_row_a_segment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kazoe.db");
    a_written_file(&path).await;
    let mut conn = raw(&path).await;
    for statement in [
        "UPDATE results SET samples = samples + 1",
        "DELETE FROM results",
        "UPDATE result_cells SET count = count + 1",
        "DELETE FROM result_cells",
        "UPDATE result_depths SET count = count + 1",
        "DELETE FROM result_depths",
        "UPDATE witnesses SET sample = sample + 1",
        "DELETE FROM witnesses",
        "UPDATE self_tests SET tally = ''",
        "DELETE FROM self_tests",
    ] {
        let error = sqlx::query(statement).execute(&mut conn).await.unwrap_err();
        assert!(
            error.to_string().contains("append-only"),
            "{statement}: {error}"
        );
    }
    let twice = "INSERT INTO accepted SELECT campaign, segment, result FROM accepted LIMIT 1";
    let error = sqlx::query(twice).execute(&mut conn).await.unwrap_err();
    assert!(error.to_string().contains("UNIQUE"), "{error}");
    let strange = "UPDATE accepted SET result = result + 1 WHERE segment = 0";
    let error = sqlx::query(strange).execute(&mut conn).await.unwrap_err();
    assert!(error.to_string().contains("FOREIGN KEY"), "{error}");
}

#[tokio::test]
async fn the_first_release_s_file_is_read_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kazoe.db");
    let url = format!("sqlite://{}?mode=rwc", path.display());
    let mut conn = SqliteConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(include_str!("first_release.sql"))
        .execute(&mut conn)
        .await
        .unwrap();
    conn.close().await.unwrap();
    // As it is, by somebody who only reads: nobody said then how long anything took.
    let reader = LocalStore::open_reader(&path).await.unwrap();
    let owners = reader.owners(&submission(1, 1).campaign.id()).await;
    let owners = owners.unwrap();
    assert!(owners.iter().all(|one| one.estimated == one.segments));
    assert!(owners.iter().any(|one| one.core_seconds.is_none()));
    reader.close().await.unwrap();
    let ledger = LocalStore::open(&path).await.unwrap();
    let campaigns = ledger.campaigns().await.unwrap();
    let campaign = &campaigns[0];
    let id = &campaign.id;
    assert_eq!(campaign.campaign, submission(1, 1).campaign);
    assert_eq!(
        ledger.self_tests(id).await.unwrap(),
        submission(1, 1).self_tests
    );
    // Segments 0 and 1 are accepted. The file has a live lease of 2, 3 set aside, 4 disputed and 5 retracted:
    // all of them are counted again.
    let snapshot = ledger.snapshot(id).await.unwrap();
    let counts = Counts {
        accepted: 2,
        unleased: 6,
        ..Counts::default()
    };
    assert_eq!(snapshot.counts, counts);
    assert_eq!((snapshot.prefix.segments, snapshot.audited), (2, 1));
    assert_eq!(missing(&ledger, id).await, "[2..8]");
    assert_sound(&ledger, campaign).await;
    // The log keeps what arrived, in whatever dispute.
    let log = ledger.log(id, 4).await.unwrap();
    let entries = log.iter().map(|entry| (&*entry.owner, entry.verdict));
    let entries: Vec<_> = entries.collect();
    assert_eq!(
        entries,
        [
            ("b", DeliveryOutcome::Accepted),
            ("c", DeliveryOutcome::Disputed)
        ]
    );

    let rest: Vec<SegmentResult> = (2..8).map(|segment| delivery(segment, 4096)).collect();
    ledger.import(id, &operator(), &rest).await.unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, campaign).await;
    ledger.close().await.unwrap();
    let mut conn = raw(&path).await;
    let broken = sqlx::query("PRAGMA foreign_key_check");
    assert!(broken.fetch_all(&mut conn).await.unwrap().is_empty());
    let actions = sqlx::query_scalar::<_, String>("SELECT action FROM audit_log ORDER BY id");
    let actions = actions.fetch_all(&mut conn).await.unwrap();
    assert_eq!(actions, ["settle", "set_aside", "recut"]);
}

/// The other process of the test below: says each acknowledged segment, until it is killed.
async fn deliver_until_killed(path: &Path) {
    let ledger = LocalStore::open(path).await.unwrap();
    let id = submission(1, 1).campaign.id();
    let mut out = std::io::stdout();
    let missing = ledger.missing(&id).await.unwrap();
    for segment in missing.into_iter().flatten() {
        let next = [delivery(segment, 4096)];
        ledger.import(&id, &owner("a"), &next).await.unwrap();
        writeln!(out, "\nacknowledged {segment}").unwrap();
        out.flush().unwrap();
    }
    writeln!(out, "\ndone").unwrap();
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    const CHILD: &str = "KAZOE_TEST_KILLED_CHILD";
    const NAME: &str = "faults::what_was_acknowledged_survives_kill_9";
    if let Some(path) = std::env::var_os(CHILD) {
        return deliver_until_killed(Path::new(&path)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kazoe.db");
    let ledger = LocalStore::open(&path).await.unwrap();
    let (campaign, _) = ledger.submit(&submission(1, 120 * 4096)).await.unwrap();
    ledger.close().await.unwrap();
    let mut acknowledged = Vec::new();
    for patience in [1, 7, 3, 26, 12] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let heard = lines
            .map(Result::unwrap)
            .filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok())
            .take(patience);
        let before = acknowledged.len();
        acknowledged.extend(heard);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(acknowledged.len(), before + patience);

        let ledger = LocalStore::open(&path).await.unwrap();
        assert_sound(&ledger, &campaign).await;
        let kept = ledger.segments(&campaign.id, 0, 1_000).await.unwrap();
        for &segment in &acknowledged {
            let found = kept.iter().find(|kept| kept.segment == segment);
            assert_eq!(found.unwrap().tally, tally(segment, 4096), "I5");
        }
        assert_sound(&ledger, &campaign).await;
        ledger.close().await.unwrap();
    }
    let ledger = LocalStore::open(&path).await.unwrap();
    let id = &campaign.id;
    let missing = ledger.missing(id).await.unwrap().into_iter().flatten();
    let rest: Vec<SegmentResult> = missing.map(|segment| delivery(segment, 4096)).collect();
    ledger.import(id, &owner("a"), &rest).await.unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
}
