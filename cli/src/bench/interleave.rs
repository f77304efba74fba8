//! Stages take turns.

use std::time::{Duration, Instant};

use super::findings::{Figure, Label};
use crate::progress::Steps;

/// A stage: one call of `round` does its work once, checks the answer and gives one number of nanoseconds
/// for each label, or says what is wrong.
pub(super) struct Stage<'a> {
    pub(super) labels: Vec<Label>,
    pub(super) round: Box<dyn FnMut() -> Result<Vec<f64>, String> + 'a>,
}

/// When a stage has had enough rounds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    /// After this number.
    Rounds(u32),
    /// When the next one would probably end later than this; one round there is in any case.
    Time(Duration),
}

/// The most rounds of one stage.
const MOST: usize = 1000;

/// The least, the middle and the greatest of some rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) least: f64,
    pub(super) median: f64,
    pub(super) greatest: f64,
    pub(super) rounds: usize,
}

impl Spread {
    /// Of at least one number.
    pub(super) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Spread {
            least: values[0],
            median: quantile(&values, 0.5),
            greatest: values[values.len() - 1],
            rounds: values.len(),
        }
    }
}

/// A quantile of ascending numbers, between two of them if need be.
pub(super) fn quantile(ascending: &[f64], share: f64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list"
    )]
    let (place, below) = {
        let place = share * (ascending.len() - 1) as f64;
        (place, place as usize)
    };
    let above = (below + 1).min(ascending.len() - 1);
    ascending[below] + place.fract() * (ascending[above] - ascending[below])
}

/// Runs the stages in turn, a round each, until all have had enough.
///
/// # Errors
/// If an answer is wrong.
pub(super) fn take_turns(
    stages: Vec<Stage<'_>>,
    limit: Limit,
    steps: &mut Steps,
) -> Result<Vec<Figure>, String> {
    let mut runs: Vec<Run<'_>> = stages.into_iter().map(Run::new).collect();
    loop {
        let mut idle = true;
        for run in &mut runs {
            if run.wants_another(limit) {
                idle = false;
                steps.begin(run.stage.labels[0].words);
                run.round()?;
            }
        }
        if idle {
            return Ok(runs.into_iter().flat_map(Run::figures).collect());
        }
    }
}

struct Run<'a> {
    stage: Stage<'a>,
    spent: Duration,
    rounds: Vec<Vec<f64>>,
}

impl<'a> Run<'a> {
    fn new(stage: Stage<'a>) -> Self {
        Run {
            stage,
            spent: Duration::ZERO,
            rounds: Vec::new(),
        }
    }

    fn wants_another(&self, limit: Limit) -> bool {
        let done = self.rounds.len();
        match limit {
            Limit::Rounds(rounds) => done < rounds as usize,
            Limit::Time(_) if done == 0 => true,
            Limit::Time(time) => {
                done < MOST && self.spent + self.spent.div_f64(done as f64) <= time
            }
        }
    }

    fn round(&mut self) -> Result<(), String> {
        let start = Instant::now();
        self.rounds.push((self.stage.round)()?);
        self.spent += start.elapsed();
        Ok(())
    }

    fn figures(self) -> Vec<Figure> {
        let column = |i: usize| self.rounds.iter().map(|round| round[i]).collect();
        let labels = self.stage.labels.iter().enumerate();
        labels
            .map(|(i, &label)| Figure {
                label,
                spread: Spread::of(column(i)),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const LABEL: Label = Label {
        name: "x",
        words: "x",
        arm: None,
        per: "sample",
        clock: "cpu",
    };

    #[test]
    fn a_spread_has_its_ends_and_its_middle() {
        let spread = Spread::of(vec![5.0, 1.0, 3.0]);
        assert_eq!(
            (spread.least, spread.median, spread.greatest),
            (1.0, 3.0, 5.0)
        );
        assert_eq!(Spread::of(vec![4.0, 1.0]).median, 2.5);
        assert_eq!(Spread::of(vec![7.0]).median, 7.0);
        let hundred: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(quantile(&hundred, 0.99), 99.0);
        assert_eq!(quantile(&hundred, 1.0), 100.0);
    }

    #[test]
    fn stages_take_turns_and_a_wrong_answer_ends_them() {
        let turns = RefCell::new(String::new());
        let stage = |name: char, last: usize| Stage {
            labels: vec![LABEL],
            round: Box::new({
                let turns = &turns;
                move || {
                    let mut turns = turns.borrow_mut();
                    turns.push(name);
                    if turns.len() > last {
                        return Err(format!("{name} is wrong"));
                    }
                    Ok(vec![turns.len() as f64])
                }
            }),
        };
        let mut steps = Steps::silent();
        let stages = vec![stage('a', 100), stage('b', 100)];
        let figures = take_turns(stages, Limit::Rounds(3), &mut steps).unwrap();
        assert_eq!(*turns.borrow(), "ababab");
        assert_eq!(
            (figures[0].spread.median, figures[1].spread.median),
            (3.0, 4.0)
        );
        let stages = vec![stage('a', 100), stage('b', 7)];
        let wrong = take_turns(stages, Limit::Time(Duration::ZERO), &mut steps);
        assert_eq!(wrong.unwrap_err(), "b is wrong");
    }
}
