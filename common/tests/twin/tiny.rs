//! Tiny games, a table each, small enough for forward play to reach all that can be reached.

use kazoe_common::game::{Kind, Variant};

const fn tiny(
    id: &'static str,
    (width, height, zone): (u8, u8, u8),
    kinds: &'static [Kind],
    initial: &'static str,
) -> Variant {
    Variant {
        id,
        name: id,
        width,
        height,
        kinds,
        zone,
        initial,
        section_order: "GNLPSRB",
        mirror_order: "KGNLPSRB",
        hand_order: "RBGSNLP",
        published_share: None,
    }
}

const KING: Kind = Kind::KING;
const PAWN: Kind = Kind::PAWN;
const ONE_PAWN: Kind = Kind::PAWN.times(1);
const ONE_GOLD: Kind = Kind::GOLD.times(1);
const SILVER: Kind = Kind::SILVER;
const ONE_SILVER: Kind = Kind::SILVER.times(1);
const ONE_KNIGHT: Kind = Kind::KNIGHT.times(1);
const ONE_LANCE: Kind = Kind::LANCE.times(1);
const ONE_ROOK: Kind = Kind::ROOK.times(1);
const ROOK: Kind = Kind::ROOK;
const ONE_BISHOP: Kind = Kind::BISHOP.times(1);

/// Shapes and pieces as the names say, `n` for one Knight, `nn` for two.
static ALL: [Variant; 12] = [
    tiny(
        "3x3-pp-s",
        (3, 3, 1),
        &[KING, PAWN, ONE_SILVER],
        "k2/p1P/1SK b -",
    ),
    tiny(
        "3x3-ss-g",
        (3, 3, 1),
        &[KING, ONE_GOLD, SILVER],
        "ks1/3/1SK b G",
    ),
    tiny(
        "3x3-s-r-b",
        (3, 3, 1),
        &[KING, ONE_SILVER, ONE_ROOK, ONE_BISHOP],
        "k2/3/2K b SRb",
    ),
    tiny(
        "3x3-p-rr",
        (3, 3, 2),
        &[KING, ONE_PAWN, ROOK],
        "kr1/3/1RK b p",
    ),
    tiny(
        "3x4-p-g",
        (3, 4, 1),
        &[KING, ONE_GOLD, ONE_PAWN],
        "k2/3/3/1GK b p",
    ),
    tiny(
        "3x4-n-r",
        (3, 4, 2),
        &[KING, ONE_KNIGHT, ONE_ROOK],
        "k2/3/3/1RK b n",
    ),
    tiny(
        "4x3-p-s",
        (4, 3, 1),
        &[KING, ONE_PAWN, ONE_SILVER],
        "k3/4/1S1K b p",
    ),
    tiny(
        "4x3-b-l",
        (4, 3, 1),
        &[KING, ONE_LANCE, ONE_BISHOP],
        "k3/4/1B1K b l",
    ),
    tiny(
        "2x4-p-g",
        (2, 4, 1),
        &[KING, ONE_GOLD, ONE_PAWN],
        "k1/2/2/1K b Gp",
    ),
    tiny(
        "5x2-ss-g",
        (5, 2, 1),
        &[KING, ONE_GOLD, SILVER],
        "ks3/3SK b G",
    ),
    tiny(
        "5x3-p-b",
        (5, 3, 1),
        &[KING, ONE_PAWN, ONE_BISHOP],
        "k4/5/B3K b p",
    ),
    tiny(
        "4x4-p-r",
        (4, 4, 1),
        &[KING, ONE_PAWN, ONE_ROOK],
        "k3/4/4/R2K b p",
    ),
];

/// The tiny game of this name.
pub(crate) fn game(id: &str) -> &'static Variant {
    ALL.iter()
        .find(|variant| variant.id == id)
        .expect("a tiny game")
}
