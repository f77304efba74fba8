//! The coordinator that is measured: a process of the program `kazoe`.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::Instant;

use crate::environment::Environment;

/// The line of its log that says that it listens.
const READY: &str = "coordinator ready";

/// How long it may take to begin.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running coordinator. Dropping it ends it.
pub(crate) struct Coordinator<'a> {
    child: Child,
    program: &'a Path,
    environment: &'a Environment,
    listen: String,
}

impl<'a> Coordinator<'a> {
    /// Starts a coordinator of this program and waits until it listens.
    ///
    /// # Errors
    /// If it does not begin.
    pub(crate) async fn start(
        program: &'a Path,
        environment: &'a Environment,
    ) -> Result<Self, String> {
        // The port is free now, and seldom taken by another before the coordinator listens.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
        let listen = port.map_err(|error| format!("no free port: {error}"))?;
        let listen = listen.to_string();
        let child = spawn(program, &listen, environment)?;
        let mut coordinator = Coordinator {
            child,
            program,
            environment,
            listen,
        };
        coordinator.wait(1).await?;
        Ok(coordinator)
    }

    /// Kills it as `kill -9` does and starts another in its place; does not wait for that.
    ///
    /// # Errors
    /// If another cannot be started.
    pub(crate) fn replace(&mut self) -> Result<(), String> {
        self.end();
        self.child = spawn(self.program, &self.listen, self.environment)?;
        Ok(())
    }

    /// Waits until the `number`-th one listens.
    ///
    /// # Errors
    /// If it ended instead, with its log.
    pub(crate) async fn wait(&mut self, number: usize) -> Result<(), String> {
        let begun = Instant::now();
        while self.log().matches(READY).count() < number {
            if self.has_ended() || begun.elapsed() > PATIENCE {
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
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.listen)
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its log, with that of those before it.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(log_of(self.environment)).unwrap_or_default()
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_some())
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Coordinator<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

fn log_of(environment: &Environment) -> PathBuf {
    environment.folder().join("coordinator.log")
}

fn spawn(program: &Path, listen: &str, environment: &Environment) -> Result<Child, String> {
    let log = log_of(environment);
    let file = File::options()
        .create(true)
        .append(true)
        .open(&log)
        .map_err(|error| format!("{}: {error}", log.display()))?;
    let child = command(program)
        .args(["coordinator", "--log-level", "info"])
        .args(["--listen", listen, "--database-url-file"])
        .arg(environment.database())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .map_err(|error| format!("{} cannot be started: {error}", program.display()))?;
    environment.cleanup.ends("KILL", child.id());
    Ok(child)
}

/// The version that a `kazoe` program names itself, as in `kazoe 0.1.0`.
///
/// # Errors
/// If it is not there, or no such program.
pub(crate) fn version(program: &Path) -> Result<String, String> {
    let name = program.display();
    let ran = command(program).arg("--version").output().map_err(|error| {
        format!(
            "{name}: {error}; build it (`cargo build --release -p kazoe`), or name another by --kazoe"
        )
    })?;
    let version = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
    if ran.status.success() && version.starts_with("kazoe ") {
        Ok(version)
    } else {
        Err(format!(
            "{name} is not a kazoe program: its --version says {version:?}"
        ))
    }
}

/// A program in a group of its own, because this program ends it after Ctrl-C, and without the settings for
/// another coordinator.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("KAZOE_") {
            command.env_remove(name);
        }
    }
    command.process_group(0);
    command
}
