//! What a position shows by itself: its images, canonicality, and the local rules.

use super::bits::Bits;
use super::position::{Hand, Position, Side};
use super::rules::{Rules, Square};
use super::variant::Variant;

/// The pieces of one kind, promoted or not, and the kind that is their mirror image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MirrorGroup {
    pub(crate) kind: usize,
    pub(crate) promoted: bool,
    image: usize,
}

impl MirrorGroup {
    /// A variant's groups in the order in which the mirror comparison lists pieces.
    pub(super) fn list(variant: &Variant) -> Vec<MirrorGroup> {
        let index = |letter| variant.kinds.iter().position(|k| k.letter == letter);
        let mut groups = Vec::new();
        for kind in variant.mirror_order.chars().filter_map(index) {
            let entry = &variant.kinds[kind];
            let image = index(entry.mirror)
                .unwrap_or_else(|| panic!("{}: no kind {}", variant.id, entry.mirror));
            for promoted in [true, false] {
                if !promoted || entry.promoted.is_some() {
                    groups.push(MirrorGroup {
                        kind,
                        promoted,
                        image,
                    });
                }
            }
        }
        groups
    }
}

/// A file that holds more unpromoted pieces of one kind and side than the kind allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoPawns {
    /// Whose pieces they are.
    pub side: Side,
    /// Their kind's index.
    pub kind: usize,
    /// The file, counted from Black's left: USI names it `width - x`.
    pub x: u8,
}

impl<B: Bits> Rules<B> {
    /// The set as a mirror shows it: file x becomes file `width - 1 - x`.
    #[inline]
    #[must_use]
    pub fn flipped(&self, set: B) -> B {
        let width = self.files.len();
        let mut image = B::EMPTY;
        for x in 0..width / 2 {
            let by = u32::from(self.variant.height) * (width - 1 - 2 * x) as u32;
            image |= (set & self.files[x]).up(by);
            image |= (set & self.files[width - 1 - x]).down(by);
        }
        if width % 2 == 1 {
            image |= set & self.files[width / 2];
        }
        image
    }

    /// The set turned by 180 degrees: square s becomes `squares - 1 - s`.
    #[inline]
    #[must_use]
    pub fn turned(&self, set: B) -> B {
        set.reversed().down(self.unused)
    }

    /// The left-right mirror image; the side to move stays.
    #[must_use]
    pub fn mirrored(&self, position: &Position<B>) -> Position<B> {
        let mut image = *position;
        image.sides = position.sides.map(|set| self.flipped(set));
        image.promoted = self.flipped(position.promoted);
        for group in self.mirror_groups.iter().filter(|group| !group.promoted) {
            image.kinds[group.image] = self.flipped(position.kinds[group.kind]);
            for side in 0..2 {
                image.hands[side][group.image] = position.hands[side][group.kind];
            }
        }
        image
    }

    /// The exchanged twin: the board turned by 180 degrees and the players exchanged, so that the
    /// other side is to move. It is reachable exactly when the position is.
    #[must_use]
    pub fn exchanged(&self, position: &Position<B>) -> Position<B> {
        Position {
            sides: [
                self.turned(position.sides[1]),
                self.turned(position.sides[0]),
            ],
            kinds: position.kinds.map(|set| self.turned(set)),
            promoted: self.turned(position.promoted),
            hands: [position.hands[1], position.hands[0]],
            turn: position.turn.other(),
        }
    }

    /// Whether the position's list of (piece, square) is not greater than its mirror image's.
    ///
    /// Both lists are sorted and equally long. They agree on every group of equal pieces before the
    /// first whose squares differ, and there on every square before the first that only one of them
    /// has. The list that has that square goes on with a smaller entry than the other, which goes on
    /// with a greater square or a later piece: it is the smaller list.
    #[must_use]
    pub fn is_canonical(&self, position: &Position<B>) -> bool {
        match self.first_difference(position) {
            None => true,
            Some((square, own)) => own.has(square),
        }
    }

    /// Whether the board equals its mirror image, and, where the mirror changes kinds, the hands too.
    #[must_use]
    pub fn is_self_mirrored(&self, position: &Position<B>) -> bool {
        self.first_difference(position).is_none()
            && self.mirror_groups.iter().all(|group| {
                let same = |hand: &Hand| hand[group.kind] == hand[group.image];
                position.hands.iter().all(same)
            })
    }

    /// The smallest square that only one of the two has, the position or its mirror image, in the
    /// first group in which they differ, and the position's squares of that group.
    #[inline]
    fn first_difference(&self, position: &Position<B>) -> Option<(Square, B)> {
        for group in &self.mirror_groups {
            for side in Side::BOTH {
                let own = position.pieces(side, group.kind, group.promoted);
                let image = if group.image == group.kind {
                    own
                } else {
                    // The mirror of kinds is an involution: what becomes this kind is its image.
                    position.pieces(side, group.image, group.promoted)
                };
                let difference = own ^ self.flipped(image);
                if !difference.is_empty() {
                    return Some((difference.first(), own));
                }
            }
        }
        None
    }

    /// Whether some file holds two Pawns of one side (in general: more unpromoted pieces of one kind
    /// than the kind allows).
    #[must_use]
    pub fn has_two_pawns(&self, position: &Position<B>) -> bool {
        self.two_pawns(position).is_some()
    }

    /// The first file with two Pawns of one side: by kind, Black before White, from Black's left.
    #[inline]
    #[must_use]
    pub fn two_pawns(&self, position: &Position<B>) -> Option<TwoPawns> {
        for (kind, entry) in self.variant.kinds.iter().enumerate() {
            let Some(limit) = entry.file_limit else {
                continue;
            };
            for side in Side::BOTH {
                let set = position.pieces(side, kind, false);
                for (x, &file) in (0..).zip(&self.files) {
                    if (set & file).count() > u32::from(limit) {
                        return Some(TwoPawns { side, kind, x });
                    }
                }
            }
        }
        None
    }

    /// Whether some piece could never move again.
    #[must_use]
    pub fn has_immobile(&self, position: &Position<B>) -> bool {
        !self.immobile_pieces(position).is_empty()
    }

    /// The first square with a piece that could never move again.
    #[must_use]
    pub fn immobile(&self, position: &Position<B>) -> Option<Square> {
        self.immobile_pieces(position).squares().next()
    }

    /// The squares of all pieces that could never move again.
    #[inline]
    #[must_use]
    pub fn immobile_pieces(&self, position: &Position<B>) -> B {
        let mut found = B::EMPTY;
        for side in Side::BOTH {
            for (kind, &standing) in self.standing[side as usize].iter().enumerate() {
                found |= position.pieces(side, kind, false) & !standing;
            }
        }
        found
    }

    /// The pieces that attack a side's King.
    #[inline]
    #[must_use]
    pub fn checkers(&self, position: &Position<B>, side: Side) -> B {
        let king = position.king(side);
        self.attackers(position, king, side.other(), position.occupied())
    }
}
