//! Variants that exist in tests only: each is a table.

use kazoe_common::game::{Kind, Variant};

/// Gorogoro shogi, 5 by 6.
const GOROGORO: Variant = Variant {
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
    section_order: "GPS",
    published_share: None,
    ..Variant::SHOGI
};

/// Judkins shogi, 6 by 6.
const JUDKINS: Variant = Variant {
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
    section_order: "GNPSRB",
    published_share: None,
    ..Variant::SHOGI
};

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
pub(crate) const MATING_SHOGI: Variant = Variant {
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

/// The variant with this id, those of the tests included.
///
/// # Panics
/// If there is none.
pub(crate) fn variant(id: &str) -> &'static Variant {
    const TESTED: [&Variant; 4] = [&GOROGORO, &JUDKINS, &MATING_MINISHOGI, &MATING_SHOGI];
    Variant::by_id(id)
        .or_else(|| TESTED.into_iter().find(|variant| variant.id == id))
        .unwrap_or_else(|| panic!("no variant {id}"))
}
