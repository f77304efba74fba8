//! The draws: which ranks a block of a campaign holds.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use super::candidates::Candidates;
use super::rank::Rank;

/// Bytes of key stream that make one draw.
const DRAW: usize = 32;

/// Draws that are made at once: 2 KiB of key stream, about one percent of what a block needs.
const BATCH: usize = 64;

/// The draws of all blocks of one population and seed.
///
/// A block's draws are the successive 32-byte groups of the ChaCha20 key stream whose key is
/// SHA-256 of `kazoe/1:<variant>:candidates:<seed>` and whose nonce is the block's number, read as
/// little-endian 256-bit integers and cut to the bit length of (size - 1). A draw that is not below
/// the size is thrown away, so that the kept ones are uniform.
#[derive(Clone, Debug)]
pub struct Sampler {
    key: [u8; 32],
    /// The largest rank.
    last: Rank,
    /// Which bits of each limb a draw keeps.
    mask: [u64; 4],
}

impl Sampler {
    /// The draws of this seed.
    #[must_use]
    pub fn new(candidates: &Candidates, seed: u64) -> Self {
        let id = candidates.variant().id;
        let last = candidates.last();
        let top = last.limbs().iter().rposition(|&limb| limb > 0);
        let mask = std::array::from_fn(|i| match top {
            Some(top) if i == top => u64::MAX >> last.limbs()[i].leading_zeros(),
            Some(top) if i < top => u64::MAX,
            _ => 0,
        });
        Sampler {
            key: Sha256::digest(format!("kazoe/1:{id}:candidates:{seed}")).into(),
            last,
            mask,
        }
    }

    /// The 256-bit key of the generator.
    #[must_use]
    pub fn key(&self) -> [u8; 32] {
        self.key
    }

    /// The draws of a block, without an end; a block takes as many as it has samples.
    #[must_use]
    pub fn ranks_of(&self, block: u64) -> Draws<'_> {
        let mut stream = ChaCha20Rng::from_seed(self.key);
        stream.set_stream(block);
        Draws {
            sampler: self,
            stream,
            kept: [Rank::ZERO; BATCH],
            len: 0,
            next: 0,
        }
    }
}

/// The ranks of one block's samples, in order.
#[derive(Clone, Debug)]
pub struct Draws<'a> {
    sampler: &'a Sampler,
    stream: ChaCha20Rng,
    kept: [Rank; BATCH],
    len: usize,
    next: usize,
}

impl Draws<'_> {
    /// The next ranks, some but rarely the same number: what was kept of a batch of draws.
    pub fn next_batch(&mut self) -> &[Rank] {
        let next = std::mem::replace(&mut self.next, 0);
        if next < self.len {
            self.next = self.len;
            return &self.kept[next..self.len];
        }
        self.refill();
        self.next = self.len;
        &self.kept[..self.len]
    }

    fn refill(&mut self) {
        let Sampler { last, mask, .. } = self.sampler;
        self.len = 0;
        while self.len == 0 {
            let mut bytes = [0; BATCH * DRAW];
            self.stream.fill_bytes(&mut bytes);
            for draw in bytes.as_chunks::<DRAW>().0 {
                let limbs = draw.as_chunks::<8>().0;
                let rank = Rank::from_limbs(std::array::from_fn(|i| {
                    u64::from_le_bytes(limbs[i]) & mask[i]
                }));
                // Written whether kept or not: a branch here would be mispredicted all the time.
                self.kept[self.len] = rank;
                self.len += usize::from(rank <= *last);
            }
        }
        self.next = 0;
    }
}

impl Iterator for Draws<'_> {
    type Item = Rank;

    fn next(&mut self) -> Option<Rank> {
        if self.next == self.len {
            self.refill();
        }
        self.next += 1;
        Some(self.kept[self.next - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Variant;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn keys_are_the_published_ones() {
        for (variant, key) in [
            (
                &Variant::MINISHOGI,
                "c9ebdea38b116661907077503bdd8867b14138a4e7163bcce9286dcc50fa634e",
            ),
            (
                &Variant::SHOGI,
                "b162dc63cce99d18920181db82ea4615198a39fd92be88823af8331312b82c1c",
            ),
        ] {
            let candidates = Candidates::new(variant).unwrap();
            assert_eq!(hex(&Sampler::new(&candidates, 1).key()), key);
        }
    }

    #[test]
    fn first_draws_are_the_published_ones() {
        let candidates = Candidates::new(&Variant::MINISHOGI).unwrap();
        let sampler = Sampler::new(&candidates, 1);
        let ranks: Vec<String> = sampler
            .ranks_of(0)
            .take(5)
            .map(|rank| rank.to_string())
            .collect();
        assert_eq!(
            ranks,
            [
                "10540203479009103412",
                "9496244178767151300",
                "3028777950199603339",
                "6623098050047547432",
                "14312022722205142538"
            ]
        );
    }

    /// The definition, draw by draw, against the batches.
    #[test]
    fn batches_and_single_draws_are_the_same_stream() {
        for variant in Variant::ALL {
            let candidates = Candidates::new(variant).unwrap();
            let sampler = Sampler::new(&candidates, 7);
            let last = sampler.last;
            let bits = num_bigint::BigUint::from(last).bits();
            for block in [0, 1, u64::MAX >> 1] {
                let mut stream = ChaCha20Rng::from_seed(sampler.key());
                stream.set_stream(block);
                let mut expected = Vec::new();
                while expected.len() < 500 {
                    let mut bytes = [0; 32];
                    stream.fill_bytes(&mut bytes);
                    let draw = num_bigint::BigUint::from_bytes_le(&bytes);
                    let kept = draw % (num_bigint::BigUint::from(1u32) << bits);
                    let rank = Rank::try_from(&kept).unwrap();
                    if rank <= last {
                        expected.push(rank);
                    }
                }
                let single: Vec<Rank> = sampler.ranks_of(block).take(500).collect();
                assert_eq!(single, expected);
                let mut draws = sampler.ranks_of(block);
                let mut batches: Vec<Rank> = draws.by_ref().take(3).collect();
                while batches.len() < 500 {
                    batches.extend_from_slice(draws.next_batch());
                }
                assert_eq!(batches[..500], expected);
            }
        }
    }
}
