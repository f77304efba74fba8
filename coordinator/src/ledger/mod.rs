//! The ledger: every tally received, and which one is accepted for each segment.
//!
//! [`LocalStore`] is the SQLite file of one process that counts on one machine. [`PostgresLedger`] is the
//! database of a cluster; it has leases, workers, credentials, audits and disputes besides. [`Ledger`] is
//! what both do. Each operation is one transaction: it happens wholly or not at all, and when it has
//! returned it survives the process, the machine and `kill -9` (invariant I5). A caller that does not know
//! whether an operation happened repeats it: the log takes a tally once.

mod campaigns;
mod lease;
mod local;
mod migration;
mod mismatch_sql;
mod postgres;
mod rows;
mod snapshot;
mod storage_error;
mod workers;

use std::fmt;
use std::future::Future;
use std::ops::Range;

use kazoe_common::census::{Block, Segment, SegmentResult, Tally, TallyError, Witness};
use kazoe_proto::lease_key::LeaseKey;

use kazoe_proto::outcome::DeliveryOutcome;

pub use campaigns::{SelfTest, Service, Submission};
pub use kazoe_proto::campaigns::{
    BuildShare, CampaignRecord, CampaignState, Counts, ForeignCampaign, Holder, Listed, OwnerShare,
    Submitted, WorkerShare,
};
pub use lease::{Claim, Delivery, Lease, Lent, Who};
pub use local::{LocalStore, OpenError, WholeImport};
pub(crate) use postgres::{CONNECTIONS, Probe};
pub use postgres::{ConnectError, PostgresLedger};
pub use snapshot::{AcceptedSegment, AuditEntry, Breach, LogEntry, Prefix, Snapshot};
pub use storage_error::{Place, StorageError, StorageFault};
pub use workers::{
    AskingWorker, Beat, Credential, Drained, Heartbeat, LeaseRecord, Market, NewWorker, Overdue,
    PresentWorker, Queued, Reclaim, Reclaimed, Role, Roll, SecretHash, Whose, WorkerRecord,
    WorkerStanding,
};

/// What a ledger does in either database. Campaigns are named by
/// [`Campaign::id`](kazoe_common::census::Campaign::id).
pub trait Ledger: Send + Sync {
    /// Submits, resumes or extends a campaign. The campaign's cut last segment is retracted when more
    /// samples are asked for.
    ///
    /// # Errors
    /// [`LedgerError::SelfTest`] if the campaign is there and was computed by builds that count
    /// otherwise.
    fn submit(
        &self,
        submission: &Submission,
    ) -> impl Future<Output = Result<(CampaignRecord, Submitted), LedgerError>> + Send;

    /// All campaigns, those of another build apart.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    fn listed(&self) -> impl Future<Output = Result<Listed, LedgerError>> + Send;

    /// All campaigns that this build can count, oldest first.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    fn campaigns(&self) -> impl Future<Output = Result<Vec<CampaignRecord>, LedgerError>> + Send {
        async { Ok(self.listed().await?.known) }
    }

    /// One campaign.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`]; [`LedgerError::Foreign`] here and below if it is of another build.
    fn campaign(
        &self,
        id: &str,
    ) -> impl Future<Output = Result<CampaignRecord, LedgerError>> + Send;

    /// The self-test tallies stored with a campaign, ascending by block.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    fn self_tests(
        &self,
        id: &str,
    ) -> impl Future<Output = Result<Vec<SelfTest>, LedgerError>> + Send;

    /// Takes tallies that were computed without a lease: each fills its empty segment, or is compared with
    /// the tally that fills it. Takes all of them or none.
    ///
    /// # Errors
    /// [`LedgerError::NotLent`] for a segment that the campaign does not have; [`LedgerError::Samples`],
    /// [`LedgerError::Tally`] and [`LedgerError::Witness`] for an impossible tally;
    /// [`LedgerError::Differs`] from a [`LocalStore`] for a tally that differs from the stored one, which
    /// opens a dispute in a [`PostgresLedger`].
    fn import(
        &self,
        id: &str,
        who: &Who,
        results: &[SegmentResult],
    ) -> impl Future<Output = Result<Vec<DeliveryOutcome>, LedgerError>> + Send;

    /// The campaign at this moment.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    fn snapshot(&self, id: &str) -> impl Future<Output = Result<Snapshot, LedgerError>> + Send;

    /// The first `limit` accepted segments from `from` on, disputed ones included, in order. To read
    /// all in constant memory ask again from the last one's successor.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    fn segments(
        &self,
        id: &str,
        from: Segment,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<AcceptedSegment>, LedgerError>> + Send;

    /// The witnesses of the accepted results of these segments, ascending by index.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    fn witnesses(
        &self,
        id: &str,
        segments: Range<Segment>,
    ) -> impl Future<Output = Result<Vec<Witness>, LedgerError>> + Send;

    /// What each build contributed to the accepted segments, by the build's name.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    fn builds(&self, id: &str)
    -> impl Future<Output = Result<Vec<BuildShare>, LedgerError>> + Send;

    /// What each owner contributed, by the owner's name: all that have a tally in the log.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    fn owners(&self, id: &str)
    -> impl Future<Output = Result<Vec<OwnerShare>, LedgerError>> + Send;

    /// Every tally received of one segment, oldest first.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    fn log(
        &self,
        id: &str,
        segment: Segment,
    ) -> impl Future<Output = Result<Vec<LogEntry>, LedgerError>> + Send;
}

/// Why a ledger did not do what it was asked. Nothing changed then.
#[derive(Clone, Debug)]
pub enum LedgerError {
    /// No campaign has this id.
    UnknownCampaign(String),
    /// The campaign is of another build.
    Foreign(Box<ForeignCampaign>),
    /// The campaign is complete, so it is not cancelled.
    Complete(String),
    /// The campaign is cancelled, so it is not paused.
    Cancelled(String),
    /// This build counts otherwise than those that computed the campaign.
    SelfTest {
        /// The campaign's id.
        campaign: String,
        /// The block counted otherwise, or stored and not computed, or computed and not stored.
        block: Block,
        /// What the campaign was computed with.
        stored: Option<Box<Tally>>,
        /// What this build computes.
        computed: Option<Box<Tally>>,
    },
    /// The key is of no active lease.
    NotHeld(LeaseKey),
    /// The lease never lent this segment, or the campaign does not have it.
    NotLent(Segment),
    /// A tally of more samples than a segment can have, or of none.
    Samples {
        /// Its segment.
        segment: Segment,
        /// How many it says.
        samples: u64,
        /// How many a whole segment has.
        most: u64,
    },
    /// A tally that breaks its design's identities.
    Tally {
        /// Its segment.
        segment: Segment,
        /// The first identity that fails.
        broken: TallyError,
    },
    /// A tally that differs from the accepted one of its segment, in a store that has no disputes.
    Differs {
        /// The campaign's id.
        campaign: String,
        /// Its segment.
        segment: Segment,
        /// The accepted tally.
        stored: Box<Tally>,
        /// The tally that arrived.
        arrived: Box<Tally>,
    },
    /// A witness that cannot be one of its segment's.
    Witness {
        /// The segment.
        segment: Segment,
        /// The sample's index.
        index: u64,
    },
    /// A stored row that this build cannot read: another build wrote it, or it was changed past the ledger.
    Row(String),
    /// The work was given up half way; it may be asked for again.
    Abandoned,
    /// The database failed.
    Storage(StorageError),
}

impl LedgerError {
    /// Whether the database failed whatever was asked of it, and not this request alone.
    pub(crate) const fn is_storage_s_alone(&self) -> bool {
        match self {
            LedgerError::Storage(storage) => !matches!(storage.fault, StorageFault::Other),
            _ => false,
        }
    }

    /// Whether it concerns the rows of one campaign, and other campaigns go on.
    #[must_use]
    pub const fn is_of_one_campaign(&self) -> bool {
        matches!(
            self,
            LedgerError::Foreign(_) | LedgerError::Row(_) | LedgerError::UnknownCampaign(_)
        )
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerError::UnknownCampaign(id) => {
                write!(
                    f,
                    "no campaign `{id}` in this ledger; `kazoe campaigns` lists the campaigns"
                )
            }
            LedgerError::Foreign(campaign) => campaign.fmt(f),
            LedgerError::Complete(id) => write!(
                f,
                "campaign {id} is complete: there is nothing to cancel, and its results stay; \
                 `kazoe pause {id}` stops its audits"
            ),
            LedgerError::Cancelled(id) => write!(
                f,
                "campaign {id} is cancelled, so there is nothing to pause; `kazoe resume {id}` resumes it"
            ),
            LedgerError::SelfTest {
                campaign,
                block,
                stored,
                computed,
            } => {
                let text = |tally: &Option<Box<Tally>>| {
                    tally.as_ref().map_or_else(
                        || "nothing".to_owned(),
                        |tally| crate::tally_text::write(tally),
                    )
                };
                write!(
                    f,
                    "self-test mismatch: for block {block} of campaign {campaign} this build computes [{}], and the \
                     stored tally is [{}]; continue with the build that began the campaign, or begin \
                     one in another database",
                    text(computed),
                    text(stored)
                )
            }
            LedgerError::NotHeld(key) => {
                write!(f, "no active lease has the key {}-..", key.sequence)
            }
            LedgerError::NotLent(segment) => {
                write!(f, "segment {segment} is not in this lease or campaign")
            }
            LedgerError::Samples {
                segment,
                samples,
                most,
            } => write!(
                f,
                "{samples} samples of segment {segment}: a segment has 1 to {most}"
            ),
            LedgerError::Tally { segment, broken } => {
                write!(f, "invalid tally of segment {segment}: {broken}")
            }
            LedgerError::Differs {
                campaign,
                segment,
                stored,
                arrived,
            } => write!(
                f,
                "two tallies of segment {segment} of campaign {campaign} differ: stored is [{}], and [{}] \
                 arrived; one of the two computations is wrong, and `kazoe verify` of the database and of the \
                 file finds which",
                crate::tally_text::write(stored),
                crate::tally_text::write(arrived)
            ),
            LedgerError::Witness { segment, index } => {
                write!(f, "invalid witness of segment {segment}: sample {index}")
            }
            LedgerError::Row(what) => {
                write!(
                    f,
                    "the ledger has a row that this build does not support: {what}; another build \
                     wrote it, or another program changed it"
                )
            }
            LedgerError::Abandoned => write!(f, "request aborted; retry"),
            LedgerError::Storage(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LedgerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LedgerError::Tally { broken, .. } => Some(broken),
            LedgerError::Storage(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StorageError> for LedgerError {
    fn from(error: StorageError) -> Self {
        LedgerError::Storage(error)
    }
}
