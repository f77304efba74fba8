//! Any interleaving of claims, deliveries and endings, against a model.

use kazoe_coordinator::leasing::{
    DisputedSegment, Effect, Millis, Purpose, SegmentLog, Stock, choose, compare,
};
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use proptest::{collection, sample};

use crate::received;

const SEGMENTS: u64 = 6;

const OWNERS: [&str; 3] = ["a", "b", "c"];

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
    segment_log: SegmentLog,
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
            segment_log: SegmentLog {
                samples: 10,
                ..SegmentLog::default()
            },
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
            if cell.segment_log.disputed {
                stock.disputed.push(DisputedSegment {
                    segment,
                    owners: cell
                        .segment_log
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
                        cell.segment_log.accepted, None,
                        "an accepted segment is not filled"
                    );
                    assert_ne!(cell.filler, Some(lease), "it is lent once");
                    cell.filler = Some(lease);
                    cell.returned = false;
                }
                Purpose::Resolve => {
                    assert!(cell.segment_log.disputed);
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
        let comparison = compare(&cell.segment_log, &arriving);
        if comparison.log {
            cell.segment_log.earlier.push(arriving);
        }
        if cell.resolver == Some(lease) {
            cell.resolver = None;
        }
        match comparison.effect {
            Effect::None => {}
            Effect::Accept => {
                assert_eq!(cell.segment_log.accepted, None, "I1");
                cell.segment_log.accepted = Some(cell.segment_log.earlier.len() - 1);
                cell.filler = None;
                cell.returned = false;
            }
            Effect::Dispute => cell.segment_log.disputed = true,
            Effect::Settle { stands, .. } => {
                cell.segment_log.accepted = Some(stands);
                cell.segment_log.disputed = false;
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
                cell.segment_log.accepted.is_some(),
                cell.filler.is_some(),
                cell.returned,
                segment >= self.frontier,
            ];
            let count = places.into_iter().filter(|&stands| stands).count();
            assert_eq!(count, 1, "segment {segment}: {cell:?}");
            assert!(!cell.segment_log.disputed || cell.segment_log.accepted.is_some());
        }
    }
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
            assert!(cell.segment_log.accepted.is_some() && !cell.segment_log.disputed, "{cell:?}");
        }
    }
}
