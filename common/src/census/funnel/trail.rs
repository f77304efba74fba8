//! Where a sample's pieces stand, as the rank says it.

use super::combinations::NOWHERE;

/// More than the pieces of a board, a power of two, for indices that need no check.
pub(super) const TRAIL: usize = 64;

/// How many places may be read, or written, at once from any of them on.
const STRIDE: usize = 16;

/// The places of the pieces in the order of the rank: each among the squares that are empty when it is the
/// piece's turn, counted from the far end.
///
/// A group's places are all meant among the squares that are empty before the group. In descending order
/// that is the same: a place that is taken moves only those above it. So the trail knows no groups, and
/// whoever only asks which squares are taken (see [`FileSums`](super::files::FileSums)) can run through it
/// in one loop.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Trail {
    /// [`NOWHERE`] after the last piece.
    places: [u8; TRAIL + STRIDE],
    len: u8,
}

impl Trail {
    pub(super) const NEW: Trail = Trail {
        places: [NOWHERE; TRAIL + STRIDE],
        len: 0,
    };

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.places.fill(NOWHERE);
        self.len = 0;
    }

    /// Adds a group of so many pieces: what `places` pushes, and the last three, or all if there are fewer,
    /// that it returns.
    #[inline(always)]
    pub(super) fn push_group(
        &mut self,
        count: u8,
        places: impl FnOnce(&mut dyn FnMut(u8)) -> [u8; 4],
    ) {
        let mut at = usize::from(self.len);
        let last = places(&mut |place| {
            self.places[at % TRAIL] = place;
            at += 1;
        });
        *self.places[at % TRAIL..]
            .first_chunk_mut()
            .expect("the trail is longer by the stride") = last;
        self.len += count;
    }

    /// Adds the groups `FROM` to `TO`: the places of each, [`NOWHERE`] after them, how many pieces those
    /// before it have, and how many it has.
    #[inline(always)]
    pub(super) fn push_groups<const FROM: usize, const TO: usize>(
        &mut self,
        places: [[u8; 4]; 4],
        before: [u8; 4],
        counts: [u8; 4],
    ) {
        let len = usize::from(self.len);
        for number in FROM..TO {
            let at = (len + usize::from(before[number])) % TRAIL;
            *self.places[at..]
                .first_chunk_mut()
                .expect("the trail is longer by the stride") = places[number];
        }
        self.len += before[TO - 1] + counts[TO - 1];
    }

    /// The places of all pieces.
    #[inline(always)]
    pub(super) fn pieces(&self) -> &[u8] {
        &self.places[..usize::from(self.len) % TRAIL]
    }

    /// Sixteen places from this one on, [`NOWHERE`] after the last piece.
    #[inline(always)]
    pub(super) fn sixteen(&self, from: usize) -> &[u8; 16] {
        self.at(from)
    }

    /// The places of up to four pieces from this one on, [`NOWHERE`] after them: it has all its bits set.
    #[inline(always)]
    pub(super) fn four(&self, from: usize, count: usize) -> [u8; 4] {
        const BEYOND: [u32; 5] = {
            let all = u32::from_le_bytes([NOWHERE; 4]);
            [all, all << 8, all << 16, all << 24, 0]
        };
        (u32::from_le_bytes(*self.at(from)) | BEYOND[count.min(4)]).to_le_bytes()
    }

    #[inline(always)]
    fn at<const N: usize>(&self, from: usize) -> &[u8; N] {
        const { assert!(N <= STRIDE) };
        let places = self.places[from % TRAIL..].first_chunk();
        places.expect("the trail is longer by the stride")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of up to three at once and longer ones one after the other make the same trail, read as pieces
    /// and four at a time.
    #[test]
    fn groups_follow_each_other() {
        let groups: [&[u8]; 4] = [&[9, 4], &[], &[7, 6, 5], &[8]];
        let mut at_once = Trail::NEW;
        let few = groups.map(|group| std::array::from_fn(|i| *group.get(i).unwrap_or(&NOWHERE)));
        at_once.push_groups::<0, 4>(few, [0, 2, 2, 5], [2, 0, 3, 1]);
        let mut one_by_one = Trail::NEW;
        for (group, few) in groups.iter().zip(few) {
            one_by_one.push_group(group.len() as u8, |_| few);
        }
        one_by_one.push_group(5, |push| {
            [50, 40].into_iter().for_each(push);
            [30, 20, 10, NOWHERE]
        });
        assert_eq!(at_once.pieces(), [9, 4, 7, 6, 5, 8]);
        assert_eq!(one_by_one.pieces(), [9, 4, 7, 6, 5, 8, 50, 40, 30, 20, 10]);
        assert_eq!(at_once.sixteen(0)[6..], [NOWHERE; 10]);
        assert_eq!(one_by_one.four(6, 7), [50, 40, 30, 20]);
        assert_eq!(one_by_one.four(8, 2), [30, 20, NOWHERE, NOWHERE]);
        assert_eq!(one_by_one.four(0, 0), [NOWHERE; 4]);
        one_by_one.clear();
        assert_eq!(one_by_one.pieces(), [0; 0]);
        assert_eq!(one_by_one.four(6, 4), [NOWHERE; 4]);
    }
}
