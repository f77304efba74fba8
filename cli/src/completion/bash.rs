//! Bash takes `http://127.0.0.1:7273` for five words, `:` being one that ends words: they are joined again
//! before anything is looked for in them.

use std::ffi::OsString;
use std::io::{Error, Write};
use std::path::Path;

use clap::Command;
use clap_complete::engine::complete;
use clap_complete::env::{Bash as Plain, EnvCompleter};

use super::words;

/// Bash, as the library knows it but for the words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        Plain.name()
    }

    fn is(&self, name: &str) -> bool {
        Plain.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        script: &mut dyn Write,
    ) -> Result<(), Error> {
        Plain.write_registration(var, name, bin, completer, script)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn Write,
    ) -> Result<(), Error> {
        let variable = |name| std::env::var(name).ok();
        let cursor = variable("_CLAP_COMPLETE_INDEX").and_then(|index| index.parse().ok());
        let (words, cursor) = words::joined(words, cursor.unwrap_or_default());
        let between = variable("_CLAP_IFS").unwrap_or_else(|| "\n".to_owned());
        let found = complete(command, words, cursor, folder)?;
        let found = found.iter().map(|one| one.get_value().to_string_lossy());
        answer.write_all(found.collect::<Vec<_>>().join(&between).as_bytes())
    }
}
