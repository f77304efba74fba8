//! The names of the points. The tests that stop processes there read this very file.

/// Each is named after what was just done: `written` has not sent its COMMIT, `committed` has not
/// answered.
pub(super) const POINTS: [&str; 11] = [
    "coordinator.claim.written",
    "coordinator.claim.committed",
    "coordinator.deliver.written",
    "coordinator.deliver.committed",
    "coordinator.end.written",
    "coordinator.end.committed",
    "worker.claimed",
    "worker.deliver",
    "worker.delivered",
    "worker.end",
    "worker.ended",
];
