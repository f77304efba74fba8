//! Variants that move tests alone need, and all of them by name.

use kazoe_common::game::{Kind, Variant};

use kazoe_testkit::variants::{GOROGORO, JUDKINS};

/// A Pawn whose drop may mate.
const FREE_PAWN: Kind = Kind {
    mating_drop_forbidden: false,
    ..Kind::PAWN
};

/// Mini shogi where a Pawn drop may mate.
const MATING_MINISHOGI: Variant = Variant {
    id: "minishogi-mating-drops",
    kinds: &[
        Kind::KING,
        Kind::GOLD,
        FREE_PAWN,
        Kind::SILVER,
        Kind::ROOK,
        Kind::BISHOP,
    ],
    ..Variant::MINISHOGI
};

/// Shogi where a Pawn drop may mate.
const MATING_SHOGI: Variant = Variant {
    id: "shogi-mating-drops",
    kinds: &[
        Kind::KING,
        Kind::GOLD.times(4),
        Kind::KNIGHT.times(4),
        Kind::LANCE.times(4),
        FREE_PAWN.times(18),
        Kind::SILVER.times(4),
        Kind::ROOK,
        Kind::BISHOP,
    ],
    ..Variant::SHOGI
};

/// A board of 3 by 4 where mates and stalemates are everywhere.
const TINY: Variant = Variant {
    id: "tiny",
    name: "tiny shogi",
    width: 3,
    height: 4,
    kinds: &[
        Kind::KING,
        Kind::GOLD,
        Kind::PAWN.times(4),
        Kind::ROOK.times(1),
    ],
    zone: 1,
    initial: "gkp/1pr/P1P/1KG b -",
    section_order: "GPR",
    published_share: None,
    ..Variant::SHOGI
};

/// The same where a Pawn drop may mate.
const MATING_TINY: Variant = Variant {
    id: "tiny-mating-drops",
    kinds: &[
        Kind::KING,
        Kind::GOLD,
        FREE_PAWN.times(4),
        Kind::ROOK.times(1),
    ],
    ..TINY
};

/// The variant with this id, those of the tests included.
///
/// # Panics
/// If there is none.
pub(crate) fn variant(id: &str) -> &'static Variant {
    const TESTED: [&Variant; 6] = [
        &GOROGORO,
        &JUDKINS,
        &MATING_MINISHOGI,
        &MATING_SHOGI,
        &MATING_TINY,
        &TINY,
    ];
    Variant::by_id(id)
        .or_else(|| TESTED.into_iter().find(|variant| variant.id == id))
        .unwrap_or_else(|| panic!("no variant {id}"))
}
