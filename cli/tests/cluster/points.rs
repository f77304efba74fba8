//! Places at which a process stands still until a test has done what it wants to do just then.

use std::fs::{self, File};
use std::path::PathBuf;

use kazoe_coordinator_testkit::test_cluster::{Process, TestCluster, until};

/// The points of a cluster's processes, those that are started from now on.
pub(crate) struct Points(PathBuf);

impl Points {
    pub(crate) fn of(cluster: &mut TestCluster<'_>) -> Self {
        let folder = cluster.path("failpoints");
        fs::create_dir(&folder).unwrap();
        let variable = ("KAZOE_FAILPOINTS", folder.clone().into_os_string());
        cluster.environment.push(variable);
        Points(folder)
    }

    /// The next process that comes to a point stands still there.
    pub(crate) fn arm(&self, point: &str) {
        File::create(self.0.join(point)).unwrap();
    }

    /// Waits until one stands there.
    pub(crate) fn wait_for(&self, point: &str) {
        let reached = self.reached(point);
        until(|| reached.exists());
    }

    /// Whether this process comes to stand there before it ends.
    pub(crate) fn is_reached_by(&self, process: &mut Process, point: &str) -> bool {
        let reached = self.reached(point);
        until(|| reached.exists() || process.has_ended());
        reached.exists()
    }

    /// Releases the failpoint.
    pub(crate) fn disarm(&self, point: &str) {
        fs::remove_file(self.0.join(point)).unwrap();
    }

    /// Lets it go on, if it still lives.
    pub(crate) fn let_go(&self, point: &str) {
        fs::remove_file(self.reached(point)).unwrap();
    }

    fn reached(&self, point: &str) -> PathBuf {
        self.0.join(format!("{point}.reached"))
    }
}
