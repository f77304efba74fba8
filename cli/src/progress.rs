//! How far a command is: a bar or a line that moves on a terminal, elsewhere a plain line now and then.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kazoe_common::estimate::numerals::{grouped, percent};

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
            tell(format_args!(
                "{} of {} samples ({}){speed}; {}",
                grouped(done),
                grouped(self.total),
                percent(done, self.total, 3),
                self.estimate
            ));
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

/// Rate and time left, once they are known.
fn speed(left: u64, rate: f64) -> String {
    if rate < 1.0 {
        return String::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    let seconds = left as f64 / rate;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate for people, at least 1; a time of at most 2^62 seconds"
    )]
    let (rate, seconds) = (rate as u64, seconds.ceil() as u64);
    format!(", {} a second, {} left", grouped(rate), duration(seconds))
}

/// A time in two units: `2 h 05 min`.
pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (61, "1 min 01 s"),
            (3599, "59 min 59 s"),
            (7500, "2 h 05 min"),
            (90_000, "1 d 01 h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
