//! Which machine instructions the funnel uses.

use std::fmt;

use super::files;
use super::lanes::Lane;
use crate::game::Bits;

/// A way to run the same source with other instructions. All arms give the same outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arm {
    /// What every machine has.
    Portable,
    /// x86-64 with AVX2, BMI1, BMI2, LZCNT and POPCNT.
    Avx2Bmi2,
}

impl Arm {
    /// The best arm for this machine.
    #[must_use]
    pub fn detect() -> Arm {
        if Arm::Avx2Bmi2.runs_here() && !pdep_is_slow() {
            Arm::Avx2Bmi2
        } else {
            Arm::Portable
        }
    }

    /// The arms that this machine can run, the portable one first.
    #[must_use]
    pub fn available() -> Vec<Arm> {
        [Arm::Portable, Arm::Avx2Bmi2]
            .into_iter()
            .filter(|arm| arm.runs_here())
            .collect()
    }

    /// The name on every surface: `portable`, `avx2+bmi2`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Arm::Portable => "portable",
            Arm::Avx2Bmi2 => "avx2+bmi2",
        }
    }

    /// Whether this machine has the arm's instructions.
    #[must_use]
    pub fn runs_here(self) -> bool {
        match self {
            Arm::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Arm::Avx2Bmi2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Arm::Avx2Bmi2 => false,
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// AMD's processors before family 19h (Zen 3) have BMI2, but need a hundred cycles and more for PDEP.
#[cfg(target_arch = "x86_64")]
fn pdep_is_slow() -> bool {
    use std::arch::x86_64::__cpuid;
    let vendor = __cpuid(0);
    let amd = [vendor.ebx, vendor.edx, vendor.ecx] == [0x6874_7541, 0x6974_6e65, 0x444d_4163];
    let signature = __cpuid(1).eax;
    let family = (signature >> 8 & 0xf) + (signature >> 20 & 0xff);
    amd && family < 0x19
}

#[cfg(not(target_arch = "x86_64"))]
fn pdep_is_slow() -> bool {
    false
}

/// What the arms do differently.
pub(super) trait Instructions {
    /// Runs one stage, compiled by itself for the arm's instructions: in one function together the
    /// stages' tables and numbers find no room in the registers.
    fn apart<R>(stage: impl FnOnce() -> R) -> R;

    /// The bits of `onto` that are chosen by `places`: bit i of `places` stands for the i-th lowest bit
    /// of `onto`. No bit of `places` lies at or above the number of bits in `onto`.
    fn word(places: u64, onto: u64) -> u64;

    /// Counts the empty squares beside the Kings and the pieces of the trails, by files, in all lanes.
    fn count(lanes: &mut [Lane]);

    /// The same for sets.
    ///
    /// The low word of `onto` holds fewer than 64 squares: the funnel aligns boards to the top of the
    /// set, and boards that fill it take the plain way.
    #[inline(always)]
    fn set<B: Bits>(places: B, onto: B) -> B {
        let ([low, high], [onto_low, onto_high]) = (places.words(), onto.words());
        if B::CAPACITY <= 64 {
            return B::from_words([Self::word(low, onto_low), 0]);
        }
        let split = onto_low.count_ones();
        debug_assert!(split < 64);
        let beyond = low >> split | (high << 1) << (63 - split);
        let within = low & !(u64::MAX << split);
        B::from_words([Self::word(within, onto_low), Self::word(beyond, onto_high)])
    }
}

/// Selects bit by bit, by the bytes' running counts.
pub(super) struct Portable;

impl Instructions for Portable {
    #[inline(never)]
    fn apart<R>(stage: impl FnOnce() -> R) -> R {
        stage()
    }

    #[inline(always)]
    fn count(lanes: &mut [Lane]) {
        files::count(lanes);
    }

    #[inline(always)]
    fn word(places: u64, onto: u64) -> u64 {
        let running = running_counts(onto);
        let mut found = 0;
        for place in places.squares() {
            found |= 1 << select(onto, running, place);
        }
        found
    }
}

const BYTES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = BYTES << 7;

/// How many bits of a word lie in each byte and those below it, byte by byte.
#[inline(always)]
fn running_counts(word: u64) -> u64 {
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let nibbles = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let bytes = (nibbles + (nibbles >> 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    bytes.wrapping_mul(BYTES)
}

/// Where the bit with this number (from 0, the lowest first) stands in a word that has it.
#[inline(always)]
fn select(word: u64, running: u64, number: usize) -> u32 {
    // A byte's top bit survives if the running count up to it is at most `number`: at most 64, so the
    // bytes do not borrow from each other.
    let passed = ((number as u64 * BYTES + TOPS) - running) & TOPS;
    let shift = 8 * passed.count_ones();
    let below = (running << 8) >> shift & 0xff;
    let byte = (word >> shift) as usize & 0xff;
    shift + u32::from(SELECT_IN_BYTE[byte][(number - below as usize) & 7])
}

/// `SELECT_IN_BYTE[byte][i]`: where bit number i of the byte stands.
static SELECT_IN_BYTE: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut number) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][number] = bit;
                number += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// One PDEP instruction a word. This type is named in one place only, behind the check that the machine
/// can run [`Arm::Avx2Bmi2`].
#[cfg(target_arch = "x86_64")]
pub(super) struct Bmi2;

#[cfg(target_arch = "x86_64")]
impl Instructions for Bmi2 {
    #[inline(always)]
    fn apart<R>(stage: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        #[inline(never)]
        fn run<R>(stage: impl FnOnce() -> R) -> R {
            stage()
        }
        // SAFETY: the machine has these instructions, see the type.
        unsafe { run(stage) }
    }

    #[inline(always)]
    fn count(lanes: &mut [Lane]) {
        // SAFETY: the machine has AVX2, see the type.
        unsafe { files::count_pairs(lanes) }
    }

    #[inline(always)]
    fn word(places: u64, onto: u64) -> u64 {
        // SAFETY: the machine has BMI2, see the type.
        unsafe { std::arch::x86_64::_pdep_u64(places, onto) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(places: u128, onto: u128) -> u128 {
        onto.squares()
            .enumerate()
            .filter(|&(place, _)| places.has(place))
            .map(|(_, square)| u128::bit(square))
            .sum()
    }

    /// A plain generator of words for tests.
    fn words() -> impl Iterator<Item = u64> {
        let mut state = 1u64;
        std::iter::repeat_with(move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            state ^ state >> 29
        })
    }

    fn check<I: Instructions>() {
        let mut words = words();
        let mut next = || words.next().unwrap();
        for round in 0..20_000 {
            let thin = |word: u64, other: u64| if round % 2 == 0 { word & other } else { word };
            let low = thin(next(), next()) & !1;
            let onto = u128::from_words([low, thin(next(), next())]);
            let room = !(u128::MAX.checked_shl(onto.count_ones()).unwrap_or(0));
            let places = u128::from_words([thin(next(), next()), next()]) & room;
            assert_eq!(I::set(places, onto), slow(places, onto));
            let onto = onto as u64;
            let places = next() & !(u64::MAX << onto.count_ones());
            let expected = slow(places.into(), onto.into());
            assert_eq!(u128::from(I::set::<u64>(places, onto)), expected);
        }
        assert_eq!(I::word(0, 0), 0);
        assert_eq!(I::word(u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(I::set(0u128, 0), 0);
        assert_eq!(I::set(1u128, 1 << 127), 1 << 127);
    }

    #[test]
    fn every_way_to_deposit_agrees_with_the_slow_one() {
        check::<Portable>();
        #[cfg(target_arch = "x86_64")]
        if Arm::Avx2Bmi2.runs_here() {
            check::<Bmi2>();
        }
    }

    #[test]
    fn the_best_arm_is_available() {
        assert_eq!(Arm::available()[0], Arm::Portable);
        assert!(Arm::available().contains(&Arm::detect()));
    }
}
