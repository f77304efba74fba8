//! Variants that exist in the tests only: published ones with known figures, and tiny boards.

use kazoe_common::game::{Kind, Movement, Variant};

/// What all test variants share; none of it matters where it is not overridden.
const BASE: Variant = Variant {
    id: "test",
    name: "test",
    width: 3,
    height: 4,
    kinds: &[Kind::KING],
    zone: 1,
    initial: "1k1/3/3/1K1 b -",
    section_order: "GNLPSRB",
    mirror_order: "KGNLPSRB",
    hand_order: "RBGSNLP",
    published_share: None,
};

/// Gorogoro shogi, 5 files by 6 ranks.
pub const GOROGORO: Variant = Variant {
    id: "gorogoro",
    name: "gorogoro shogi",
    width: 5,
    height: 6,
    kinds: &[
        Kind::KING,
        Kind::GOLD.times(4),
        Kind::PAWN.times(6),
        Kind::SILVER.times(4),
    ],
    zone: 2,
    initial: "sgkgs/5/1ppp1/1PPP1/5/SGKGS b -",
    ..BASE
};

/// Judkins shogi, 6 by 6: a board without a central file.
pub const JUDKINS: Variant = Variant {
    id: "judkins",
    name: "Judkins shogi",
    width: 6,
    height: 6,
    kinds: &[
        Kind::KING,
        Kind::GOLD,
        Kind::KNIGHT,
        Kind::PAWN,
        Kind::SILVER,
        Kind::ROOK,
        Kind::BISHOP,
    ],
    zone: 2,
    initial: "rbnsgk/5p/6/6/P5/KGSNBR b -",
    ..BASE
};

/// 3 by 3 with a Gold and two Pawns.
pub const GOLD_AND_PAWNS: Variant = Variant {
    id: "test-gold-pawns",
    height: 3,
    initial: "1k1/3/1K1 b -",
    kinds: &[Kind::KING, Kind::GOLD.times(1), Kind::PAWN],
    ..BASE
};

/// Nothing but Kings.
pub const KINGS_ONLY: Variant = Variant {
    id: "test-kings",
    ..BASE
};

/// An even board with Pawns that come first in the type order.
pub const EVEN: Variant = Variant {
    id: "test-even",
    width: 2,
    kinds: &[Kind::KING, Kind::PAWN, Kind::ROOK.times(1)],
    section_order: "RP",
    initial: "k1/2/2/1K b -",
    ..BASE
};

/// One file.
pub const ONE_FILE: Variant = Variant {
    id: "test-one-file",
    width: 1,
    height: 6,
    kinds: &[Kind::KING, Kind::LANCE, Kind::SILVER.times(1)],
    initial: "k/1/1/1/1/K b -",
    ..BASE
};

/// More pieces than squares: some of them are always in hand.
pub const CROWDED: Variant = Variant {
    id: "test-crowded",
    width: 3,
    height: 2,
    kinds: &[Kind::KING, Kind::GOLD.times(3), Kind::BISHOP.times(3)],
    initial: "1k1/1K1 b -",
    ..BASE
};

const LEFT: Movement = Movement {
    steps: &[(-1, -1), (1, 1)],
    slides: &[],
};
const RIGHT: Movement = Movement {
    steps: &[(1, -1), (-1, 1)],
    slides: &[],
};

/// Two kinds that are each other's mirror image.
pub const CHIRAL: Variant = Variant {
    id: "test-chiral",
    kinds: &[
        Kind::KING,
        Kind {
            letter: 'A',
            moves: LEFT,
            mirror: 'C',
            ..Kind::SILVER.times(1)
        },
        Kind {
            letter: 'C',
            moves: RIGHT,
            mirror: 'A',
            ..Kind::SILVER.times(1)
        },
    ],
    section_order: "AC",
    mirror_order: "KAC",
    hand_order: "AC",
    ..BASE
};

/// Small enough to visit every candidate.
pub const TINY: [&Variant; 7] = [
    &KINGS_ONLY,
    &GOLD_AND_PAWNS,
    &EVEN,
    &ONE_FILE,
    &CROWDED,
    &CHIRAL,
    &KNIGHTS,
];

/// 3 by 4 with Knights and Lances, which cannot stand everywhere.
pub const KNIGHTS: Variant = Variant {
    id: "test-knights",
    kinds: &[Kind::KING, Kind::KNIGHT.times(1), Kind::LANCE.times(1)],
    ..BASE
};
