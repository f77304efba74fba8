//! What Kazoe's programs say to each other.
//!
//! [`v1`] is the code generated from the files under `kazoe/v1`, which document each message. What comes
//! from a peer is not to be trusted as it is: the modules below turn it into checked values, and these
//! into messages. They are the only place where that happens. A field that cannot be is refused by its
//! name ([`Invalid`]), which is `InvalidArgument` on the wire.
//!
//! They stand in the order in which a message is made up: [`census`] (campaigns, tallies, witnesses),
//! [`campaigns`] (submissions and snapshots), [`work`] (joining, leases, deliveries), [`admin`].
//!
//! ```
//! use kazoe_common::census::Tally;
//! use kazoe_proto::{census, v1};
//!
//! let wrong = v1::Tally {
//!     cells: vec![v1::Count { key: 0, count: 7 }, v1::Count { key: 0, count: 8 }],
//!     depths: Vec::new(),
//!     digest: vec![0; 16],
//! };
//! let refused = census::tally("tally", Some(wrong)).unwrap_err();
//! assert_eq!(refused.field, "tally.cells[1].key");
//!
//! let tally = Tally::default();
//! let message = census::tally_message(&tally);
//! assert_eq!(census::tally("tally", Some(message)).unwrap(), tally);
//! ```

pub mod census;

pub mod campaigns;

pub mod lease_key;

pub mod outcome;

pub mod work;

pub mod admin;

pub mod retry_after;

pub mod decode_cost;

pub mod codec;

pub mod name;

mod invalid;

pub use invalid::Invalid;

/// The code generated from `kazoe/v1`.
#[expect(
    missing_docs,
    clippy::allow_attributes_without_reason,
    reason = "generated; the files document each message, service and field"
)]
pub mod v1 {
    use std::fmt;

    tonic::include_proto!("kazoe.v1");

    /// The files themselves, compiled, for reflection.
    pub const DESCRIPTORS: &[u8] = tonic::include_file_descriptor_set!("kazoe");

    /// All but the lease's key.
    impl fmt::Debug for Lease {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Lease")
                .field("campaign", &self.campaign)
                .field("cut", &self.cut)
                .field("segments", &self.segments)
                .field("hold_ms", &self.hold_ms)
                .finish_non_exhaustive()
        }
    }

    /// All but the lease's key.
    impl fmt::Debug for DeliverRequest {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("DeliverRequest")
                .field("step", &self.step)
                .finish_non_exhaustive()
        }
    }

    /// All but the secret.
    impl fmt::Debug for CreateTokenResponse {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("CreateTokenResponse")
                .field("id", &self.id)
                .finish_non_exhaustive()
        }
    }
}
