//! "Not now, ask again in ...": how a coordinator that has too much to do sends callers away for a while.
//!
//! It is `ResourceExhausted` with the metadata `grpc-retry-pushback-ms`, which gRPC itself knows as a
//! server's wish when a call should be tried again.

use std::time::Duration;

use tonic::{Code, Status};

/// The metadata's name.
const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// The longest that a caller lets itself be sent away for.
const LONGEST: Duration = Duration::from_secs(3600);

/// Too much to do at present for this: ask again after a while, of whole milliseconds.
///
/// ```
/// use std::time::Duration;
/// use kazoe_proto::retry_after::{later, pushback};
///
/// let status = later("too many claims", Duration::from_millis(2500));
/// assert_eq!(status.message(), "too many claims; retry in 2.5 s");
/// assert_eq!(pushback(&status), Some(Duration::from_millis(2500)));
/// assert_eq!(pushback(&tonic::Status::resource_exhausted("too large")), None);
/// ```
#[must_use]
pub fn later(why: &str, wait: Duration) -> Status {
    let millis = u64::try_from(wait.min(LONGEST).as_millis()).unwrap_or(u64::MAX);
    let seconds = Duration::from_millis(millis).as_secs_f64();
    let mut status = Status::resource_exhausted(format!("{why}; retry in {seconds} s"));
    status.metadata_mut().insert(PUSHBACK, millis.into());
    status
}

/// After how long to ask again, if a refusal says so.
#[must_use]
pub fn pushback(status: &Status) -> Option<Duration> {
    let told = status.metadata().get(PUSHBACK)?.to_str().ok()?;
    let millis = Duration::from_millis(told.parse().ok()?);
    (status.code() == Code::ResourceExhausted).then_some(millis.min(LONGEST))
}
