//! The category of a kind's digit, by table.

use crate::population::Categories;

/// How many of the leading bits of u choose the bucket where the search for its category begins: all of
/// them for up to six pieces that promote.
const BUCKET_BITS: u32 = 12;

/// The categories of b pieces of a kind, counted from the end.
///
/// The base of the kind's digit is C(n,b) 4^b (2^b if it does not promote), and C(n,b) times the
/// multinomials of b are the categories' sizes: the quotient u of the digit by C(n,b) lies in the
/// category's run of multinomials, whatever n is, and n need not be known to look it up.
#[derive(Clone, Debug)]
pub(super) struct CategoryTable {
    /// In order from the last category, and one more that begins after the last u.
    list: Vec<Entry>,
    /// By bucket, where in the list the category of its least u stands.
    places: Vec<u16>,
    /// u shifted so much is its bucket.
    shift: u32,
    /// How many bits u has.
    bits: u32,
}

/// A category: how many pieces each group has, in the order of the rank, and its first u.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) start: u64,
    pub(super) counts: [u8; 4],
}

impl CategoryTable {
    /// The table of categories whose u have `bits` bits; `None` if they do not fit a word.
    pub(super) fn new(categories: &Categories, bits: u32) -> Option<Self> {
        if bits > 63 {
            return None;
        }
        let end = 1 << bits;
        let mut list = Vec::new();
        let mut next = end;
        for (counts, start) in categories.iter().collect::<Vec<_>>().into_iter().rev() {
            list.push(Entry {
                start: end - next,
                counts,
            });
            next = u64::try_from(start).ok()?;
        }
        let shift = bits.saturating_sub(BUCKET_BITS);
        let bucket = |least: u64| list.partition_point(|entry| entry.start <= least) - 1;
        let places = (0..end >> shift)
            .map(|i| u16::try_from(bucket(i << shift)).ok())
            .collect::<Option<Vec<_>>>()?;
        list.push(Entry {
            start: end,
            counts: [0; 4],
        });
        Some(CategoryTable {
            list,
            places,
            shift,
            bits,
        })
    }

    /// How many bits u has.
    #[inline(always)]
    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    /// The largest u.
    #[inline(always)]
    pub(super) fn mask(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// All categories but the one after the last.
    pub(super) fn list(&self) -> &[Entry] {
        &self.list[..self.list.len() - 1]
    }

    /// The number of u's category in the list.
    #[inline(always)]
    pub(super) fn number(&self, u: u64) -> usize {
        let mut i = usize::from(self.places[(u >> self.shift) as usize]);
        // Nearly always none or one: the first as a number, not as a branch.
        i += usize::from(self.list[i + 1].start <= u);
        while self.list[i + 1].start <= u {
            i += 1;
        }
        i
    }

    /// The category of u.
    #[inline(always)]
    pub(super) fn find(&self, u: u64) -> &Entry {
        &self.list[self.number(u)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::Binomials;
    use num_bigint::BigUint;

    #[test]
    fn the_table_finds_what_the_list_holds() {
        let binomials = Binomials::up_to(32);
        for (b, promotes) in [
            (0, true),
            (1, false),
            (4, true),
            (4, false),
            (18, true),
            (31, true),
        ] {
            let plain = Categories::new(b, promotes, &binomials);
            let bits = u32::from(b) * if promotes { 2 } else { 1 };
            let table = CategoryTable::new(&plain, bits).unwrap();
            let starts: Vec<u64> = plain
                .iter()
                .map(|(_, s)| u64::try_from(s).unwrap())
                .collect();
            let around = starts.iter().flat_map(|&s| [s, s + 1, s.saturating_sub(1)]);
            for u in around.filter(|&u| u < 1 << bits) {
                let (counts, start) = plain.find(&BigUint::from(u));
                let found = table.find(table.mask() - u);
                assert_eq!(found.counts, counts);
                // From the end the run begins where from the beginning the next one does.
                let next = plain
                    .iter()
                    .map(|(_, next)| next)
                    .find(|&next| next > start);
                let next = next.map_or(1 << bits, |next| u64::try_from(next).unwrap());
                assert_eq!(found.start + next, 1 << bits);
            }
        }
        assert!(CategoryTable::new(&Categories::new(32, true, &binomials), 64).is_none());
    }
}
