//! Known sizes and the known pairs of rank and position.

use kazoe_common::game::{Bits, Rules, Variant};
use kazoe_common::population::{Candidates, Rank, RankOfError};
use num_bigint::BigUint;

use kazoe_testkit::tables::table;
use kazoe_testkit::variants::{GOROGORO, JUDKINS};

fn size(variant: &'static Variant) -> String {
    Candidates::new(variant).unwrap().size().to_string()
}

/// The number of candidates if all King pairs were taken.
fn unfolded(variant: &'static Variant) -> String {
    let squares = variant.squares();
    let central = if variant.width % 2 == 1 {
        usize::from(variant.height)
    } else {
        0
    };
    // A King pair is its own mirror image if both stand on the central file.
    let pairs = squares * (squares - 1);
    let folded = (pairs + central * central.saturating_sub(1)) / 2;
    let size = Candidates::new(variant).unwrap().size() * pairs;
    assert_eq!(&size % folded, BigUint::ZERO);
    (size / folded).to_string()
}

#[test]
fn sizes_are_the_published_ones() {
    assert_eq!(
        size(&Variant::SHOGI),
        "80880932079767835177773204009328769812438521503800714936366945233084532"
    );
    assert_eq!(size(&Variant::MINISHOGI), "16014219505238849250");
    assert_eq!(size(&GOROGORO), "115743602115294777089550");
}

#[test]
fn unfolded_sizes_are_the_published_ones() {
    assert_eq!(
        unfolded(&Variant::SHOGI),
        "159984261256683630021968974963507456771856416161364051522484067494013360"
    );
    assert_eq!(unfolded(&Variant::MINISHOGI), "30995263558526805000");
    assert_eq!(unfolded(&GOROGORO), "223770964089569902373130");
    assert_eq!(unfolded(&JUDKINS), "29290096471101510701297340");
}

fn known_pairs<B: Bits>(variant: &'static Variant, file: &str) {
    let candidates = Candidates::new(variant).unwrap();
    let rules = Rules::<B>::new(variant);
    let lines = table(file);
    assert_eq!(lines.len(), 226);
    for line in lines {
        let rank: Rank = line[0].parse().unwrap();
        let position = candidates.unrank::<B>(rank).unwrap();
        assert_eq!(rules.sfen(&position), line[1], "rank {rank}");
        let parsed = rules.parse(&line[1]).unwrap();
        assert_eq!(candidates.rank(&parsed), Ok(rank), "{}", line[1]);
    }
    let end = Rank::try_from(candidates.size()).unwrap();
    let error = candidates.unrank::<B>(end).unwrap_err();
    assert_eq!(error.rank, end);
    assert!(error.to_string().contains("out of range"));
    assert!(
        candidates
            .unrank::<B>(Rank::from_limbs([u64::MAX; 4]))
            .is_err()
    );
}

#[test]
fn shogi_pairs_hold_both_ways() {
    known_pairs::<u128>(&Variant::SHOGI, "ranks-shogi.tsv");
}

#[test]
fn minishogi_pairs_hold_both_ways() {
    known_pairs::<u64>(&Variant::MINISHOGI, "ranks-minishogi.tsv");
}

#[test]
fn positions_outside_the_population_say_why() {
    let candidates = Candidates::new(&Variant::MINISHOGI).unwrap();
    let rules = Rules::<u64>::new(&Variant::MINISHOGI);
    let error = |sfen: &str| {
        let position = rules.parse(sfen).unwrap();
        candidates.rank(&position).unwrap_err()
    };
    // White's King on Black's left would have to be on the right of its image.
    let beyond = "4K/4k/5/5/5 b 2R2B2G2S2P 1";
    assert_eq!(error(beyond), RankOfError::KingPairMirrored);
    let image = rules.mirrored(&rules.parse(beyond).unwrap());
    assert!(candidates.rank(&image).is_ok());
    // Black's King on the central file, White's to the right of it.
    assert_eq!(
        error("2K2/4k/5/5/5 b 2R2B2G2S2P 1"),
        RankOfError::KingPairMirrored
    );
    assert_eq!(
        error("K4/4k/5/5/5 w 2R2B2G2S2P 1"),
        RankOfError::WhiteToMove
    );
    let lacking = error("K4/4k/5/5/5 b 2R2B2G2SP 1");
    assert_eq!(
        lacking,
        RankOfError::NotTheWholeSet {
            name: "Pawn",
            found: 1,
            expected: 2
        }
    );
    assert!(
        lacking
            .to_string()
            .contains("1 pieces of kind Pawn, the game has 2")
    );
}
