//! `kazoe migrate`: brings a database's schema up to this build's.

use kazoe_coordinator::ledger::PostgresLedger;

use crate::database::DatabaseArgs;
use crate::ending::{Ending, Stop};
use crate::output::{Output, tell};
use crate::store;

/// Migrate a database on PostgreSQL to this build's schema, as the role that owns it.
///
/// Once for a new database, and again with each new version of Kazoe, before its coordinators start;
/// where there is nothing to do it does nothing. A pooler before the database must give the
/// connection a session of its own (pool_mode = session of PgBouncer). The roles come from deploy/postgres/create_roles.sql.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe migrate --database-url-file owner.url
  kazoe migrate --database-url postgresql://kazoe_owner@localhost:5432/kazoe")]
pub(super) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
}

impl Args {
    pub(super) fn run(&self, _: &mut Output) -> Result<Ending, Stop> {
        store::block_on(async {
            let url = self.database.url()?;
            PostgresLedger::migrate(&url).await.map_err(Stop::failed)?;
            tell("The schema is this build's.");
            Ok(Ending::Done)
        })
    }
}
