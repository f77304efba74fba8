//! How far a command is: a bar or a line that moves on a terminal, elsewhere a plain line now and then.

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::progress::{duration, share, speed};

use crate::output::tell;

/// How often a plain line is written.
const EVERY: Duration = Duration::from_secs(5);

/// The progress of one run, on standard error.
pub(crate) struct Progress {
    total: u64,
    bar: Option<ProgressBar>,
    last_shown: Instant,
    estimate: String,
}

impl Progress {
    /// Of `total` samples, of which `done` are there already.
    pub(crate) fn new(total: u64, done: u64) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total).with_style(message_alone());
            bar.set_position(done);
            bar
        });
        Progress {
            total,
            bar,
            last_shown: Instant::now(),
            estimate: String::new(),
        }
    }

    /// Sets the estimate so far, which the next [`set`](Self::set) shows.
    pub(crate) fn set_estimate(&mut self, estimate: String) {
        self.estimate = estimate;
    }

    /// Shows that `done` samples are there, and how many a second are computed.
    pub(crate) fn set(&mut self, done: u64, rate: f64) {
        let speed = speed(self.total.saturating_sub(done), rate);
        if let Some(bar) = &self.bar {
            let width = columns();
            let first = bar_line(width, done, self.total, &speed);
            bar.set_message(format!("{first}\n{}", fit(&self.estimate, width)));
        } else if self.last_shown.elapsed() >= EVERY {
            self.last_shown = Instant::now();
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
    last_shown: Instant,
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
            Shown::Line(ProgressBar::new_spinner().with_style(message_alone()))
        } else {
            Shown::Plain
        };
        Steps {
            what,
            last_shown: Instant::now(),
            shown,
        }
    }

    #[cfg(test)]
    pub(crate) fn silent() -> Self {
        Steps {
            what: "",
            last_shown: Instant::now(),
            shown: Shown::Nothing,
        }
    }

    /// Shows that a step begins.
    pub(crate) fn begin(&mut self, step: &'static str) {
        match &self.shown {
            Shown::Line(line) => {
                let elapsed = duration(line.elapsed().as_secs());
                let words = format!("{}, {elapsed}: {step}", self.what);
                line.set_message(fit(&words, columns()));
                line.tick();
            }
            Shown::Plain if self.last_shown.elapsed() >= EVERY => {
                self.last_shown = Instant::now();
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

/// A style that shows the message and nothing else: its lines are made to fit here.
fn message_alone() -> ProgressStyle {
    ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// How many columns a line on standard error may have: one fewer than the terminal, whose last column some
/// terminals wrap at; of a terminal that does not know, as of one with 80.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { 79 } else { columns - 1 }
}

/// The first of several lines that fits, from the one that says most.
fn bar_line(width: usize, done: u64, total: u64, speed: &str) -> String {
    let percent = u128::from(done) * 100 / u128::from(total.max(1));
    let percent = format!("{percent:>3}%");
    let counts = format!("{} of {} samples", grouped(done), grouped(total));
    let left = speed.rsplit(", ").next().unwrap_or_default();
    let bar = |length: usize| bar(length, done, total);
    let lines = [
        format!("{} {percent} {counts}{speed}", bar(24)),
        format!("{} {percent} {counts}{speed}", bar(8)),
        format!("{percent} {counts}{speed}"),
        format!("{percent} {counts}, {left}"),
        format!("{} {percent} {left}", bar(8)),
        format!("{percent} {left}"),
    ];
    let fitting = lines.into_iter().find(|line| line.chars().count() <= width);
    let line = fitting.unwrap_or_else(|| percent.trim_start().to_owned());
    line.trim_end_matches([',', ' ']).to_owned()
}

fn bar(length: usize, done: u64, total: u64) -> String {
    let full = u128::from(done.min(total)) * length as u128 / u128::from(total.max(1));
    let is_full = |place: usize| (place as u128) < full;
    (0..length)
        .map(|place| {
            if is_full(place) {
                '\u{2588}'
            } else {
                '\u{2591}'
            }
        })
        .collect()
}

/// The text, or as many of its parts (between `, ` or `; `) as have room; of the first at least its beginning.
fn fit(text: &str, width: usize) -> String {
    let end_of = |text: &str, length: usize| {
        text.char_indices()
            .nth(length)
            .map_or(text.len(), |(place, _)| place)
    };
    if text.chars().count() <= width {
        return text.to_owned();
    }
    // The separator may stand just beyond what fits.
    let near = &text[..end_of(text, width + 1)];
    let part = near
        .rfind([',', ';'])
        .filter(|&place| text[place + 1..].starts_with(' '));
    match part {
        Some(place) => text[..place].to_owned(),
        None => {
            let kept = end_of(text, width.saturating_sub(1));
            format!("{}\u{2026}", &text[..kept])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_there_is_room_for() {
        let speed = ", 397,521 a second, 25 s left";
        let line = |width| bar_line(width, 1_234_567, 10_000_000, speed);
        let full = "██░░░░░░░░░░░░░░░░░░░░░░  12% 1,234,567 of 10,000,000 samples, 397,521 a second, 25 s left";
        assert_eq!(line(120), full);
        assert_eq!(
            line(79),
            "░░░░░░░░  12% 1,234,567 of 10,000,000 samples, 397,521 a second, 25 s left"
        );
        assert_eq!(
            line(68),
            " 12% 1,234,567 of 10,000,000 samples, 397,521 a second, 25 s left"
        );
        assert_eq!(line(50), " 12% 1,234,567 of 10,000,000 samples, 25 s left");
        assert_eq!(line(30), "░░░░░░░░  12% 25 s left");
        assert_eq!(line(19), " 12% 25 s left");
        assert_eq!(line(5), "12%");
        // Without a speed nothing hangs in the air.
        assert_eq!(bar_line(19, 0, 100, ""), "░░░░░░░░   0%");
        assert_eq!(bar_line(34, 0, 100, ""), "░░░░░░░░   0% 0 of 100 samples");
        assert_eq!(bar_line(24, 0, 100, ""), "  0% 0 of 100 samples");
        assert_eq!(
            bar_line(80, 0, 0, ""),
            format!("{}   0% 0 of 0 samples", "░".repeat(24))
        );
        for width in 4..140 {
            assert!(line(width).chars().count() <= width, "{width}");
        }
    }

    #[test]
    fn what_has_no_room_is_cut_between_parts() {
        let text = "so far 2.379e18, anytime-valid 99.73% interval 2.372e18 to 2.386e18; 3 at work";
        assert_eq!(fit(text, 79), text);
        assert_eq!(fit(text, 70), text.split(';').next().unwrap());
        assert_eq!(fit(text, 30), "so far 2.379e18");
        assert_eq!(fit(text, 15), "so far 2.379e18");
        assert_eq!(fit(text, 10), "so far 2.\u{2026}");
        for width in 1..100 {
            assert!(fit(text, width).chars().count() <= width, "{width}");
        }
    }
}
