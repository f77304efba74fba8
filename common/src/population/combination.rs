//! The index of a combination: k of m places, in lexicographic order.

/// Binomial coefficients C(n, k) for n up to a bound of at most 128.
#[derive(Clone, Debug)]
pub(crate) struct Binomials {
    rows: Vec<Vec<u128>>,
}

impl Binomials {
    /// Pascal's triangle down to row `bound`, at most 128: C(128, 64) still fits a `u128`.
    pub(crate) fn up_to(bound: usize) -> Self {
        assert!(bound <= 128, "a board has at most 128 squares");
        let mut rows: Vec<Vec<u128>> = vec![vec![1]];
        for n in 1..=bound {
            let above = &rows[n - 1];
            let mut row = vec![1; n + 1];
            for k in 1..n {
                row[k] = above[k - 1] + above[k];
            }
            rows.push(row);
        }
        Binomials { rows }
    }

    /// C(n, k); 0 if k > n.
    pub(crate) fn choose(&self, n: usize, k: usize) -> u128 {
        self.rows[n].get(k).copied().unwrap_or(0)
    }

    /// The index of the ascending `places`, each less than `m`, among all ascending sequences of that
    /// length in lexicographic order (the smallest element varies slowest).
    ///
    /// Before the sequence stand, for each of its elements, those that agree so far and go on with a
    /// smaller element.
    pub(crate) fn index_of(&self, places: &[usize], m: usize) -> u128 {
        let mut index = 0;
        let mut least = 0;
        for (i, &place) in places.iter().enumerate() {
            let left = places.len() - i - 1;
            index += (least..place)
                .map(|smaller| self.choose(m - smaller - 1, left))
                .sum::<u128>();
            least = place + 1;
        }
        index
    }

    /// The ascending sequence of `k` places less than `m` with this index, less than C(m, k).
    pub(crate) fn places_of(&self, mut index: u128, m: usize, k: usize) -> Vec<usize> {
        debug_assert!(index < self.choose(m, k));
        let mut places = Vec::with_capacity(k);
        let mut place = 0;
        while places.len() < k {
            let here = self.choose(m - place - 1, k - places.len() - 1);
            if index < here {
                places.push(place);
            } else {
                index -= here;
            }
            place += 1;
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_has_its_index_in_lexicographic_order() {
        let binomials = Binomials::up_to(12);
        for m in 0..=12 {
            for k in 0..=m {
                let all: Vec<_> = (0..binomials.choose(m, k))
                    .map(|index| binomials.places_of(index, m, k))
                    .collect();
                assert!(all.is_sorted_by(|a, b| a < b));
                for (index, places) in all.iter().enumerate() {
                    assert!(places.is_sorted_by(|a, b| a < b));
                    assert_eq!(binomials.index_of(places, m), index as u128);
                }
                assert_eq!(all[0], (0..k).collect::<Vec<_>>());
                assert_eq!(all[all.len() - 1], (m - k..m).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_largest_board_fits() {
        let binomials = Binomials::up_to(128);
        let last = binomials.choose(128, 64) - 1;
        let places = binomials.places_of(last, 128, 64);
        assert_eq!(places, (64..128).collect::<Vec<_>>());
        assert_eq!(binomials.index_of(&places, 128), last);
        assert_eq!(binomials.choose(5, 6), 0);
    }
}
