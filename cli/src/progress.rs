//! How far a command is: a bar or a line that moves on a terminal, elsewhere a plain line now and then.

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::progress::{share, speed};

use crate::output::tell;

/// How often a plain line is written.
const EVERY: Duration = Duration::from_secs(5);

/// The progress of one run, on standard error.
pub(crate) struct Progress {
    total: u64,
    bar: Option<ProgressBar>,
    told: Instant,
    estimate: String,
}

impl Progress {
    /// Of `total` samples, of which `done` are there already.
    pub(crate) fn new(total: u64, done: u64) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:24} {percent:>3}% {prefix}\n{msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::new(total).with_style(style);
            bar.set_position(done);
            bar
        });
        Progress {
            total,
            bar,
            told: Instant::now(),
            estimate: String::new(),
        }
    }

    /// What the prefix says so far.
    pub(crate) fn set_estimate(&mut self, estimate: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(estimate.clone());
        }
        self.estimate = estimate;
    }

    /// Tells that `done` samples are there, at so many a second.
    pub(crate) fn set(&mut self, done: u64, rate: f64) {
        let speed = speed(self.total.saturating_sub(done), rate);
        if let Some(bar) = &self.bar {
            let (done_text, total) = (grouped(done), grouped(self.total));
            bar.set_prefix(format!("{done_text} of {total} samples{speed}"));
            bar.set_position(done);
        } else if self.told.elapsed() >= EVERY {
            self.told = Instant::now();
            let share = share(done, self.total);
            tell(format_args!("{share}{speed}; {}", self.estimate));
        }
    }

    /// Writes a line above the bar.
    pub(crate) fn say(&self, line: impl Display) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(line)),
            None => tell(line),
        }
    }

    /// Leaves the last line standing.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.abandon();
        }
    }
}

/// The steps of a command that has no end in sight, on standard error.
pub(crate) struct Steps {
    what: &'static str,
    told: Instant,
    shown: Shown,
}

enum Shown {
    Line(ProgressBar),
    Plain,
    /// For tests.
    #[cfg(test)]
    Nothing,
}

impl Steps {
    /// Of work on `what`.
    pub(crate) fn new(what: &'static str) -> Self {
        let shown = if io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{prefix}, {elapsed}: {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            let line = ProgressBar::new_spinner().with_style(style);
            line.set_prefix(what);
            Shown::Line(line)
        } else {
            Shown::Plain
        };
        Steps {
            what,
            told: Instant::now(),
            shown,
        }
    }

    #[cfg(test)]
    pub(crate) fn silent() -> Self {
        Steps {
            what: "",
            told: Instant::now(),
            shown: Shown::Nothing,
        }
    }

    /// Tells that a step begins.
    pub(crate) fn begin(&mut self, step: &'static str) {
        match &self.shown {
            Shown::Line(line) => {
                line.set_message(step);
                line.tick();
            }
            Shown::Plain if self.told.elapsed() >= EVERY => {
                self.told = Instant::now();
                tell(format_args!("{}: {step}", self.what));
            }
            _ => {}
        }
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        if let Shown::Line(line) = &self.shown {
            line.finish_and_clear();
        }
    }
}
