//! `NAME.ledger.tsv`: what goes out comes back in, and what is wrong is told by line and field.

use std::io;
use std::time::Duration;

use kazoe_common::census::{Segment, Witness};
use kazoe_coordinator::ledger::{
    AcceptedSegment, CampaignRecord, Ledger, SqliteLedger, Submitted, Who,
};
use kazoe_coordinator::ledger_file::{
    ExportError, FileError, ImportError, LedgerFile, export, export_to_path, import,
};

use crate::made_up::{
    assert_sound, deliveries, delivery, operator, owner, submission, wrong_delivery,
};
use crate::sqlite::fresh;

const SAMPLES: u64 = 700 * 4096 + 9;

/// A campaign with gaps, two builds and a disputed segment, 3.
async fn fill(ledger: &SqliteLedger) -> CampaignRecord {
    let mut submission = submission(1, SAMPLES);
    submission.campaign.cap = Some(5);
    let (campaign, _) = ledger.submit(&submission).await.unwrap();
    let later = Who {
        build: "test 2".to_owned(),
        ..owner("b")
    };
    for (who, segments) in [
        (&owner("a"), vec![0, 1, 2, 3, 5]),
        (&later, (6..700).collect()),
        (&owner("a"), vec![700]),
    ] {
        let all: Vec<_> = segments
            .into_iter()
            .map(|segment| delivery(segment, campaign.cut.samples_of(segment)))
            .collect();
        ledger.import(&campaign.id, who, &all).await.unwrap();
    }
    ledger
        .import(&campaign.id, &later, &[wrong_delivery(3, 4096)])
        .await
        .unwrap();
    campaign
}

async fn text_of(ledger: &SqliteLedger, campaign: &CampaignRecord) -> String {
    let mut text = Vec::new();
    export(ledger, &campaign.id, &mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}

/// What a recheck needs of each segment.
async fn content(ledger: &SqliteLedger, id: &str) -> (Vec<AcceptedSegment>, Vec<Witness>) {
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
    let self_tests = submission(1, 1).self_tests;
    let done = import(&other, &owner("c"), file, self_tests.clone())
        .await
        .unwrap();
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
    let file = LedgerFile::open(text.as_bytes()).unwrap();
    let again = import(&other, &owner("c"), file, self_tests.clone())
        .await
        .unwrap();
    assert_eq!((again.accepted, again.repeated, again.audited), (0, 699, 0));
    let file = LedgerFile::open(text.as_bytes()).unwrap();
    let home = import(&ledger, &owner("c"), file, self_tests)
        .await
        .unwrap();
    assert_eq!((home.accepted, home.audited), (0, 699));

    // The rest can be computed here.
    let hold = Duration::from_secs(60);
    let id = &campaign.id;
    while let Some(lease) = other.claim(id, &operator(), 100, hold).await.unwrap() {
        other
            .deliver(lease.token, &deliveries(&lease))
            .await
            .unwrap();
    }
    assert!(other.snapshot(id).await.unwrap().is_complete());
    assert_sound(&other, &done.campaign).await;
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
    let self_tests = submission(1, 1).self_tests;

    let (_longer_folder, longer) = fresh().await;
    let mut more = submission(1, SAMPLES + 4096);
    more.campaign.cap = Some(5);
    let (record, _) = longer.submit(&more).await.unwrap();
    let file = LedgerFile::open(text.as_bytes()).unwrap();
    let done = import(&longer, &owner("c"), file, self_tests.clone())
        .await
        .unwrap();
    assert_eq!((done.accepted, done.stale), (698, 1));
    assert_sound(&longer, &record).await;

    let (_other_folder, other) = fresh().await;
    more.cut.segment_blocks = 2;
    other.submit(&more).await.unwrap();
    let file = LedgerFile::open(text.as_bytes()).unwrap();
    let refused = import(&other, &owner("c"), file, self_tests).await;
    assert!(matches!(
        refused,
        Err(ImportError::SegmentSize { file: 1, ledger: 2 })
    ));

    let (_third_folder, third) = fresh().await;
    let mut odd = submission(1, 1).self_tests;
    odd[0].tally = wrong_delivery(0, 4096).tally;
    let file = LedgerFile::open(text.as_bytes()).unwrap();
    let refused = import(&third, &owner("c"), file, odd).await;
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
    assert_eq!(lines.len(), 21, "{text}");
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
        (21, "end\t2", "end\t3", "segments"),
        (21, "\t8192\t", "\t8191\t", "samples"),
        (21, "end", "END", "line"),
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
    let twice = error_of(&format!("{text}{}\n", lines[20]));
    assert!(
        matches!(twice, FileError::Field { line: 22, .. }),
        "{twice}"
    );
    let endless = io::repeat(b'x');
    let error = LedgerFile::open(io::BufReader::new(endless)).unwrap_err();
    assert!(matches!(error, FileError::CutShort { line: 1 }), "{error}");
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
