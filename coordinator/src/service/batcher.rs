//! Batches requests of one kind: those that arrive while a batch is served are the next batch.
//!
//! A request that finds no other is served at once and alone. So a coordinator with little load answers as fast as
//! it can, and one with much load shares the price of a transaction, its lock and its write to the disk, among
//! many requests. A request is answered after the commit of its batch, and no batch began before its requests
//! arrived. Each batcher serves one batch of a key at a time, on one of the database connections that its kind has.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, oneshot};

use crate::ledger::LedgerError;

/// The answer to one request.
type Answer<A> = Result<A, LedgerError>;

/// The answers to a batch in the order of its requests, or why none of them was served.
pub(super) type Answers<A> = Result<Vec<Answer<A>>, LedgerError>;

type Serving<A> = Pin<Box<dyn Future<Output = Answers<A>> + Send>>;

/// A request that waits for the next batch.
struct Waiting<Q, A> {
    request: Q,
    answer: oneshot::Sender<Answer<A>>,
}

/// The waiting requests by key. A key is present while one of its batches is served.
type Queues<Q, A> = HashMap<String, Vec<Waiting<Q, A>>>;

struct Shared<Q, A> {
    queues: Mutex<Queues<Q, A>>,
    /// The weight of a batch of several requests is at most this.
    most: usize,
    weigh: fn(&Q) -> usize,
    connections: Arc<Semaphore>,
    serve: Box<dyn Fn(String, Vec<Q>) -> Serving<A> + Send + Sync>,
}

/// Batches requests of one kind.
pub(super) struct Batcher<Q, A>(Arc<Shared<Q, A>>);

impl<Q, A> fmt::Debug for Batcher<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batcher").finish_non_exhaustive()
    }
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Batcher<Q, A> {
    /// Returns a batcher whose batches weigh at most `most` and wait for one of `connections`. `serve` answers the
    /// requests of one key in their order. If it fails for a batch of several, each request is served alone, so
    /// that one bad request fails no other.
    pub(super) fn new<S, F>(
        connections: &Arc<Semaphore>,
        most: usize,
        weigh: fn(&Q) -> usize,
        serve: S,
    ) -> Self
    where
        S: Fn(String, Vec<Q>) -> F + Send + Sync + 'static,
        F: Future<Output = Answers<A>> + Send + 'static,
    {
        Batcher(Arc::new(Shared {
            queues: Mutex::default(),
            most,
            weigh,
            connections: Arc::clone(connections),
            serve: Box::new(move |key, requests| Box::pin(serve(key, requests))),
        }))
    }

    /// Serves a request in a batch with the waiting requests of the same key.
    ///
    /// # Errors
    /// The error of `serve`.
    pub(super) async fn ask(&self, key: &str, request: Q) -> Answer<A> {
        let (answer, answered) = oneshot::channel();
        let first = {
            let mut queues = self.0.lock();
            let first = !queues.contains_key(key);
            let queue = queues.entry(key.to_owned()).or_default();
            queue.push(Waiting { request, answer });
            first
        };
        if first {
            // A task of its own: the caller may be cancelled while others wait for the same batch.
            let batches = Batches {
                shared: Arc::clone(&self.0),
                key: key.to_owned(),
            };
            tokio::spawn(batches.serve());
        }
        answered
            .await
            .unwrap_or_else(|_| Err(LedgerError::Abandoned))
    }
}

impl<Q, A> Shared<Q, A> {
    fn lock(&self) -> MutexGuard<'_, Queues<Q, A>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next batch of a key. If no request waits, removes the key and returns nothing.
    fn next(&self, key: &str) -> Option<Vec<Waiting<Q, A>>> {
        let mut queues = self.lock();
        let waiting = queues.get_mut(key)?;
        if waiting.is_empty() {
            queues.remove(key);
            return None;
        }
        let mut weight = 0;
        let size = waiting
            .iter()
            .take_while(|one| {
                weight += (self.weigh)(&one.request);
                weight <= self.most
            })
            .count();
        let rest = waiting.split_off(size.max(1));
        Some(std::mem::replace(waiting, rest))
    }
}

/// The batches of one key, until no request waits.
struct Batches<Q, A> {
    shared: Arc<Shared<Q, A>>,
    key: String,
}

impl<Q: Clone, A> Batches<Q, A> {
    async fn serve(self) {
        let Batches { shared, key } = &self;
        let serve = |requests| (shared.serve)(key.clone(), requests);
        loop {
            // The semaphore is never closed. Requests that arrive during the wait join the batch.
            let _connection = shared.connections.acquire().await;
            let Some(batch) = shared.next(key) else {
                return;
            };
            let (requests, answers): (Vec<Q>, Vec<_>) = batch
                .into_iter()
                .map(|one| (one.request, one.answer))
                .unzip();
            // A send fails if the caller was cancelled, which needs no answer.
            match serve(requests.clone()).await {
                Ok(all) => {
                    for (sender, answer) in answers.into_iter().zip(all) {
                        let _ = sender.send(answer);
                    }
                }
                Err(error) if requests.len() == 1 || error.is_storage_s_alone() => {
                    for sender in answers {
                        let _ = sender.send(Err(error.clone()));
                    }
                }
                Err(_) => {
                    for (request, sender) in requests.into_iter().zip(answers) {
                        let alone = serve(vec![request]).await;
                        let answer = alone
                            .and_then(|mut one| one.pop().unwrap_or(Err(LedgerError::Abandoned)));
                        let _ = sender.send(answer);
                    }
                }
            }
        }
    }
}

/// After a panic of `serve`, drops the waiting requests, whose callers get [`LedgerError::Abandoned`]. The next
/// request of the key is the first again.
impl<Q, A> Drop for Batches<Q, A> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.lock().remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::task::JoinHandle;

    use super::*;

    /// Doubles numbers, and counts its batches. It fails for a batch with 13, and panics for one with 99.
    fn doubler(most: usize, batches: &Arc<AtomicUsize>) -> Arc<Batcher<u32, u32>> {
        let batches = Arc::clone(batches);
        let connections = Arc::new(Semaphore::new(1));
        let serve = move |_, all: Vec<u32>| {
            batches.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                assert!(!all.contains(&99), "on purpose");
                if all.contains(&13) {
                    return Err(LedgerError::Row("13".to_owned()));
                }
                Ok(all.into_iter().map(|number| Ok(number * 2)).collect())
            }
        };
        Arc::new(Batcher::new(&connections, most, |_| 1, serve))
    }

    fn ask_all(
        batcher: &Arc<Batcher<u32, u32>>,
        numbers: Range<u32>,
    ) -> Vec<JoinHandle<Answer<u32>>> {
        let ask = |number| {
            let batcher = Arc::clone(batcher);
            tokio::spawn(async move { batcher.ask("numbers", number).await })
        };
        numbers.map(ask).collect()
    }

    #[tokio::test]
    async fn requests_that_arrive_during_a_batch_share_the_next() {
        let batches = Arc::default();
        let batcher = doubler(8, &batches);
        let asked = ask_all(&batcher, 20..36);
        for (number, answer) in (20..36).zip(asked) {
            assert_eq!(answer.await.unwrap().unwrap(), number * 2);
        }
        let batches = batches.load(Ordering::Relaxed);
        assert!((2..=4).contains(&batches), "{batches}");
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(batcher.0.lock().is_empty());
    }

    #[tokio::test]
    async fn a_bad_request_fails_alone() {
        let batcher = doubler(100, &Arc::default());
        let asked = ask_all(&batcher, 10..16);
        for (number, answer) in (10..16).zip(asked) {
            let answer = answer.await.unwrap();
            assert_eq!(answer.is_err(), number == 13, "{number}");
        }
    }

    #[tokio::test]
    async fn a_panic_leaves_no_request_waiting() {
        let batcher = doubler(100, &Arc::default());
        assert!(batcher.ask("numbers", 99).await.is_err());
        assert_eq!(batcher.ask("numbers", 2).await.unwrap(), 4);
    }
}
