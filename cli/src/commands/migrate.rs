//! `kazoe migrate`: brings a database's schema up to this build's.

use kazoe_coordinator::ledger::PostgresLedger;

use crate::exit::{Ending, Stop};
use crate::output::{Output, tell};
use crate::postgres_args::DatabaseArgs;
use crate::sqlite_args;

/// Migrate a database on PostgreSQL to this build's schema, as the role that owns it.
///
/// Run it once for a new database, and again with each new version of Kazoe, before its coordinators start; it
/// is idempotent. A pooler before the database must give the connection a session of its own (pool_mode =
/// session of PgBouncer). The roles come from deploy/postgres/create_roles.sql.
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
        sqlite_args::block_on(async {
            let url = self.database.url()?;
            PostgresLedger::migrate(&url).await.map_err(Stop::failed)?;
            tell("The schema is this build's.");
            Ok(Ending::Done)
        })
    }
}
