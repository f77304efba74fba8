//! Requests of one kind that arrive while earlier ones are served, and then are served together.
//!
//! Whoever asks first is served at once and alone; who comes meanwhile waits, and the next turn serves all
//! that wait in one transaction. So a coordinator with little to do answers as fast as it can, and one with
//! much to do shares the price of a transaction, its lock and its write to the disk, among many. Nobody is
//! answered before the transaction is committed, and nobody's question is answered by a look at the database
//! that began before it was asked.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, oneshot};

use crate::ledger::LedgerError;

/// The answer to one request.
pub(super) type Answer<A> = Result<A, LedgerError>;

/// A request that waits.
struct Waiting<Q, A> {
    request: Q,
    weight: usize,
    answer: oneshot::Sender<Answer<A>>,
}

/// Those that wait, by what they are about. A key that is there is being served.
type Queues<Q, A> = HashMap<String, Vec<Waiting<Q, A>>>;

/// A place where requests of one kind are gathered.
pub(super) struct Gather<Q, A> {
    queues: Arc<Mutex<Queues<Q, A>>>,
    /// What the requests of one turn may weigh together, if there is more than one.
    most: usize,
    /// The database's connections for what is like this.
    connections: Arc<Semaphore>,
}

impl<Q, A> fmt::Debug for Gather<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather").finish_non_exhaustive()
    }
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Gather<Q, A> {
    /// With turns of so much weight, each on one of these connections.
    pub(super) fn new(most: usize, connections: &Arc<Semaphore>) -> Self {
        Gather {
            queues: Arc::default(),
            most,
            connections: Arc::clone(connections),
        }
    }

    /// Asks, together with all others that wait about the same. `serve` answers some requests in their order;
    /// if it fails over several, each of them is asked alone, so that none suffers for another.
    ///
    /// # Errors
    /// What `serve` says.
    pub(super) async fn ask<F, Served>(
        &self,
        about: &str,
        request: Q,
        weight: usize,
        serve: F,
    ) -> Answer<A>
    where
        F: Fn(Vec<Q>) -> Served + Send + Sync + 'static,
        Served: Future<Output = Result<Vec<Answer<A>>, LedgerError>> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting {
            request,
            weight,
            answer,
        };
        let first = {
            let mut queues = lock(&self.queues);
            let first = !queues.contains_key(about);
            queues.entry(about.to_owned()).or_default().push(waiting);
            first
        };
        if first {
            // Its own task: whoever asks may go away, and others wait for the same turn.
            let turns = Turns {
                queues: Arc::clone(&self.queues),
                about: about.to_owned(),
                most: self.most,
                connections: Arc::clone(&self.connections),
            };
            tokio::spawn(turns.serve(serve));
        }
        answered
            .await
            .unwrap_or_else(|_| Err(LedgerError::Abandoned))
    }
}

fn lock<Q, A>(queues: &Mutex<Queues<Q, A>>) -> MutexGuard<'_, Queues<Q, A>> {
    queues.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The turns about one thing.
struct Turns<Q, A> {
    queues: Arc<Mutex<Queues<Q, A>>>,
    about: String,
    most: usize,
    connections: Arc<Semaphore>,
}

impl<Q: Clone, A> Turns<Q, A> {
    async fn serve<F, Served>(self, serve: F)
    where
        F: Fn(Vec<Q>) -> Served + Send + Sync,
        Served: Future<Output = Result<Vec<Answer<A>>, LedgerError>> + Send,
    {
        loop {
            // Nobody closes it. Who comes while we wait is served with the others.
            let _connection = self.connections.acquire().await;
            let Some(turn) = self.next() else { return };
            let (requests, answers): (Vec<Q>, Vec<_>) = turn
                .into_iter()
                .map(|one| (one.request, one.answer))
                .unzip();
            match serve(requests.clone()).await {
                Ok(all) => {
                    for (answer, said) in answers.into_iter().zip(all) {
                        // Who is gone needs no answer.
                        let _ = answer.send(said);
                    }
                }
                Err(error) if requests.len() == 1 || error.is_storage_s_alone() => {
                    for answer in answers {
                        let _ = answer.send(Err(error.clone()));
                    }
                }
                Err(_) => {
                    for (request, answer) in requests.into_iter().zip(answers) {
                        let said = serve(vec![request]).await;
                        let said = said
                            .and_then(|mut one| one.pop().unwrap_or(Err(LedgerError::Abandoned)));
                        let _ = answer.send(said);
                    }
                }
            }
        }
    }

    /// All that wait, as many as go into a turn; nothing if nobody does, and then the turns are over.
    fn next(&self) -> Option<Vec<Waiting<Q, A>>> {
        let mut queues = lock(&self.queues);
        let waiting = queues.get_mut(&self.about)?;
        if waiting.is_empty() {
            queues.remove(&self.about);
            return None;
        }
        let mut weight = 0;
        let size = waiting
            .iter()
            .take_while(|one| {
                weight += one.weight;
                weight <= self.most
            })
            .count();
        let rest = waiting.split_off(size.max(1));
        Some(std::mem::replace(waiting, rest))
    }
}

/// Where serving ended in a panic, those that wait are told, and the next to ask begins anew.
impl<Q, A> Drop for Turns<Q, A> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.queues).remove(&self.about);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn gather(most: usize) -> Gather<u32, u32> {
        Gather::new(most, &Arc::new(Semaphore::new(1)))
    }

    fn ask_all(
        gather: &Arc<Gather<u32, u32>>,
        turns: &Arc<AtomicUsize>,
        numbers: std::ops::Range<u32>,
    ) -> Vec<tokio::task::JoinHandle<Answer<u32>>> {
        let ask = |number| {
            let (gather, turns) = (Arc::clone(gather), Arc::clone(turns));
            tokio::spawn(async move {
                let serve = move |all: Vec<u32>| {
                    turns.fetch_add(1, Ordering::Relaxed);
                    async move {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        if all.contains(&13) {
                            return Err(LedgerError::Row("13".to_owned()));
                        }
                        Ok(all.into_iter().map(|number| Ok(number * 2)).collect())
                    }
                };
                gather.ask("numbers", number, 1, serve).await
            })
        };
        numbers.map(ask).collect()
    }

    #[tokio::test]
    async fn who_comes_meanwhile_is_served_together_and_each_gets_its_own_answer() {
        let (gather, turns) = (Arc::new(gather(8)), Arc::default());
        let asked = ask_all(&gather, &turns, 20..36);
        for (number, answer) in (20..36).zip(asked) {
            assert_eq!(answer.await.unwrap().unwrap(), number * 2);
        }
        let turns = turns.load(Ordering::Relaxed);
        assert!((2..=4).contains(&turns), "{turns}");
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(lock(&gather.queues).is_empty());
    }

    #[tokio::test]
    async fn what_fails_fails_alone() {
        let (gather, turns) = (Arc::new(gather(100)), Arc::default());
        let asked = ask_all(&gather, &turns, 10..16);
        for (number, answer) in (10..16).zip(asked) {
            let answer = answer.await.unwrap();
            assert_eq!(answer.is_err(), number == 13, "{number}");
        }
    }

    #[tokio::test]
    async fn a_panic_leaves_nobody_waiting() {
        let gather: Gather<u32, u32> = gather(100);
        let fall = |_: Vec<u32>| async { panic!("on purpose") };
        assert!(gather.ask("numbers", 1, 1, fall).await.is_err());
        let stand = |all: Vec<u32>| async move { Ok(all.into_iter().map(Ok).collect()) };
        assert_eq!(gather.ask("numbers", 2, 1, stand).await.unwrap(), 2);
    }
}
