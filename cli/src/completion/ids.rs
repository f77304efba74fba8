//! The ids that may come next: those that the database or the coordinator has that is named by what is
//! typed or by the environment. Who is away, or slow, offers none.

use std::ffi::OsStr;
use std::future::Future;
use std::path::Path;
use std::time::Duration;

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use clap_complete::engine::{CompletionCandidate as Candidate, PathCompleter, ValueCompleter};
use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::ledger::{CampaignRecord, Ledger};
use kazoe_proto::{admin, v1};

use super::words;
use crate::campaign_source::PlaceArgs;
use crate::commands::Cli;
use crate::coordinator_client::{Office, OfficeArgs};
use crate::exit::Stop;
use crate::postgres_args::DatabaseArgs;
use crate::sqlite_args::StoreArgs;

/// How long a user who pressed Tab waits.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ids of campaigns.
pub(crate) fn campaigns(begun: &OsStr) -> Vec<Candidate> {
    let records = soon(async |typed| {
        if let Some(mut office) = typed.office() {
            return Ok(office.list().await?.known);
        }
        let store = typed.store().ok_or(Stop::Closed)?;
        let read = store.read(async |ledger| ledger.campaigns().await.map_err(Stop::failed));
        read.await
    });
    let described = |record: CampaignRecord| {
        let (variant, cut) = (record.campaign.variant, record.cut);
        let words = format!("{}, {} samples", variant.id, grouped(cut.samples));
        (record.id, words)
    };
    offered(begun, records.into_iter().map(described))
}

/// Ids of campaigns, and files.
pub(crate) fn campaigns_and_files(begun: &OsStr) -> Vec<Candidate> {
    let mut all = campaigns(begun);
    all.extend(PathCompleter::any().complete(begun));
    all
}

/// Ids of workers.
pub(crate) fn workers(begun: &OsStr) -> Vec<Candidate> {
    let workers = soon(async |typed| {
        let mut office = typed.office().ok_or(Stop::Closed)?;
        let listed = office.admin.workers(v1::WorkersRequest { all: true }).await;
        let listed = listed.map_err(|status| office.refused(&status))?;
        admin::workers(listed.into_inner()).map_err(|odd| office.odd(&odd))
    });
    offered(
        begun,
        workers.into_iter().map(|one| (one.worker, one.owner)),
    )
}

/// Ids of tokens that are good.
pub(crate) fn tokens(begun: &OsStr) -> Vec<Candidate> {
    let tokens = soon(async |typed| match typed.database() {
        Some(database) => {
            let ledger = database.connect().await?;
            let stored = ledger.credentials().await.map_err(Stop::failed)?;
            let good = stored.into_iter().filter(|one| !one.revoked);
            Ok(good.map(|one| (one.id, one.owner)).collect())
        }
        None => {
            let mut office = typed.office().ok_or(Stop::Closed)?;
            let listed = office.admin.list_tokens(v1::ListTokensRequest {}).await;
            let listed = listed.map_err(|status| office.refused(&status))?;
            let listed = admin::credentials(listed.into_inner());
            let good = listed.map_err(|odd| office.odd(&odd))?.into_iter();
            let good = good.filter(|one| !one.revoked);
            Ok(good.map(|one| (one.id, one.owner)).collect::<Vec<_>>())
        }
    });
    offered(begun, tokens)
}

/// Those that begin so, each with what it is.
fn offered(begun: &OsStr, ids: impl IntoIterator<Item = (String, String)>) -> Vec<Candidate> {
    let begun = begun.to_string_lossy();
    let fitting = ids.into_iter().filter(|(id, _)| id.starts_with(&*begun));
    let offered = fitting.map(|(id, what)| Candidate::new(id).help(Some(what.into())));
    offered.collect()
}

/// What is found with the words that are typed, if it is found soon.
fn soon<T, F: Future<Output = Result<Vec<T>, Stop>>>(look: impl FnOnce(Typed) -> F) -> Vec<T> {
    let found = || {
        let typed = Typed::read()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        let looked = async { tokio::time::timeout(PATIENCE, look(typed)).await };
        let found = runtime.block_on(looked);
        // A pending host name lookup is abandoned.
        runtime.shutdown_background();
        found.ok()?.ok()
    };
    found().unwrap_or_default()
}

/// What the words that are typed say about the place.
struct Typed(ArgMatches);

impl Typed {
    /// Reads them as the command will, as far as they go.
    fn read() -> Option<Self> {
        let command = Cli::command().ignore_errors(true);
        let mut matches = command.try_get_matches_from(words::words()).ok()?;
        while let Some((_, below)) = matches.remove_subcommand() {
            matches = below;
        }
        Some(Typed(matches))
    }

    /// Whether the command has such an argument.
    fn knows(&self, id: &str) -> bool {
        self.0.try_contains_id(id).is_ok()
    }

    /// The coordinator, if one is named.
    fn office(&self) -> Option<Office> {
        let office = match (self.knows(OfficeArgs::ID), self.knows(StoreArgs::ID)) {
            (true, true) => PlaceArgs::from_arg_matches(&self.0).ok()?.office,
            (true, false) => OfficeArgs::from_arg_matches(&self.0).ok()?,
            (false, _) => return None,
        };
        office.open().ok()
    }

    fn store(&self) -> Option<StoreArgs> {
        let store = self.knows(StoreArgs::ID);
        let store = store.then(|| StoreArgs::from_arg_matches(&self.0).ok())??;
        Path::new(&store.path).exists().then_some(store)
    }

    fn database(&self) -> Option<DatabaseArgs> {
        let known = self.knows(DatabaseArgs::ID);
        let database = known.then(|| DatabaseArgs::from_arg_matches(&self.0).ok())??;
        database.is_named().then_some(database)
    }
}
