//! The fast code against the slow twin, on seeded random positions of both games.
//!
//! `KAZOE_TWIN_POSITIONS=200000 cargo nextest run -p kazoe-common --test fast_against_twin sampled`
//! compares the verdicts on so many positions of each game, in about half an hour.

mod twin;

use std::ops::ControlFlow;

use kazoe_common::census::{
    BLOCK, Campaign, Cell, Counter, Digest, Judge, Tally, Verdict, published_search,
};
use kazoe_common::game::{Bits, Rules, Side, Variant};
use kazoe_common::population::{Candidates, Rank, Sampler};
use num_bigint::BigUint;
use twin::moves::Move;
use twin::reverse::Found;
use twin::rng::{TestRng, positions};
use twin::{Mailbox, Twin, ranks};

/// One game on both sides.
struct Pair<B> {
    twin: Twin,
    rules: Rules<B>,
    judge: Judge<B>,
}

impl<B: Bits> Pair<B> {
    fn new(variant: &'static Variant) -> Self {
        let rules = Rules::new(variant);
        Pair {
            twin: Twin::new(variant),
            judge: Judge::new(&rules),
            rules,
        }
    }

    /// A position that keeps the local rules: from random play, or scattered at random.
    fn some_position(&self, rng: &mut TestRng) -> Mailbox {
        match rng.number(4) {
            0 => {
                let plies = rng.number(200);
                self.twin.random_play(rng, plies)
            }
            1 => self.twin.random_placement(rng, 2),
            2 => self.twin.random_placement(rng, 5),
            _ => self.twin.random_placement(rng, 20),
        }
    }

    fn predecessors_of(&self, position: &Mailbox) -> Vec<Mailbox> {
        let fast = self.twin.write(&self.rules, position);
        let mut found = Vec::new();
        let _: ControlFlow<()> = self.rules.predecessors(&fast, |unmove, before| {
            assert_eq!(self.rules.undo(&fast, unmove), *before);
            found.push(self.twin.read(before));
            ControlFlow::Continue(())
        });
        found
    }

    /// Legal moves, predecessors in their order, and that the two are each other's inverse.
    fn moves_agree(&self, position: &Mailbox) {
        let (twin, rules) = (&self.twin, &self.rules);
        let sfen = twin.format(position);
        let fast = twin.write(rules, position);
        assert_eq!(rules.sfen(&fast), sfen);
        assert_eq!(twin.read(&fast), *position);

        let mut slow_moves = twin.legal_moves(position);
        slow_moves.sort_unstable();
        let fast_moves = rules.legal_moves(&fast);
        let mut read_moves: Vec<Move> = fast_moves.iter().map(|&m| twin.read_move(m)).collect();
        read_moves.sort_unstable();
        assert_eq!(read_moves, slow_moves, "{sfen}");
        assert_eq!(rules.has_legal_move(&fast), !slow_moves.is_empty());

        let before = self.predecessors_of(position);
        assert_eq!(before, twin.predecessors(position), "{sfen}");
        assert_eq!(rules.has_predecessor(&fast), !before.is_empty());

        for q in &before {
            let q = twin.write(rules, q);
            let moves = rules.legal_moves(&q);
            let ways = moves.iter().filter(|&&m| rules.play(&q, m) == fast).count();
            assert_eq!(ways, 1, "{sfen} from {}", rules.sfen(&q));
        }
        for played in fast_moves {
            let next = rules.play(&fast, played);
            let mut ways = 0;
            let _: ControlFlow<()> = rules.predecessors(&next, |_, before| {
                ways += usize::from(*before == fast);
                ControlFlow::Continue(())
            });
            assert_eq!(ways, 1, "{sfen} by {played:?}");
        }
    }

    /// What the funnel asks first, of any candidate.
    fn filters_agree(&self, position: &Mailbox) {
        let (twin, rules) = (&self.twin, &self.rules);
        let sfen = twin.format(position);
        let fast = twin.write(rules, position);
        assert_eq!(
            rules.is_canonical(&fast),
            twin.is_canonical(position),
            "{sfen}"
        );
        assert_eq!(
            twin.read(&rules.mirrored(&fast)),
            twin.mirror(position),
            "{sfen}"
        );
        assert_eq!(
            twin.read(&rules.exchanged(&fast)),
            twin.exchange(position),
            "{sfen}"
        );
        assert_eq!(
            rules.has_two_pawns(&fast),
            twin.has_crowded_file(position),
            "{sfen}"
        );
        assert_eq!(
            rules.has_immobile(&fast),
            twin.has_immobile_piece(position),
            "{sfen}"
        );
        for side in Side::BOTH {
            assert_eq!(
                rules.in_check(&fast, side),
                twin.in_check(position, side),
                "{sfen}"
            );
        }
    }

    /// The fast verdict against the twin's search, its proof played forward by the twin, and, if
    /// `searched`, the fast published search step by step.
    fn verdicts_agree(&self, position: &Mailbox, searched: bool) -> Verdict {
        let (twin, rules) = (&self.twin, &self.rules);
        let sfen = twin.format(position);
        let fast = twin.write(rules, position);
        let proof = self.judge.prove(&fast, None);
        assert_eq!(self.judge.verdict(&fast, None), proof.verdict, "{sfen}");
        let found = twin.published_search(position);
        match &found {
            Found::Unreachable { depth } => {
                let depth = *depth;
                assert_eq!(proof.verdict, Verdict::Unreachable { depth }, "{sfen}");
            }
            Found::Reachable { .. } => {
                assert_eq!(proof.verdict, Verdict::Reachable, "{sfen}");
                twin.replay(rules, &fast, &proof.path);
            }
        }
        if searched {
            let search = published_search(rules, &fast, None);
            assert_eq!(search.verdict, proof.verdict, "{sfen}");
            if let Found::Reachable { path, expansions } = found {
                assert_eq!(search.expansions, expansions as u64, "{sfen}");
                assert_eq!(search.length(), path.len() as u64, "{sfen}");
                let mut here = fast;
                for (&unmove, expected) in search.path.iter().zip(&path[1..]) {
                    here = rules.undo(&here, unmove);
                    assert_eq!(twin.read(&here), *expected, "{sfen}");
                }
            }
        }
        proof.verdict
    }
}

fn moves_agree<B: Bits>(variant: &'static Variant, seed: u64, number: usize) {
    let pair = Pair::<B>::new(variant);
    let mut rng = TestRng::seeded(seed);
    for _ in 0..positions(number) {
        pair.moves_agree(&pair.some_position(&mut rng));
    }
}

#[test]
fn moves_and_predecessors_agree_in_shogi() {
    moves_agree::<u128>(&Variant::SHOGI, 1, 300);
}

#[test]
fn moves_and_predecessors_agree_in_minishogi() {
    moves_agree::<u64>(&Variant::MINISHOGI, 2, 2_000);
}

/// Ranks both ways, and the filters, on uniform candidates.
fn ranks_and_filters_agree<B: Bits>(variant: &'static Variant, seed: u64, number: usize) {
    let pair = Pair::<B>::new(variant);
    let slow = ranks::Candidates::new(pair.twin);
    let fast = Candidates::new(variant).unwrap();
    assert_eq!(fast.size(), &slow.size);
    let mut rng = TestRng::seeded(seed);
    for _ in 0..positions(number) {
        let rank = rng.rank(&slow.size);
        let position = slow.unrank(&rank);
        assert_eq!(slow.rank(&position).as_ref(), Some(&rank));
        let unranked = fast.unrank::<B>(Rank::try_from(&rank).unwrap()).unwrap();
        assert_eq!(pair.twin.read(&unranked), position, "{rank}");
        assert_eq!(fast.rank(&unranked).map(BigUint::from), Ok(rank));
        pair.filters_agree(&position);
    }
}

#[test]
fn ranks_and_filters_agree_in_shogi() {
    ranks_and_filters_agree::<u128>(&Variant::SHOGI, 3, 1_000);
}

#[test]
fn ranks_and_filters_agree_in_minishogi() {
    ranks_and_filters_agree::<u64>(&Variant::MINISHOGI, 4, 5_000);
}

/// Uniform candidates seldom have a position near its mirror image in the order; those built from
/// symmetric pairs of pieces, with one or two moved, often.
fn near_symmetric_positions_agree<B: Bits>(variant: &'static Variant, seed: u64, number: usize) {
    let pair = Pair::<B>::new(variant);
    let twin = pair.twin;
    let mut rng = TestRng::seeded(seed);
    let mut greater = 0;
    for _ in 0..positions(number) {
        let position = twin.nearly_symmetric(&mut rng);
        pair.filters_agree(&position);
        greater += usize::from(!twin.is_canonical(&position));
    }
    assert!(greater > 0, "none was greater than its image");
}

#[test]
fn near_symmetric_positions_agree_in_shogi() {
    near_symmetric_positions_agree::<u128>(&Variant::SHOGI, 5, 1_000);
}

#[test]
fn near_symmetric_positions_agree_in_minishogi() {
    near_symmetric_positions_agree::<u64>(&Variant::MINISHOGI, 6, 1_000);
}

/// Verdicts on the first `number` filter-passing samples of a campaign; for the first `searched` the
/// fast published search is compared step by step too.
#[expect(
    clippy::print_stdout,
    reason = "the harness shows it where the test fails"
)]
fn sampled_verdicts_agree<B: Bits>(
    variant: &'static Variant,
    seed: u64,
    number: usize,
    searched: usize,
) {
    let pair = Pair::<B>::new(variant);
    let candidates = Candidates::new(variant).unwrap();
    let sampler = Sampler::new(&candidates, seed);
    let passing = (0..)
        .flat_map(|block| sampler.ranks_of(block).take(BLOCK as usize))
        .map(|rank| candidates.unrank::<B>(rank).unwrap())
        .filter(|position| {
            let rules = &pair.rules;
            rules.is_canonical(position)
                && !rules.has_two_pawns(position)
                && !rules.has_immobile(position)
                && !rules.in_check(position, Side::White)
        });
    let mut reachable = 0;
    for (i, position) in passing.take(number).enumerate() {
        let verdict = pair.verdicts_agree(&pair.twin.read(&position), i < searched);
        reachable += usize::from(verdict == Verdict::Reachable);
    }
    println!("seed {seed}: {reachable} of {number} reachable");
    // About 69% are, in either game.
    assert!(reachable * 2 > number && reachable < number, "{reachable}");
}

/// The sampled verdicts of shogi, a quarter: the search of the twin is slow there.
fn a_quarter_of_shogi(seed: u64) {
    sampled_verdicts_agree::<u128>(&Variant::SHOGI, seed, positions(2_000) / 4, 15);
}

#[test]
fn sampled_verdicts_agree_in_shogi_first_quarter() {
    a_quarter_of_shogi(101);
}

#[test]
fn sampled_verdicts_agree_in_shogi_second_quarter() {
    a_quarter_of_shogi(102);
}

#[test]
fn sampled_verdicts_agree_in_shogi_third_quarter() {
    a_quarter_of_shogi(103);
}

#[test]
fn sampled_verdicts_agree_in_shogi_last_quarter() {
    a_quarter_of_shogi(104);
}

#[test]
fn sampled_verdicts_agree_in_minishogi() {
    sampled_verdicts_agree::<u64>(&Variant::MINISHOGI, 105, positions(2_000), 100);
}

/// Verdicts on scattered pieces, more of them in hand than uniform candidates have.
fn scattered_verdicts_agree<B: Bits>(variant: &'static Variant, seed: u64, number: usize) {
    let pair = Pair::<B>::new(variant);
    let mut rng = TestRng::seeded(seed);
    let mut unreachable = 0;
    for i in 0..positions(number) {
        let hand_odds = 2 + rng.number(20);
        let position = pair.twin.random_placement(&mut rng, hand_odds);
        let verdict = pair.verdicts_agree(&position, i < 20);
        unreachable += usize::from(verdict != Verdict::Reachable);
    }
    assert!(unreachable > 0);
}

#[test]
fn scattered_verdicts_agree_in_shogi() {
    scattered_verdicts_agree::<u128>(&Variant::SHOGI, 7, 200);
}

#[test]
fn scattered_verdicts_agree_in_minishogi() {
    scattered_verdicts_agree::<u64>(&Variant::MINISHOGI, 8, 2_000);
}

/// A whole block: its tally as the twin makes it, sample by sample.
fn blocks_agree(variant: &'static Variant, seed: u64, block: u64) {
    let twin = Twin::new(variant);
    let slow = ranks::Candidates::new(twin);
    let campaign = Campaign::new(variant, seed);
    let candidates = Candidates::new(variant).unwrap();
    let sampler = Sampler::new(&candidates, seed);
    let mut bytes = Vec::new();
    let mut expected = Tally::default();
    for rank in sampler.ranks_of(block).take(BLOCK as usize) {
        let (outcome, depth) = twin.judge(&slow.unrank(&rank.into()));
        bytes.push(outcome as u8);
        *expected.cells.entry(Cell::from(outcome as u8)).or_default() += 1;
        if let Some(depth) = depth {
            *expected.depths.entry(depth).or_default() += 1;
        }
    }
    expected.digest = Digest::of_block(block, &bytes);
    let counted = Counter::new(&campaign).unwrap().block(block, BLOCK);
    assert_eq!(counted.tally, expected);
}

#[test]
fn blocks_agree_in_shogi() {
    blocks_agree(&Variant::SHOGI, 11, 70_000);
}

#[test]
fn blocks_agree_in_minishogi() {
    blocks_agree(&Variant::MINISHOGI, 12, 5);
}

/// The funnel and the counter know no board by name.
#[test]
fn blocks_agree_on_tiny_boards() {
    for id in ["3x3-s-r-b", "4x4-p-r", "5x3-p-b"] {
        blocks_agree(twin::tiny::game(id), 13, 1);
    }
}
