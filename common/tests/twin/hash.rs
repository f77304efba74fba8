//! A hash for sets of positions: the standard one guards against an adversary, and takes most of the
//! time of a search for that. Equality is asked for all the same, so a bad hash could only be slow.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map that is never iterated.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Sum>>;

/// A set that is never iterated.
pub(crate) type Set<K> = HashSet<K, BuildHasherDefault<Sum>>;

/// A sum of eight bytes after eight, multiplied at each step.
#[derive(Default)]
pub(crate) struct Sum(u64);

impl Hasher for Sum {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for &word in words {
            self.write_u64(u64::from_le_bytes(word));
        }
        for &byte in rest {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
