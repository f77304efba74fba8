//! The log of a program that runs for long, on standard error.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::settings::Settings;

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogForm {
    /// A line for people.
    Text,
    /// One JSON document a line.
    Json,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogLevel {
    /// Warnings and errors.
    Warn,
    /// Events and progress too.
    Info,
    /// Every lease and tally too.
    Debug,
}

/// The choice of a log.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// The format of the log on standard error.
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        env = "KAZOE_LOG_FORMAT"
    )]
    log_format: LogForm,

    /// The level of the log.
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        default_value = "info",
        env = "KAZOE_LOG_LEVEL"
    )]
    log_level: LogLevel,
}

impl LogArgs {
    /// From now on what happens is logged; first what is odd about the settings.
    pub(crate) fn begin(self, settings: Option<&Settings>) {
        let level = match self.log_level {
            LogLevel::Warn => LevelFilter::WARN,
            LogLevel::Info => LevelFilter::INFO,
            LogLevel::Debug => LevelFilter::DEBUG,
        };
        let log = tracing_subscriber::fmt()
            .with_writer(io::stderr)
            .with_max_level(level)
            // A failed write of the log is ignored: reporting it on standard error would panic.
            .log_internal_errors(false)
            .with_target(false);
        // The library that speaks to the database logs each lost connection; the coordinator names the cause.
        let filter = Targets::new()
            .with_default(level)
            .with_target("sqlx", LevelFilter::OFF);
        match self.log_format {
            LogForm::Text => log
                .with_ansi(io::stderr().is_terminal())
                .finish()
                .with(filter)
                .init(),
            LogForm::Json => log.json().flatten_event(true).finish().with(filter).init(),
        }
        if let Some(settings) = settings {
            settings.warn();
        }
    }
}
