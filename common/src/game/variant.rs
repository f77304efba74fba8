//! A variant is a table: what a game's rules are, with no code of its own.

/// The most piece kinds a variant may have, the King included.
pub const KINDS: usize = 8;

/// The rules of one game, as data.
///
/// Everything that differs between two games of the family stands here; all else is computed from it
/// (see [`Rules`](super::Rules)). A new variant is a new value of this type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name on the command line and in campaigns: `shogi`, `minishogi`.
    pub id: &'static str,
    /// The name for people.
    pub name: &'static str,
    /// Files, 1 to 9 (USI names files with one digit).
    pub width: u8,
    /// Ranks, 1 to 26 (USI names ranks with one letter).
    pub height: u8,
    /// The piece kinds: the King first, the others in the type order T of the rank order.
    pub kinds: &'static [Kind],
    /// How many of the far ranks are the promotion zone.
    pub zone: u8,
    /// The initial position as SFEN, without the move number.
    pub initial: &'static str,
    /// The letters of the non-King kinds from least to greatest as the rank order's sections compare
    /// types (`GNLPSRB` in shogi, `RBGSP` in mini shogi).
    pub section_order: &'static str,
    /// The letters of all kinds in the order in which the mirror comparison lists pieces.
    pub mirror_order: &'static str,
    /// The letters of all non-King kinds in the order in which SFEN lists a hand; like
    /// `mirror_order` it may name kinds that the variant lacks.
    pub hand_order: &'static str,
    /// The published proportion of reachable positions among the candidates, as numerator and
    /// denominator, which centres the anytime-valid interval; `None` stands for one half.
    pub published_share: Option<(u64, u64)>,
}

/// One kind of piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The SFEN letter, upper case.
    pub letter: char,
    /// The English name.
    pub name: &'static str,
    /// How many the game's whole set holds, both sides together (2 for the King).
    pub count: u8,
    /// How the unpromoted piece moves.
    pub moves: Movement,
    /// How the promoted piece moves; `None` if the kind does not promote.
    pub promoted: Option<Movement>,
    /// How many unpromoted pieces of this kind one side may have on a file (1 for the Pawn).
    pub file_limit: Option<u8>,
    /// Whether a drop of this kind that leaves the opponent without a legal move is forbidden.
    pub mating_drop_forbidden: bool,
    /// The letter of the kind that this one becomes in the left-right mirror (itself, mostly).
    pub mirror: char,
}

/// Steps and slides as (dx, dy) for Black, who moves toward negative y; White's are turned by 180
/// degrees. x grows to Black's right, y away from the far side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Single steps (or jumps).
    pub steps: &'static [(i8, i8)],
    /// Directions in which the piece slides over empty squares.
    pub slides: &'static [(i8, i8)],
}

const KING: Movement = Movement {
    steps: &[
        (-1, -1),
        (0, -1),
        (1, -1),
        (-1, 0),
        (1, 0),
        (-1, 1),
        (0, 1),
        (1, 1),
    ],
    slides: &[],
};
const GOLD: Movement = Movement {
    steps: &[(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (0, 1)],
    slides: &[],
};
const SILVER: Movement = Movement {
    steps: &[(-1, -1), (0, -1), (1, -1), (-1, 1), (1, 1)],
    slides: &[],
};
const KNIGHT: Movement = Movement {
    steps: &[(-1, -2), (1, -2)],
    slides: &[],
};
const LANCE: Movement = Movement {
    steps: &[],
    slides: &[(0, -1)],
};
const PAWN: Movement = Movement {
    steps: &[(0, -1)],
    slides: &[],
};
const ROOK: Movement = Movement {
    steps: &[],
    slides: &[(0, -1), (-1, 0), (1, 0), (0, 1)],
};
const BISHOP: Movement = Movement {
    steps: &[],
    slides: &[(-1, -1), (1, -1), (-1, 1), (1, 1)],
};
const DRAGON: Movement = Movement {
    steps: BISHOP.slides,
    slides: ROOK.slides,
};
const HORSE: Movement = Movement {
    steps: ROOK.slides,
    slides: BISHOP.slides,
};

impl Kind {
    /// A kind without restrictions of its own.
    const fn new(
        letter: char,
        name: &'static str,
        moves: Movement,
        promoted: Option<Movement>,
    ) -> Self {
        Kind {
            letter,
            name,
            count: 2,
            moves,
            promoted,
            file_limit: None,
            mating_drop_forbidden: false,
            mirror: letter,
        }
    }

    /// The same kind with `count` pieces in the game's whole set.
    #[must_use]
    pub const fn times(self, count: u8) -> Self {
        Kind { count, ..self }
    }

    /// The King, one a side.
    pub const KING: Kind = Kind::new('K', "King", KING, None);
    /// The Gold.
    pub const GOLD: Kind = Kind::new('G', "Gold", GOLD, None);
    /// The Silver.
    pub const SILVER: Kind = Kind::new('S', "Silver", SILVER, Some(GOLD));
    /// The Knight.
    pub const KNIGHT: Kind = Kind::new('N', "Knight", KNIGHT, Some(GOLD));
    /// The Lance.
    pub const LANCE: Kind = Kind::new('L', "Lance", LANCE, Some(GOLD));
    /// The Pawn: one unpromoted on a file, no mating drop.
    pub const PAWN: Kind = Kind {
        file_limit: Some(1),
        mating_drop_forbidden: true,
        ..Kind::new('P', "Pawn", PAWN, Some(GOLD))
    };
    /// The Rook.
    pub const ROOK: Kind = Kind::new('R', "Rook", ROOK, Some(DRAGON));
    /// The Bishop.
    pub const BISHOP: Kind = Kind::new('B', "Bishop", BISHOP, Some(HORSE));
}

impl Variant {
    /// Shogi, 9 by 9.
    pub const SHOGI: Variant = Variant {
        id: "shogi",
        name: "shogi",
        width: 9,
        height: 9,
        kinds: &[
            Kind::KING,
            Kind::GOLD.times(4),
            Kind::KNIGHT.times(4),
            Kind::LANCE.times(4),
            Kind::PAWN.times(18),
            Kind::SILVER.times(4),
            Kind::ROOK,
            Kind::BISHOP,
        ],
        zone: 3,
        initial: "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b -",
        section_order: "GNLPSRB",
        mirror_order: "KGNLPSRB",
        hand_order: "RBGSNLP",
        published_share: Some((40_491_613, 5_000_000_000)),
    };

    /// Mini shogi, 5 by 5.
    pub const MINISHOGI: Variant = Variant {
        id: "minishogi",
        name: "mini shogi",
        width: 5,
        height: 5,
        kinds: &[
            Kind::KING,
            Kind::GOLD,
            Kind::PAWN,
            Kind::SILVER,
            Kind::ROOK,
            Kind::BISHOP,
        ],
        zone: 1,
        initial: "rbsgk/4p/5/P4/KGSBR b -",
        section_order: "RBGSP",
        mirror_order: "KGNLPSRB",
        hand_order: "RBGSNLP",
        published_share: Some((14_849_198, 100_000_000)),
    };

    /// Every variant that the program knows by name.
    pub const ALL: [&'static Variant; 2] = [&Variant::SHOGI, &Variant::MINISHOGI];

    /// The variant with this id.
    #[must_use]
    pub fn by_id(id: &str) -> Option<&'static Variant> {
        Variant::ALL.into_iter().find(|variant| variant.id == id)
    }

    /// How many squares the board has.
    #[must_use]
    pub const fn squares(&self) -> usize {
        self.width as usize * self.height as usize
    }
}
