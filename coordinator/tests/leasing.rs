//! The lease decisions without a database: whatever the interleaving, each segment is accepted at most
//! once (I1), stands in one place (I6), and the campaign ends.

use std::time::Duration;

use kazoe_common::census::{Digest, Tally};
use kazoe_coordinator::leasing::{
    DisputedSegment, Docket, Effect, Loss, Millis, Purpose, Received, Stock, Verdict, choose,
    hopeless, is_audited, judge, size,
};
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use proptest::{collection, sample};

const SEGMENTS: u64 = 6;
const OWNERS: [&str; 3] = ["a", "b", "c"];

/// A tally with the value 0 (the true one) or another.
fn tally(value: u8) -> Tally {
    Tally {
        digest: Digest(u128::from(value)),
        ..Tally::default()
    }
}

fn received(owner: &str, lease: Option<i64>, value: u8) -> Received {
    Received {
        owner: owner.to_owned(),
        operator: false,
        lease,
        samples: 10,
        tally: tally(value),
    }
}

fn docket(earlier: &[(&str, u8)], disputed: bool) -> Docket {
    Docket {
        samples: 10,
        earlier: earlier
            .iter()
            .zip(1..)
            .map(|(&(owner, value), lease)| received(owner, Some(lease), value))
            .collect(),
        accepted: (!earlier.is_empty()).then_some(0),
        disputed,
    }
}

/// What is in the log, whether it is disputed, what arrives, and the answer.
type Case<'a> = (&'a [(&'a str, u8)], bool, (&'a str, u8), Verdict, Effect);

#[test]
fn a_tally_is_judged_by_what_is_there() {
    let cases: [Case<'_>; 9] = [
        (&[], false, ("a", 0), Verdict::Accepted, Effect::Accept),
        (&[("a", 0)], false, ("a", 0), Verdict::Repeat, Effect::None),
        (&[("a", 0)], false, ("b", 0), Verdict::Audit, Effect::None),
        (
            &[("a", 0)],
            false,
            ("a", 1),
            Verdict::Disputed,
            Effect::Dispute,
        ),
        (
            &[("a", 0)],
            false,
            ("b", 1),
            Verdict::Disputed,
            Effect::Dispute,
        ),
        (
            &[("a", 0), ("b", 1)],
            true,
            ("c", 2),
            Verdict::Disputed,
            Effect::None,
        ),
        (
            &[("a", 0), ("b", 1)],
            true,
            ("b", 1),
            Verdict::Disputed,
            Effect::None,
        ),
        (
            &[("a", 0), ("b", 1)],
            true,
            ("c", 1),
            Verdict::Disputed,
            Effect::Settle {
                stands: 1,
                by_operator: false,
            },
        ),
        // Two already agree: a third that differs moves nothing for good.
        (
            &[("a", 0), ("b", 0)],
            false,
            ("c", 1),
            Verdict::Disputed,
            Effect::Settle {
                stands: 0,
                by_operator: false,
            },
        ),
    ];
    for (earlier, disputed, (owner, value), verdict, effect) in cases {
        let ruling = judge(
            &docket(earlier, disputed),
            &received(owner, Some(99), value),
        );
        assert_eq!(
            (ruling.verdict, ruling.effect, ruling.log),
            (verdict, effect, true),
            "{earlier:?} {owner} {value}"
        );
    }
}

#[test]
fn two_against_two_waits_for_the_operator() {
    let docket = docket(&[("a", 0), ("b", 1), ("c", 0)], true);
    let even = judge(&docket, &received("d", Some(99), 1));
    assert_eq!(even.effect, Effect::None);
    let operator = Received {
        operator: true,
        ..received("op", Some(99), 1)
    };
    let settled = judge(&docket, &operator);
    let by_operator = true;
    assert_eq!(
        settled.effect,
        Effect::Settle {
            stands: 1,
            by_operator
        }
    );
    let own = Received {
        tally: tally(7),
        ..operator
    };
    let settled = judge(&docket, &own);
    assert_eq!(
        settled.effect,
        Effect::Settle {
            stands: 3,
            by_operator
        }
    );
    assert!(settled.log, "what stands is in the log");
}

#[test]
fn what_is_sent_again_under_one_token_is_logged_once() {
    let docket = docket(&[("a", 0), ("b", 1)], false);
    let same = judge(&docket, &received("a", Some(1), 0));
    assert_eq!((same.verdict, same.log), (Verdict::Repeat, false));
    let loser = judge(&docket, &received("b", Some(2), 1));
    assert_eq!(
        (loser.verdict, loser.log, loser.effect),
        (Verdict::Disputed, false, Effect::None)
    );
}

#[test]
fn another_number_of_samples_is_stale_and_not_compared() {
    let docket = docket(&[("a", 0)], false);
    let stale = Received {
        samples: 9,
        ..received("b", None, 5)
    };
    let ruling = judge(&docket, &stale);
    assert_eq!(
        (ruling.verdict, ruling.effect),
        (Verdict::Stale, Effect::None)
    );
}

#[derive(Clone, Debug)]
enum Step {
    Claim {
        owner: usize,
        want: usize,
        hold: Millis,
    },
    Deliver {
        lease: usize,
        place: usize,
        value: u8,
    },
    End {
        lease: usize,
    },
    Wait(Millis),
}

fn step() -> impl Strategy<Value = Step> {
    let value = prop_oneof![4 => Just(0u8), 1 => 1u8..3];
    prop_oneof![
        (0..OWNERS.len(), 1..4usize, 0..20 as Millis).prop_map(|(owner, want, hold)| Step::Claim {
            owner,
            want,
            hold
        }),
        (0..8usize, 0..4usize, value).prop_map(|(lease, place, value)| Step::Deliver {
            lease,
            place,
            value
        }),
        (0..8usize).prop_map(|lease| Step::End { lease }),
        sample::select(vec![1, 5, 30]).prop_map(Step::Wait),
    ]
}

/// One segment of the model.
#[derive(Clone, Debug, Default)]
struct Cell {
    docket: Docket,
    /// The lease that is to fill it.
    filler: Option<usize>,
    /// The lease that is to resolve it.
    resolver: Option<usize>,
    returned: bool,
}

#[derive(Debug)]
struct LeaseOfModel {
    owner: &'static str,
    deadline: Millis,
    lent: Vec<u64>,
}

/// Carries out the decisions as a database does.
#[derive(Debug, Default)]
struct Model {
    now: Millis,
    frontier: u64,
    cells: Vec<Cell>,
    leases: Vec<LeaseOfModel>,
}

impl Model {
    fn new() -> Self {
        let cell = Cell {
            docket: docket(&[], false),
            ..Cell::default()
        };
        Model {
            cells: vec![cell; usize::try_from(SEGMENTS).unwrap()],
            ..Model::default()
        }
    }

    fn cell(&mut self, segment: u64) -> &mut Cell {
        &mut self.cells[usize::try_from(segment).unwrap()]
    }

    fn stock(&self) -> Stock {
        let mut stock = Stock {
            unleased: (self.frontier..SEGMENTS).collect(),
            ..Stock::default()
        };
        for (cell, segment) in self.cells.iter().zip(0..) {
            if cell.returned {
                stock.returned.push(segment);
            }
            if let Some(lease) = cell.filler {
                stock.lent.push((segment, self.leases[lease].deadline));
            }
            if cell.docket.disputed {
                stock.disputed.push(DisputedSegment {
                    segment,
                    owners: cell
                        .docket
                        .earlier
                        .iter()
                        .map(|one| one.owner.clone())
                        .collect(),
                    lent_until: cell.resolver.map(|lease| self.leases[lease].deadline),
                });
            }
        }
        stock
    }

    fn claim(&mut self, owner: &'static str, want: usize, hold: Millis) -> usize {
        let chosen = choose(&self.stock(), owner, false, self.now, want);
        assert!(chosen.len() <= want);
        let lease = self.leases.len();
        for &(segment, purpose) in &chosen {
            self.frontier = self.frontier.max(segment + 1);
            let cell = self.cell(segment);
            match purpose {
                Purpose::Audit => unreachable!("the model has none"),
                Purpose::Fill => {
                    assert_eq!(
                        cell.docket.accepted, None,
                        "an accepted segment is not filled"
                    );
                    assert_ne!(cell.filler, Some(lease), "it is lent once");
                    cell.filler = Some(lease);
                    cell.returned = false;
                }
                Purpose::Resolve => {
                    assert!(cell.docket.disputed);
                    cell.resolver = Some(lease);
                }
            }
        }
        self.leases.push(LeaseOfModel {
            owner,
            deadline: self.now + hold,
            lent: chosen.iter().map(|&(segment, _)| segment).collect(),
        });
        lease
    }

    fn deliver(&mut self, lease: usize, segment: u64, value: u8) {
        let arriving = received(
            self.leases[lease].owner,
            Some(i64::try_from(lease).unwrap()),
            value,
        );
        let cell = self.cell(segment);
        let ruling = judge(&cell.docket, &arriving);
        if ruling.log {
            cell.docket.earlier.push(arriving);
        }
        if cell.resolver == Some(lease) {
            cell.resolver = None;
        }
        match ruling.effect {
            Effect::None => {}
            Effect::Accept => {
                assert_eq!(cell.docket.accepted, None, "I1");
                cell.docket.accepted = Some(cell.docket.earlier.len() - 1);
                cell.filler = None;
                cell.returned = false;
            }
            Effect::Dispute => cell.docket.disputed = true,
            Effect::Settle { stands, .. } => {
                cell.docket.accepted = Some(stands);
                cell.docket.disputed = false;
                cell.resolver = None;
            }
        }
    }

    fn end(&mut self, lease: usize) {
        for cell in &mut self.cells {
            if cell.filler == Some(lease) {
                cell.filler = None;
                cell.returned = true;
            }
            if cell.resolver == Some(lease) {
                cell.resolver = None;
            }
        }
    }

    /// I6: each segment stands in one place.
    fn check(&self) {
        for (cell, segment) in self.cells.iter().zip(0..) {
            let places = [
                cell.docket.accepted.is_some(),
                cell.filler.is_some(),
                cell.returned,
                segment >= self.frontier,
            ];
            let count = places.into_iter().filter(|&stands| stands).count();
            assert_eq!(count, 1, "segment {segment}: {cell:?}");
            assert!(!cell.docket.disputed || cell.docket.accepted.is_some());
        }
    }
}

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

proptest! {
    #[test]
    fn any_interleaving_keeps_the_invariants_and_ends(steps in collection::vec(step(), 0..60)) {
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Claim { owner, want, hold } => {
                    model.claim(OWNERS[owner], want, hold);
                }
                Step::Deliver { lease, place, value } if lease < model.leases.len() => {
                    if let Some(&segment) = model.leases[lease].lent.get(place) {
                        model.deliver(lease, segment, value);
                    }
                }
                Step::End { lease } if lease < model.leases.len() => model.end(lease),
                Step::Deliver { .. } | Step::End { .. } => {}
                Step::Wait(time) => model.now += time,
            }
            model.check();
        }
        // Honest newcomers finish the campaign: nothing is lost and no dispute lasts.
        for newcomer in ["d", "e", "f", "g", "h"] {
            model.now += 1_000;
            let lease = model.claim(newcomer, 100, 10);
            for segment in model.leases[lease].lent.clone() {
                model.deliver(lease, segment, 0);
            }
            model.check();
        }
        for cell in &model.cells {
            assert!(cell.docket.accepted.is_some() && !cell.docket.disputed, "{cell:?}");
        }
    }
}
