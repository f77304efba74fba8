//! How many candidates are their own mirror image.

use num_bigint::BigUint;
use num_traits::One;

use super::candidates::Candidates;
use super::combination::Binomials;

impl Candidates {
    /// The exact number of candidates that equal their own left-right mirror image.
    ///
    /// A canonical position stands for itself and its mirror image, so the number of positions with
    /// mirror images counted separately is twice the canonical ones less the self-mirrored ones, and
    /// the self-mirrored reachable ones are at most this number.
    ///
    /// *Proof.* Mirroring maps square (x, y) to (W-1-x, y), keeps every piece's owner and promotion,
    /// and turns kind k into its mirror kind k' (k itself, mostly), on the board and in the hands. A
    /// position equals its image exactly when
    /// 1. both Kings stand on the central file, which an even board lacks: H (H - 1) ordered pairs,
    ///    every one of them folded. H - 2 central squares and F = H (W div 2) pairs of mirrored
    ///    squares are left;
    /// 2. a piece stands on one square of a mirrored pair exactly when its image stands on the other,
    ///    and a piece on the central file is of a kind with k' = k;
    /// 3. each hand holds as many of k as of k'.
    ///
    /// Take the kinds one after another, f pairs and c central squares being free. A kind with k' = k
    /// that fills i pairs and j central squares has g ways for each of them, where g counts owner and
    /// promotion (4, or 2 if it does not promote): C(f,i) C(c,j) g^(i+j) ways, 2i + j pieces on the
    /// board, and the h = count - 2i - j others are divided among the hands in h + 1 ways. Two kinds
    /// with k' other than k fill i pairs, each with one of k on either side and one of k' with the
    /// same owner and promotion on the other: C(f,i) (2g)^i ways, and by 3 the counts of k and k' must
    /// be equal and the hands of k, divided in count - i + 1 ways, determine those of k'. The sum
    /// over all choices is computed kind by kind over the free pairs and central squares. ∎
    ///
    /// # Panics
    /// If a kind's mirror kind is not in the variant's table.
    #[must_use]
    pub fn self_mirrored(&self) -> BigUint {
        let variant = self.variant();
        let (width, height) = (usize::from(variant.width), usize::from(variant.height));
        if width % 2 == 0 || height < 2 {
            return BigUint::ZERO;
        }
        let (pairs, central) = (height * (width / 2), height - 2);
        // ways[f][c]: for the kinds so far, with f pairs and c central squares left free.
        let mut ways = vec![vec![BigUint::ZERO; central + 1]; pairs + 1];
        ways[pairs][central] = BigUint::from(height * (height - 1));
        for (kind, entry) in variant.kinds.iter().enumerate().skip(1) {
            let image = variant.kinds.iter().position(|k| k.letter == entry.mirror);
            let image = image.expect("the mirror kind is in the table");
            if image < kind {
                continue; // counted together with its image
            }
            let groups = if entry.promoted.is_some() { 4 } else { 2 };
            let chiral = image != kind;
            if chiral && variant.kinds[image].count != entry.count {
                return BigUint::ZERO;
            }
            ways = add_kind(&ways, entry.count.into(), groups, chiral, self.binomials());
        }
        ways.iter().flatten().sum()
    }
}

/// Adds one kind (and its mirror kind, if `chiral`) to the ways of those before.
fn add_kind(
    ways: &[Vec<BigUint>],
    count: usize,
    groups: u32,
    chiral: bool,
    binomials: &Binomials,
) -> Vec<Vec<BigUint>> {
    let mut sum: Vec<Vec<BigUint>> = ways
        .iter()
        .map(|row| vec![BigUint::ZERO; row.len()])
        .collect();
    for (f, row) in ways.iter().enumerate() {
        for (c, so_far) in row.iter().enumerate() {
            for i in 0..=f {
                for j in 0..=c {
                    let (board, choices) = if chiral {
                        (i, BigUint::from(2 * groups).pow(i as u32))
                    } else {
                        (2 * i + j, BigUint::from(groups).pow((i + j) as u32))
                    };
                    if board > count || (chiral && j > 0) {
                        continue;
                    }
                    let squares = BigUint::one() * binomials.choose(f, i) * binomials.choose(c, j);
                    let hands = count - board + 1;
                    sum[f - i][c - j] += so_far * choices * squares * hands;
                }
            }
        }
    }
    sum
}
