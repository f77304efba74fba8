//! The verdicts with known answers, and the paths that prove them.

use kazoe_common::census::{BLOCK, Funnel, Judge, Outcome, Verdict, published_search};
use kazoe_common::game::{Bits, Move, Position, Rules, Unmove, Variant};
use kazoe_common::population::{Candidates, Sampler};
use kazoe_testkit::tables::table;

/// The filter-passing positions of a table and their verdicts.
fn known<B: Bits>(rules: &Rules<B>, name: &str) -> Vec<(Position<B>, Verdict)> {
    let rows = table(name);
    let verdict = |row: &Vec<String>| match row[1].as_str() {
        "reachable" => Some(Verdict::Reachable),
        "unreachable" => Some(Verdict::Unreachable {
            depth: row[2].parse().expect("a depth"),
        }),
        _ => None,
    };
    rows.iter()
        .filter_map(|row| Some((rules.parse(&row[0]).expect("a position"), verdict(row)?)))
        .collect()
}

/// Plays a path forward from its last position, each move checked by the forward rules.
fn replay<B: Bits>(rules: &Rules<B>, position: &Position<B>, path: &[Unmove]) {
    let mut positions = vec![*position];
    for &unmove in path {
        positions.push(rules.undo(&positions[positions.len() - 1], unmove));
    }
    let start = positions[path.len()];
    assert_eq!(start.occupied().count(), 2, "{}", rules.sfen(&start));
    for (&unmove, pair) in path.iter().zip(positions.windows(2)) {
        let played = Move::from(unmove);
        assert!(
            rules.is_legal(&pair[1], played),
            "{}: {}",
            rules.sfen(&pair[1]),
            rules.variant().move_name(played)
        );
        assert_eq!(rules.play(&pair[1], played), pair[0]);
    }
}

fn check<B: Bits>(variant: &'static Variant, name: &str) {
    let rules = Rules::<B>::new(variant);
    let judge = Judge::new(&rules);
    let cases = known(&rules, name);
    assert!(cases.len() > 200);
    for (position, expected) in cases {
        let sfen = rules.sfen(&position);
        assert_eq!(judge.verdict(&position, None), expected, "{sfen}");
        let proof = judge.prove(&position, None);
        assert_eq!(proof.verdict, expected, "{sfen}");
        if expected == Verdict::Reachable {
            replay(&rules, &position, &proof.path);
        }
    }
}

#[test]
fn shogi_verdicts_hold_with_legal_paths() {
    check::<u128>(&Variant::SHOGI, "verdicts-shogi.tsv");
}

#[test]
fn minishogi_verdicts_hold_with_legal_paths() {
    check::<u64>(&Variant::MINISHOGI, "verdicts-minishogi.tsv");
    check::<u128>(&Variant::MINISHOGI, "verdicts-minishogi.tsv");
}

/// Proves and replays every reachable sample of some blocks; how many there were.
fn replay_blocks<B: Bits>(variant: &'static Variant, blocks: u64) -> u32 {
    let rules = Rules::<B>::new(variant);
    let judge = Judge::new(&rules);
    let candidates = Candidates::new(variant).expect("tables");
    let sampler = Sampler::new(&candidates, 20_261_130);
    let funnel = Funnel::new(rules.clone(), candidates);
    let mut replayed = 0;
    for block in 0..blocks {
        let mut outcomes = [0; BLOCK as usize];
        funnel.block(&sampler, block, &mut outcomes, |_, position| {
            let proof = judge.prove(position, None);
            assert_eq!(proof.verdict, judge.verdict(position, None));
            if proof.verdict == Verdict::Reachable {
                replay(&rules, position, &proof.path);
                replayed += 1;
                Outcome::Reachable
            } else {
                Outcome::Unreachable
            }
        });
    }
    replayed
}

#[test]
fn every_reachable_sample_of_some_blocks_has_a_legal_path() {
    assert!(replay_blocks::<u128>(&Variant::SHOGI, 24) > 500);
    assert!(replay_blocks::<u64>(&Variant::MINISHOGI, 4) > 2000);
}

#[test]
fn the_published_search_agrees_and_its_paths_are_legal() {
    let rules = Rules::<u64>::new(&Variant::MINISHOGI);
    for (position, expected) in known(&rules, "verdicts-minishogi.tsv") {
        let search = published_search(&rules, &position, None);
        assert_eq!(search.verdict, expected, "{}", rules.sfen(&position));
        if expected == Verdict::Reachable {
            replay(&rules, &position, &search.path);
            assert!(search.expansions >= search.length());
        }
    }
}

#[test]
fn a_capped_search_is_undecided_and_never_wrong() {
    let rules = Rules::<u64>::new(&Variant::MINISHOGI);
    let judge = Judge::new(&rules);
    let mut undecided = 0;
    for (position, expected) in known(&rules, "verdicts-minishogi.tsv") {
        let capped = judge.verdict(&position, Some(1));
        assert!(capped == expected || capped == Verdict::Undecided);
        undecided += u32::from(capped == Verdict::Undecided);
    }
    assert!(undecided > 0);
}
