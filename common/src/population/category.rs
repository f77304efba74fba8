//! Categories: how the pieces of one kind that stand on the board split into promoted and
//! unpromoted, Black's and White's.

use num_bigint::BigUint;
use num_traits::One;

use super::combination::Binomials;

/// (promoted Black, promoted White, unpromoted Black, unpromoted White), adding up to the pieces of
/// the kind on the board.
pub(crate) type Category = [u8; 4];

/// The categories of `b` pieces of one kind, in the rank order's ascending lexicographic order, laid
/// end to end.
///
/// With n empty squares a category's size is C(n,p) C(n-p,q) C(n-p-q,r) C(n-p-q-r,s), which equals
/// C(n,b) times the multinomial b!/(p! q! r! s!): choose the squares, then who gets which. So the
/// categories' starts are C(n,b) times sums of multinomials, and these do not depend on n.
#[derive(Clone, Debug)]
pub(crate) struct Categories {
    list: Vec<Category>,
    /// `starts[i]`: the sum of the multinomials before category i.
    starts: Vec<BigUint>,
    total: BigUint,
}

impl Categories {
    /// The categories of `b` pieces of a kind that promotes or not.
    pub(crate) fn new(b: u8, promotes: bool, binomials: &Binomials) -> Self {
        let mut list = Vec::new();
        let promoted = if promotes { b } else { 0 };
        for p in 0..=promoted {
            for q in 0..=promoted - p {
                for r in 0..=b - p - q {
                    list.push([p, q, r, b - p - q - r]);
                }
            }
        }
        let mut starts = Vec::with_capacity(list.len());
        let mut total = BigUint::ZERO;
        for category in &list {
            starts.push(total.clone());
            let mut multinomial = BigUint::one();
            let mut left = usize::from(b);
            for &k in category {
                multinomial *= binomials.choose(left, k.into());
                left -= usize::from(k);
            }
            total += multinomial;
        }
        Categories {
            list,
            starts,
            total,
        }
    }

    /// The sum of all multinomials: (number of groups)^b.
    #[cfg(test)]
    pub(crate) fn total(&self) -> &BigUint {
        &self.total
    }

    /// The category whose run of multinomials holds `u`, and where the run starts.
    pub(crate) fn find(&self, u: &BigUint) -> (Category, &BigUint) {
        debug_assert!(u < &self.total);
        let i = self.starts.partition_point(|start| start <= u) - 1;
        (self.list[i], &self.starts[i])
    }

    /// Where a category's run of multinomials starts; `None` if the list does not hold it.
    pub(crate) fn start_of(&self, category: Category) -> Option<&BigUint> {
        let i = self.list.binary_search(&category).ok()?;
        Some(&self.starts[i])
    }

    /// Each category with the start of its run, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Category, &BigUint)> {
        self.list.iter().copied().zip(&self.starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_ascend_and_their_sizes_are_those_of_the_definition() {
        let binomials = Binomials::up_to(20);
        for b in 0..=18u8 {
            for (promotes, groups) in [(true, 4u32), (false, 2)] {
                let categories = Categories::new(b, promotes, &binomials);
                let list: Vec<_> = categories.iter().collect();
                assert!(list.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
                assert_eq!(list[0].0, [0, 0, 0, b]);
                let last = if promotes { [b, 0, 0, 0] } else { [0, 0, b, 0] };
                assert_eq!(list[list.len() - 1].0, last);
                assert_eq!(categories.total(), &BigUint::from(groups).pow(b.into()));
                // Sizes by the definition, on 20 empty squares.
                let n = 20;
                let mut start = BigUint::ZERO;
                for (category, multinomials) in list {
                    let found = BigUint::from(binomials.choose(n, b.into())) * multinomials;
                    assert_eq!(found, start);
                    let mut left = n;
                    let mut size = BigUint::one();
                    for k in category {
                        size *= binomials.choose(left, k.into());
                        left -= usize::from(k);
                    }
                    start += size;
                }
            }
        }
    }

    #[test]
    fn each_number_finds_its_category() {
        let binomials = Binomials::up_to(4);
        for promotes in [true, false] {
            let categories = Categories::new(4, promotes, &binomials);
            let list: Vec<_> = categories.iter().collect();
            let mut u = BigUint::ZERO;
            for (i, &(category, start)) in list.iter().enumerate() {
                assert_eq!(categories.start_of(category), Some(start));
                let end = list.get(i + 1).map_or(categories.total(), |next| next.1);
                while &u < end {
                    assert_eq!(categories.find(&u), (category, start));
                    u += 1u32;
                }
            }
            assert_eq!(&u, categories.total());
        }
        let categories = Categories::new(2, false, &binomials);
        assert_eq!(categories.start_of([1, 0, 1, 0]), None);
    }
}
