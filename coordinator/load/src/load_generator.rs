//! All crowds of simulated workers, as the measurement leads them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use crate::coordinator::command;
use crate::crowd_report::CrowdReport;

/// Workers of one process: so many connections go over one core and under most systems' limits.
const CROWD: u64 = 2500;

/// For how long nothing may happen while something is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(20);

/// What all crowds told.
struct Board {
    /// All that is new, of all crowds.
    all: CrowdReport,
    /// The latest line of each crowd, for its workers and epoch.
    latest: Vec<CrowdReport>,
    /// What went wrong with a crowd.
    broken: Option<String>,
}

/// A process with many workers.
struct Crowd {
    child: Child,
    orders: Option<ChildStdin>,
}

/// All crowds. Dropping it ends them.
pub(crate) struct LoadGenerator {
    crowds: Vec<Crowd>,
    board: Arc<Mutex<Board>>,
    url: String,
    tokens: PathBuf,
    workers: u64,
    epoch: u64,
}

impl LoadGenerator {
    /// Without a worker. The file holds tokens, a line each, which workers take in turns.
    pub(crate) fn new(url: &str, tokens: &Path) -> Self {
        LoadGenerator {
            crowds: Vec::new(),
            board: Arc::new(Mutex::new(Board {
                all: CrowdReport::new(),
                latest: Vec::new(),
                broken: None,
            })),
            url: url.to_owned(),
            tokens: tokens.to_owned(),
            workers: 0,
            epoch: 0,
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many workers there should be.
    pub(crate) const fn workers(&self) -> u64 {
        self.workers
    }

    /// Adds workers until there are so many, each of which takes so long for a segment.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub(crate) fn grow(&mut self, workers: u64, pace: Duration) -> Result<(), String> {
        self.order(&format!("pace {}", pace.as_micros()));
        while self.workers < workers {
            let size = CROWD.min(workers - self.workers);
            self.start(size, pace)?;
            self.workers += size;
        }
        Ok(())
    }

    fn start(&mut self, workers: u64, pace: Duration) -> Result<(), String> {
        let number = self.crowds.len();
        // Each has a source address of its own, and with it all of that address's ports.
        let last = u8::try_from(number + 2).map_err(|_| "too many crowds".to_owned())?;
        let from = IpAddr::V4(Ipv4Addr::new(127, 0, 7, last));
        let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
        let mut child = command(&program)
            .args(["crowd", "--coordinator", &self.url])
            .args([
                "--from",
                &from.to_string(),
                "--workers",
                &workers.to_string(),
            ])
            .args(["--pace", &pace.as_micros().to_string(), "--tokens"])
            .arg(&self.tokens)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("simulated workers cannot be started: {error}"))?;
        let orders = child.stdin.take();
        let lines = child.stdout.take();
        self.board().latest.push(CrowdReport::new());
        let board = Arc::clone(&self.board);
        if let Some(lines) = lines {
            thread::spawn(move || listen(&board, number, lines));
        }
        self.crowds.push(Crowd { child, orders });
        self.order(&format!("epoch {}", self.epoch));
        Ok(())
    }

    /// Tells all crowds something. One that is gone shows itself by what it does not tell.
    fn order(&mut self, order: &str) {
        for crowd in &mut self.crowds {
            if let Some(orders) = &mut crowd.orders {
                let _ = writeln!(orders, "{order}").and_then(|()| orders.flush());
            }
        }
    }

    /// From now on only workers count as heard that had an answer since now.
    pub(crate) fn begin_epoch(&mut self) {
        self.epoch += 1;
        self.order(&format!("epoch {}", self.epoch));
    }

    /// How many workers were heard in this epoch.
    pub(crate) fn heard(&self) -> u64 {
        let board = self.board();
        let now = board.latest.iter().filter(|one| one.epoch == self.epoch);
        now.map(|one| one.heard).sum()
    }

    /// How many workers have joined.
    pub(crate) fn joined(&self) -> u64 {
        self.board().latest.iter().map(|one| one.joined).sum()
    }

    /// How many tallies were acknowledged since the beginning.
    pub(crate) fn results(&self) -> usize {
        self.board().all.acknowledged.len()
    }

    /// What was told since the beginning.
    pub(crate) fn told(&self) -> CrowdReport {
        self.board().all.clone()
    }

    /// Latencies and counts begin anew; what was acknowledged stays.
    pub(crate) fn begin_window(&self) {
        let mut board = self.board();
        let acknowledged = std::mem::take(&mut board.all.acknowledged);
        board.all = CrowdReport {
            acknowledged,
            ..CrowdReport::new()
        };
    }

    /// What went wrong, if something did.
    ///
    /// # Errors
    /// That.
    pub(crate) fn check(&self) -> Result<(), String> {
        let board = self.board();
        if let Some(broken) = &board.broken {
            return Err(broken.clone());
        }
        match board.all.refused.first() {
            Some(why) => Err(format!("a simulated worker was refused: {why}")),
            None => Ok(()),
        }
    }

    /// Waits until something is so that depends on what workers do.
    ///
    /// # Errors
    /// If something goes wrong, or nothing happens for long.
    pub(crate) async fn until(
        &self,
        what: &str,
        mut is_so: impl FnMut(&Self) -> bool,
    ) -> Result<(), String> {
        let sign = || (self.joined(), self.heard(), self.results());
        let mut last = (sign(), Instant::now());
        while !is_so(self) {
            self.check()?;
            tokio::time::sleep(LOOK).await;
            let now = sign();
            if now != last.0 {
                last = (now, Instant::now());
            } else if last.1.elapsed() > PATIENCE {
                return Err(format!(
                    "{what}: nothing happened for {} s; {} of {} workers have joined",
                    PATIENCE.as_secs(),
                    now.0,
                    self.workers
                ));
            }
        }
        self.check()
    }

    /// Lets all workers hand in what they have and leave.
    ///
    /// # Errors
    /// If a crowd ended otherwise.
    pub(crate) async fn leave(&mut self) -> Result<(), String> {
        self.order("stop");
        let begun = Instant::now();
        for crowd in &mut self.crowds {
            loop {
                match crowd.child.try_wait() {
                    Ok(Some(status)) if status.success() => break,
                    Ok(None) if begun.elapsed() < PATIENCE => tokio::time::sleep(LOOK).await,
                    Ok(ended) => return Err(format!("simulated workers do not leave: {ended:?}")),
                    Err(error) => return Err(format!("simulated workers: {error}")),
                }
            }
        }
        // Their last lines are read when their ends of the pipes are closed, a moment later.
        while Arc::strong_count(&self.board) > 1 {
            tokio::time::sleep(LOOK).await;
        }
        self.workers = 0;
        self.check()
    }

    /// The processes.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.crowds.iter().map(|crowd| crowd.child.id()).collect()
    }
}

impl Drop for LoadGenerator {
    fn drop(&mut self) {
        for crowd in &mut self.crowds {
            let _ = crowd.child.kill();
            let _ = crowd.child.wait();
        }
        let _ = fs::remove_file(&self.tokens);
    }
}

/// Reads what a crowd tells until it ends.
fn listen(board: &Mutex<Board>, number: usize, lines: ChildStdout) {
    for line in BufReader::new(lines).lines().map_while(Result::ok) {
        let told = CrowdReport::read(&line);
        let mut board = board.lock().unwrap_or_else(PoisonError::into_inner);
        match told {
            Ok(told) => {
                board.all.add(&told);
                if let Some(latest) = board.latest.get_mut(number) {
                    *latest = CrowdReport {
                        acknowledged: Vec::new(),
                        ..told
                    };
                }
            }
            Err(why) => board.broken = Some(format!("a crowd said `{line}`: {why}")),
        }
    }
}
