//! SFEN in and out, for input known to be well formed.

use kazoe_common::game::Side;

use super::{Mailbox, Piece, Twin};

impl Twin {
    /// The index of the kind with this letter.
    pub(crate) fn kind_of(&self, letter: char) -> Option<u8> {
        let letter = letter.to_ascii_uppercase();
        let index = self.variant.kinds.iter().position(|k| k.letter == letter)?;
        u8::try_from(index).ok()
    }

    fn side_of(letter: char) -> Side {
        if letter.is_ascii_uppercase() {
            Side::Black
        } else {
            Side::White
        }
    }

    /// Reads an SFEN; a move number may follow.
    pub(crate) fn parse(&self, sfen: &str) -> Mailbox {
        let fields: Vec<&str> = sfen.split(' ').collect();
        let turn = match fields[1] {
            "b" => Side::Black,
            "w" => Side::White,
            other => panic!("{sfen}: side to move {other}"),
        };
        let mut position = Mailbox::empty(turn);
        let ranks: Vec<&str> = fields[0].split('/').collect();
        assert_eq!(ranks.len(), self.height(), "{sfen}");
        for (y, rank) in ranks.into_iter().enumerate() {
            let mut x = 0;
            let mut promoted = false;
            for letter in rank.chars() {
                if letter == '+' {
                    promoted = true;
                } else if let Some(empty) = letter.to_digit(10) {
                    x += empty as usize;
                } else {
                    let kind = self.kind_of(letter).expect(sfen);
                    let piece = Piece {
                        side: Self::side_of(letter),
                        kind,
                        promoted,
                    };
                    assert!(x < self.width(), "{sfen}");
                    position.set((x, y), Some(piece));
                    promoted = false;
                    x += 1;
                }
            }
            assert_eq!(x, self.width(), "{sfen}");
        }
        let mut number = 0;
        for letter in fields[2].chars().filter(|&letter| letter != '-') {
            if let Some(digit) = letter.to_digit(10) {
                number = number * 10 + u8::try_from(digit).unwrap();
            } else {
                let kind = self.kind_of(letter).expect(sfen);
                position.hands[Self::side_of(letter) as usize][usize::from(kind)] = number.max(1);
                number = 0;
            }
        }
        position
    }

    /// Writes the SFEN with the move number 1.
    pub(crate) fn format(&self, position: &Mailbox) -> String {
        let letter = |side: Side, kind: u8| {
            let letter = self.variant.kinds[usize::from(kind)].letter;
            match side {
                Side::Black => letter,
                Side::White => letter.to_ascii_lowercase(),
            }
        };
        let mut ranks = Vec::new();
        for y in 0..self.height() {
            let mut rank = String::new();
            let mut empty = 0;
            for x in 0..self.width() {
                let Some(piece) = position.at((x, y)) else {
                    empty += 1;
                    continue;
                };
                if empty > 0 {
                    rank += &empty.to_string();
                    empty = 0;
                }
                if piece.promoted {
                    rank.push('+');
                }
                rank.push(letter(piece.side, piece.kind));
            }
            if empty > 0 {
                rank += &empty.to_string();
            }
            ranks.push(rank);
        }
        let mut hands = String::new();
        for side in Side::BOTH {
            for kind in self
                .variant
                .hand_order
                .chars()
                .filter_map(|k| self.kind_of(k))
            {
                let number = position.hands[side as usize][usize::from(kind)];
                if number > 1 {
                    hands += &number.to_string();
                }
                if number > 0 {
                    hands.push(letter(side, kind));
                }
            }
        }
        if hands.is_empty() {
            hands.push('-');
        }
        let turn = match position.turn {
            Side::Black => 'b',
            Side::White => 'w',
        };
        format!("{} {turn} {hands} 1", ranks.join("/"))
    }
}
