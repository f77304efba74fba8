//! Marches: the one step of a kind that has no other, taken by all its pieces at once.

use super::bits::Bits;
use super::rules::Square;

/// The only step of a role, as a shift of sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct March<B> {
    /// By how many squares up, or, if 0, down.
    pub(crate) up: u32,
    /// By how many squares down, or, if 0, up.
    pub(crate) down: u32,
    /// From where the step stays on the board; there, and only there, a piece can stand.
    from: B,
    /// Where it may promote.
    pub(crate) promotes: B,
}

impl<B: Bits> March<B> {
    /// A role's step, if it is a march for one side.
    pub(crate) fn new(steps: &[B], zone: B) -> Option<Self> {
        let mut march: Option<March<B>> = None;
        for (s, &to) in steps.iter().enumerate() {
            if to.is_empty() {
                continue;
            }
            let t = to.first();
            let (up, down) = (t.saturating_sub(s), s.saturating_sub(t));
            let (up, down) = (u32::try_from(up).ok()?, u32::try_from(down).ok()?);
            let known = march.get_or_insert(March {
                up,
                down,
                from: B::EMPTY,
                promotes: zone,
            });
            if to.is_many() || (known.up, known.down) != (up, down) {
                return None;
            }
            known.from |= B::bit(s);
            if zone.has(s) {
                known.promotes |= to;
            }
        }
        march
    }

    /// Where a piece can stand for another step.
    #[inline]
    pub(crate) fn standing(&self) -> B {
        self.from
    }

    /// Where a set of pieces gets by the step.
    #[inline]
    pub(crate) fn shifted(&self, set: B) -> B {
        (set & self.from).up(self.up).down(self.down)
    }

    /// From where the step leads to a square.
    #[inline]
    pub(crate) fn origin(&self, to: Square) -> Square {
        to + self.down as usize - self.up as usize
    }
}
