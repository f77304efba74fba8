//! `kazoe health`: whether a coordinator serves.

use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::coordinator_client::OfficeArgs;
use crate::exit::{Ending, Stop};
use crate::output::{Output, tell};
use crate::sqlite_args;

/// Check whether a coordinator grants leases; exit code 0 if so.
///
/// It needs no token. The check fails while the coordinator shuts down, and while its database cannot serve;
/// its log has the cause. With --alive the exit code is 0 if the coordinator answers at all, because a restart
/// does not repair a database.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe health --coordinator http://127.0.0.1:7273
  kazoe health --alive || systemctl restart kazoe-coordinator")]
pub(super) struct Args {
    /// Check only whether the coordinator answers, not whether it grants leases.
    #[arg(long)]
    alive: bool,

    #[command(flatten)]
    office: OfficeArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        sqlite_args::block_on(async {
            let office = self.office.open()?;
            let wire = self.office.link()?.open().map_err(Stop::usage)?;
            let asked = HealthCheckRequest {
                service: "kazoe.v1.Work".to_owned(),
            };
            let answer = HealthClient::new(wire).check(asked).await;
            let answer = answer.map_err(|status| office.refused(&status))?;
            if answer.into_inner().status() == ServingStatus::Serving {
                output.line("serving")?;
                return Ok(Ending::Done);
            }
            if self.alive {
                output.line("alive")?;
                return Ok(Ending::Done);
            }
            tell(format_args!(
                "error: {} grants no leases: it is shutting down, or its database cannot serve; \
                 see the coordinator's log for the cause",
                office.url
            ));
            Ok(Ending::Failed)
        })
    }
}
