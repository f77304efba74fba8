//! `NAME.ledger.tsv`: what goes out comes back in, and what is wrong is told by line and field.

use std::io;

use kazoe_common::census::{Fingerprint, Segment, Witness};
use kazoe_coordinator::ledger::{
    AcceptedSegment, CampaignRecord, Ledger, LedgerError, LocalStore, Submitted, Who,
};
use kazoe_coordinator::ledger_file::{
    self, ExportError, FileError, ImportError, Imported, LedgerFile, Step, export, export_to_path,
};

use crate::local_store::fresh;
use crate::made_up::{assert_sound, delivery, operator, owner, submission, wrong_delivery};

/// Imports a text for the owner `c`.
async fn import(ledger: &LocalStore, text: &str) -> Result<Imported, ImportError> {
    import_while(ledger, text, |_| true).await
}

async fn import_while(
    ledger: &LocalStore,
    text: &str,
    go_on: impl FnMut(Step) -> bool,
) -> Result<Imported, ImportError> {
    let file = LedgerFile::open(text.as_bytes()).unwrap();
    let self_tests = submission(1, 1).self_tests;
    ledger_file::import(ledger, &owner("c"), file, self_tests, go_on).await
}

const SAMPLES: u64 = 700 * 4096 + 9;

/// A campaign with gaps, 3 and 4, and two builds.
async fn fill(ledger: &LocalStore) -> CampaignRecord {
    let mut submission = submission(1, SAMPLES);
    submission.campaign.cap = Some(5);
    let (campaign, _) = ledger.submit(&submission).await.unwrap();
    let later = Who {
        build: "test 2".to_owned(),
        ..owner("b")
    };
    for (who, segments) in [
        (&owner("a"), vec![0, 1, 2, 5]),
        (&later, (6..700).collect()),
        (&owner("a"), vec![700]),
    ] {
        let all: Vec<_> = segments
            .into_iter()
            .map(|segment| delivery(segment, campaign.cut.samples_of(segment)))
            .collect();
        ledger.import(&campaign.id, who, &all).await.unwrap();
    }
    campaign
}

async fn text_of(ledger: &LocalStore, campaign: &CampaignRecord) -> String {
    let mut text = Vec::new();
    export(ledger, &campaign.id, &mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}

/// What a recheck needs of each segment.
async fn content(ledger: &LocalStore, id: &str) -> (Vec<AcceptedSegment>, Vec<Witness>) {
    let mut segments = ledger.segments(id, 0, 1_000).await.unwrap();
    segments.retain(|segment| !segment.disputed);
    for segment in &mut segments {
        segment.owner.clear();
        segment.worker.clear();
        segment.received_at = 0;
    }
    let kept: Vec<Segment> = segments.iter().map(|segment| segment.segment).collect();
    let mut witnesses = ledger.witnesses(id, 0..1_000).await.unwrap();
    witnesses.retain(|witness| kept.contains(&(witness.index() / 4096)));
    (segments, witnesses)
}

#[tokio::test]
async fn a_round_trip_loses_nothing() {
    let (_folder, ledger) = fresh().await;
    let campaign = fill(&ledger).await;
    let text = text_of(&ledger, &campaign).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "kazoe-ledger/1");
    assert_eq!(lines[4], "size\t16014219505238849250");
    assert_eq!(lines[7], "cap\t5");

    let (_other_folder, other) = fresh().await;
    let file = LedgerFile::open(text.as_bytes()).unwrap();
    assert_eq!(file.header().campaign, campaign.campaign);
    assert_eq!(file.header().cut, campaign.cut);
    assert_eq!(file.header().submitted_at, campaign.submitted_at);
    let done = import(&other, &text).await.unwrap();
    assert_eq!(done.submitted, Submitted::New);
    assert_eq!((done.accepted, done.audited, done.stale), (699, 0, 0));
    assert_eq!(
        content(&other, &campaign.id).await,
        content(&ledger, &campaign.id).await
    );
    assert_eq!(
        other.segments(&campaign.id, 0, 1).await.unwrap()[0].owner,
        "c"
    );
    assert_sound(&other, &done.campaign).await;

    // The same segments make the same lines, but for the dates.
    let undated = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| !line.starts_with("submitted\t") && !line.starts_with("computed\t"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(
        undated(&text_of(&other, &done.campaign).await),
        undated(&text)
    );

    // Again, and into the ledger it came from.
    let again = import(&other, &text).await.unwrap();
    assert_eq!((again.accepted, again.repeated, again.audited), (0, 699, 0));
    let home = import(&ledger, &text).await.unwrap();
    assert_eq!((home.accepted, home.audited), (0, 699));

    // The rest can be computed here.
    let id = &campaign.id;
    let rest = [3, 4].map(|segment| delivery(segment, 4096));
    other.import(id, &operator(), &rest).await.unwrap();
    assert!(other.snapshot(id).await.unwrap().is_complete());
    assert_sound(&other, &done.campaign).await;
}

#[tokio::test]
async fn a_file_with_a_segment_that_differs_changes_nothing() {
    let (_folder, ledger) = fresh().await;
    let campaign = fill(&ledger).await;
    let text = text_of(&ledger, &campaign).await;
    let (_other_folder, other) = fresh().await;
    let mut fewer = submission(1, SAMPLES - 4096);
    fewer.campaign.cap = Some(5);
    let (record, _) = other.submit(&fewer).await.unwrap();
    let wrong = [delivery(0, 4096), wrong_delivery(600, 4096)];
    other.import(&record.id, &owner("a"), &wrong).await.unwrap();
    let record = other.campaign(&record.id).await.unwrap();
    let before = other.snapshot(&record.id).await.unwrap();
    let refused = import(&other, &text).await;
    assert!(
        matches!(
            &refused,
            Err(ImportError::Ledger(LedgerError::Differs {
                segment: 600,
                ..
            }))
        ),
        "{refused:?}"
    );
    assert_eq!(other.snapshot(&record.id).await.unwrap(), before);
    assert_eq!(other.campaign(&record.id).await.unwrap(), record);
}

#[tokio::test]
async fn an_empty_campaign_travels() {
    let (_folder, ledger) = fresh().await;
    let (campaign, _) = ledger.submit(&submission(7, 5)).await.unwrap();
    let text = text_of(&ledger, &campaign).await;
    let mut file = LedgerFile::open(text.as_bytes()).unwrap();
    assert_eq!(file.header().computed, None);
    assert!(file.next().is_none());
}

#[tokio::test]
async fn a_file_of_another_cut_is_compared_where_it_can_be() {
    let (_folder, ledger) = fresh().await;
    let campaign = fill(&ledger).await;
    let text = text_of(&ledger, &campaign).await;

    let (_longer_folder, longer) = fresh().await;
    let mut more = submission(1, SAMPLES + 4096);
    more.campaign.cap = Some(5);
    let (record, _) = longer.submit(&more).await.unwrap();
    let done = import(&longer, &text).await.unwrap();
    assert_eq!((done.accepted, done.stale), (698, 1));
    assert_sound(&longer, &record).await;

    let (_other_folder, other) = fresh().await;
    more.cut.segment_blocks = 2;
    other.submit(&more).await.unwrap();
    let refused = import(&other, &text).await;
    assert!(matches!(
        refused,
        Err(ImportError::SegmentSize { file: 1, ledger: 2 })
    ));

    let (_third_folder, third) = fresh().await;
    let mut odd = submission(1, 1).self_tests;
    odd[0].tally = wrong_delivery(0, 4096).tally;
    let file = LedgerFile::open(text.as_bytes()).unwrap();
    let refused = ledger_file::import(&third, &owner("c"), file, odd, |_| true).await;
    assert!(matches!(refused, Err(ImportError::SelfTest(_))));
    assert!(third.campaigns().await.unwrap().is_empty());
}

/// The first error of a text.
fn error_of(text: &str) -> FileError {
    match LedgerFile::open(text.as_bytes()) {
        Err(error) => error,
        Ok(mut file) => file
            .find_map(Result::err)
            .unwrap_or_else(|| panic!("it was read:\n{text}")),
    }
}

#[tokio::test]
async fn what_is_wrong_is_told_by_line_and_field() {
    let (_folder, ledger) = fresh().await;
    let (campaign, _) = ledger.submit(&submission(1, 3 * 4096)).await.unwrap();
    let all = [0, 1].map(|segment| delivery(segment, 4096));
    ledger
        .import(&campaign.id, &owner("a"), &all)
        .await
        .unwrap();
    let text = text_of(&ledger, &campaign).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 22, "{text}");
    assert_eq!(lines[13], "build\t0\ttest 1");
    assert_eq!(lines[14].split('\t').count(), 7);

    // (line counted from 1, what stands there, what is put there, the field that the error names)
    let cases = [
        (1, "kazoe-ledger/1", "kazoe-ledger/2", "first line"),
        (2, "campaign\t", "campaign\tx", "campaign"),
        (3, "minishogi", "gogo", "variant"),
        (4, "candidates", "placements", "population"),
        (5, "16014219505238849250", "16014219505238849251", "size"),
        (6, "plain", "fancy", "design"),
        (7, "seed\t1", "seed\t01", "seed"),
        (7, "seed\t1", "seed\t-1", "seed"),
        (8, "none", "many", "cap"),
        (9, "samples\t12288", "samples\t0", "samples"),
        (9, "samples\t12288", "samples\t1e3", "samples"),
        (9, "samples\t12288", "sample\t12288", "line"),
        (
            10,
            "segment-blocks\t1",
            "segment-blocks\t0",
            "segment-blocks",
        ),
        (11, "Z", "", "submitted"),
        (12, "T", " ", "first"),
        (13, "self-test\t0", "self-test\t-0", "block"),
        (14, "build\t0", "build\t1", "number"),
        (15, "segment\t0", "segment\t3", "segment"),
        (15, "\t4096\t", "\t4095\t", "samples"),
        (15, "1:3687", "1:3688", "cells"),
        (15, "1:3687", "1:3687,1:3", "cells"),
        (15, "1:3687", "1:+3687", "cells"),
        (15, "0:407", "3:407", "depths"),
        (16, "unreachable", "reachable", "kind"),
        (16, "unreachable\t0", "unreachable\t4096", "index"),
        (16, "\t3", "\t0", "depth"),
        (17, "\t60", "\t60\t1", "line"),
        (18, "segment\t1", "segment\t0", "segment"),
        (18, "segment\t1", "sogment\t1", "line"),
        (21, "build\t1", "build\t2", "number"),
        (21, "fingerprint=", "fingerprint= ", "text"),
        (21, " lines=", " LINES=", "text"),
        (22, "end\t2", "end\t3", "segments"),
        (22, "\t8192\t", "\t8191\t", "samples"),
        (22, "end", "END", "line"),
    ];
    for (number, old, new, expected) in cases {
        let mut changed: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        let line = &mut changed[number - 1];
        assert!(line.contains(old), "{line}");
        *line = line.replacen(old, new, 1);
        let error = error_of(&(changed.join("\n") + "\n"));
        let FileError::Field { line, field, .. } = &error else {
            panic!("{number} {new}: {error}")
        };
        assert_eq!((*line, *field), (number as u64, expected), "{new}: {error}");
        assert!(
            error
                .to_string()
                .starts_with(&format!("line {number}, field `{expected}`"))
        );
    }

    let mut unbuilt: Vec<&str> = lines.clone();
    let last = lines[14].rsplit_once('\t').unwrap().0.to_owned() + "\t1";
    unbuilt[14] = &last;
    let error = error_of(&unbuilt.join("\n"));
    assert!(
        matches!(
            error,
            FileError::Field {
                line: 15,
                field: "build",
                ..
            }
        ),
        "{error}"
    );

    for length in 0..text.len() {
        let error = error_of(&text[..length]);
        assert!(
            matches!(error, FileError::CutShort { .. }),
            "{length}: {error}"
        );
    }
    for more in [&format!("{}\n", lines[21]), "more", "\n"] {
        let error = error_of(&format!("{text}{more}"));
        assert!(
            matches!(error, FileError::Field { line: 23, .. }),
            "{error}"
        );
    }
    let endless = io::repeat(b'x');
    let error = LedgerFile::open(io::BufReader::new(endless)).unwrap_err();
    assert!(matches!(error, FileError::CutShort { line: 1 }), "{error}");
}

/// A ledger file of two segments, whose lines 15 and 18 they are.
async fn two_segments() -> String {
    let (_folder, ledger) = fresh().await;
    let (campaign, _) = ledger.submit(&submission(1, 3 * 4096)).await.unwrap();
    let all = [0, 1].map(|segment| delivery(segment, 4096));
    ledger
        .import(&campaign.id, &owner("a"), &all)
        .await
        .unwrap();
    text_of(&ledger, &campaign).await
}

/// Each changed file keeps all sums that the `end` line states, the digest among them.
#[tokio::test]
async fn a_changed_count_or_line_is_refused() {
    let text = two_segments().await;
    let changed = |changes: &[(&str, &str)]| {
        let mut text = text.clone();
        for (old, new) in changes {
            // The first self-test is of the first segment, and has the same tally.
            let from = text
                .find("\nbuild")
                .filter(|_| old.starts_with(|c: char| c.is_ascii_digit()))
                .unwrap_or(0);
            let (before, after) = text.split_at(from);
            assert!(after.contains(old), "{old} in\n{text}");
            text = format!("{before}{}", after.replacen(old, new, 1));
        }
        text
    };
    let file = |text: &str| {
        let mut file = LedgerFile::open(text.as_bytes()).unwrap();
        assert!(file.by_ref().all(|entry| entry.is_ok()));
        (file.sums().clone(), file.stated_fingerprint())
    };
    let (sums, stated) = file(&text);
    assert_eq!((sums.segments, sums.samples()), (2, 8192));
    let fingerprint = Fingerprint::of(&submission(1, 1).campaign, &sums.tally);
    assert_eq!(stated, Some(fingerprint));

    let counts = [
        ("cells", changed(&[("1:3687", "0:1,1:3686")])),
        ("depths", changed(&[("0:407,", "0:406,1:1,")])),
        ("the number of samples", {
            let (head, tail) = text.split_at(text.rfind("segment\t1\t").unwrap());
            let head = head.replacen("samples\t12288", "samples\t8191", 1);
            let mut cells = tail.split(['\t', ',']);
            let cell = cells.find(|it| it.starts_with("1:")).unwrap();
            let count: u64 = cell[2..].parse().unwrap();
            let tail = tail
                .replacen(cell, &format!("1:{}", count - 1), 1)
                .replacen("\t4096\t", "\t4095\t", 1);
            format!("{head}{tail}").replacen("\t8192\t", "\t8191\t", 1)
        }),
    ];
    for (what, text) in counts {
        let error = error_of(&text);
        let FileError::Fingerprint {
            line: 21,
            stated,
            counted,
        } = &error
        else {
            panic!("{what}: {error}")
        };
        assert_eq!(*stated, fingerprint, "{what}");
        let said = error.to_string();
        assert!(said.contains(&stated.to_string()), "{said}");
        assert!(said.contains(&counted.to_string()), "{said}");
    }

    // What leaves the fingerprint as it is.
    let lines: Vec<&str> = text.lines().collect();
    let cells = |line: &str| line.split('\t').nth(3).unwrap().to_owned();
    let mut exchanged: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    for (line, other) in [(14, 17), (17, 14)] {
        exchanged[line] = exchanged[line].replacen(&cells(lines[line]), &cells(lines[other]), 1);
    }
    let exchanged = exchanged.join("\n") + "\n";
    assert_ne!(exchanged, text);
    let others = [
        ("counts between segments", exchanged),
        (
            "a witness",
            changed(&[("witness\tunreachable\t0\t3", "witness\tunreachable\t0\t4")]),
        ),
        (
            "a witness fewer",
            changed(&[(&format!("{}\n", lines[15]), "")]),
        ),
        (
            "a build",
            changed(&[("build\t0\ttest 1", "build\t0\ttest 2")]),
        ),
        (
            "how many are wanted",
            changed(&[("samples\t12288", "samples\t12289")]),
        ),
        ("a self-test", changed(&[(&format!("{}\n", lines[12]), "")])),
    ];
    for (what, text) in others {
        let error = error_of(&text);
        assert!(
            matches!(error, FileError::Checksum { .. }),
            "{what}: {error}"
        );
    }

    // Files of builds from before fingerprints are read.
    let before = changed(&[(&format!("{}\n", lines[20]), "")]);
    assert_eq!(file(&before), (sums.clone(), None));
    // The dates are the ledger's, and differ from one to the next.
    let dated = changed(&[("submitted\t2", "submitted\t1")]);
    assert_eq!(file(&dated), (sums.clone(), Some(fingerprint)));
    // And so are files that passed through other systems.
    let carried = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(file(&carried), (sums, Some(fingerprint)));
}

/// Earlier builds know segments, witnesses, builds and `end`. A line of any other kind is an error to them,
/// and so is a build out of turn.
#[tokio::test]
async fn earlier_builds_can_read_it() {
    let text = two_segments().await;
    let mut builds = 0;
    for line in text.lines().skip(13) {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[0] {
            "build" => {
                assert_eq!(fields[1], builds.to_string());
                assert_eq!(fields.len(), 3);
                builds += 1;
            }
            word => assert!(["segment", "witness", "end"].contains(&word), "{line}"),
        }
    }
    assert_eq!(builds, 2);
}

/// A worker names its build as it likes.
#[tokio::test]
async fn a_build_that_is_named_like_a_check_is_a_build() {
    let (_folder, ledger) = fresh().await;
    let (campaign, _) = ledger.submit(&submission(1, 4096)).await.unwrap();
    for build in ["kazoe-check/1 ", "kazoe-check/1 fingerprint=00 lines=00"] {
        let who = Who {
            build: build.to_owned(),
            ..owner(build)
        };
        let one = [delivery(0, 4096)];
        ledger.import(&campaign.id, &who, &one).await.unwrap();
        let text = text_of(&ledger, &campaign).await;
        let entry = LedgerFile::open(text.as_bytes()).unwrap().next();
        assert!(entry.unwrap().unwrap().build.starts_with("kazoe-check/1 "));
        let (_other_folder, other) = fresh().await;
        assert_eq!(import(&other, &text).await.unwrap().accepted, 1);
    }
}

/// A refused or interrupted import leaves a ledger as it was, whether it has the campaign or not.
#[tokio::test]
async fn all_of_a_file_is_taken_or_nothing() {
    let (_folder, ledger) = fresh().await;
    let campaign = fill(&ledger).await;
    let text = text_of(&ledger, &campaign).await;
    let wrong_end = text.replacen("\nend\t699\t", "\nend\t698\t", 1);
    assert_ne!(wrong_end, text);
    let last = text.rfind("\nsegment\t700\t").unwrap();
    let wrong_last = format!("{}{}", &text[..last], text[last..].replacen(":", ":1", 1));
    let cut_short = text[..last + 1].to_owned();
    let counts_moved = text.replacen("\t9\t1:9\t", "\t9\t0:1,1:8\t", 1);
    assert_ne!(counts_moved, text);

    let (_empty_folder, empty) = fresh().await;
    let (_shorter_folder, shorter) = fresh().await;
    let mut fewer = submission(1, 4096 + 1);
    fewer.campaign.cap = Some(5);
    let (record, _) = shorter.submit(&fewer).await.unwrap();
    let one = [delivery(0, 4096), delivery(1, 1)];
    shorter.import(&record.id, &owner("a"), &one).await.unwrap();
    let (_longer_folder, longer) = fresh().await;
    let mut pieces = submission(1, 4096);
    pieces.campaign.cap = Some(5);
    pieces.cut.segment_blocks = 2;
    longer.submit(&pieces).await.unwrap();

    let record = shorter.campaign(&record.id).await.unwrap();
    let before = shorter.snapshot(&record.id).await.unwrap();
    let mut refused = Vec::new();
    for wrong in [&wrong_end, &wrong_last, &cut_short, &counts_moved] {
        for ledger in [&empty, &shorter] {
            refused.push(import(ledger, wrong).await);
        }
    }
    for steps in [0, 1, 3, 4] {
        let mut asked = 0;
        let go_on = |step| {
            asked += 1;
            // The last step is the one that cannot be undone.
            steps >= asked && step == Step::Taking
        };
        refused.push(import_while(&empty, &text, go_on).await);
        asked = 0;
        let go_on = |step| {
            asked += 1;
            steps >= asked && step == Step::Taking
        };
        refused.push(import_while(&shorter, &text, go_on).await);
    }
    assert!(refused.iter().all(Result::is_err), "{refused:?}");
    assert!(empty.campaigns().await.unwrap().is_empty());
    assert_eq!(shorter.campaign(&record.id).await.unwrap(), record);
    assert_eq!(shorter.snapshot(&record.id).await.unwrap(), before);
    assert_sound(&shorter, &record).await;
    // The refused file asks for more samples; the campaign is not extended by it either.
    let piecewise = longer.campaigns().await.unwrap();
    assert!(matches!(
        import(&longer, &text).await,
        Err(ImportError::SegmentSize { file: 1, ledger: 2 })
    ));
    assert_eq!(longer.campaigns().await.unwrap(), piecewise);

    // The ledgers are usable, and the file is whole.
    assert_eq!(import(&empty, &text).await.unwrap().accepted, 699);
    let done = import(&shorter, &text).await.unwrap();
    assert_eq!((done.accepted, done.audited), (698, 1));
    assert_sound(&shorter, &done.campaign).await;
}

#[tokio::test]
async fn a_file_appears_whole_or_not_at_all() {
    let (folder, ledger) = fresh().await;
    let campaign = fill(&ledger).await;
    let path = folder.path().join("mini.ledger.tsv");
    export_to_path(&ledger, &campaign.id, &path).await.unwrap();
    let text = text_of(&ledger, &campaign).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);

    let unknown = export_to_path(&ledger, "0123456789", &path).await;
    assert!(matches!(unknown, Err(ExportError::Ledger(_))));
    let nowhere = folder.path().join("nowhere/x.ledger.tsv");
    let error = export_to_path(&ledger, &campaign.id, &nowhere).await;
    assert!(matches!(error, Err(ExportError::Path { .. })));
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        text,
        "what was there stays"
    );
    let mut left: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.retain(|name| !name.starts_with("kazoe.db"));
    assert_eq!(left, ["mini.ledger.tsv"]);
}
