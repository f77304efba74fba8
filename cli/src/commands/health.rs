//! `kazoe health`: whether a coordinator serves.

use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::ending::{Ending, Stop};
use crate::office::OfficeArgs;
use crate::output::{Output, tell};
use crate::store;

/// Ask a coordinator whether it lends work; exit code 0 if so.
///
/// It needs no token. A coordinator says no while it leaves, and while its database cannot serve; its log has
/// the cause. With --alive the exit code is 0 if the coordinator answers at all: to start it again does not
/// help a database.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe health --coordinator http://127.0.0.1:7273
  kazoe health --alive || systemctl restart kazoe-coordinator")]
pub(super) struct Args {
    /// Ask only whether the coordinator answers, not whether it lends work.
    #[arg(long)]
    alive: bool,

    #[command(flatten)]
    office: OfficeArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        store::block_on(async {
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
                "error: {} lends nothing at present: it leaves, or its database cannot serve; the log of \
                 the coordinator has the cause",
                office.url
            ));
            Ok(Ending::Failed)
        })
    }
}
