//! The ledger on PostgreSQL on the command line.

use std::fmt;
use std::path::{Path, PathBuf};

use kazoe_coordinator::ledger::PostgresLedger;

use crate::exit::Stop;
use crate::{pasted, secrets, text_file};

/// Which database on PostgreSQL.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DatabaseArgs {
    /// The database's address: postgresql://ROLE:PASSWORD@HOST:5432/NAME. All users of the machine can read a
    /// password on the command line: use a file instead.
    #[arg(
        long,
        value_name = "URL",
        env = "KAZOE_DATABASE_URL",
        hide_env_values = true,
        conflicts_with = "database_url_file"
    )]
    database_url: Option<Secret>,

    /// A file whose first line is the database's address.
    #[arg(long, value_name = "FILE", env = "KAZOE_DATABASE_URL_FILE")]
    database_url_file: Option<PathBuf>,
}

impl DatabaseArgs {
    /// What clap calls the address.
    pub(crate) const ID: &str = "database_url";

    /// Whether a database was named.
    pub(crate) const fn is_named(&self) -> bool {
        self.database_url.is_some() || self.database_url_file.is_some()
    }

    /// The address.
    ///
    /// # Errors
    /// If there is none, or its file can't be read.
    pub(crate) fn url(&self) -> Result<String, Stop> {
        match (&self.database_url, &self.database_url_file) {
            (Some(url), _) => Ok(url.tell().trim().to_owned()),
            (None, Some(path)) => first_line(path),
            (None, None) => Err(Stop::usage(
                "no database: name a file with its address by --database-url-file or \
                 KAZOE_DATABASE_URL_FILE",
            )),
        }
    }

    /// Connects as the role of coordinators, with the connections that a command needs.
    ///
    /// # Errors
    /// If the database is unusable.
    pub(crate) async fn connect(&self) -> Result<PostgresLedger, Stop> {
        PostgresLedger::connect(&self.url()?)
            .await
            .map_err(Stop::failed)
    }

    /// Connects with all connections of a coordinator.
    ///
    /// # Errors
    /// If the database cannot serve a coordinator.
    pub(crate) async fn connect_to_serve(&self) -> Result<PostgresLedger, Stop> {
        PostgresLedger::connect_to_serve(&self.url()?)
            .await
            .map_err(Stop::failed)
    }
}

/// A text that may hold a password and is never printed.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// The text.
    pub(crate) fn tell(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(address: String) -> Self {
        Secret(address)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Returns the first line of a file that holds a secret, without the white space around it.
///
/// # Errors
/// If the file can't be read as text, or the line is empty.
pub(crate) fn first_line(path: &Path) -> Result<String, Stop> {
    let name = path.display();
    let text = text_file::read(path)?;
    let text = pasted::ascii(&text);
    match text.lines().next().map(str::trim) {
        Some(line) if !line.is_empty() => {
            secrets::warn_if_readable(path);
            Ok(line.to_owned())
        }
        _ => Err(Stop::failed(format_args!(
            "{name}: its first line is empty"
        ))),
    }
}
