//! Whole runs on a real ledger with the real census, small.

use std::ops::Range;
use std::sync::Arc;

use kazoe_common::census::{BLOCK, Campaign, Counter, Cut, Outcome, Segment, SegmentResult, Tally};
use kazoe_common::game::Variant;
use kazoe_coordinator::ledger::{CampaignRecord, Ledger, LocalStore, Submitted, Who};
use kazoe_coordinator::ledger_file::{LedgerFile, export};
use kazoe_worker::count::Count;
use kazoe_worker::stop::Stop;

use super::verify::Checker;
use super::{begin, run, who};

const CAMPAIGN: Campaign = Campaign::new(&Variant::MINISHOGI, 1);

fn census() -> Arc<Counter> {
    Arc::new(Counter::new(&CAMPAIGN).unwrap())
}

/// Segments of one block.
fn cut(samples: u64) -> Cut {
    Cut::new(samples, 1).unwrap()
}

fn serial(census: &Counter, samples: u64) -> Tally {
    let cut = cut(samples);
    let mut sum = Tally::default();
    for segment in 0..cut.segments() {
        sum.merge(&Count::block(census, segment, cut.samples_of(segment)).0);
    }
    sum
}

fn all(campaign: &CampaignRecord) -> Range<Segment> {
    0..campaign.cut.segments()
}

async fn open(folder: &tempfile::TempDir) -> LocalStore {
    LocalStore::open(&folder.path().join("kazoe.db"))
        .await
        .unwrap()
}

#[tokio::test]
async fn stopped_resumed_and_extended_it_is_the_serial_run() {
    let folder = tempfile::tempdir().unwrap();
    let census = census();
    let ledger = open(&folder).await;
    let (campaign, how) = begin(&ledger, CAMPAIGN, cut(3 * BLOCK + 7), &census)
        .await
        .unwrap();
    assert_eq!(how, Submitted::New);
    let stop = Arc::new(Stop::new());
    stop.request();
    let (summary, snapshot) = run(
        &ledger,
        &campaign,
        census.clone(),
        all(&campaign),
        2,
        stop,
        |_, _| {},
    )
    .await
    .unwrap();
    assert!(summary.stopped && !snapshot.is_complete());

    ledger.close().await.unwrap();
    let ledger = open(&folder).await;
    for (samples, expected) in [
        (3 * BLOCK + 7, Submitted::Existing),
        (
            5 * BLOCK,
            Submitted::Extended {
                from: 3 * BLOCK + 7,
            },
        ),
        (9, Submitted::Fewer { asked: 9 }),
    ] {
        let (campaign, how) = begin(&ledger, CAMPAIGN, cut(samples), &census)
            .await
            .unwrap();
        assert_eq!(how, expected);
        let mut told = 0;
        let tell = |_: &_, _: &_| told += 1;
        let (summary, snapshot) = run(
            &ledger,
            &campaign,
            census.clone(),
            all(&campaign),
            2,
            Arc::new(Stop::new()),
            tell,
        )
        .await
        .unwrap();
        assert!(snapshot.is_complete() && !summary.stopped && told > 0);
        assert_eq!(snapshot.prefix.tally, serial(&census, campaign.cut.samples));
        assert!(ledger.missing(&campaign.id).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn verification_finds_what_is_wrong_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let census = census();
    let ledger = open(&folder).await;
    let cut = cut(6 * BLOCK);
    let (campaign, _) = begin(&ledger, CAMPAIGN, cut, &census).await.unwrap();
    // Somebody moved one count and kept the sums.
    let (mut tally, witnesses) = Count::block(&*census, 4, BLOCK);
    *tally.cells.get_mut(&(Outcome::Reachable as u32)).unwrap() -= 1;
    *tally.cells.get_mut(&(Outcome::Mirrored as u32)).unwrap() += 1;
    let wrong = SegmentResult {
        segment: 4,
        samples: BLOCK,
        tally: tally.clone(),
        witnesses,
        cpu: None,
    };
    let other = Who {
        owner: "other".to_owned(),
        ..who()
    };
    ledger.import(&campaign.id, &other, &[wrong]).await.unwrap();
    let stop = || Arc::new(Stop::new());
    run(
        &ledger,
        &campaign,
        census.clone(),
        all(&campaign),
        2,
        stop(),
        |_, _| {},
    )
    .await
    .unwrap();
    let before = ledger.snapshot(&campaign.id).await.unwrap();
    assert!(before.is_complete());

    let checker =
        |share, seed| Checker::start(census.clone(), cut, 2, share, seed, stop()).unwrap();
    let all = checker(1.0, 1).ledger(&ledger, &campaign).await.unwrap();
    assert_eq!((all.segments, all.checked, all.samples), (6, 6, 6 * BLOCK));
    assert_eq!(all.differences.len(), 1);
    assert_eq!(all.differences[0].segment, 4);
    assert_eq!(all.differences[0].stored, tally);
    assert_eq!(all.differences[0].computed, census.block(4, BLOCK).tally);
    assert!(!all.differences[0].witnesses);

    let mut text = Vec::new();
    export(&ledger, &campaign.id, &mut text).await.unwrap();
    let file = || LedgerFile::open(text.as_slice()).unwrap();
    assert_eq!(checker(1.0, 1).file(file()).await.unwrap(), all);

    // One at least is computed again, and the seed alone tells which.
    let mut which = Vec::new();
    for seed in 0..40 {
        let one = checker(0.0, seed).ledger(&ledger, &campaign).await.unwrap();
        assert_eq!((one.segments, one.checked), (6, 1));
        assert_eq!(checker(0.0, seed).file(file()).await.unwrap(), one);
        which.push(one.differences.len());
    }
    assert!(which.contains(&0) && which.contains(&1));
    assert_eq!(ledger.snapshot(&campaign.id).await.unwrap(), before);
}
