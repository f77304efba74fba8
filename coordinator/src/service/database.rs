//! Watches the database: logs why it cannot serve, once when that begins and once when it ends, and says so in
//! the coordinator's health.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kazoe_proto::v1::campaigns_server::CampaignsServer;
use kazoe_proto::v1::work_server::WorkServer;
use tokio::time::timeout;
use tonic::Status;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tracing::{info, warn};

use super::campaigns::CampaignsService;
use super::work::WorkService;
use super::{Coordinator, status};
use crate::ledger::{LedgerError, Probe, StorageError, StorageFault};

/// How often the database is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How long after a call met a lasting error the coordinator serves again: only a call shows whether the
/// cause is gone, and callers may come only to a coordinator that serves.
const FORGET: Duration = Duration::from_secs(15);

/// What is wrong, for comparison: one cause has one line in the log, whatever words the server finds for it.
type Cause = (String, String);

fn cause(error: &StorageError) -> Cause {
    let detail = match error.fault {
        StorageFault::Schema | StorageFault::Rights | StorageFault::Other => error.detail.as_str(),
        _ => "",
    };
    // The number of connections may change while there are too few.
    let fault = match error.fault {
        StorageFault::Connections { .. } => "connections".to_owned(),
        fault => format!("{fault:?}"),
    };
    (fault, detail.to_owned())
}

/// The causes that are logged and not over.
#[derive(Debug, Default)]
struct Log {
    open: BTreeMap<Cause, String>,
}

impl Log {
    /// Logs the causes that are new, and those that are over.
    fn compare<'a>(&mut self, errors: impl IntoIterator<Item = &'a StorageError>) {
        let now: BTreeMap<Cause, &StorageError> = errors
            .into_iter()
            .map(|error| (cause(error), error))
            .collect();
        for (cause, error) in &now {
            if !self.open.contains_key(cause) {
                warn!("the database cannot serve: {error}");
                self.open.insert(cause.clone(), error.to_string());
            }
        }
        let before = self.open.len();
        self.open.retain(|cause, _| now.contains_key(cause));
        if self.open.is_empty() && before > 0 {
            info!("the database serves again");
        }
    }
}

/// Watches the database until it is dropped, and keeps the health.
pub(super) async fn watch(coordinator: Arc<Coordinator>, health: HealthReporter) {
    let condition = coordinator.ledger.condition();
    let mut probe = Probe::default();
    let mut log = Log::default();
    let mut served = true;
    loop {
        let outage = coordinator.ledger.look(&mut probe).await;
        let met = condition.lasting_errors();
        match &outage {
            // What calls meet meanwhile follows from it.
            Some(cause) => log.compare([cause]),
            None => log.compare(met.iter().map(|(error, _)| error)),
        }
        let recent = met.iter().any(|(_, at)| at.elapsed() < FORGET);
        let serves = outage.is_none() && !recent;
        if serves != served {
            served = serves;
            tell(&health, serves).await;
        }
        let _ = timeout(LOOK, condition.changed()).await;
    }
}

async fn tell(health: &HealthReporter, serves: bool) {
    let status = if serves {
        ServingStatus::Serving
    } else {
        ServingStatus::NotServing
    };
    // The empty name is the coordinator as a whole.
    health.set_service_status("", status).await;
    if serves {
        health
            .set_serving::<CampaignsServer<CampaignsService>>()
            .await;
        health.set_serving::<WorkServer<WorkService>>().await;
    } else {
        health
            .set_not_serving::<CampaignsServer<CampaignsService>>()
            .await;
        health.set_not_serving::<WorkServer<WorkService>>().await;
    }
}

impl Coordinator {
    /// Returns the refusal of a call, where the database cannot serve: its cause is not the caller's.
    pub(super) fn outage(&self) -> Option<Status> {
        let outage = self.ledger.condition().outage()?;
        Some(status::status(&LedgerError::Storage(outage.cause)))
    }

    /// Waits for the answer of a call for as long as the call may take, and no longer than calls take in
    /// general once the database cannot serve.
    ///
    /// # Errors
    /// `Unavailable` where the database cannot serve, else `DeadlineExceeded`.
    pub(super) async fn in_time<T>(
        &self,
        within: Duration,
        answer: impl Future<Output = T>,
    ) -> Result<T, Status> {
        let call = self.settings.limits.call;
        let cause = tokio::select! {
            answer = answer => return Ok(answer),
            cause = self.ledger.condition().lasting_outage(call) => cause,
            () = tokio::time::sleep(within) => {
                return Err(self.outage().unwrap_or_else(|| {
                    Status::deadline_exceeded(format!(
                        "the call took longer than {} s",
                        within.as_secs_f64()
                    ))
                }));
            }
        };
        Err(status::status(&LedgerError::Storage(cause)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Log, cause};
    use crate::ledger::{Place, StorageError, StorageFault};

    fn error(fault: StorageFault, detail: &str) -> StorageError {
        StorageError {
            place: Place::Server("db".to_owned()),
            fault,
            detail: detail.to_owned(),
        }
    }

    #[test]
    fn one_cause_is_one_line_in_whatever_words() {
        let refused = error(StorageFault::Unreachable, "connection refused");
        let starting = error(StorageFault::Unreachable, "the system is starting up");
        assert_eq!(cause(&refused), cause(&starting));
        let few = |had| error(StorageFault::Connections { had, wanted: 17 }, "too many");
        assert_eq!(cause(&few(1)), cause(&few(5)));
        let lacks = |column| error(StorageFault::Schema, column);
        assert_ne!(cause(&lacks("a")), cause(&lacks("b")));
        let mut log = Log::default();
        log.compare([&refused, &starting, &lacks("a")]);
        assert_eq!(log.open.len(), 2);
        log.compare([&starting]);
        assert_eq!(log.open.len(), 1);
        log.compare([]);
        assert!(log.open.is_empty());
    }
}
