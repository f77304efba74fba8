//! The kinds but the King: what is known of them beforehand, and where a group's pieces go.

use super::categories::CategoryTable;
use super::combinations::{Combinations, NOWHERE};
use super::few::Few;
use super::files::FileSums;
use super::lanes::Lane;
use super::layout::Layout;
use super::many::Many;
use super::trail::{TRAIL, Trail};
use crate::game::{Bits, KINDS, Rules, Side};
use crate::population::{Binomials, Candidates};

/// The kinds of one variant.
#[derive(Clone, Debug)]
pub(super) struct Kinds<B> {
    /// In the type order.
    list: Vec<KindTable<B>>,
    /// How many kinds are placed when the last Pawn stands; at least one, if there is one.
    until_pawns: usize,
    /// Whether the first kind leads the mirror comparison, so that it may decide it.
    first_decides: bool,
    /// The tables of the kinds that promote, and of those that do not.
    few: [Few; 2],
    many: [Option<Many>; 2],
    pub(super) combinations: Combinations,
    /// Each place as a set, empty for [`NOWHERE`].
    bits: Box<[B; 256]>,
}

/// One kind but the King.
#[derive(Clone, Debug)]
pub(super) struct KindTable<B> {
    /// Its number in the variant's table, and in all of a sample's arrays.
    number: usize,
    /// The words that its digit's remainder and quotient by C(n,b) are found in.
    pub(super) places: [usize; 2],
    /// 0 if it promotes; 2 if the groups of promoted pieces are always empty.
    pub(super) first_group: usize,
    /// How many unpromoted pieces one side may have on a file, in every byte.
    pub(super) file_limit: Option<FileSums>,
    /// Whether its pieces are too many for [`Few`].
    pub(super) many: bool,
    /// Where the unpromoted pieces of each side could never move.
    pub(super) immobile: [B; 2],
}

impl<B> KindTable<B> {
    #[inline(always)]
    pub(super) fn number(&self) -> usize {
        self.number % KINDS
    }
}

impl<B: Bits> Kinds<B> {
    /// `None` if some number does not fit.
    pub(super) fn new(rules: &Rules<B>, candidates: &Candidates, layout: &Layout) -> Option<Self> {
        let variant = candidates.variant();
        let pieces = variant.kinds.iter().map(|kind| usize::from(kind.count));
        // One bit of a two-word set has to be no square, see `Instructions::set`; and the first kind is asked
        // about the mirror.
        if variant.squares() >= 127 || pieces.sum::<usize>() >= TRAIL || variant.kinds.len() < 2 {
            return None;
        }
        let room = variant.squares() - 2;
        let binomials = candidates.binomials();
        let mut classes = [const { Class::NEW }; 2];
        let mut list = Vec::new();
        for (number, kind) in variant.kinds.iter().enumerate().skip(1) {
            let promotes = kind.promoted.is_some();
            let plain = candidates.categories(number).iter().enumerate();
            let bits = |b: usize| b as u32 * if promotes { 2 } else { 1 };
            let tables = plain.map(|(b, categories)| CategoryTable::new(categories, bits(b)));
            let class = &mut classes[usize::from(!promotes)];
            list.push(KindTable {
                number,
                places: layout.places[number - 1],
                first_group: if promotes { 0 } else { 2 },
                file_limit: kind
                    .file_limit
                    .map(|limit| FileSums::of_place(limit.min(NOWHERE))),
                many: class.add(tables.collect::<Option<_>>()?, room, binomials),
                immobile: Side::BOTH.map(|side| {
                    let standing = rules.standing[side as usize][number];
                    (rules.board & !standing).reversed()
                }),
            });
        }
        let most = variant.kinds[1..].iter().map(|kind| kind.count.into());
        let most = room.min(most.max().unwrap_or(0));
        let combinations = Combinations::new(room, most.max(3))?;
        let many = classes
            .each_ref()
            .map(|class| Many::new(room, &class.many, binomials));
        Some(Kinds {
            until_pawns: list
                .iter()
                .rposition(|kind| kind.file_limit.is_some())
                .map_or(list.len().min(1), |last| last + 1),
            first_decides: first_decides(candidates),
            few: classes.map(|class| Few::new(room, &class.few, binomials, &combinations)),
            many: {
                let [a, b] = many;
                [a?, b?]
            },
            combinations,
            bits: Box::new(std::array::from_fn(|place| {
                if place < variant.squares() {
                    B::bit(place)
                } else {
                    B::EMPTY
                }
            })),
            list,
        })
    }

    /// The kinds up to the last that a file may not hold many of.
    pub(super) fn until_pawns(&self) -> &[KindTable<B>] {
        &self.list[..self.until_pawns]
    }

    /// The kinds after these.
    pub(super) fn after_pawns(&self) -> &[KindTable<B>] {
        &self.list[self.until_pawns..]
    }

    /// The first kind, if it leads the mirror comparison.
    pub(super) fn deciding(&self) -> Option<&KindTable<B>> {
        self.list.first().filter(|_| self.first_decides)
    }

    /// The tables for kinds of few pieces whose first group is this one.
    #[inline(always)]
    pub(super) fn few(&self, first_group: usize) -> &Few {
        &self.few[first_group / 2]
    }

    /// The tables for kinds of many pieces whose first group is this one.
    pub(super) fn many(&self, first_group: usize) -> &Many {
        self.many[first_group / 2]
            .as_ref()
            .expect("made for the kinds that have many pieces")
    }

    /// Places a group's pieces.
    #[inline(always)]
    pub(super) fn place(&self, kind: &KindTable<B>, group: usize, lane: &mut Lane) {
        let Lane {
            counts,
            indices,
            trail,
            ..
        } = lane;
        let (k, index) = (counts[kind.number()][group], indices[group]);
        trail.push_group(k, |push| self.combinations.unrank(k, index, push));
    }

    /// Places a group's pieces, and counts them by files.
    #[inline(always)]
    pub(super) fn place_and_count(
        &self,
        kind: &KindTable<B>,
        group: usize,
        lane: &mut Lane,
    ) -> FileSums {
        let Lane {
            counts,
            indices,
            trail,
            empty,
            ..
        } = lane;
        let (k, index) = (counts[kind.number()][group], indices[group]);
        let mut pieces = FileSums::ZERO;
        trail.push_group(k, |push| {
            let last = self.combinations.unrank(k, index, |place| {
                push(place);
                empty.count(place, &mut pieces);
            });
            let [c, d, e, _] = last;
            for place in [c, d, e] {
                empty.count(place, &mut pieces);
            }
            last
        });
        *empty = empty.less(&pieces);
        pieces
    }

    /// The places of so many pieces as a set.
    ///
    /// Two or four at once, whether there are so many or not: a loop that runs once a piece ends when the
    /// processor does not expect it. (Measured on shogi: 1.8 mispredicted branches a sample, now 0.5.)
    #[inline(always)]
    pub(super) fn places<const AT_ONCE: usize>(&self, trail: &Trail, from: usize, count: u8) -> B {
        let (mut from, mut left) = (from, usize::from(count));
        let mut set = B::EMPTY;
        loop {
            for &place in &trail.four(from, left)[..AT_ONCE] {
                set |= self.bits[usize::from(place)];
            }
            if left <= AT_ONCE {
                return set;
            }
            (from, left) = (from + AT_ONCE, left - AT_ONCE);
        }
    }
}

/// The categories of the kinds that promote, or of those that do not: by b, of the largest kind each.
struct Class {
    few: Vec<CategoryTable>,
    many: Vec<CategoryTable>,
}

impl Class {
    const NEW: Class = Class {
        few: Vec::new(),
        many: Vec::new(),
    };

    /// Adds a kind; whether its pieces are many.
    fn add(&mut self, tables: Vec<CategoryTable>, room: usize, binomials: &Binomials) -> bool {
        let many = !Few::fit(room, &tables, binomials);
        let largest = if many { &mut self.many } else { &mut self.few };
        if largest.len() < tables.len() {
            *largest = tables;
        }
        many
    }
}

/// Whether the first kind leads the mirror comparison, and stands before a file can hold too many of it.
fn first_decides(candidates: &Candidates) -> bool {
    let variant = candidates.variant();
    let present = |&c: &char| variant.kinds[1..].iter().any(|kind| kind.letter == c);
    variant.kinds.get(1).is_some_and(|kind| {
        kind.file_limit.is_none()
            && kind.mirror == kind.letter
            && variant.mirror_order.chars().find(present) == Some(kind.letter)
    })
}
