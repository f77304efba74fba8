//! What the stages work on.

use std::cell::OnceCell;

use kazoe_common::census::{Arm, BLOCK, Campaign, Counter, Funnel, Judge, Outcome, Ruling};
use kazoe_common::game::{Bits, Position, Rules, Variant};
use kazoe_common::population::{Candidates, Sampler};

use super::reference_answers::{Known, SEARCHES, SEED};

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

    /// Lets the funnel find the samples, and unranks only those that are wanted.
    fn draw_positions(&self) -> Positions<B> {
        let mut positions = Positions {
            before_kings: Vec::new(),
            passed: Vec::new(),
            searched: Vec::new(),
        };
        let funnel = self.funnel(Arm::detect());
        let mut outcomes = [0; BLOCK as usize];
        for number in 0..self.known.head.blocks.max(SEARCHES) {
            let block = self.known.first_block + number;
            funnel.block(&self.sampler, block, &mut outcomes, |_, position| {
                Ruling::from(self.judge.verdict(position, None)).outcome
            });
            let in_head = number < self.known.head.blocks;
            let mut first = number < SEARCHES;
            for (&outcome, rank) in outcomes.iter().zip(self.sampler.ranks_of(block)) {
                let is_searched = first && outcome == Outcome::Reachable as u8;
                if !(is_searched || in_head && outcome >= Outcome::InCheck as u8) {
                    continue;
                }
                let position = self.candidates.unrank(rank);
                let position = position.expect("a block's ranks lie in the population");
                if in_head {
                    positions.before_kings.push(position);
                }
                if in_head && outcome > Outcome::InCheck as u8 {
                    positions.passed.push(position);
                }
                if is_searched {
                    positions.searched.push(position);
                    first = false;
                }
            }
        }
        positions
    }
}
