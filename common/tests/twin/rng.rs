//! Seeded chance: the seed is printed, and one environment variable makes a test larger.

use kazoe_common::game::Side;
use num_bigint::BigUint;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::moves::Move;
use super::{At, Mailbox, Piece, Twin};

/// A seeded generator of whatever a test needs.
pub(crate) struct TestRng(ChaCha8Rng);

impl TestRng {
    /// Prints the seed, so that a failure can be repeated.
    #[expect(
        clippy::print_stdout,
        reason = "the harness shows it where the test fails"
    )]
    pub(crate) fn seeded(seed: u64) -> Self {
        println!("seed {seed}");
        TestRng(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number from 0 to `below - 1`; its bias does not matter to a test.
    pub(crate) fn number(&mut self, below: usize) -> usize {
        usize::try_from(self.0.next_u64() % below as u64).unwrap()
    }

    /// A big number below `below`.
    pub(crate) fn rank(&mut self, below: &BigUint) -> BigUint {
        let words = (0..12).map(|_| self.0.next_u32()).collect();
        BigUint::new(words) % below
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.number(from.len())]
    }
}

/// How many positions a test looks at: its own number, or `KAZOE_TWIN_POSITIONS`.
pub(crate) fn positions(usually: usize) -> usize {
    std::env::var("KAZOE_TWIN_POSITIONS").map_or(usually, |number| {
        number
            .parse()
            .expect("KAZOE_TWIN_POSITIONS is a number of positions")
    })
}

impl Twin {
    pub(crate) fn initial(&self) -> Mailbox {
        self.parse(self.variant.initial)
    }

    /// A position of the whole set that keeps the local rules, from a distribution of no importance:
    /// every piece goes into a hand one time in `hand_odds`, else on a square where it may stand.
    pub(crate) fn random_placement(&self, rng: &mut TestRng, hand_odds: usize) -> Mailbox {
        let squares: Vec<At> = self.squares().collect();
        loop {
            let mut position = Mailbox::empty(rng.pick(&Side::BOTH));
            for side in Side::BOTH {
                let king = Piece {
                    side,
                    kind: 0,
                    promoted: false,
                };
                self.place(rng, &mut position, &squares, |_| king);
            }
            for kind in self.kinds() {
                for _ in 0..self.variant.kinds[usize::from(kind)].count {
                    if rng.number(hand_odds) == 0 {
                        let side = rng.pick(&Side::BOTH);
                        position.hands[side as usize][usize::from(kind)] += 1;
                        continue;
                    }
                    let promotes = self.promotes(kind);
                    self.place(rng, &mut position, &squares, |rng| Piece {
                        side: rng.pick(&Side::BOTH),
                        kind,
                        promoted: promotes && rng.number(2) == 1,
                    });
                }
            }
            if self.broken_rule(&position).is_none() {
                return position;
            }
        }
    }

    fn place(
        &self,
        rng: &mut TestRng,
        position: &mut Mailbox,
        squares: &[At],
        mut piece: impl FnMut(&mut TestRng) -> Piece,
    ) {
        loop {
            let at = rng.pick(squares);
            let piece = piece(rng);
            if position.at(at).is_none() && self.may_place(position, piece, at) {
                position.set(at, Some(piece));
                return;
            }
        }
    }

    /// The whole set on the board in left-right pairs as far as it goes, then up to two pieces moved
    /// elsewhere. The local rules need not hold.
    pub(crate) fn nearly_symmetric(&self, rng: &mut TestRng) -> Mailbox {
        let mut position = Mailbox::empty(Side::Black);
        let central = self.width() / 2;
        let free_on_file = |position: &Mailbox, x: usize| -> Vec<At> {
            let file = (0..self.height()).map(|y| (x, y));
            file.filter(|&at| position.at(at).is_none()).collect()
        };
        for side in Side::BOTH {
            let king = Piece {
                side,
                kind: 0,
                promoted: false,
            };
            let at = rng.pick(&free_on_file(&position, central));
            position.set(at, Some(king));
        }
        for kind in self.kinds() {
            let count = self.variant.kinds[usize::from(kind)].count;
            for _ in 0..count / 2 {
                let piece = Piece {
                    side: rng.pick(&Side::BOTH),
                    kind,
                    promoted: self.promotes(kind) && rng.number(2) == 1,
                };
                let left = free_on_file(&position, rng.number(central));
                let squares = free_on_file(&position, central);
                if !left.is_empty() {
                    let (x, y) = rng.pick(&left);
                    position.set((x, y), Some(piece));
                    position.set((self.width() - 1 - x, y), Some(piece));
                } else if squares.len() >= 2 {
                    position.set(squares[0], Some(piece));
                    position.set(squares[1], Some(piece));
                } else {
                    position.hands[piece.side as usize][usize::from(kind)] += 2;
                }
            }
        }
        let squares: Vec<At> = self.squares().collect();
        for _ in 0..rng.number(3) {
            let (from, to) = (rng.pick(&squares), rng.pick(&squares));
            if position.at(from).is_some() && position.at(to).is_none() {
                position.set(to, position.at(from));
                position.set(from, None);
            }
        }
        position
    }

    /// A position met in random play from the initial position.
    pub(crate) fn random_play(&self, rng: &mut TestRng, plies: usize) -> Mailbox {
        let mut position = self.initial();
        for _ in 0..plies {
            let moves: Vec<Move> = self.legal_moves(&position);
            if moves.is_empty() {
                break;
            }
            position = self.play(&position, rng.pick(&moves));
        }
        position
    }
}
