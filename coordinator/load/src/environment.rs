//! Where the coordinator runs: a database, tokens, a folder for the files of its processes.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use kazoe_coordinator::ledger::{Ledger, PostgresLedger, Role};
use kazoe_coordinator::service::auth::mint;
use std::io::Write;
use tempfile::TempDir;

use crate::cleanup::Cleanup;
use crate::postgres::Server;
use crate::synthetic;

/// The owners of the workers: audits need another one.
const OWNERS: [&str; 3] = ["a", "b", "c"];

/// A database with the campaign, and what it takes to use it.
pub(crate) struct Environment {
    /// The ledger, past the coordinator.
    pub(crate) ledger: PostgresLedger,
    /// The server, where it was started here.
    pub(crate) server: Option<Server>,
    /// The campaign's id.
    pub(crate) campaign: String,
    /// The token of a viewer.
    pub(crate) viewer: String,
    /// The database's address.
    pub(crate) url: String,
    folder: TempDir,
    /// Dropped after the folder.
    pub(crate) cleanup: Cleanup,
}

impl Environment {
    /// Prepares the database of this address, which must have the schema and no campaign; or starts a server
    /// with these settings.
    ///
    /// # Errors
    /// If the database cannot be used, or has a campaign.
    pub(crate) async fn prepare(url: Option<&str>, settings: &[String]) -> Result<Self, String> {
        let folder = tempfile::Builder::new()
            .prefix("kazoe-load-")
            .tempdir()
            .map_err(|error| format!("no temporary folder: {error}"))?;
        let cleanup = Cleanup::of(folder.path());
        let server = match url {
            Some(_) => None,
            None => Some(Server::start(settings).await?),
        };
        let url = match (url, &server) {
            (Some(url), _) => url.to_owned(),
            (None, Some(server)) => server.runtime_url(),
            (None, None) => return Err("no database".to_owned()),
        };
        let ledger = PostgresLedger::connect(&url).await;
        let ledger = ledger.map_err(|error| error.to_string())?;
        let found = ledger.listed().await.map_err(words)?;
        let known = found.known.iter().map(|campaign| &campaign.id);
        if let Some(id) = known.chain(found.foreign.iter().map(|one| &one.id)).next() {
            return Err(format!(
                "the database has a campaign already ({id}): name an empty one, for instance a new one \
                 after `kazoe migrate`"
            ));
        }
        let submitted = ledger.submit(&synthetic::submission()).await;
        let (campaign, _) = submitted.map_err(words)?;
        let mut tokens = String::new();
        for owner in OWNERS {
            let minted = mint(&ledger, owner, Role::Worker, "load").await;
            tokens += &format!("{}\n", minted.map_err(|error| error.to_string())?.token);
        }
        let viewer = mint(&ledger, "load", Role::Viewer, "load").await;
        let environment = Environment {
            campaign: campaign.id,
            viewer: viewer.map_err(|error| error.to_string())?.token,
            ledger,
            server,
            folder,
            url,
            cleanup,
        };
        write(&environment.database(), &environment.url)?;
        write(&environment.tokens(), &tokens)?;
        Ok(environment)
    }

    /// A folder for the processes' files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file with the database's address.
    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("runtime.url")
    }

    /// The file with the workers' tokens.
    pub(crate) fn tokens(&self) -> PathBuf {
        self.folder.path().join("worker.tokens")
    }
}

/// Writes a file that only its owner may read.
fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| writeln!(file, "{}", text.trim_end()))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the text of an error.
pub(crate) fn words(error: impl ToString) -> String {
    error.to_string()
}
