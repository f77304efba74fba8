//! The ledger on the command line: which file, which campaign, and who writes.

use std::future::Future;
use std::path::{Path, PathBuf};

use kazoe_coordinator::ledger::{CampaignRecord, ForeignCampaign, Ledger, Listed, LocalStore};

use crate::exit::Stop;
use crate::pasted;

/// Which database.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// The database.
    #[arg(
        long = "db",
        value_name = "FILE",
        default_value = "./kazoe.db",
        env = "KAZOE_DB"
    )]
    pub(crate) path: PathBuf,
}

impl StoreArgs {
    /// What clap calls the path.
    pub(crate) const ID: &str = "path";

    /// Opens the database for writing, and creates it if it is missing.
    ///
    /// # Errors
    /// If it can't be.
    pub(crate) async fn write(&self) -> Result<LocalStore, Stop> {
        LocalStore::open(&self.path).await.map_err(Stop::failed)
    }

    /// Reads something in the database as it is now, and changes nothing.
    ///
    /// # Errors
    /// If it can't be opened, or the reader's own.
    pub(crate) async fn read<T>(
        &self,
        look: impl AsyncFnOnce(&LocalStore) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let ledger = LocalStore::open_reader(&self.path).await;
        let ledger = ledger.map_err(Stop::failed)?;
        let looked = look(&ledger).await;
        ledger.close().await.map_err(Stop::failed)?;
        looked
    }

    /// ` --db FILE` for a command to type, or nothing where that is the default.
    pub(crate) fn as_typed(&self) -> String {
        if [Path::new("./kazoe.db"), Path::new("kazoe.db")].contains(&&*self.path) {
            String::new()
        } else {
            format!(" --db {}", typed_path(&self.path))
        }
    }
}

/// A path as it is typed in a shell, in quotes where it needs them.
pub(crate) fn typed_path(path: &Path) -> String {
    let path = path.display().to_string();
    if path
        .chars()
        .all(|c| c.is_alphanumeric() || "/._-+".contains(c))
    {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// The campaign that a text names: by its id, by the beginning of it, or by its variant, of which it is
/// the newest; without a text the newest of all.
///
/// # Errors
/// If there is none, or more than one.
pub(crate) async fn find(ledger: &LocalStore, name: Option<&str>) -> Result<CampaignRecord, Stop> {
    let listed = ledger.listed().await.map_err(Stop::failed)?;
    let place = ledger.path().display().to_string();
    choose(listed, name, &place, "`kazoe run` begins one")
}

/// The same among the campaigns of some place; `remedy` says how one comes to be there. A campaign of another build
/// is found only where the text names no other.
///
/// # Errors
/// If there is none, or more than one, or it is of another build.
pub(crate) fn choose(
    listed: Listed,
    name: Option<&str>,
    place: &str,
    remedy: &str,
) -> Result<CampaignRecord, Stop> {
    let Listed {
        known: mut campaigns,
        mut foreign,
    } = listed;
    let Some(name) = name else {
        return campaigns.pop().ok_or_else(|| match foreign.pop() {
            Some(newest) => Stop::failed(newest),
            None => Stop::failed(format_args!("{place} has no campaign yet; {remedy}")),
        });
    };
    let wanted = pasted::ascii(name).trim().to_ascii_lowercase();
    if let Some(newest) = campaigns
        .iter()
        .rposition(|record| record.id == wanted || record.campaign.variant.id == wanted)
    {
        return Ok(campaigns.swap_remove(newest));
    }
    let named = |one: &&ForeignCampaign| one.id == wanted || one.variant == wanted;
    if let Some(newest) = foreign.iter().rfind(named) {
        return Err(Stop::failed(newest));
    }
    campaigns.retain(|record| record.id.starts_with(&wanted));
    foreign.retain(|one| one.id.starts_with(&wanted));
    match (&campaigns[..], &foreign[..]) {
        ([_], []) => Ok(campaigns.swap_remove(0)),
        ([], [one]) => Err(Stop::failed(one)),
        ([], []) => Err(Stop::failed(format_args!(
            "{place} has no campaign `{name}`; `kazoe campaigns` lists the campaigns"
        ))),
        _ => {
            let known = campaigns.iter().map(|record| &*record.id);
            let all: Vec<&str> = known.chain(foreign.iter().map(|one| &*one.id)).collect();
            Err(Stop::failed(format_args!(
                "`{name}` is ambiguous: {}",
                all.join(" or ")
            )))
        }
    }
}

/// Runs a command that talks to a ledger.
///
/// # Errors
/// The command's own.
pub(crate) fn block_on<T>(command: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Stop::failed)?
        .block_on(command)
}
