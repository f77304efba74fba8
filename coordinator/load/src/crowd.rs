//! A process of many simulated workers: `kazoe-load crowd`, which `kazoe-load` starts.
//!
//! It reads orders from standard input, a line each (`pace MICROSECONDS`, `epoch N`, `stop`), and writes twice a
//! second what is new to standard output, as a [`CrowdReport`](crate::crowd_report::CrowdReport). It ends when its
//! workers have left, or when its standard input is closed.

use std::fs;
use std::io::{self, BufRead, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use kazoe_proto::v1::work_client::WorkClient;
use kazoe_proto::work as messages;
use kazoe_worker::channel::Link;
use kazoe_worker::self_test;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use crate::crowd_state::CrowdState;
use crate::environment::words;
use crate::simulated_worker::SimulatedWorker;
use crate::{BUILD, open_files};

/// How often it reports.
const RHYTHM: Duration = Duration::from_millis(500);

/// How far apart its workers begin.
const APART: Duration = Duration::from_millis(2);

/// Many simulated workers in one process, as `kazoe-load` starts them.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Crowd {
    /// The coordinator's address.
    #[arg(long, value_name = "URL")]
    coordinator: String,

    /// The local address that they connect from.
    #[arg(long, value_name = "ADDRESS")]
    from: IpAddr,

    /// How many workers.
    #[arg(long, value_name = "N")]
    workers: u32,

    /// How long a worker takes for a segment at first, in microseconds.
    #[arg(long, value_name = "MICROSECONDS")]
    pace: u64,

    /// A file with tokens, a line each, which the workers take in turns.
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
}

impl Crowd {
    /// Works until it is told to stop.
    ///
    /// # Errors
    /// If the address or a token is invalid, or the program that started it has ended.
    pub(crate) fn work(&self) -> Result<(), String> {
        open_files::raise();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(words)?;
        LocalSet::new().block_on(&runtime, self.live())
    }

    async fn live(&self) -> Result<(), String> {
        let tokens = fs::read_to_string(&self.tokens)
            .map_err(|error| format!("{}: {error}", self.tokens.display()))?;
        let tokens: Vec<&str> = tokens.lines().collect();
        let state = Rc::new(CrowdState::new(Duration::from_micros(self.pace)));
        let join = Rc::new(messages::join_request(&messages::Join {
            protocol: messages::PROTOCOL,
            build: BUILD.to_owned(),
            self_tests: self_test::known().map_err(words)?,
            name: None,
        }));
        let mut orders = orders();
        let mut workers = Vec::new();
        for number in 0..self.workers {
            let token = tokens.get(number as usize % tokens.len().max(1));
            let link = Link {
                url: self.coordinator.clone(),
                token: token.map(|&token| token.to_owned()),
                from: Some(self.from),
                ..Link::default()
            };
            let work = WorkClient::new(link.open().map_err(words)?);
            let phase = f64::from(number) / f64::from(self.workers);
            let (join, state) = (Rc::clone(&join), Rc::clone(&state));
            workers.push(tokio::task::spawn_local(async move {
                tokio::time::sleep(APART * number).await;
                if !state.is_stopping() {
                    SimulatedWorker::new(work, join, state, phase).live().await;
                }
            }));
        }
        loop {
            let order = tokio::select! {
                order = orders.recv() => Some(order),
                () = tokio::time::sleep(RHYTHM) => None,
            };
            match order {
                Some(Some(order)) => obey(&state, &order)?,
                Some(None) => return Err("the measurement has ended".to_owned()),
                None => {
                    writeln!(io::stdout(), "{}", state.take().line()).map_err(words)?;
                    if workers.iter().all(|worker| worker.is_finished()) {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Standard input, line by line; a thread of its own waits for it.
fn orders() -> mpsc::UnboundedReceiver<String> {
    let (heard, orders) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if heard.send(line).is_err() {
                return;
            }
        }
    });
    orders
}

fn obey(state: &CrowdState, order: &str) -> Result<(), String> {
    let mut words = order.split_whitespace();
    let (word, number) = (words.next().unwrap_or_default(), words.next());
    let number = number.and_then(|number| number.parse::<u64>().ok());
    match (word, number) {
        ("pace", Some(micros)) => state.set_pace(Duration::from_micros(micros)),
        ("epoch", Some(epoch)) => state.begin_epoch(epoch),
        ("stop", _) => state.stop(),
        _ => {
            return Err(format!("unknown order {order:?}"));
        }
    }
    Ok(())
}
