//! Random positions, the same in every run.

use kazoe_common::game::{Bits, Piece, Position, Rules, Side};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A seeded source of positions.
pub(crate) struct TestRng(ChaCha8Rng);

impl TestRng {
    pub(crate) fn new(seed: u64) -> Self {
        TestRng(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number from 0 to `below - 1`, nearly uniform for small ones.
    pub(crate) fn number(&mut self, below: usize) -> usize {
        self.0.next_u32() as usize % below
    }

    fn one_in(&mut self, odds: usize) -> bool {
        self.number(odds) == 0
    }

    fn side(&mut self) -> Side {
        if self.one_in(2) {
            Side::Black
        } else {
            Side::White
        }
    }

    /// The whole set thrown on the board and into the hands, one piece in `hand_odds` in a hand: not
    /// adjacent Kings, local rules kept, and the King of the side not to move unattacked.
    pub(crate) fn scattered<B: Bits>(&mut self, rules: &Rules<B>, hand_odds: usize) -> Position<B> {
        loop {
            let text = self.scattered_text(rules, hand_odds);
            let position = rules.parse(&text).expect("one piece a square");
            let attacked = rules.in_check(&position, position.turn().other());
            if !attacked && !rules.has_two_pawns(&position) && !rules.has_immobile(&position) {
                return position;
            }
        }
    }

    fn scattered_text<B: Bits>(&mut self, rules: &Rules<B>, hand_odds: usize) -> String {
        let variant = rules.variant();
        let mut board: Vec<Option<Piece>> = vec![None; variant.squares()];
        let mut hands = String::new();
        for side in Side::BOTH {
            let square = self.empty(&board);
            board[square] = Some(Piece {
                side,
                kind: 0,
                promoted: false,
            });
        }
        for (kind, entry) in variant.kinds.iter().enumerate().skip(1) {
            let mut held = [0; 2];
            for _ in 0..entry.count {
                let side = self.side();
                let full = board.iter().flatten().count() == board.len();
                if full || self.one_in(hand_odds) {
                    held[side as usize] += 1;
                    continue;
                }
                let square = self.empty(&board);
                board[square] = Some(Piece {
                    side,
                    kind,
                    promoted: entry.promoted.is_some() && self.one_in(2),
                });
            }
            for side in Side::BOTH {
                if held[side as usize] > 0 {
                    hands += &format!("{}{}", held[side as usize], cased(entry.letter, side));
                }
            }
        }
        let ranks: Vec<String> = (0..usize::from(variant.height))
            .map(|y| {
                let files = 0..usize::from(variant.width);
                let squares = files.map(|x| board[x * usize::from(variant.height) + y]);
                squares
                    .map(|piece| match piece {
                        None => "1".to_owned(),
                        Some(Piece {
                            side,
                            kind,
                            promoted,
                        }) => {
                            let plus = if promoted { "+" } else { "" };
                            format!("{plus}{}", cased(variant.kinds[kind].letter, side))
                        }
                    })
                    .collect()
            })
            .collect();
        let turn = if self.one_in(2) { 'b' } else { 'w' };
        let hands = if hands.is_empty() { "-" } else { &hands };
        format!("{} {turn} {hands}", ranks.join("/"))
    }

    fn empty(&mut self, board: &[Option<Piece>]) -> usize {
        loop {
            let square = self.number(board.len());
            if board[square].is_none() {
                return square;
            }
        }
    }

    /// The positions of a random game of at most `plies` moves.
    pub(crate) fn game<B: Bits>(&mut self, rules: &Rules<B>, plies: usize) -> Vec<Position<B>> {
        let mut positions = vec![rules.initial()];
        while positions.len() <= plies {
            let position = positions[positions.len() - 1];
            let moves = rules.legal_moves(&position);
            if moves.is_empty() {
                break;
            }
            positions.push(rules.play(&position, moves[self.number(moves.len())]));
        }
        positions
    }
}

fn cased(letter: char, side: Side) -> char {
    match side {
        Side::Black => letter,
        Side::White => letter.to_ascii_lowercase(),
    }
}
