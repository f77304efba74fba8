//! The open list: a binary heap of numbers that compare by what is kept elsewhere.
//!
//! A position's key is many times as large as its number, and most of those that enter the list are
//! never taken from it: so the list holds numbers, and asks for keys when it has to compare.

/// The numbers, each not less than the one at half its place.
#[derive(Debug, Default)]
pub(crate) struct Open(Vec<u32>);

impl Open {
    /// Adds a number.
    #[inline]
    pub(crate) fn push<K: Ord>(&mut self, number: u32, key: impl Fn(u32) -> K) {
        let heap = &mut self.0;
        heap.push(number);
        let mut place = heap.len() - 1;
        while place > 0 {
            let above = (place - 1) / 2;
            if key(heap[above]) <= key(number) {
                break;
            }
            heap.swap(above, place);
            place = above;
        }
    }

    /// Takes the number with the least key.
    pub(crate) fn pop<K: Ord>(&mut self, key: impl Fn(u32) -> K) -> Option<u32> {
        let heap = &mut self.0;
        let last = heap.len().checked_sub(1)?;
        heap.swap(0, last);
        let least = heap.pop();
        let mut place = 0;
        loop {
            let below = 2 * place + 1..heap.len().min(2 * place + 3);
            let Some(next) = below.min_by_key(|&place| key(heap[place])) else {
                return least;
            };
            if key(heap[place]) <= key(heap[next]) {
                return least;
            }
            heap.swap(place, next);
            place = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_in_the_order_of_their_keys() {
        let keys: Vec<u64> = (0..500_u64).map(|n| n * 7_919 % 1_009).collect();
        let key = |number: u32| keys[number as usize];
        let (mut open, mut taken) = (Open::default(), Vec::new());
        for number in 0..250 {
            open.push(number, key);
        }
        for number in 250..500 {
            taken.push(open.pop(key).expect("some are left"));
            assert!(
                open.0
                    .iter()
                    .all(|&left| key(left) > key(taken[taken.len() - 1]))
            );
            open.push(number, key);
        }
        let first = taken.len();
        taken.extend(std::iter::from_fn(|| open.pop(key)));
        assert!(taken[first..].is_sorted_by_key(|&number| key(number)));
        taken.sort_unstable();
        assert!(taken.into_iter().eq(0..500));
    }
}
