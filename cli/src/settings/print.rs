//! The settings, shown: as a file would have them, or as JSON.

use serde_json::{Map, Number, Value, json};

use super::key::Key;
use super::{Said, Setting, Settings};
use crate::exit::{Ending, Stop};
use crate::output::{JSON_VERSION, Output};

/// The column at which it is said where a value came from, if there is room.
const COLUMN: usize = 44;

impl Settings {
    /// Shows them.
    ///
    /// # Errors
    /// If it can't be written.
    pub(crate) fn show(&self, output: &mut Output) -> Result<Ending, Stop> {
        for warning in &self.warnings {
            crate::output::tell(format_args!("warning: {warning}"));
        }
        if self.json {
            output.json(&self.document())?;
        } else {
            output.text(&self.file())?;
        }
        Ok(Ending::Done)
    }

    fn document(&self) -> Value {
        let settings = self.settings.iter().map(|Setting { key, said }| {
            let from = said.as_ref().map(|said| said.origin.to_string());
            let value =
                json!({ "value": said.as_ref().map(|said| value(key, said)), "from": from });
            (key.path(), value)
        });
        json!({
            "version": JSON_VERSION,
            "command": self.command,
            "file": self.file,
            "settings": settings.collect::<Map<_, _>>(),
        })
    }

    fn file(&self) -> String {
        let mut text = format!(
            "# kazoe {}: its settings and their sources (kazoe {})\n",
            self.command,
            env!("CARGO_PKG_VERSION")
        );
        let mut table = None;
        for Setting { key, said } in &self.settings {
            let (within, name) = key.in_table();
            if within != table {
                table = within;
                text += &format!("\n[{}]\n", within.unwrap_or_default());
            }
            text += &match said {
                Some(said) => {
                    let line = format!("{name} = {}", toml_value(&value(key, said)));
                    format!("{line:COLUMN$}  # {}\n", said.origin)
                }
                None => format!("# {name} is not set\n"),
            };
        }
        text
    }
}

/// A value as a file would have it, without secrets.
fn value(key: &Key, said: &Said) -> Value {
    let text = key.shown(&said.text);
    if key.is_switch() {
        return Value::Bool(text == "true");
    }
    let whole = text
        .parse::<i64>()
        .ok()
        .filter(|number| number.to_string() == text);
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| number.to_string() == text);
    match (whole, number.and_then(Number::from_f64)) {
        (Some(whole), _) => whole.into(),
        (None, Some(number)) => number.into(),
        (None, None) => text.into(),
    }
}

fn toml_value(value: &Value) -> String {
    match value {
        Value::String(text) => toml::Value::String(text.clone()).to_string(),
        other => other.to_string(),
    }
}
