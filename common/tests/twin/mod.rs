//! The slow twin: a plain mailbox program, written from the mathematics and not from the fast code.
//!
//! The board is a grid of optional pieces addressed by file x and rank y, every rule is spelled out
//! where it applies, and the only thing shared with the library is the table of a [`Variant`]. It is
//! meant to be obviously right; whatever is fast is compared with it.
#![allow(
    dead_code,
    reason = "every test that includes the twin uses another part of it"
)]

pub(crate) mod bridge;
pub(crate) mod filters;
pub(crate) mod forward;
pub(crate) mod hash;
pub(crate) mod moves;
pub(crate) mod ranks;
pub(crate) mod reverse;
pub(crate) mod rng;
pub(crate) mod sfen;
pub(crate) mod tiny;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use kazoe_common::game::{KINDS, Movement, Side, Variant};

/// The longest side of a board that the twin can hold.
pub(crate) const LONGEST: usize = 9;

/// A square as (x, y): x counts files from Black's left, y ranks from the far side.
pub(crate) type At = (usize, usize);

/// A piece on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) side: Side,
    /// The kind's index in the variant's table, 0 for the King.
    pub(crate) kind: u8,
    pub(crate) promoted: bool,
}

impl Piece {
    fn byte(self) -> u8 {
        self.kind << 2 | u8::from(!self.promoted) << 1 | self.side as u8
    }
}

/// A position. Positions compare as the published search compares them: by the side to move, by the
/// squares rank by rank, by Black's hand, by White's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mailbox {
    pub(crate) turn: Side,
    /// What stands on (x, y) is at `LONGEST * y + x`, one byte each: a piece is its kind, then one bit
    /// that is 0 if it is promoted, then one that is 0 if it is Black's. Outside the variant's board
    /// all is [`EMPTY`].
    board: [u8; LONGEST * LONGEST],
    /// `hands[side][kind]`.
    pub(crate) hands: [[u8; KINDS]; 2],
}

/// What a square's content weighs, by rank and byte.
type Weights = [[u8; 256]; LONGEST];

/// An empty square, which compares as greater than any piece.
const EMPTY: u8 = u8::MAX;

impl Mailbox {
    /// An empty board and empty hands.
    pub(crate) fn empty(turn: Side) -> Self {
        Mailbox {
            turn,
            board: [EMPTY; LONGEST * LONGEST],
            hands: [[0; KINDS]; 2],
        }
    }

    pub(crate) fn at(&self, (x, y): At) -> Option<Piece> {
        let byte = self.board[LONGEST * y + x];
        (byte != EMPTY).then(|| Piece {
            side: Side::BOTH[usize::from(byte & 1)],
            kind: byte >> 2,
            promoted: byte & 2 == 0,
        })
    }

    pub(crate) fn set(&mut self, (x, y): At, piece: Option<Piece>) {
        self.board[LONGEST * y + x] = piece.map_or(EMPTY, Piece::byte);
    }

    /// The sum of what each square's content weighs.
    pub(crate) fn weighed(&self, weights: &Weights) -> usize {
        let ranks = self.board.chunks_exact(LONGEST).zip(weights);
        ranks
            .flat_map(|(rank, weights)| {
                rank.iter()
                    .map(|&byte| usize::from(weights[usize::from(byte)]))
            })
            .sum()
    }

    /// The kinds of the pieces in a hand, sorted.
    fn listed(&self, side: Side) -> Vec<usize> {
        let hand = self.hands[side as usize].into_iter().enumerate();
        hand.flat_map(|(kind, count)| vec![kind; usize::from(count)])
            .collect()
    }
}

impl Hash for Mailbox {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.board);
        state.write(self.hands.as_flattened());
        state.write_u8(self.turn as u8);
    }
}

impl Ord for Mailbox {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.turn.cmp(&other.turn))
            .then_with(|| self.board.cmp(&other.board))
            .then_with(|| self.listed(Side::Black).cmp(&other.listed(Side::Black)))
            .then_with(|| self.listed(Side::White).cmp(&other.listed(Side::White)))
    }
}

impl PartialOrd for Mailbox {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What leads from one square to another, as the side sees it.
fn difference(side: Side, from: At, to: At) -> (i8, i8) {
    let signed = |coordinate: usize| i8::try_from(coordinate).expect("a board is small");
    let (dx, dy) = (signed(to.0) - signed(from.0), signed(to.1) - signed(from.1));
    match side {
        Side::Black => (dx, dy),
        Side::White => (-dx, -dy),
    }
}

/// One game's rules, read from its table whenever they are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twin {
    pub(crate) variant: &'static Variant,
    /// The squares by ascending index `height * x + y`, and something else after them.
    squares: [At; LONGEST * LONGEST],
    /// What each piece adds to H, see [`remaining`](Self::remaining).
    weights: Weights,
}

impl Twin {
    pub(crate) fn new(variant: &'static Variant) -> Self {
        assert!(usize::from(variant.width.max(variant.height)) <= LONGEST);
        assert!(variant.kinds.len() <= KINDS);
        let mirror_order = variant
            .kinds
            .iter()
            .map(|k| variant.mirror_order.find(k.letter));
        assert!(
            mirror_order.is_sorted(),
            "kinds compare by their place in the mirror order, which is their place in the table"
        );
        let movements = variant
            .kinds
            .iter()
            .flat_map(|k| [Some(k.moves), k.promoted]);
        for movement in movements.flatten() {
            let unit = |&(dx, dy): &(i8, i8)| dx.abs().max(dy.abs()) == 1;
            assert!(
                movement.slides.iter().all(unit),
                "slides go square by square"
            );
        }
        let (width, height) = (usize::from(variant.width), usize::from(variant.height));
        let mut squares = [(0, 0); LONGEST * LONGEST];
        for (index, square) in squares.iter_mut().enumerate().take(width * height) {
            *square = (index / height, index % height);
        }
        let mut twin = Twin {
            variant,
            squares,
            weights: [[0; 256]; LONGEST],
        };
        for (y, side) in (0..height).flat_map(|y| Side::BOTH.map(|side| (y, side))) {
            for (kind, promoted) in twin.kinds().flat_map(|k| [(k, false), (k, true)]) {
                let piece = Piece {
                    side,
                    kind,
                    promoted,
                };
                let weight = match promoted {
                    false => 10,
                    true => 20 + twin.ranks_from_zone(side, (0, y)),
                };
                twin.weights[y][usize::from(piece.byte())] = u8::try_from(weight).unwrap();
            }
        }
        twin
    }

    pub(crate) fn width(&self) -> usize {
        usize::from(self.variant.width)
    }

    pub(crate) fn height(&self) -> usize {
        usize::from(self.variant.height)
    }

    /// All squares by ascending index `height * x + y`.
    pub(crate) fn squares(&self) -> impl Iterator<Item = At> {
        self.squares[..self.width() * self.height()].iter().copied()
    }

    /// The kinds' indices without the King's.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = u8> + use<> {
        1..u8::try_from(self.variant.kinds.len()).unwrap()
    }

    /// How a piece moves, as Black would see it.
    pub(crate) fn movement(&self, piece: Piece) -> Movement {
        let kind = &self.variant.kinds[usize::from(piece.kind)];
        if piece.promoted {
            kind.promoted
                .expect("only a kind that promotes is promoted")
        } else {
            kind.moves
        }
    }

    pub(crate) fn promotes(&self, kind: u8) -> bool {
        self.variant.kinds[usize::from(kind)].promoted.is_some()
    }

    /// How many ranks a square is away from a side's promotion zone, 0 inside.
    pub(crate) fn ranks_from_zone(&self, side: Side, (_, y): At) -> usize {
        let from_far_side = match side {
            Side::Black => y,
            Side::White => self.height() - 1 - y,
        };
        (from_far_side + 1).saturating_sub(usize::from(self.variant.zone))
    }

    pub(crate) fn in_zone(&self, side: Side, at: At) -> bool {
        self.ranks_from_zone(side, at) == 0
    }

    /// The square one (dx, dy) further as the side sees it, if that is on the board.
    pub(crate) fn step(&self, side: Side, (x, y): At, (dx, dy): (i8, i8)) -> Option<At> {
        let (dx, dy) = match side {
            Side::Black => (dx, dy),
            Side::White => (-dx, -dy),
        };
        let x = x.checked_add_signed(isize::from(dx))?;
        let y = y.checked_add_signed(isize::from(dy))?;
        (x < self.width() && y < self.height()).then_some((x, y))
    }

    /// Whether a piece standing on `from` could move to `to`, whatever stands there, over squares
    /// that are empty in `position`.
    pub(crate) fn reaches(&self, position: &Mailbox, piece: Piece, from: At, to: At) -> bool {
        let movement = self.movement(piece);
        let (dx, dy) = difference(piece.side, from, to);
        if movement.steps.contains(&(dx, dy)) {
            return true;
        }
        let distance = dx.abs().max(dy.abs());
        movement.slides.iter().any(|&(sx, sy)| {
            (dx, dy) == (distance * sx, distance * sy)
                && (1..distance).all(|n| {
                    let passed = self.step(piece.side, from, (n * sx, n * sy));
                    passed.is_some_and(|at| position.at(at).is_none())
                })
        })
    }

    /// Whether a side attacks a square.
    pub(crate) fn attacks(&self, position: &Mailbox, by: Side, target: At) -> bool {
        self.squares().any(|from| {
            position
                .at(from)
                .is_some_and(|p| p.side == by && self.reaches(position, p, from, target))
        })
    }

    /// The square of a side's King.
    pub(crate) fn king(&self, position: &Mailbox, side: Side) -> At {
        self.squares()
            .find(|&at| {
                position
                    .at(at)
                    .is_some_and(|p| p.kind == 0 && p.side == side)
            })
            .expect("each side has a King")
    }

    pub(crate) fn in_check(&self, position: &Mailbox, side: Side) -> bool {
        self.attacks(position, side.other(), self.king(position, side))
    }

    /// Whether an unpromoted piece of this kind has a move from this square on an empty board.
    pub(crate) fn can_stand(&self, side: Side, kind: u8, at: At) -> bool {
        let moves = self.variant.kinds[usize::from(kind)].moves;
        let mut all = moves.steps.iter().chain(moves.slides);
        all.any(|&m| self.step(side, at, m).is_some())
    }

    /// Whether a piece may be put on an empty square: not unpromoted where it could never move, not
    /// one more unpromoted piece on a file than its kind allows.
    pub(crate) fn may_place(&self, position: &Mailbox, piece: Piece, at: At) -> bool {
        if piece.promoted {
            return true;
        }
        let limit = self.variant.kinds[usize::from(piece.kind)].file_limit;
        let on_file = || {
            (0..self.height())
                .filter(|&y| position.at((at.0, y)) == Some(piece))
                .count()
        };
        self.can_stand(piece.side, piece.kind, at)
            && limit.is_none_or(|limit| on_file() < usize::from(limit))
    }
}
