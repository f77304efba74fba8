//! How many squares of each file are empty: all that the two-Pawns test needs to know.
//!
//! A rank names squares by their place among the empty ones, and the squares of a file are neighbours
//! in that order. So the file of a piece follows from how many squares are empty in each file, whichever
//! they are: a piece on place c, counted from the far end, stands in one of the last x + 1 files exactly
//! if c is less than the number of empty squares in them. One comparison of sixteen bytes finds that for
//! all x at once, without a bitboard.

use super::lanes::Lane;

/// A number for each x, about the last x + 1 files together; from the board's width on all are equal.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileSums(Bytes);

impl FileSums {
    pub(super) const ZERO: FileSums = FileSums(bytes::ZERO);

    /// The squares of an empty board, at most 126.
    pub(super) fn of_board(width: usize, height: usize) -> Self {
        FileSums(bytes::from_array(std::array::from_fn(|x| {
            let squares = (x + 1).min(width) * height;
            u8::try_from(squares).expect("at most 126 squares")
        })))
    }

    /// A place among the empty squares, in every byte.
    pub(super) fn of_place(place: u8) -> Self {
        FileSums(bytes::from_array([place; 16]))
    }

    /// Counts a piece on a place among the empty squares `self`, in `pieces`.
    #[inline(always)]
    pub(super) fn count(&self, place: u8, pieces: &mut FileSums) {
        let place = FileSums::of_place(place);
        pieces.0 = bytes::minus(pieces.0, bytes::greater(self.0, place.0));
    }

    /// The empty squares when a piece has been put on one.
    #[inline(always)]
    pub(super) fn take(&mut self, place: u8) {
        let place = FileSums::of_place(place);
        self.0 = bytes::plus(self.0, bytes::greater(self.0, place.0));
    }

    /// The empty squares when pieces have been put on some.
    #[inline(always)]
    pub(super) fn less(&self, pieces: &FileSums) -> FileSums {
        FileSums(bytes::minus(self.0, pieces.0))
    }

    /// Whether some file has more than `limit` of the pieces.
    #[inline(always)]
    pub(super) fn exceed(&self, limit: &FileSums) -> bool {
        let by_file = bytes::minus(self.0, bytes::moved_up(self.0));
        bytes::any(bytes::greater(by_file, limit.0))
    }
}

/// Counts the empty squares beside the Kings and the pieces of the trails, lane by lane.
pub(super) fn count(lanes: &mut [Lane]) {
    for lane in lanes {
        lane.empty = lane.beside_kings;
        for &place in lane.trail.pieces() {
            lane.empty.take(place);
        }
    }
}

/// The same for two lanes at once, and as many places in each as the longest trail has: a third of the
/// instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) fn count_pairs(lanes: &mut [Lane]) {
    use std::arch::x86_64::{
        _mm256_add_epi8, _mm256_castsi256_si128, _mm256_cmpgt_epi8, _mm256_extracti128_si256,
        _mm256_set_m128i, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
    };
    let longest = lanes.iter().map(|lane| lane.trail.pieces().len()).max();
    let longest = longest.unwrap_or(0);
    for [first, second] in lanes.as_chunks_mut::<2>().0 {
        let mut empty = _mm256_set_m128i(second.beside_kings.0, first.beside_kings.0);
        for from in (0..longest).step_by(16) {
            let places = |lane: &Lane| bytes::from_array(*lane.trail.sixteen(from));
            let places = _mm256_set_m128i(places(second), places(first));
            let mut number = _mm256_setzero_si256();
            for _ in from..longest.min(from + 16) {
                let place = _mm256_shuffle_epi8(places, number);
                empty = _mm256_add_epi8(empty, _mm256_cmpgt_epi8(empty, place));
                number = _mm256_add_epi8(number, _mm256_set1_epi8(1));
            }
        }
        first.empty.0 = _mm256_castsi256_si128(empty);
        second.empty.0 = _mm256_extracti128_si256::<1>(empty);
    }
}

#[cfg(not(target_arch = "x86_64"))]
use bytes::Bytes;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m128i as Bytes;

/// Sixteen signed bytes, as SSE2 has them on every x86-64. Left to itself the compiler cuts arrays of
/// bytes to pieces here and needs three times as many instructions.
#[cfg(target_arch = "x86_64")]
mod bytes {
    use super::Bytes;
    use std::arch::x86_64::{
        _mm_add_epi8, _mm_cmpgt_epi8, _mm_movemask_epi8, _mm_slli_si128, _mm_sub_epi8,
    };

    pub(super) const ZERO: Bytes = from_array([0; 16]);

    pub(super) const fn from_array(array: [u8; 16]) -> Bytes {
        // SAFETY: both are sixteen bytes, and any bytes are a vector.
        unsafe { std::mem::transmute(array) }
    }
    #[inline(always)]
    pub(super) fn minus(a: Bytes, b: Bytes) -> Bytes {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_sub_epi8(a, b) }
    }
    #[inline(always)]
    pub(super) fn plus(a: Bytes, b: Bytes) -> Bytes {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_add_epi8(a, b) }
    }
    /// -1 where a is greater, else 0.
    #[inline(always)]
    pub(super) fn greater(a: Bytes, b: Bytes) -> Bytes {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_cmpgt_epi8(a, b) }
    }
    /// Each byte in the place of the next, 0 in the first.
    #[inline(always)]
    pub(super) fn moved_up(a: Bytes) -> Bytes {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_slli_si128::<1>(a) }
    }
    #[inline(always)]
    pub(super) fn any(mask: Bytes) -> bool {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_movemask_epi8(mask) != 0 }
    }
}

/// The same without vector instructions of our own choice.
#[cfg(not(target_arch = "x86_64"))]
mod bytes {
    /// Aligned, for the compiler to find the machine's instructions.
    #[derive(Clone, Copy, Debug)]
    #[repr(align(16))]
    pub(super) struct Bytes([i8; 16]);

    pub(super) const ZERO: Bytes = Bytes([0; 16]);

    pub(super) const fn from_array(array: [u8; 16]) -> Bytes {
        Bytes(array)
    }
    #[inline(always)]
    pub(super) fn minus(a: Bytes, b: Bytes) -> Bytes {
        Bytes(std::array::from_fn(|i| a.0[i].wrapping_sub(b.0[i])))
    }
    #[inline(always)]
    pub(super) fn plus(a: Bytes, b: Bytes) -> Bytes {
        Bytes(std::array::from_fn(|i| a.0[i].wrapping_add(b.0[i])))
    }
    /// -1 where a is greater, else 0.
    #[inline(always)]
    pub(super) fn greater(a: Bytes, b: Bytes) -> Bytes {
        Bytes(std::array::from_fn(|i| -i8::from(a.0[i] > b.0[i])))
    }
    /// Each byte in the place of the next, 0 in the first.
    #[inline(always)]
    pub(super) fn moved_up(a: Bytes) -> Bytes {
        Bytes(std::array::from_fn(|i| if i > 0 { a.0[i - 1] } else { 0 }))
    }
    #[inline(always)]
    pub(super) fn any(mask: Bytes) -> bool {
        mask.0 != [0; 16]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::funnel::combinations::NOWHERE;

    #[test]
    fn places_fall_into_their_files() {
        // Three files of four squares, a piece on the first square of the last file: its place is 3
        // from the far end.
        let board = FileSums::of_board(3, 4);
        let mut king = FileSums::ZERO;
        board.count(3, &mut king);
        let empty = board.less(&king);
        // Of the empty squares, places 0 to 2 are in the last file, 3 to 6 in the middle one and 7 to
        // 10 in the first.
        let exceed = |places: &[u8], limit: u8| {
            let mut pieces = FileSums::ZERO;
            for &place in places {
                empty.count(place, &mut pieces);
            }
            pieces.exceed(&FileSums::of_place(limit))
        };
        let file = |place: u8| match place {
            0..3 => 0,
            3..7 => 1,
            _ => 2,
        };
        for a in 0..11 {
            assert!(!exceed(&[a], 1));
            for b in a + 1..11 {
                assert_eq!(exceed(&[a, b], 1), file(a) == file(b), "places {a} and {b}");
                assert!(!exceed(&[a, b], 2));
                for c in b + 1..11 {
                    assert_eq!(exceed(&[a, b, c], 2), file(a) == file(c));
                }
            }
        }
        assert!(!exceed(&[], 1));
        assert!(!exceed(&[127, 3, 127], 1));
    }

    /// A trail counted as a whole against its places one by one, in lanes of different lengths.
    #[test]
    fn trails_are_counted_alike_one_by_one_and_in_pairs() {
        let mut lanes = [Lane::NEW; 6];
        for (i, lane) in lanes.iter_mut().enumerate() {
            lane.beside_kings = FileSums::of_board(9, 9);
            for place in 0..7 * i as u8 {
                let place = [80 - 2 * place, NOWHERE, NOWHERE, NOWHERE];
                lane.trail.push_groups::<0, 1>([place; 4], [0; 4], [1; 4]);
            }
        }
        let mut expected = lanes;
        for lane in &mut expected {
            lane.empty = lane.beside_kings;
            for place in lane.trail.pieces().to_vec() {
                let mut taken = FileSums::ZERO;
                lane.empty.count(place, &mut taken);
                lane.empty = lane.empty.less(&taken);
            }
        }
        let sums = |lanes: &[Lane]| {
            lanes
                .iter()
                .map(|lane| format!("{:?}", lane.empty))
                .collect::<Vec<_>>()
        };
        count(&mut lanes);
        assert_eq!(sums(&lanes), sums(&expected));
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            lanes
                .iter_mut()
                .for_each(|lane| lane.empty = FileSums::ZERO);
            // SAFETY: the machine has AVX2.
            unsafe { count_pairs(&mut lanes) };
            assert_eq!(sums(&lanes), sums(&expected));
        }
    }
}
