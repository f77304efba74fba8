//! On boards so small that forward play can be followed to its end, what it reaches is the truth: the
//! reverse search has to say the same of every candidate, rank by rank. `KAZOE_TWIN_POSITIONS=1000000`
//! looks at all candidates of all boards.

mod twin;

use std::collections::HashSet;

use kazoe_common::census::{Arm, Funnel, Judge, Outcome, Verdict, published_search};
use kazoe_common::game::{Rules, Variant};
use kazoe_common::population::{Candidates, Rank};
use num_bigint::BigUint;
use twin::forward::Small;
use twin::reverse::Found;
use twin::rng::{TestRng, positions};
use twin::{Mailbox, Twin, ranks, tiny};

/// The most candidates that are all looked at; of a larger board that many random ones.
const ALL: usize = 120_000;

/// One in so many reachable candidates is searched by the twin too.
const SEARCHED: usize = 200;

/// What a board showed.
#[derive(Debug, Default)]
struct Seen {
    looked_at: usize,
    passed: usize,
    reachable: usize,
    /// Unreachable although a predecessor exists.
    deep: usize,
    deepest: u32,
}

struct Board {
    twin: Twin,
    rules: Rules<u64>,
    judge: Judge<u64>,
    reached: HashSet<Small>,
}

impl Board {
    fn new(variant: &'static Variant) -> Self {
        let twin = Twin::new(variant);
        let rules = Rules::new(variant);
        Board {
            twin,
            judge: Judge::new(&rules),
            rules,
            reached: twin.reached_from(&twin.kings_only()),
        }
    }

    /// Compares all that is said of a candidate, and gives its true outcome, the mirror left aside.
    fn look_at(&self, position: &Mailbox, seen: &mut Seen) -> Outcome {
        let (twin, rules) = (&self.twin, &self.rules);
        let sfen = twin.format(position);
        let fast = twin.write(rules, position);
        let is_reached = self.reached.contains(&twin.small(position));
        seen.looked_at += 1;
        if let Some(outcome) = twin.broken_rule(position) {
            assert!(!is_reached, "{sfen}");
            return outcome;
        }
        seen.passed += 1;
        let verdict = self.judge.verdict(&fast, None);
        if is_reached {
            assert_eq!(verdict, Verdict::Reachable, "{sfen}");
            seen.reachable += 1;
            let proof = self.judge.prove(&fast, None);
            assert_eq!(proof.verdict, verdict, "{sfen}");
            twin.replay(rules, &fast, &proof.path);
            if seen.reachable.is_multiple_of(SEARCHED) {
                let Found::Reachable { path, expansions } = twin.published_search(position) else {
                    panic!("{sfen}: the twin finds no way back");
                };
                let search = published_search(rules, &fast, None);
                assert_eq!(search.length(), path.len() as u64, "{sfen}");
                assert_eq!(search.expansions, expansions as u64, "{sfen}");
            }
            return Outcome::Reachable;
        }
        let Found::Unreachable { depth } = twin.published_search(position) else {
            panic!("{sfen}: the twin finds a way back, forward play none there");
        };
        assert_eq!(verdict, Verdict::Unreachable { depth }, "{sfen}");
        if depth > 0 {
            seen.deep += 1;
            seen.deepest = seen.deepest.max(depth);
        }
        Outcome::Unreachable
    }
}

/// Looks at all candidates of a board, or at many: ranks both ways, verdicts, depths, the funnel.
/// At least `least_deep` have to be unreachable although they have a predecessor.
#[expect(
    clippy::print_stdout,
    reason = "the numbers met are part of the answer"
)]
fn verdicts_are_the_truth(id: &str, least_deep: usize) {
    let variant = tiny::game(id);
    let board = Board::new(variant);
    let candidates = Candidates::new(variant).unwrap();
    let slow = ranks::Candidates::new(board.twin);
    assert_eq!(candidates.size(), &slow.size);
    let size = usize::try_from(&slow.size).unwrap();
    let number = positions(ALL);
    let mut rng = TestRng::seeded(size as u64);
    let mut seen = Seen::default();
    let (mut looked_at, mut outcomes) = (Vec::new(), Vec::new());
    for i in 0..size.min(number) {
        let rank = if size <= number { i } else { rng.number(size) };
        let position = slow.unrank(&BigUint::from(rank));
        let rank = Rank::from(rank as u64);
        let fast = candidates.unrank::<u64>(rank).unwrap();
        assert_eq!(board.twin.read(&fast), position, "{rank}");
        assert_eq!(candidates.rank(&fast), Ok(rank));
        let outcome = board.look_at(&position, &mut seen);
        looked_at.push(rank);
        outcomes.push(if board.twin.is_canonical(&position) {
            outcome as u8
        } else {
            Outcome::Mirrored as u8
        });
    }
    for arm in Arm::available() {
        let funnel = Funnel::with_arm(board.rules.clone(), candidates.clone(), arm);
        let mut found = vec![u8::MAX; looked_at.len()];
        funnel.ranks(&looked_at, &mut found, |_, position| {
            board.judge.rule_unfolded(position, None).outcome
        });
        assert_eq!(found, outcomes, "{arm}");
    }
    println!(
        "{}: {size} candidates, {} reached, {seen:?}",
        variant.id,
        board.reached.len()
    );
    assert!(seen.reachable > 0);
    assert!(seen.deep >= least_deep || number < ALL, "{seen:?}");
}

#[test]
fn verdicts_are_the_truth_on_3x3_pp_s() {
    verdicts_are_the_truth("3x3-pp-s", 1_400);
}

#[test]
fn verdicts_are_the_truth_on_3x3_ss_g() {
    verdicts_are_the_truth("3x3-ss-g", 1_200);
}

#[test]
fn verdicts_are_the_truth_on_3x3_s_r_b() {
    verdicts_are_the_truth("3x3-s-r-b", 1_500);
}

#[test]
fn verdicts_are_the_truth_on_3x3_p_rr() {
    verdicts_are_the_truth("3x3-p-rr", 800);
}

#[test]
fn verdicts_are_the_truth_on_3x4_p_g() {
    verdicts_are_the_truth("3x4-p-g", 50);
}

#[test]
fn verdicts_are_the_truth_on_3x4_n_r() {
    verdicts_are_the_truth("3x4-n-r", 200);
}

#[test]
fn verdicts_are_the_truth_on_4x3_p_s() {
    verdicts_are_the_truth("4x3-p-s", 250);
}

#[test]
fn verdicts_are_the_truth_on_4x3_b_l() {
    verdicts_are_the_truth("4x3-b-l", 250);
}

#[test]
fn verdicts_are_the_truth_on_2x4_p_g() {
    verdicts_are_the_truth("2x4-p-g", 300);
}

#[test]
fn verdicts_are_the_truth_on_5x2_ss_g() {
    verdicts_are_the_truth("5x2-ss-g", 300);
}

#[test]
fn verdicts_are_the_truth_on_5x3_p_b() {
    verdicts_are_the_truth("5x3-p-b", 120);
}

#[test]
fn verdicts_are_the_truth_on_4x4_p_r() {
    verdicts_are_the_truth("4x4-p-r", 80);
}

/// The initial position is reached from a KK position, reaches them all, and so reaches the same.
#[test]
fn the_start_and_the_kings_alone_reach_the_same() {
    for id in ["3x4-p-g", "3x4-n-r", "4x3-b-l", "3x3-ss-g"] {
        let twin = Twin::new(tiny::game(id));
        let kings_only = twin.kings_only();
        let from_kings = twin.reached_from(&kings_only);
        let from_start = twin.reached_from(&[twin.initial()]);
        assert!(from_kings.contains(&twin.small(&twin.initial())), "{id}");
        let all = kings_only
            .iter()
            .all(|p| from_start.contains(&twin.small(p)));
        assert!(all, "{id}");
        assert_eq!(from_kings, from_start, "{id}");
    }
}
