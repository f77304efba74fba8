//! Who may do what, and which workers there are.

use kazoe_common::census::Segment;
use kazoe_proto::lease_key::LeaseKey;

use super::CampaignRecord;
use crate::leasing::{Millis, Presence, Sighting, presence};

/// What a credential allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Read-only access.
    Viewer,
    /// To compute.
    Worker,
    /// Everything.
    Operator,
}

impl Role {
    /// The word in the database and on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Worker => "worker",
            Role::Operator => "operator",
        }
    }

    /// The role with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Role> {
        [Role::Viewer, Role::Worker, Role::Operator]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

/// The BLAKE3 hash of a credential's secret.
pub type SecretHash = [u8; 32];

/// A credential. Its secret stands nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Names it: 1 to 64 letters, digits, hyphens.
    pub id: String,
    /// The person or laboratory that answers for what is done with it.
    pub owner: String,
    /// What it allows.
    pub role: Role,
    /// What its secret hashes to.
    pub hash: SecretHash,
    /// When it was made.
    pub created_at: Millis,
    /// Whether it was revoked.
    pub revoked: bool,
}

/// A worker that joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWorker {
    /// Who answers for it.
    pub owner: String,
    /// Its credential's id; `None` where none is asked for.
    pub credential: Option<String>,
    /// Whether it acts as the operator.
    pub operator: bool,
    /// Its build.
    pub build: String,
    /// What people call its machine: 1 to 64 harmless characters.
    pub name: Option<String>,
}

/// A worker that asks for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskingWorker {
    /// The id that it says it was given.
    pub id: String,
    /// Who answers for it.
    pub owner: String,
    /// On how many threads it computes.
    pub threads: u32,
    /// Samples a second that it measured, if it has.
    pub speed: Option<u64>,
}

/// A heartbeat: a worker is alive and needs its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The lease's key.
    pub key: LeaseKey,
    /// The worker's id.
    pub worker: String,
}

/// The state of a lease when its worker sends a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// It has the new deadline.
    Extended,
    /// It has the new deadline, and its worker was told to leave.
    Drained,
    /// It has ended.
    NotHeld,
    /// Its campaign was cancelled.
    Cancelled,
}

/// A worker that joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRecord {
    /// The id that it was given.
    pub id: String,
    /// Who answers for it.
    pub owner: String,
    /// Whether it acts as the operator.
    pub operator: bool,
    /// Its build.
    pub build: String,
    /// What people call its machine.
    pub name: Option<String>,
    /// On how many threads it computes, once it told.
    pub threads: Option<u32>,
    /// Samples a second that it measured last, once it has.
    pub speed: Option<u64>,
    /// How many milliseconds ago it was last heard, by the database's clock; negative after that ran backwards.
    pub silent: Millis,
    /// Whether it was told to leave.
    pub drained: bool,
    /// Whether it said that it left, and was not heard since.
    pub left: bool,
}

/// A worker with what became of its work, derived from the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerStanding {
    /// The worker.
    pub worker: WorkerRecord,
    /// How many leases it holds whose deadline has not passed.
    pub leases: u64,
    /// How many segments count with a tally of its.
    pub accepted: u64,
    /// How many of those another owner, or the operator, got as well.
    pub audited: u64,
    /// How many of its tallies differ from what counts now, by a ruling.
    pub disagreed: u64,
    /// How many of its tallies belong to an open dispute: the honest side's as well.
    pub disputed: u64,
}

impl WorkerStanding {
    /// What it does now, where a worker without a lease may be silent for so long.
    #[must_use]
    pub fn presence(&self, patience: Millis) -> Presence {
        let seen = Sighting {
            leases: self.leases,
            silent: self.worker.silent,
            drained: self.worker.drained,
            left: self.worker.left,
        };
        presence(seen, patience)
    }
}

/// Which workers are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roll {
    /// Those that are here.
    Here,
    /// Also those that are gone: all that were heard within a day, or that ever held a lease.
    All,
}

/// What an operator's drain met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// There is no worker of this id.
    Unknown,
    /// It will be told.
    Told,
    /// It is gone already.
    Gone,
}

/// Whose leases an operator takes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// All that a worker holds.
    Worker(String),
    /// The lease of this number: the number half of its token.
    Lease(i64),
}

/// What was taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// How many leases ended.
    pub leases: u64,
    /// How many segments they still lent.
    pub segments: u64,
}

/// A worker that left, or is about to be taken for one that did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentWorker {
    /// Its id.
    pub worker: String,
    /// What people call its machine.
    pub name: Option<String>,
    /// Who answers for it.
    pub owner: String,
    /// How it was last seen.
    pub seen: Sighting,
}

/// What there is to lend, and who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Market {
    /// The running campaigns in the order in which they are served.
    pub queue: Vec<Queued>,
    /// How many workers were heard of late.
    pub workers: u64,
}

/// A running campaign that waits to be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// It.
    pub campaign: CampaignRecord,
    /// How many segments wait to be filled: never lent, or given or taken back.
    pub left: u64,
}

/// A lease, as a delivery under its token meets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The campaign's id.
    pub campaign: String,
    /// Blocks in a segment of that campaign.
    pub segment_blocks: u64,
    /// Who answers for its worker.
    pub owner: String,
    /// Its worker.
    pub worker: String,
    /// The segments that it lent, handed in or not, ascending.
    pub segments: Vec<Segment>,
}

/// A lease whose deadline passed while it lent something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// The number half of its token.
    pub sequence: i64,
    /// The campaign's id.
    pub campaign: String,
    /// Its worker.
    pub worker: String,
    /// What people call that one's machine.
    pub name: Option<String>,
    /// Who answers for that.
    pub owner: String,
    /// How many segments were not handed in in time.
    pub segments: u64,
}

/// Whose tallies are taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of a worker.
    Worker(String),
    /// Those of all workers of an owner.
    Owner(String),
    /// Those of a build.
    Build(String),
    /// That of one segment.
    Segment(Segment),
}
