//! What a setting is called: in a file, in the environment, and as a flag.

use clap::{Arg, ArgAction};

use super::{NO_SETTINGS, redact};

/// The tables of a file: a flag that begins with such a word is in that table, `--tls-cert` is `tls.cert`.
const TABLES: [&str; 3] = ["database", "log", "tls"];

/// A setting's name: that of its flag, `_` for `-`, and perhaps within a table.
///
/// Those without a table come first, as in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    table: Option<&'static str>,
    name: String,
    id: String,
    secret: bool,
    switch: bool,
}

impl Key {
    /// The key of an argument; nothing, if it is no setting.
    pub(super) fn of(arg: &Arg) -> Option<Self> {
        let flag = arg.get_long().filter(|flag| !NO_SETTINGS.contains(flag))?;
        let switch = match arg.get_action() {
            ArgAction::Set => false,
            ArgAction::SetTrue => true,
            _ => return None,
        };
        let within = |table: &&str| {
            let rest = flag.strip_prefix(*table)?.strip_prefix('-')?;
            Some(rest.to_owned())
        };
        let table = TABLES.into_iter().find(|table| within(table).is_some());
        let name = table.as_ref().and_then(within);
        Some(Key {
            table,
            name: name.unwrap_or_else(|| flag.to_owned()).replace('-', "_"),
            id: arg.get_id().to_string(),
            secret: arg.is_hide_env_values_set(),
            switch,
        })
    }

    /// In a file: `hold`, `tls.cert`.
    pub(super) fn path(&self) -> String {
        match self.table {
            Some(table) => format!("{table}.{}", self.name),
            None => self.name.clone(),
        }
    }

    /// The table it is in, and its name there.
    pub(super) fn in_table(&self) -> (Option<&'static str>, &str) {
        (self.table, &self.name)
    }

    /// In the environment.
    pub(super) fn variables(&self) -> Names {
        let path = format!("KAZOE_{}", self.path()).to_uppercase();
        Names {
            plain: path.replace('.', "_"),
            nested: path.replace('.', "__"),
        }
    }

    /// As a flag: `--tls-cert`.
    pub(super) fn flag(&self) -> String {
        format!("--{}", self.path().replace(['.', '_'], "-"))
    }

    /// What clap calls it.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Its value with secrets masked.
    pub(super) fn shown(&self, text: &str) -> String {
        if self.secret || text.contains("://") {
            redact::address(text)
        } else {
            text.to_owned()
        }
    }

    /// Whether a value of it holds a secret.
    pub(super) fn is_secret(&self, text: &str) -> bool {
        self.shown(text) != text
    }

    /// Whether it is yes or no.
    pub(super) const fn is_switch(&self) -> bool {
        self.switch
    }
}

/// The variables of a setting, `KAZOE_TLS_CERT` and `KAZOE_TLS__CERT`; the same where it is in no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) plain: String,
    pub(super) nested: String,
}

impl IntoIterator for Names {
    type Item = String;
    type IntoIter = std::array::IntoIter<String, 2>;

    fn into_iter(self) -> Self::IntoIter {
        [self.nested, self.plain].into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_follows_from_its_flag() {
        for (flag, path, plain, nested) in [
            ("hold", "hold", "KAZOE_HOLD", "KAZOE_HOLD"),
            (
                "no-tokens",
                "no_tokens",
                "KAZOE_NO_TOKENS",
                "KAZOE_NO_TOKENS",
            ),
            (
                "tls-client-ca",
                "tls.client_ca",
                "KAZOE_TLS_CLIENT_CA",
                "KAZOE_TLS__CLIENT_CA",
            ),
            // No word of its own: no table.
            ("logs", "logs", "KAZOE_LOGS", "KAZOE_LOGS"),
        ] {
            let key = Key::of(&Arg::new("x").long(flag)).unwrap();
            assert_eq!(key.path(), path);
            let names = Names {
                plain: plain.to_owned(),
                nested: nested.to_owned(),
            };
            assert_eq!(key.variables(), names);
            assert_eq!(key.flag(), format!("--{flag}"));
        }
        assert_eq!(Key::of(&Arg::new("x").long("print-config")), None);
        assert_eq!(Key::of(&Arg::new("x")), None);
        let help = Arg::new("help").long("help").action(ArgAction::Help);
        assert_eq!(Key::of(&help), None);
    }
}
