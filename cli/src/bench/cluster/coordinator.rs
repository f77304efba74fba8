//! The coordinator that is measured: a process of this very program.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::Instant;

/// What it logs when it listens.
const READY: &str = "coordinator ready";

/// How long it may take to begin.
const PATIENCE: Duration = Duration::from_secs(120);

/// A coordinator that runs. Dropping it ends it.
pub(super) struct Coordinator {
    child: Child,
    log: PathBuf,
    database: PathBuf,
    listen: String,
}

impl Coordinator {
    /// Starts one on the database whose address is in a file, and waits until it listens.
    ///
    /// # Errors
    /// If it does not begin.
    pub(super) async fn start(folder: &Path, database: &Path) -> Result<Self, String> {
        // The port is free now, and seldom taken by another before the coordinator listens.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
        let listen = port.map_err(|error| format!("no free port: {error}"))?;
        let log = folder.join("coordinator.log");
        let listen = listen.to_string();
        let child = spawn(&listen, database, &log)?;
        let mut coordinator = Coordinator {
            child,
            log,
            database: database.to_owned(),
            listen,
        };
        coordinator.wait(1).await?;
        Ok(coordinator)
    }

    /// Kills it as `kill -9` does and starts another in its place; does not wait for that.
    ///
    /// # Errors
    /// If another cannot be started.
    pub(super) fn replace(&mut self) -> Result<(), String> {
        self.end();
        self.child = spawn(&self.listen, &self.database, &self.log)?;
        Ok(())
    }

    /// Waits until the `number`-th one listens.
    ///
    /// # Errors
    /// If it ended instead, with what it said.
    pub(super) async fn wait(&mut self, number: usize) -> Result<(), String> {
        let begun = Instant::now();
        while self.log().matches(READY).count() < number {
            let ended = self.child.try_wait().is_ok_and(|ended| ended.is_some());
            if ended || begun.elapsed() > PATIENCE {
                return Err(format!(
                    "the coordinator does not begin: {}",
                    self.log().trim()
                ));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Its address.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.listen)
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it logged.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_some())
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(listen: &str, database: &Path, log: &Path) -> Result<Child, String> {
    let file = File::options()
        .create(true)
        .append(true)
        .open(log)
        .map_err(|error| format!("{}: {error}", log.display()))?;
    program()?
        .args(["coordinator", "--made-up", "--log-level", "info"])
        .args(["--listen", listen, "--database-url-file"])
        .arg(database)
        // It leaves when this end is closed, however this program ends.
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .map_err(|error| format!("a coordinator cannot be started: {error}"))
}

/// This program, in a group of its own: Ctrl-C is for the bench, which ends it. Nothing of what is
/// configured for another coordinator reaches it.
pub(super) fn program() -> Result<Command, String> {
    use std::os::unix::process::CommandExt;
    let path = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut command = Command::new(path);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("KAZOE_") {
            command.env_remove(name);
        }
    }
    command.process_group(0);
    Ok(command)
}
