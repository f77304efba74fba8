//! Where a campaign is: in a database file, or with a coordinator.

use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::coordinator_client::OfficeArgs;
use crate::sqlite_args::StoreArgs;

/// A database or a coordinator. What is typed wins over the environment, and of the environment's
/// `KAZOE_COORDINATOR` over `KAZOE_DB`; to type both is wrong.
#[derive(Clone, Debug)]
pub(crate) struct PlaceArgs {
    pub(crate) store: StoreArgs,
    pub(crate) office: OfficeArgs,
}

/// Both, as clap reads them.
#[derive(Debug, Args)]
struct Both {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    office: OfficeArgs,
}

impl FromArgMatches for PlaceArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let typed = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
        let Both { store, mut office } = Both::from_arg_matches(matches)?;
        match (typed(StoreArgs::ID), typed(OfficeArgs::ID)) {
            (true, true) => Err(Error::raw(
                ErrorKind::ArgumentConflict,
                "--db and --coordinator exclude each other: name a file or a coordinator\n",
            )),
            (true, false) => {
                office.forget();
                Ok(PlaceArgs { store, office })
            }
            (false, _) => Ok(PlaceArgs { store, office }),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = PlaceArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for PlaceArgs {
    fn augment_args(command: Command) -> Command {
        Both::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Both::augment_args_for_update(command)
    }
}
