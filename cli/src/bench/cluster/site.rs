//! Where it is measured: a database, tokens, a folder for what the processes need.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use kazoe_coordinator::ledger::{Ledger, PostgresLedger, Role, Service, Submission};
use kazoe_coordinator::service::door::mint;
use std::io::Write;
use tempfile::TempDir;

use super::made_up;
use super::server::Server;
use super::watcher::Watcher;
use crate::local::build;

/// The owners of the workers: audits need another one.
const OWNERS: [&str; 3] = ["a", "b", "c"];

/// A database with the bench's campaign, and what it takes to use it.
pub(super) struct Site {
    /// The ledger, past the coordinator.
    pub(super) ledger: PostgresLedger,
    /// The server, where it is the bench's own.
    pub(super) server: Option<Server>,
    /// The campaign's id.
    pub(super) campaign: String,
    /// The token of a viewer.
    pub(super) viewer: String,
    folder: TempDir,
    _watcher: Watcher,
}

impl Site {
    /// On the database of this address, which must have the schema and no campaign; or on a server of our
    /// own with these settings.
    ///
    /// # Errors
    /// If the database cannot be had, or has a campaign.
    pub(super) async fn prepare(url: Option<&str>, settings: &[String]) -> Result<Self, String> {
        let folder = tempfile::Builder::new()
            .prefix("kazoe-bench-")
            .tempdir()
            .map_err(|error| format!("no temporary folder: {error}"))?;
        let watcher = Watcher::over(folder.path(), None);
        let server = match url {
            Some(_) => None,
            None => Some(Server::start(settings).await?),
        };
        let url = match (url, &server) {
            (Some(url), _) => url.to_owned(),
            (None, Some(server)) => server.runtime_url(),
            (None, None) => return Err("no database".to_owned()),
        };
        let ledger = PostgresLedger::connect_made_up(&url).await;
        let ledger = ledger.map_err(|error| error.to_string())?;
        if let Some(found) = ledger.campaigns().await.map_err(words)?.first() {
            return Err(format!(
                "the database has a campaign already ({}): name an empty one, for instance a new one \
                 after `kazoe migrate`",
                found.id
            ));
        }
        let submission = Submission {
            campaign: made_up::campaign(),
            cut: made_up::cut(),
            self_tests: Vec::new(),
            build: build(),
            service: Service::default(),
        };
        let (campaign, _) = ledger.submit(&submission).await.map_err(words)?;
        let mut tokens = String::new();
        for owner in OWNERS {
            let minted = mint(&ledger, owner, Role::Worker, "bench").await;
            tokens += &format!("{}\n", minted.map_err(|error| error.to_string())?.token);
        }
        let viewer = mint(&ledger, "bench", Role::Viewer, "bench").await;
        let site = Site {
            campaign: campaign.id,
            viewer: viewer.map_err(|error| error.to_string())?.token,
            ledger,
            server,
            folder,
            _watcher: watcher,
        };
        write(&site.database(), &url)?;
        write(&site.tokens(), &tokens)?;
        Ok(site)
    }

    /// A folder for the processes' files.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file with the database's address.
    pub(super) fn database(&self) -> PathBuf {
        self.folder.path().join("runtime.url")
    }

    /// The file with the workers' tokens.
    pub(super) fn tokens(&self) -> PathBuf {
        self.folder.path().join("worker.tokens")
    }
}

/// Writes a file that nobody else may read.
fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| writeln!(file, "{}", text.trim_end()))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// An error of the ledger's in words.
pub(super) fn words(error: impl ToString) -> String {
    error.to_string()
}
