//! The population `candidates` and its published rank order, in big integers, digit by digit.

use std::collections::HashMap;

use kazoe_common::game::Side;
use num_bigint::BigUint;

use super::{At, Mailbox, Piece, Twin};

/// The pieces of a kind: (kind, number).
type Entry = (u8, usize);

/// How the pieces of a kind divide: promoted Black, promoted White, unpromoted Black and White.
type Category = [usize; 4];

const GROUPS: [(Side, bool); 4] = [
    (Side::Black, true),
    (Side::White, true),
    (Side::Black, false),
    (Side::White, false),
];

/// One section: the positions with the same totals in hand.
struct Section {
    in_hand: Vec<Entry>,
    on_board: Vec<Entry>,
    offset: BigUint,
}

/// The population: its sections, in order, and its size.
pub(crate) struct Candidates {
    twin: Twin,
    sections: Vec<Section>,
    binomials: Binomials,
    /// The base of so many pieces of a kind on so many empty squares.
    bases: HashMap<(Entry, usize), BigUint>,
    pub(crate) size: BigUint,
}

/// Pascal's triangle up to a number of squares.
struct Binomials(Vec<Vec<BigUint>>);

impl Binomials {
    fn up_to(squares: usize) -> Self {
        let mut rows = vec![vec![BigUint::from(1_u32)]];
        for n in 1..=squares {
            let above = &rows[n - 1];
            let mut row = vec![BigUint::from(1_u32)];
            row.extend((1..n).map(|k| &above[k - 1] + &above[k]));
            row.push(BigUint::from(1_u32));
            rows.push(row);
        }
        Binomials(rows)
    }

    /// "n choose k".
    fn choose(&self, n: usize, k: usize) -> BigUint {
        self.0[n].get(k).cloned().unwrap_or_default()
    }

    /// How many ways there are to place the pieces of a category on n empty squares.
    fn category_size(&self, category: Category, mut n: usize) -> BigUint {
        let mut size = BigUint::from(1_u32);
        for k in category {
            size *= self.choose(n, k);
            n = n.saturating_sub(k);
        }
        size
    }

    /// The index, in lexicographic order, of an ascending sequence of places among m.
    fn sequence_index(&self, places: &[usize], m: usize) -> BigUint {
        let mut index = BigUint::ZERO;
        let mut least = 0;
        for (i, &place) in places.iter().enumerate() {
            for smaller in least..place {
                index += self.choose(m - 1 - smaller, places.len() - 1 - i);
            }
            least = place + 1;
        }
        index
    }

    /// The ascending sequence of k places among m with this index.
    fn sequence(&self, mut index: BigUint, k: usize, m: usize) -> Vec<usize> {
        let mut places = Vec::new();
        let mut place = 0;
        while places.len() < k {
            let with_this = self.choose(m - 1 - place, k - 1 - places.len());
            if index < with_this {
                places.push(place);
            } else {
                index -= with_this;
            }
            place += 1;
        }
        places
    }
}

/// Takes the least significant digit off a mixed-radix number.
fn take_digit(number: &mut BigUint, base: &BigUint) -> BigUint {
    let digit = &*number % base;
    *number /= base;
    digit
}

fn small(number: &BigUint) -> usize {
    usize::try_from(number).expect("a small digit")
}

impl Twin {
    fn categories(&self, kind: u8, number: usize) -> Vec<Category> {
        let most_promoted = if self.promotes(kind) { number } else { 0 };
        let mut all = Vec::new();
        for p in 0..=most_promoted {
            for q in 0..=most_promoted.saturating_sub(p) {
                for r in 0..=number - p - q {
                    all.push([p, q, r, number - p - q - r]);
                }
            }
        }
        all
    }

    /// K, how many King pairs there are, and A, how many of them have Black's King left of the
    /// central file.
    fn king_bases(&self) -> (usize, usize) {
        let (w, h) = (self.width(), self.height());
        let left = h * (w / 2) * (h * w - 1);
        let central = if w % 2 == 1 {
            h * (h * w.div_ceil(2) - 1)
        } else {
            0
        };
        (left + central, left)
    }

    fn square_index(&self, (x, y): At) -> usize {
        self.height() * x + y
    }
}

impl Candidates {
    pub(crate) fn new(twin: Twin) -> Self {
        let mut totals: Vec<Vec<Entry>> = vec![Vec::new()];
        for kind in twin.kinds() {
            let count = usize::from(twin.variant.kinds[usize::from(kind)].count);
            totals = totals
                .into_iter()
                .flat_map(|list| {
                    (0..=count).map(move |total| {
                        let mut longer = list.clone();
                        longer.push((kind, total));
                        longer
                    })
                })
                .collect();
        }
        let mut sections: Vec<Section> = totals
            .into_iter()
            .map(|list| {
                let on_board = list
                    .iter()
                    .map(|&(kind, total)| {
                        let count = usize::from(twin.variant.kinds[usize::from(kind)].count);
                        (kind, count - total)
                    })
                    .filter(|&(_, number)| number > 0)
                    .collect();
                Section {
                    in_hand: list.into_iter().filter(|&(_, total)| total > 0).collect(),
                    on_board,
                    offset: BigUint::ZERO,
                }
            })
            .collect();
        sections.sort_by_cached_key(|section| {
            let order = |kind: u8| {
                let letter = twin.variant.kinds[usize::from(kind)].letter;
                twin.variant.section_order.find(letter).unwrap()
            };
            let pairs = section.in_hand.iter().map(|&(kind, n)| (order(kind), n));
            pairs.collect::<Vec<_>>()
        });
        let binomials = Binomials::up_to(twin.width() * twin.height());
        let base_of = |(kind, number): Entry, n: usize| -> BigUint {
            let categories = twin.categories(kind, number).into_iter();
            categories.map(|c| binomials.category_size(c, n)).sum()
        };
        let mut size = BigUint::ZERO;
        let mut bases = HashMap::new();
        for section in &mut sections {
            section.offset.clone_from(&size);
            let mut product = BigUint::from(twin.king_bases().0);
            for &(_, total) in &section.in_hand {
                product *= total + 1;
            }
            let mut empty = twin.width() * twin.height() - 2;
            for &entry in &section.on_board {
                let base = bases
                    .entry((entry, empty))
                    .or_insert_with(|| base_of(entry, empty));
                product *= &*base;
                empty = empty.saturating_sub(entry.1);
            }
            size += product;
        }
        Candidates {
            twin,
            sections,
            binomials,
            bases,
            size,
        }
    }

    /// The position of a rank below the size.
    pub(crate) fn unrank(&self, rank: &BigUint) -> Mailbox {
        assert!(rank < &self.size);
        let after = self.sections.partition_point(|s| &s.offset <= rank);
        let section = &self.sections[after - 1];
        let mut rest = rank - &section.offset;
        let mut position = Mailbox::empty(Side::Black);
        for &(kind, total) in &section.in_hand {
            let black = small(&take_digit(&mut rest, &BigUint::from(total + 1)));
            position.hands[0][usize::from(kind)] = u8::try_from(black).unwrap();
            position.hands[1][usize::from(kind)] = u8::try_from(total - black).unwrap();
        }

        let twin = self.twin;
        let mut empty: Vec<At> = twin.squares().collect();
        let (pairs, left_pairs) = twin.king_bases();
        let mut j = small(&take_digit(&mut rest, &BigUint::from(pairs)));
        let (first, number) = if j < left_pairs {
            (0, twin.height() * (twin.width() / 2))
        } else {
            j -= left_pairs;
            (twin.height() * (twin.width() / 2), twin.height())
        };
        for (side, place) in [(Side::Black, first + j % number), (Side::White, j / number)] {
            let king = Piece {
                side,
                kind: 0,
                promoted: false,
            };
            position.set(empty.remove(place), Some(king));
        }

        for &(kind, number) in &section.on_board {
            let base = &self.bases[&((kind, number), empty.len())];
            let mut digit = take_digit(&mut rest, base);
            let mut categories = twin.categories(kind, number).into_iter();
            let category = loop {
                let category = categories.next().expect("the digit is below its base");
                let size = self.binomials.category_size(category, empty.len());
                if digit < size {
                    break category;
                }
                digit -= size;
            };
            for ((side, promoted), k) in GROUPS.into_iter().zip(category) {
                let index = take_digit(&mut digit, &self.binomials.choose(empty.len(), k));
                for place in self
                    .binomials
                    .sequence(index, k, empty.len())
                    .into_iter()
                    .rev()
                {
                    let piece = Piece {
                        side,
                        kind,
                        promoted,
                    };
                    position.set(empty.remove(place), Some(piece));
                }
            }
        }
        position
    }

    /// The rank of a position, if it is in the population.
    pub(crate) fn rank(&self, position: &Mailbox) -> Option<BigUint> {
        let twin = self.twin;
        let black = twin.king(position, Side::Black);
        let white = twin.king(position, Side::White);
        let central = twin.width() / 2;
        let is_left = black.0 < central;
        let is_central = twin.width() % 2 == 1 && black.0 == central && white.0 <= central;
        if position.turn != Side::Black || !(is_left || is_central) {
            return None;
        }
        let in_hand: Vec<Entry> = twin
            .kinds()
            .map(|kind| {
                let [b, w] = position.hands.map(|hand| hand[usize::from(kind)]);
                (kind, usize::from(b + w))
            })
            .filter(|&(_, total)| total > 0)
            .collect();
        let section = self.sections.iter().find(|s| s.in_hand == in_hand)?;

        // The digits with their bases, least significant first.
        let mut digits: Vec<(BigUint, BigUint)> = Vec::new();
        for &(kind, total) in &section.in_hand {
            let black = position.hands[0][usize::from(kind)];
            digits.push((black.into(), (total + 1).into()));
        }

        let mut empty: Vec<At> = twin.squares().collect();
        let (pairs, left_pairs) = twin.king_bases();
        let black_index = twin.square_index(black);
        empty.remove(black_index);
        let white_place = empty.iter().position(|&at| at == white)?;
        empty.remove(white_place);
        let left_squares = twin.height() * central;
        let j = if is_left {
            black_index + left_squares * white_place
        } else {
            left_pairs + (black_index - left_squares) + twin.height() * white_place
        };
        digits.push((j.into(), pairs.into()));

        for &(kind, number) in &section.on_board {
            let base = self.bases[&((kind, number), empty.len())].clone();
            let groups = GROUPS.map(|(side, promoted)| {
                let piece = Piece {
                    side,
                    kind,
                    promoted,
                };
                let on = |at: &At| position.at(*at) == Some(piece);
                empty.iter().copied().filter(on).collect::<Vec<At>>()
            });
            let category = groups.each_ref().map(Vec::len);
            if category.iter().sum::<usize>() != number {
                return None;
            }
            let mut digit: BigUint = twin
                .categories(kind, number)
                .into_iter()
                .take_while(|&c| c != category)
                .map(|c| self.binomials.category_size(c, empty.len()))
                .sum();
            let mut weight = BigUint::from(1_u32);
            for group in groups {
                let places: Vec<usize> = group
                    .iter()
                    .map(|at| empty.iter().position(|e| e == at).unwrap())
                    .collect();
                digit += &weight * self.binomials.sequence_index(&places, empty.len());
                weight *= self.binomials.choose(empty.len(), places.len());
                empty.retain(|at| !group.contains(at));
            }
            digits.push((digit, base));
        }
        let within = digits
            .into_iter()
            .rev()
            .fold(BigUint::ZERO, |rank, (digit, base)| rank * base + digit);
        Some(&section.offset + within)
    }
}
