//! A process that is many simulated workers: `kazoe bench crowd`, which `kazoe bench cluster` starts.
//!
//! It reads orders from standard input, a line each (`pace MICROSECONDS`, `epoch N`, `stop`), tells on
//! standard output twice a second what is new ([`Told`](super::told::Told)), and ends when its workers have left or
//! whoever gives the orders is gone.

use std::io::BufRead;
use std::net::IpAddr;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use kazoe_proto::v1::work_client::WorkClient;
use kazoe_proto::work as messages;
use kazoe_worker::link::Link;
use kazoe_worker::proof;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use super::book::Book;
use super::simulated::Simulated;
use crate::ending::{Ending, Stop};
use crate::local::build;
use crate::output::Output;

/// How often it tells what is new.
const RHYTHM: Duration = Duration::from_millis(500);

/// How far apart its workers begin.
const APART: Duration = Duration::from_millis(2);

/// Which workers a crowd is of.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    /// The coordinator's address.
    pub(crate) url: String,
    /// Which of our addresses they connect from.
    pub(crate) from: IpAddr,
    /// How many there are.
    pub(crate) workers: u32,
    /// Tokens, which they take in turns.
    pub(crate) tokens: Vec<String>,
    /// How long each takes for a segment, at first.
    pub(crate) pace: Duration,
}

impl Crowd {
    /// Works until it is told to stop.
    ///
    /// # Errors
    /// If the address or a token cannot be one, or nobody reads what it tells.
    pub(crate) fn work(&self, output: &mut Output) -> Result<Ending, Stop> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Stop::failed)?;
        LocalSet::new().block_on(&runtime, self.live(output))
    }

    async fn live(&self, output: &mut Output) -> Result<Ending, Stop> {
        let book = Rc::new(Book::new(self.pace));
        let join = Rc::new(messages::join_request(&messages::Join {
            protocol: messages::PROTOCOL,
            build: build(),
            self_tests: proof::known().map_err(Stop::failed)?,
            name: None,
        }));
        let mut orders = orders();
        let mut workers = Vec::new();
        for number in 0..self.workers {
            let token = self.tokens.get(number as usize % self.tokens.len().max(1));
            let link = Link {
                url: self.url.clone(),
                token: token.cloned(),
                from: Some(self.from),
                ..Link::default()
            };
            let work = WorkClient::new(link.open().map_err(Stop::usage)?);
            let phase = f64::from(number) / f64::from(self.workers);
            let (join, book) = (Rc::clone(&join), Rc::clone(&book));
            workers.push(tokio::task::spawn_local(async move {
                tokio::time::sleep(APART * number).await;
                if !book.is_stopping() {
                    Simulated::new(work, join, book, phase).live().await;
                }
            }));
        }
        loop {
            let order = tokio::select! {
                order = orders.recv() => Some(order),
                () = tokio::time::sleep(RHYTHM) => None,
            };
            match order {
                Some(Some(order)) => obey(&book, &order)?,
                Some(None) => return Ok(Ending::Failed),
                None => {
                    output.line(book.take().line())?;
                    output.flush()?;
                    if workers.iter().all(|worker| worker.is_finished()) {
                        return Ok(Ending::Done);
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
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if heard.send(line).is_err() {
                return;
            }
        }
    });
    orders
}

fn obey(book: &Book, order: &str) -> Result<(), Stop> {
    let mut words = order.split_whitespace();
    let (word, number) = (words.next().unwrap_or_default(), words.next());
    let number = number.and_then(|number| number.parse::<u64>().ok());
    match (word, number) {
        ("pace", Some(micros)) => book.set_pace(Duration::from_micros(micros)),
        ("epoch", Some(epoch)) => book.begin_epoch(epoch),
        ("stop", _) => book.stop(),
        _ => {
            return Err(Stop::usage(format_args!(
                "`{order}` is no order of a crowd's"
            )));
        }
    }
    Ok(())
}
