//! Results on standard output; everything else on standard error.

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};

use clap::ValueEnum;
use serde_json::Value;

use crate::exit::Stop;

/// The version that every JSON document carries; it grows when a field changes its meaning or goes.
pub(crate) const JSON_VERSION: u32 = 1;

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Text for people, and for cut, sort and grep.
    #[default]
    Text,
    /// JSON, with a version in each document.
    Json,
}

/// The choice of a form, for every command that a program may read.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct FormArgs {
    /// The format of the results.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: Form,

    /// The same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FormArgs {
    /// Whether JSON is wanted.
    pub(crate) fn json(self) -> bool {
        self.json || self.format == Form::Json
    }
}

/// Standard output, buffered until it is flushed.
pub(crate) struct Output {
    writer: BufWriter<StdoutLock<'static>>,
}

impl Output {
    pub(crate) fn new() -> Self {
        Output {
            writer: BufWriter::with_capacity(1 << 16, io::stdout().lock()),
        }
    }

    /// Writes a text as it is.
    ///
    /// # Errors
    /// If writing fails, or the reader has closed it.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Stop> {
        self.writer
            .write_all(text.as_bytes())
            .map_err(|error| Stop::of_output(&error))
    }

    /// Writes a line.
    ///
    /// # Errors
    /// If writing fails, or the reader has closed it.
    pub(crate) fn line(&mut self, line: impl fmt::Display) -> Result<(), Stop> {
        writeln!(self.writer, "{line}").map_err(|error| Stop::of_output(&error))
    }

    /// Writes a JSON document on one line.
    ///
    /// # Errors
    /// If writing fails, or the reader has closed it.
    pub(crate) fn json(&mut self, document: &Value) -> Result<(), Stop> {
        self.line(document)
    }

    /// Flushes everything written so far.
    ///
    /// # Errors
    /// If writing fails, or the reader has closed it.
    pub(crate) fn flush(&mut self) -> Result<(), Stop> {
        self.writer.flush().map_err(|error| Stop::of_output(&error))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Writes a line to standard error. A closed standard error is no failure.
pub(crate) fn tell(line: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{line}");
}
