//! Small file systems in memory: mounted by this process where it may (root), and else by one that runs the
//! very same test in namespaces of its own, of users and of mounts.

use std::path::Path;
use std::process::Command;

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

/// Set for a process that has its own namespaces.
const INSIDE: &str = "KAZOE_TEST_MOUNTS";

/// Whether to go on here. If not, the test has been run elsewhere, and went well.
pub fn are_allowed(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let probe = tempfile::tempdir().unwrap();
    if mount(probe.path(), "size=64k").is_ok() {
        unmount(probe.path());
        return true;
    }
    let own = ["--user", "--map-current-user", "--keep-caps", "--mount"];
    let ran = Command::new("unshare")
        .args(own)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output();
    let (went_well, told) = match ran {
        Ok(ran) => {
            let said = text(&ran.stdout);
            let went_well = ran.status.success() && said.contains("1 passed");
            (went_well, said + &text(&ran.stderr))
        }
        Err(error) => (false, format!("unshare: {error}")),
    };
    assert!(
        went_well,
        "{test} mounts small file systems: run it as root, or let users have namespaces (sysctl \
         user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0; in a container \
         --cap-add SYS_ADMIN).\n{told}"
    );
    false
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Mounts an empty file system over a folder.
pub fn mount(folder: &Path, options: &str) -> Result<(), Errno> {
    let options = std::ffi::CString::new(options).unwrap();
    rustix::mount::mount(
        "none",
        folder,
        "tmpfs",
        MountFlags::empty(),
        options.as_c_str(),
    )
}

/// Changes a mounted file system.
pub fn remount(folder: &Path, flags: MountFlags, options: &str) {
    rustix::mount::mount_remount(folder, flags, options).unwrap();
}

/// Unmounts a file system, if one is mounted there.
pub fn unmount(folder: &Path) {
    let _ = rustix::mount::unmount(folder, UnmountFlags::DETACH);
}
