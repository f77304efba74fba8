//! The fast funnel against the plain way: unrank, then one local rule after the other.

use kazoe_common::census::{Arm, BLOCK, Funnel, Outcome};
use kazoe_common::game::{Bits, Position, Rules, Variant};
use kazoe_common::population::{Candidates, Rank, Sampler};
use kazoe_testkit::variants;
use num_bigint::BigUint;

/// What the plain way says; `None` if the position passes all filters.
fn plainly<B: Bits>(rules: &Rules<B>, position: &Position<B>) -> Option<Outcome> {
    if !rules.is_canonical(position) {
        Some(Outcome::Mirrored)
    } else if rules.has_two_pawns(position) {
        Some(Outcome::TwoPawns)
    } else if rules.has_immobile(position) {
        Some(Outcome::Immobile)
    } else if rules.in_check(position, position.turn().other()) {
        Some(Outcome::InCheck)
    } else {
        None
    }
}

/// Compares both ways on some ranks, and gives how often each outcome came.
fn compare<B: Bits>(funnel: &Funnel<B>, ranks: &[Rank]) -> [usize; 7] {
    let mut outcomes = vec![u8::MAX; ranks.len()];
    let mut passed = Vec::new();
    funnel.ranks(ranks, &mut outcomes, |sample, position| {
        passed.push((sample, *position));
        Outcome::Undecided
    });
    assert!(passed.is_sorted_by(|a, b| a.0 < b.0));
    let mut passed = passed.into_iter();
    let mut counts = [0; 7];
    for (sample, (&rank, &found)) in ranks.iter().zip(&outcomes).enumerate() {
        let position = funnel.candidates().unrank::<B>(rank).unwrap();
        let expected = plainly(funnel.rules(), &position);
        let name = funnel.rules().sfen(&position);
        assert_eq!(
            found,
            expected.unwrap_or(Outcome::Undecided) as u8,
            "{}: rank {rank}, {name}, arm {}",
            funnel.candidates().variant().id,
            funnel.arm()
        );
        if expected.is_none() {
            assert_eq!(passed.next(), Some((sample, position)), "{name}");
        }
        counts[usize::from(found)] += 1;
    }
    assert_eq!(passed.next(), None);
    counts
}

/// A funnel for each arm that this machine has.
fn funnels<B: Bits>(variant: &'static Variant) -> Vec<Funnel<B>> {
    let candidates = Candidates::new(variant).unwrap();
    let rules = Rules::new(variant);
    Arm::available()
        .into_iter()
        .map(|arm| Funnel::with_arm(rules.clone(), candidates.clone(), arm))
        .collect()
}

/// Blocks of draws, a few seeds and numbers, each outcome met.
fn blocks_agree<B: Bits>(variant: &'static Variant, blocks: u64) {
    for funnel in funnels::<B>(variant) {
        let mut met = [0; 7];
        for block in 0..blocks {
            let sampler = Sampler::new(funnel.candidates(), block % 3);
            let ranks: Vec<Rank> = sampler.ranks_of(block).take(BLOCK as usize).collect();
            let counts = compare(&funnel, &ranks);
            for (sum, count) in met.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        for outcome in [0, 1, 2, 3, 6] {
            assert!(
                met[outcome] > 0,
                "{}: outcome {outcome} not met",
                variant.id
            );
        }
    }
}

#[test]
fn shogi_blocks_agree() {
    blocks_agree::<u128>(&Variant::SHOGI, 6);
}

#[test]
fn minishogi_blocks_agree() {
    blocks_agree::<u64>(&Variant::MINISHOGI, 12);
    blocks_agree::<u128>(&Variant::MINISHOGI, 3);
}

#[test]
fn boards_of_other_shapes_agree() {
    blocks_agree::<u64>(&variants::GOROGORO, 4);
    // A central file is what `mirrored` needs: the even board has none.
    for funnel in funnels::<u64>(&variants::JUDKINS) {
        let sampler = Sampler::new(funnel.candidates(), 1);
        let ranks: Vec<Rank> = sampler.ranks_of(0).take(10_000).collect();
        let counts = compare(&funnel, &ranks);
        assert_eq!(counts[0], 0);
        assert!(counts[1..4].iter().all(|&count| count > 0));
    }
}

/// Every candidate of the tiny boards.
#[test]
fn tiny_boards_agree_everywhere() {
    for variant in variants::TINY {
        let size = u64::try_from(Candidates::new(variant).unwrap().size()).unwrap();
        let ranks: Vec<Rank> = (0..size).map(Rank::from).collect();
        for funnel in funnels::<u64>(variant) {
            compare(&funnel, &ranks);
        }
    }
}

/// The first and the last ranks of sections, and those that share their leading bits.
fn borders_agree<B: Bits>(variant: &'static Variant, step: usize) {
    for funnel in funnels::<B>(variant) {
        let candidates = funnel.candidates();
        let mut ranks = Vec::new();
        for start in candidates.section_starts().step_by(step) {
            let number = BigUint::from(start);
            let before = (number > BigUint::ZERO).then(|| &number - 1u32);
            ranks.extend(before.map(|n| Rank::try_from(&n).unwrap()));
            ranks.push(start);
            ranks.push(Rank::try_from(&(number + 1u32)).unwrap());
        }
        let last = candidates.size() - 1u32;
        ranks.push(Rank::try_from(&last).unwrap());
        ranks.retain(|&rank| BigUint::from(rank) <= last);
        compare(&funnel, &ranks);
    }
}

#[test]
fn section_borders_agree() {
    borders_agree::<u128>(&Variant::SHOGI, 97);
    borders_agree::<u64>(&Variant::MINISHOGI, 1);
    borders_agree::<u64>(&variants::GOROGORO, 1);
    borders_agree::<u64>(&variants::JUDKINS, 1);
}

/// The reference figures of mini shogi's block 0.
#[test]
fn known_block() {
    for funnel in funnels::<u64>(&Variant::MINISHOGI) {
        let sampler = Sampler::new(funnel.candidates(), 1);
        let mut outcomes = [u8::MAX; BLOCK as usize];
        funnel.block(&sampler, 0, &mut outcomes, |_, _| Outcome::Undecided);
        let count = |outcome: Outcome| {
            outcomes
                .iter()
                .filter(|&&byte| byte == outcome as u8)
                .count()
        };
        let counts = Outcome::ALL.map(count);
        assert_eq!(counts, [132, 75, 676, 2312, 0, 0, 901]);
    }
}

/// A cut block is the beginning of a whole one, whatever the batches.
#[test]
fn a_cut_block_is_a_prefix() {
    for funnel in funnels::<u128>(&Variant::SHOGI) {
        let sampler = Sampler::new(funnel.candidates(), 5);
        let mut whole = [0; BLOCK as usize];
        funnel.block(&sampler, 9, &mut whole, |_, _| Outcome::Reachable);
        for samples in [0, 1, 2, 95, 1000, 4095] {
            let mut cut = vec![0; samples];
            funnel.block(&sampler, 9, &mut cut, |_, _| Outcome::Reachable);
            assert_eq!(cut, whole[..samples]);
        }
    }
}
