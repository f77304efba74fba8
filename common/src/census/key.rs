//! Keys: positions as numbers that compare as the published search compares positions.
//!
//! The search takes the position with least H first, and of equals the least position: Black to move
//! before White; then the board square by square, rank by rank from the far side, each from Black's
//! left; then Black's hand; then White's. Of two squares that one is less whose piece comes first in
//! the mirror order of kinds, promoted before unpromoted, Black's before White's; an empty square is
//! greatest. A hand compares as the sorted list of its pieces' kinds in that order, a list being
//! greater than its beginnings.
//!
//! A key writes all of this down, what is compared first in the highest bits: H, the side to move,
//! five bits a square, Black's hand. White's hand is what the other two leave of the set, which no
//! move changes, so it decides no comparison among the ancestors of one position. Hence a key holds
//! its position, equal keys are equal positions, and the order of the keys is the order of the search.

use crate::game::{Bits, Hand, KINDS, MirrorGroup, Piece, Position, Rules, Side, Unmove};

/// Words enough for any variant: 128 squares, seven kinds of 255 pieces in hand, and a word after that
/// in which the last field begins.
const WORDS: usize = 12;

/// H is less than 2^13: of at most 126 pieces none weighs more than 45, its rank being one of 26.
const H_BITS: usize = 13;

/// Eight kinds, promoted or not, of either side, but no promoted King; and the empty square.
const SQUARE_BITS: usize = 5;

/// The code of an empty square.
const EMPTY: u64 = (1 << SQUARE_BITS) - 1;

/// A key, its highest word first. Words that the variant does not need are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key([u64; WORDS]);

impl Key {
    /// The key with these highest words.
    pub(crate) fn of_words(words: &[u64]) -> Self {
        let mut key = Key([0; WORDS]);
        key.0[..words.len()].copy_from_slice(words);
        key
    }

    /// The highest words, as many as asked for.
    pub(crate) fn words(&self, number: usize) -> &[u64] {
        &self.0[..number]
    }

    #[inline]
    fn get(&self, field: Field) -> u64 {
        let [high, low] = [0, 1].map(|n| u128::from(self.0[field.word + n]));
        ((high << 64 | low) >> field.shift) as u64 & field.mask
    }

    /// Turns over the bits that `bits` sets.
    #[inline]
    fn flip(&mut self, field: Field, bits: u64) {
        let wide = u128::from(bits) << field.shift;
        self.0[field.word] ^= (wide >> 64) as u64;
        self.0[field.word + 1] ^= wide as u64;
    }
}

/// Some bits of a key: those of `mask`, moved up by `shift` from the lowest of two words.
#[derive(Clone, Copy, Debug)]
struct Field {
    /// The first of the two.
    word: usize,
    shift: usize,
    mask: u64,
}

impl Field {
    /// The bits from `start` to `end`, counted from the highest of the first word; less than 64.
    fn new(start: usize, end: usize) -> Self {
        Field {
            word: start / 64,
            shift: 128 - (start % 64 + end - start),
            mask: (1 << (end - start)) - 1,
        }
    }
}

/// A square of the board: where its content stands in a key, and how many ranks it is away from each
/// side's promotion zone.
#[derive(Clone, Copy, Debug)]
struct Square {
    field: Field,
    ranks_from_zone: [i32; 2],
}

/// Kinds that can be in hand.
#[derive(Clone, Copy, Debug)]
struct Held {
    kind: usize,
    /// How many of it there are on board and in hands.
    total: u64,
    bits: usize,
}

/// What turns the ancestors of one position into keys and back.
pub(crate) struct Keys {
    words: usize,
    turn: Field,
    squares: Vec<Square>,
    hand: Field,
    /// `codes[side][kind][promoted]`.
    codes: [[[u64; 2]; KINDS]; 2],
    /// The pieces by code.
    pieces: [Option<Piece>; 1 << SQUARE_BITS],
    /// In the order in which hands list them.
    held: Vec<Held>,
}

impl Keys {
    /// The keys of all positions with the pieces of this one.
    pub(crate) fn new<B: Bits>(rules: &Rules<B>, root: &Position<B>) -> Self {
        let variant = rules.variant();
        let (width, height) = (usize::from(variant.width), usize::from(variant.height));
        let (turn, board) = (H_BITS, H_BITS + 1);
        let squares = (0..width * height).map(|square| {
            let (x, y) = (square / height, square % height);
            let start = board + SQUARE_BITS * (width * y + x);
            let ranks = |from_far_side| from_far_side + 1 - i32::from(variant.zone);
            Square {
                field: Field::new(start, start + SQUARE_BITS),
                ranks_from_zone: [ranks(y as i32), ranks((height - 1 - y) as i32)]
                    .map(|ranks| ranks.max(0)),
            }
        });
        // A hand holds unpromoted pieces of every kind but the King's.
        let kinds = rules.mirror_groups.iter().filter(|group| !group.promoted);
        let held: Vec<Held> = (kinds.map(|group| group.kind).filter(|&kind| kind != 0))
            .map(|kind| {
                let in_hands = Side::BOTH.map(|side| u64::from(root.hand(side)[kind]));
                let total = u64::from(root.kinds[kind].count()) + in_hands[0] + in_hands[1];
                Held {
                    kind,
                    total,
                    bits: (2 * total + 1).ilog2() as usize + 1,
                }
            })
            .collect();
        let hand = board + SQUARE_BITS * squares.len();
        let end = hand + held.iter().map(|held| held.bits).sum::<usize>();
        let mut codes = [[[EMPTY; 2]; KINDS]; 2];
        let mut pieces = [None; 1 << SQUARE_BITS];
        let mut code = 0;
        for &MirrorGroup { kind, promoted, .. } in &rules.mirror_groups {
            for side in Side::BOTH {
                codes[side as usize][kind][usize::from(promoted)] = code;
                pieces[code as usize] = Some(Piece {
                    side,
                    kind,
                    promoted,
                });
                code += 1;
            }
        }
        assert!(
            code <= EMPTY && hand / 64 + 1 < WORDS && end - hand < 64,
            "{}: no room in a key",
            variant.id
        );
        Keys {
            words: end.div_ceil(64),
            turn: Field::new(turn, board),
            squares: squares.collect(),
            hand: Field::new(hand, end),
            codes,
            pieces,
            held,
        }
    }

    /// How many words are needed.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// The key of a position.
    pub(crate) fn key<B: Bits>(&self, position: &Position<B>) -> Key {
        let mut key = Key([0; WORDS]);
        key.flip(self.turn, position.turn() as u64);
        for square in 0..self.squares.len() {
            key.flip(self.squares[square].field, EMPTY);
            self.replace(&mut key, square, None, position.at(square));
        }
        key.flip(self.hand, self.hand_code(position.hand(Side::Black)));
        key
    }

    /// The key of a predecessor: `after` is the key of the position that it is a predecessor of,
    /// `unmove` leads there.
    #[inline]
    pub(crate) fn before<B: Bits>(&self, after: &Key, unmove: Unmove, before: &Position<B>) -> Key {
        let mut key = *after;
        let side = before.turn();
        key.flip(self.turn, 1);
        let hand_changes = match unmove {
            Unmove::Drop { kind, to } => {
                let piece = Piece {
                    side,
                    kind,
                    promoted: false,
                };
                self.replace(&mut key, to, Some(piece), None);
                true
            }
            Unmove::Board {
                from,
                to,
                promoted,
                captured,
            } => {
                let now = self.at(after, to).expect("what moved stands there");
                let was = Piece {
                    promoted: now.promoted && !promoted,
                    ..now
                };
                let captured = captured.map(|(kind, promoted)| Piece {
                    side: side.other(),
                    kind,
                    promoted,
                });
                self.replace(&mut key, to, Some(now), captured);
                self.replace(&mut key, from, None, Some(was));
                captured.is_some()
            }
        };
        if hand_changes && side == Side::Black {
            let codes = key.get(self.hand) ^ self.hand_code(before.hand(side));
            key.flip(self.hand, codes);
        }
        key
    }

    /// The position with this key.
    pub(crate) fn position<B: Bits>(&self, key: &Key) -> Position<B> {
        let turn = Side::BOTH[key.get(self.turn) as usize];
        let mut position = Position::<B>::bare(turn);
        for square in 0..self.squares.len() {
            if let Some(piece) = self.at(key, square) {
                position.put(square, piece);
            }
        }
        let mut code = key.get(self.hand);
        for held in self.held.iter().rev() {
            let digit = code & ((1 << held.bits) - 1);
            code >>= held.bits;
            let black = if digit > held.total {
                2 * held.total + 1 - digit
            } else {
                digit
            };
            let on_board = u64::from(position.kinds[held.kind].count());
            position.hands[Side::Black as usize][held.kind] = black as u8;
            position.hands[Side::White as usize][held.kind] = (held.total - on_board - black) as u8;
        }
        position
    }

    #[inline]
    fn at(&self, key: &Key, square: usize) -> Option<Piece> {
        self.pieces[key.get(self.squares[square].field) as usize]
    }

    /// Writes that another piece, or none, stands on a square, and what that changes in H.
    #[inline]
    fn replace(&self, key: &mut Key, square: usize, old: Option<Piece>, new: Option<Piece>) {
        let change = self.weight(new, square) - self.weight(old, square);
        key.0[0] = key.0[0].wrapping_add((i64::from(change) << (64 - H_BITS)).cast_unsigned());
        let codes = self.code(old) ^ self.code(new);
        key.flip(self.squares[square].field, codes);
    }

    #[inline]
    fn code(&self, piece: Option<Piece>) -> u64 {
        piece.map_or(EMPTY, |piece| {
            self.codes[piece.side as usize][piece.kind][usize::from(piece.promoted)]
        })
    }

    /// What a piece adds to H = 10 N + 10 P + D, N counting the pieces other than Kings, P the promoted
    /// ones, D how many ranks these are away from their owners' promotion zones.
    #[inline]
    fn weight(&self, piece: Option<Piece>, square: usize) -> i32 {
        match piece {
            Some(piece) if piece.kind != 0 && piece.promoted => {
                20 + self.squares[square].ranks_from_zone[piece.side as usize]
            }
            Some(piece) if piece.kind != 0 => 10,
            _ => 0,
        }
    }

    /// A number that compares as the hand does, for hands that hold at most `total` of each kind.
    ///
    /// It is made of a digit for each kind, the first in the order highest. Where two hands agree up
    /// to a kind of which they hold a and b, a < b: if the first holds nothing after that kind, its
    /// list is a beginning of the other's, or comes to an end while the other goes on, and is less;
    /// else its next piece is of a later kind than the other's, and it is greater. So the digits are,
    /// in ascending order, those of 0, 1, ..., `total` pieces with nothing after them, then those of
    /// `total`, ..., 1, 0 pieces with something after them.
    fn hand_code(&self, hand: &Hand) -> u64 {
        let (mut code, mut place, mut more) = (0, 0, false);
        for held in self.held.iter().rev() {
            let count = u64::from(hand[held.kind]);
            let digit = if more {
                2 * held.total + 1 - count
            } else {
                count
            };
            code |= digit << place;
            place += held.bits;
            more |= count > 0;
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::game::Variant;

    /// A position as the definition compares it.
    type Plain = (i32, Side, Vec<(bool, usize, bool, Side)>, [Vec<usize>; 2]);

    fn plain<B: Bits>(rules: &Rules<B>, position: &Position<B>) -> Plain {
        let variant = rules.variant();
        let letter = |kind: usize| variant.kinds[kind].letter;
        let place = |kind: usize| variant.mirror_order.find(letter(kind)).expect("a place");
        let (mut h, mut squares) = (0, Vec::new());
        for y in 0..variant.height {
            for x in 0..variant.width {
                let square = usize::from(variant.height) * usize::from(x) + usize::from(y);
                let piece = position.at(square);
                squares.push(piece.map_or((true, 0, true, Side::White), |piece| {
                    (false, place(piece.kind), !piece.promoted, piece.side)
                }));
                let Some(piece) = piece.filter(|piece| piece.kind != 0) else {
                    continue;
                };
                h += 10;
                if piece.promoted {
                    let from_far_side = match piece.side {
                        Side::Black => i32::from(y),
                        Side::White => i32::from(variant.height - 1 - y),
                    };
                    h += 10 + (from_far_side + 1 - i32::from(variant.zone)).max(0);
                }
            }
        }
        let hands = Side::BOTH.map(|side| {
            let hand = position.hand(side).iter().enumerate();
            let kinds = hand.flat_map(|(kind, &count)| vec![kind; usize::from(count)]);
            let mut places: Vec<usize> = kinds.map(place).collect();
            places.sort_unstable();
            places
        });
        (h, position.turn(), squares, hands)
    }

    /// Follows un-moves from a position, and compares the keys of all predecessors on the way.
    fn keys_agree<B: Bits>(variant: &'static Variant, sfen: &str, plies: usize) {
        let rules = Rules::<B>::new(variant);
        let root = rules.parse(sfen).expect("a position");
        let keys = Keys::new(&rules, &root);
        let mut seen = vec![(keys.key(&root), plain(&rules, &root))];
        let (mut here, mut chosen) = (root, 1);
        for _ in 0..plies {
            let after = keys.key(&here);
            assert_eq!(keys.position::<B>(&after), here);
            assert_eq!(Key::of_words(after.words(keys.words())), after);
            let mut found = Vec::new();
            let _: ControlFlow<()> = rules.predecessors(&here, |unmove, before| {
                let key = keys.before(&after, unmove, before);
                assert_eq!(key, keys.key(before), "{}", rules.sfen(before));
                seen.push((key, plain(&rules, before)));
                found.push(*before);
                ControlFlow::Continue(())
            });
            chosen = chosen * 7_919 % 1_000_003;
            here = match found.len() {
                0 => root,
                number => found[chosen % number],
            };
        }
        for pair in seen.windows(2).chain(seen.windows(40).step_by(3)) {
            let ((key, slow), (other, other_slow)) = (&pair[0], &pair[pair.len() - 1]);
            assert_eq!(
                key.cmp(other),
                slow.cmp(other_slow),
                "{slow:?} {other_slow:?}"
            );
        }
    }

    #[test]
    fn keys_compare_as_positions_do() {
        let shogi = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1";
        keys_agree::<u128>(&Variant::SHOGI, shogi, 200);
        keys_agree::<u128>(&Variant::SHOGI, Variant::SHOGI.initial, 200);
        let mini = "2+s1s/1p2+r/K3+B/g1+r1g/1p1k+B b - 1";
        keys_agree::<u64>(&Variant::MINISHOGI, mini, 200);
        keys_agree::<u128>(&Variant::MINISHOGI, Variant::MINISHOGI.initial, 200);
    }

    /// Hands that divide the same pieces: the codes against the lists.
    #[test]
    fn hands_compare_as_lists_do() {
        let rules = Rules::<u64>::new(&Variant::MINISHOGI);
        let all = rules.parse("4k/5/5/5/K4 b 2R2B2G2S2P").expect("a position");
        let keys = Keys::new(&rules, &all);
        let mut hands = vec![all];
        for kind in 1..6 {
            for position in hands.clone() {
                for white in 1..=2 {
                    let mut other = position;
                    other.hands[0][kind] -= white;
                    other.hands[1][kind] += white;
                    hands.push(other);
                }
            }
        }
        assert_eq!(hands.len(), 243);
        for a in &hands {
            assert_eq!(keys.position::<u64>(&keys.key(a)), *a);
            for b in &hands {
                let expected = plain(&rules, a).cmp(&plain(&rules, b));
                assert_eq!(keys.key(a).cmp(&keys.key(b)), expected);
            }
        }
    }
}
