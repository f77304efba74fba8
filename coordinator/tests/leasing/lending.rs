//! What a claim gets.

use std::time::Duration;

use kazoe_coordinator::leasing::{
    DisputedSegment, Loss, Millis, Purpose, Stock, choose, hopeless, is_audited, size,
};

#[test]
fn leases_follow_the_speed_and_the_end() {
    let lease = Duration::from_secs(20);
    // 20 seconds of 10,000 samples a second are 48 segments of 4,096.
    assert_eq!(size(Some(10_000), 4096, lease, 1 << 40, 3), 48);
    assert_eq!(size(None, 4096, lease, 1 << 40, 3), 2);
    assert_eq!(size(Some(1), 4096, lease, 1 << 40, 3), 1);
    assert_eq!(size(Some(1 << 50), 4096, lease, 1 << 40, 3), 4096);
    // 60 are left for three: ten each for now.
    assert_eq!(size(Some(10_000), 4096, lease, 60, 3), 10);
    assert_eq!(size(Some(10_000), 4096, lease, 1, 3), 1);
    assert_eq!(size(Some(10_000), 4096, lease, 0, 0), 1);
}

/// An accepted segment with a tally of this owner's, to be audited or disputed.
fn known(segment: u64, owner: &str, lent_until: Option<Millis>) -> DisputedSegment {
    DisputedSegment {
        segment,
        owners: vec![owner.to_owned()],
        lent_until,
    }
}

#[test]
fn what_was_lost_is_lent_alone() {
    let stock = Stock {
        returned: vec![3, 5],
        lent: vec![(7, 10), (8, 99)],
        unleased: vec![20, 21],
        lost: [5, 7].into(),
        ..Stock::default()
    };
    let fill =
        |segments: &[u64]| -> Vec<_> { segments.iter().map(|&one| (one, Purpose::Fill)).collect() };
    // The first is not lost: those that are wait for another claim.
    assert_eq!(choose(&stock, "a", false, 50, 9), fill(&[3, 20, 21]));
    let stock = Stock {
        returned: vec![5],
        ..stock
    };
    assert_eq!(choose(&stock, "a", false, 50, 9), fill(&[5]));
    let stock = Stock {
        returned: Vec::new(),
        ..stock
    };
    assert_eq!(choose(&stock, "a", false, 50, 9), fill(&[7]));
    assert_eq!(choose(&stock, "a", false, 5, 9), fill(&[20, 21]));
    assert_eq!(choose(&stock, "a", false, 50, 0), fill(&[]));
}

#[test]
fn three_workers_lost_over_a_segment_alone_are_enough() {
    let loss = |segment, worker: &str, alone| Loss {
        segment,
        worker: worker.to_owned(),
        alone,
    };
    let mut losses = vec![
        // The first loss of a segment is bad luck, alone or not.
        loss(0, "a", true),
        loss(0, "b", true),
        loss(0, "c", true),
        // One worker again and again.
        loss(1, "a", true),
        loss(1, "a", true),
        loss(1, "a", true),
        // Three, but once among other segments.
        loss(2, "a", false),
        loss(2, "b", true),
        loss(2, "c", true),
    ];
    assert!(hopeless(&losses).is_empty());
    losses.push(loss(2, "d", true));
    let given_up = hopeless(&losses);
    assert_eq!(given_up.keys().copied().collect::<Vec<_>>(), [2]);
    let workers = ["b", "c", "d"].map(str::to_owned);
    assert_eq!(given_up[&2], workers.into());
    let mut stock = Stock {
        returned: vec![1, 2],
        lent: vec![(2, 0), (3, 0)],
        ..Stock::default()
    };
    stock.leave_out(&given_up);
    assert_eq!((stock.returned, stock.lent), (vec![1], vec![(3, 0)]));
}

#[test]
fn audits_go_to_other_owners_and_hold_nobody_up() {
    let audit = |segment| (segment, Purpose::Audit);
    let fill = |segment| (segment, Purpose::Fill);
    let mut stock = Stock {
        unleased: (50..80).collect(),
        audits: vec![
            known(1, "a", None),
            known(2, "b", None),
            known(3, "b", Some(100)),
        ],
        ..Stock::default()
    };
    // A tenth of a lease of several segments.
    let chosen = choose(&stock, "a", false, 50, 4);
    assert_eq!(chosen, [audit(2), fill(50), fill(51), fill(52)]);
    assert_eq!(choose(&stock, "a", false, 50, 1), [fill(50)]);
    assert_eq!(choose(&stock, "b", false, 50, 2), [audit(1), fill(50)]);
    assert_eq!(
        choose(&stock, "c", false, 200, 30)[..3],
        [audit(1), audit(2), audit(3)]
    );
    // Where there is nothing else to do, all of it.
    stock.unleased.clear();
    assert_eq!(choose(&stock, "c", false, 50, 4), [audit(1), audit(2)]);
    assert_eq!(
        choose(&stock, "c", false, 100, 4),
        [audit(1), audit(2), audit(3)]
    );
    assert_eq!(choose(&stock, "b", true, 50, 4), [audit(1), audit(2)]);
}

#[test]
fn a_share_of_the_segments_is_audited() {
    let chosen = |salt: u8, millionths| {
        let chosen = (0..10_000).filter(|&segment| is_audited(&[salt; 16], segment, millionths));
        chosen.collect::<Vec<u64>>()
    };
    assert!(chosen(1, 0).is_empty());
    assert_eq!(chosen(1, 1_000_000).len(), 10_000);
    let (one, other) = (chosen(1, 10_000), chosen(2, 10_000));
    assert_ne!(one, other);
    // 100 are expected, with a standard deviation of 10; the salts stand here.
    assert!((60..140).contains(&one.len()), "{}", one.len());
    // Who is audited at 1% is audited at 2% as well.
    let more = chosen(1, 20_000);
    assert!(one.iter().all(|segment| more.contains(segment)));
}
