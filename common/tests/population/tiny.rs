//! Every candidate of some tiny boards, and variants that have none.

use kazoe_common::game::{Kind, Rules, Side, Variant};
use kazoe_common::population::{Candidates, CandidatesError, Rank};
use num_bigint::BigUint;

use kazoe_testkit::variants::{CHIRAL, EVEN, KINGS_ONLY, TINY};

/// Visits all candidates of a variant.
fn each(variant: &'static Variant, mut visit: impl FnMut(Rank, kazoe_common::game::Position<u64>)) {
    let candidates = Candidates::new(variant).unwrap();
    let size = u64::try_from(candidates.size()).unwrap();
    for rank in (0..size).map(Rank::from) {
        visit(rank, candidates.unrank(rank).unwrap());
    }
}

/// Every rank leads to a candidate that leads back to it, so no two ranks share one; that the sizes
/// are right is checked elsewhere.
#[test]
fn ranks_and_positions_are_in_bijection() {
    for variant in TINY {
        let candidates = Candidates::new(variant).unwrap();
        let rules = Rules::<u64>::new(variant);
        each(variant, |rank, position| {
            assert_eq!(candidates.rank(&position), Ok(rank), "{}", variant.id);
            rules.check_whole_set(&position).unwrap();
            assert_eq!(position.turn(), Side::Black);
        });
    }
}

#[test]
fn self_mirrored_candidates_are_counted_exactly() {
    let mut variants_with_some = 0;
    for variant in TINY {
        let candidates = Candidates::new(variant).unwrap();
        let rules = Rules::<u64>::new(variant);
        let mut found = 0u64;
        each(variant, |_, position| {
            let own_image = rules.mirrored(&position) == position;
            assert_eq!(own_image, rules.is_self_mirrored(&position));
            found += u64::from(own_image);
        });
        assert_eq!(
            candidates.self_mirrored(),
            BigUint::from(found),
            "{}",
            variant.id
        );
        variants_with_some += usize::from(found > 0);
    }
    // The even board has none; the others do, the one with mirror kinds too.
    assert_eq!(variants_with_some, TINY.len() - 1);
    assert_eq!(
        Candidates::new(&EVEN).unwrap().self_mirrored(),
        BigUint::ZERO
    );
    assert!(Candidates::new(&CHIRAL).unwrap().self_mirrored() > BigUint::ZERO);
    assert_eq!(
        Candidates::new(&KINGS_ONLY).unwrap().self_mirrored(),
        BigUint::from(12u32)
    );
}

#[test]
fn variants_without_ranks_are_refused() {
    static HUGE: Variant = Variant {
        id: "test-huge",
        width: 9,
        height: 14,
        kinds: &[Kind::KING, Kind::PAWN.times(60), Kind::SILVER.times(60)],
        ..Variant::SHOGI
    };
    let error = Candidates::new(&HUGE).unwrap_err();
    assert_eq!(error, CandidatesError::TooLarge { id: "test-huge" });
    assert!(error.to_string().contains("2^256"));

    static MANY: Variant = Variant {
        id: "test-many",
        kinds: &[
            Kind::KING,
            Kind::GOLD.times(255),
            Kind::PAWN.times(255),
            Kind::SILVER.times(255),
        ],
        ..Variant::SHOGI
    };
    let error = Candidates::new(&MANY).unwrap_err();
    assert_eq!(error, CandidatesError::TooManySections { id: "test-many" });

    static POINT: Variant = Variant {
        id: "test-point",
        width: 1,
        height: 1,
        ..KINGS_ONLY
    };
    let error = Candidates::new(&POINT).unwrap_err();
    assert_eq!(error, CandidatesError::Empty { id: "test-point" });
}
