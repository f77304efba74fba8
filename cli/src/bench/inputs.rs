//! What the stages work on.

use std::cell::OnceCell;

use kazoe_common::census::{Arm, BLOCK, Campaign, Counter, Funnel, Judge, Outcome};
use kazoe_common::game::{Bits, Position, Rules, Variant};
use kazoe_common::population::{Candidates, Sampler};

use super::known::{Known, SEARCHES, SEED};

/// The tables of one game, and positions of its stretch, made when they are first asked for.
pub(super) struct Inputs<B> {
    pub(super) known: &'static Known,
    pub(super) campaign: Campaign,
    pub(super) rules: Rules<B>,
    pub(super) judge: Judge<B>,
    pub(super) candidates: Candidates,
    pub(super) sampler: Sampler,
    positions: OnceCell<Positions<B>>,
}

/// Positions of single samples.
pub(super) struct Positions<B> {
    /// The head's samples that come to the King filter.
    pub(super) before_kings: Vec<Position<B>>,
    /// The head's samples that pass all filters.
    pub(super) passed: Vec<Position<B>>,
    /// The first reachable sample of each of the first blocks.
    pub(super) searched: Vec<Position<B>>,
}

impl<B: Bits> Inputs<B> {
    pub(super) fn new(variant: &'static Variant, known: &'static Known) -> Result<Self, String> {
        let candidates = Candidates::new(variant).map_err(|error| error.to_string())?;
        let rules = Rules::new(variant);
        Ok(Inputs {
            known,
            campaign: Campaign::new(variant, SEED),
            judge: Judge::new(&rules),
            sampler: Sampler::new(&candidates, SEED),
            rules,
            candidates,
            positions: OnceCell::new(),
        })
    }

    /// The funnel on an arm that runs here.
    pub(super) fn funnel(&self, arm: Arm) -> Funnel<B> {
        Funnel::with_arm(self.rules.clone(), self.candidates.clone(), arm)
    }

    /// The counter on an arm that runs here.
    pub(super) fn counter(&self, arm: Arm) -> Result<Counter, String> {
        Counter::with_arm(&self.campaign, arm).map_err(|error| error.to_string())
    }

    pub(super) fn positions(&self) -> &Positions<B> {
        self.positions.get_or_init(|| self.draw_positions())
    }

    /// Takes the plain way to the positions: unrank, then ask the judge.
    fn draw_positions(&self) -> Positions<B> {
        let mut positions = Positions {
            before_kings: Vec::new(),
            passed: Vec::new(),
            searched: Vec::new(),
        };
        for number in 0..self.known.head.blocks.max(SEARCHES) {
            let in_head = number < self.known.head.blocks;
            let mut first = number < SEARCHES;
            let ranks = self.sampler.ranks_of(self.known.first_block + number);
            for rank in ranks.take(BLOCK as usize) {
                if !in_head && !first {
                    break;
                }
                let position = self.candidates.unrank(rank);
                let position = position.expect("a block's ranks lie in the population");
                let outcome = self.judge.rule(&position, None).outcome;
                if in_head && outcome >= Outcome::InCheck {
                    positions.before_kings.push(position);
                }
                if in_head && outcome > Outcome::InCheck {
                    positions.passed.push(position);
                }
                if first && outcome == Outcome::Reachable {
                    positions.searched.push(position);
                    first = false;
                }
            }
        }
        positions
    }
}
