//! What stands before the services: who calls, whether it may call now, and how much it may send.
//!
//! All of that is settled from the headers of a request. One that is refused here has cost no query, and
//! nothing of its body is read.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use http::{Request, Response};
use hyper::body::Incoming;
use kazoe_proto::retry_after::later;
use tonic::service::Routes;
use tonic::{Code, Status};
use tower_service::Service;

use super::Coordinator;
use super::auth::Caller;
use super::body_limit::{Intake, Ration, Taken};
use super::connections::Connection;
use super::limits::{AGAIN, PROOFS, TALLIES, WORDS};
use super::quota::Permit;
use super::rejections::count;
use super::stalled_reads::{Outflow, Unread};

/// What a call is, as far as it is treated alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Whether the coordinator serves: for anybody.
    Health,
    /// What there is to call, and how health changes, as a stream: for anybody.
    Open,
    /// A worker joins.
    Join,
    /// A worker asks for segments, or opens a conversation: bounded where that is done.
    Work,
    /// What operators and viewers ask.
    Question,
    /// What operators do: it may take as long as it takes.
    Deed,
}

/// How a call is treated, by the path that names it; nothing for what is not served.
fn treatment(path: &str) -> Option<(Kind, Ration)> {
    let one = |most| Ration {
        most,
        stream: false,
    };
    let stream = |most| Ration { most, stream: true };
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    Some(match (service, method) {
        ("grpc.health.v1.Health", "Check") => (Kind::Health, one(WORDS)),
        ("grpc.health.v1.Health", _) => (Kind::Open, one(WORDS)),
        ("grpc.reflection.v1.ServerReflection", _) => (Kind::Open, stream(WORDS)),
        ("kazoe.v1.Work", "Join") => (Kind::Join, one(PROOFS)),
        ("kazoe.v1.Work", "Claim" | "Leave") => (Kind::Work, one(WORDS)),
        ("kazoe.v1.Work", "Deliver") => (Kind::Work, stream(TALLIES)),
        ("kazoe.v1.Campaigns", "Submit") => (Kind::Question, one(PROOFS)),
        ("kazoe.v1.Campaigns", _) => (Kind::Question, one(WORDS)),
        ("kazoe.v1.Admin", "Import" | "Resolve") => (Kind::Deed, one(TALLIES)),
        ("kazoe.v1.Admin", _) => (Kind::Deed, one(WORDS)),
        _ => return None,
    })
}

/// The gate of one connection.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    pub(super) coordinator: Arc<Coordinator>,
    pub(super) routes: Routes,
    pub(super) guest: Arc<Connection>,
    pub(super) unread: Arc<Unread>,
}

impl Admission {
    /// Answers a request.
    pub(super) async fn answer(self, request: Request<Incoming>) -> Response<Outflow> {
        let unread = Arc::clone(&self.unread);
        let (response, permit) = match self.pass(request).await {
            Ok(passed) => passed,
            Err(refused) => {
                self.note(refused.code());
                (refused.into_http(), None)
            }
        };
        response.map(|body| Outflow::new(body, &unread, permit))
    }

    async fn pass(
        &self,
        mut request: Request<Incoming>,
    ) -> Result<(Response<tonic::body::Body>, Option<Permit>), Status> {
        let Some((kind, ration)) = treatment(request.uri().path()) else {
            self.guest.called();
            return Err(Status::unimplemented("unknown call"));
        };
        let encoding = request.headers().get("grpc-encoding");
        if encoding.is_some_and(|encoding| encoding != "identity") {
            self.guest.called();
            return Err(Status::unimplemented(
                "compressed messages are not supported; send them uncompressed",
            ));
        }
        let mut token = String::new();
        let permit = match kind {
            Kind::Health => {
                self.guest.called();
                None
            }
            Kind::Open => {
                self.guest.called();
                let open = &self.coordinator.open_unread;
                Some(open.take(&self.guest.address()).ok_or_else(unread)?)
            }
            Kind::Join | Kind::Work | Kind::Question | Kind::Deed => {
                let caller = self.recognise(&request).await?;
                let permit = self.bound(kind, &caller)?;
                caller.token().clone_into(&mut token);
                request.extensions_mut().insert(caller);
                permit
            }
        };
        let limits = &self.coordinator.settings.limits;
        // Whoever answers keeps the room of a large message until it is answered.
        let taken = Taken::default();
        let room = self.coordinator.room.clone();
        let room = (room, Arc::clone(&taken));
        let body = |body| Intake::new(body, (ration, limits.call), token, room);
        let answer = self.routes.clone().call(request.map(body));
        let within = match kind {
            Kind::Deed => Duration::MAX,
            _ => limits.call,
        };
        let response = match self.coordinator.in_time(within, answer).await {
            Ok(Ok(response)) => response,
            Err(late) => {
                // No message is to blame for it.
                if late.code() == Code::DeadlineExceeded {
                    count(&self.coordinator.turned_away.long);
                }
                return Ok((late.into_http(), None));
            }
        };
        drop(taken);
        let status = Status::from_header_map(response.headers());
        if let Some(status) = status {
            self.note(status.code());
            // The services of gRPC's own decode with a codec that calls a wrong message an internal error.
            if matches!(kind, Kind::Health | Kind::Open) && status.code() == Code::Internal {
                let refused = Status::invalid_argument(status.message());
                return Ok((refused.into_http(), permit));
            }
        }
        Ok((response, permit))
    }

    /// Who calls; from now on the connection is a guest's.
    async fn recognise(&self, request: &Request<Incoming>) -> Result<Caller, Status> {
        let Coordinator { door, keyring, .. } = &*self.coordinator;
        let caller = door.admit(keyring, request.headers()).await;
        let caller = caller.inspect_err(|_| self.guest.called());
        let caller = caller.map_err(|refused| match refused.code() {
            Code::Unavailable => self.coordinator.outage().unwrap_or(refused),
            _ => refused,
        })?;
        self.guest
            .welcome()
            .map_err(|crowded| later(&crowded.to_string(), AGAIN * 5))?;
        Ok(caller)
    }

    /// Checks that a caller does not call too often, and takes the permit for its answer where it needs one.
    fn bound(&self, kind: Kind, caller: &Caller) -> Result<Option<Permit>, Status> {
        let Coordinator {
            joins,
            calls,
            unread: unread_answers,
            ..
        } = &*self.coordinator;
        let (rates, what) = match kind {
            Kind::Join => (joins, "joins"),
            Kind::Question | Kind::Deed => (calls, "calls"),
            Kind::Health | Kind::Open | Kind::Work => return Ok(None),
        };
        let token = caller.token();
        rates.take(token, Instant::now()).map_err(|wait| {
            let words = format!("too many {what} under the token {token}");
            later(&words, wait.max(Duration::from_millis(100)))
        })?;
        match kind {
            Kind::Question | Kind::Deed => Ok(Some(unread_answers.take(token).ok_or_else(unread)?)),
            _ => Ok(None),
        }
    }

    /// Counts a refusal.
    fn note(&self, code: Code) {
        let turned = &self.coordinator.turned_away;
        let counted: Option<&AtomicU64> = match code {
            Code::Unauthenticated => Some(&turned.wrong),
            Code::ResourceExhausted => Some(&turned.later),
            Code::OutOfRange | Code::Unimplemented | Code::DeadlineExceeded => {
                Some(&turned.messages)
            }
            _ => None,
        };
        counted.into_iter().for_each(count);
    }
}

/// There are enough answers on their way.
fn unread() -> Status {
    later("too many unread answers", AGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_served_has_a_treatment_and_nothing_else() {
        for path in [
            "/kazoe.v1.Work/Join",
            "/kazoe.v1.Work/Claim",
            "/kazoe.v1.Work/Deliver",
            "/kazoe.v1.Campaigns/Watch",
            "/kazoe.v1.Admin/Workers",
            "/grpc.health.v1.Health/Check",
            "/grpc.health.v1.Health/Watch",
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        ] {
            assert!(treatment(path).is_some(), "{path}");
        }
        for path in [
            "",
            "/",
            "kazoe",
            "/kazoe.v1.Work",
            "/kazoe.v1.Work/Other",
            "/x/y",
        ] {
            assert_eq!(treatment(path), None, "{path}");
        }
        let (_, deliver) = treatment("/kazoe.v1.Work/Deliver").unwrap();
        assert!(deliver.stream);
    }
}
