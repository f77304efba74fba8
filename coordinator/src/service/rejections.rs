//! How many were turned away, and why: told now and then in one line, so that nobody can flood the log.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the last telling.
#[derive(Debug, Default)]
pub(super) struct Rejections {
    /// Calls without a good token.
    pub(super) wrong: AtomicU64,
    /// Connections that showed no good token in time.
    pub(super) silent: AtomicU64,
    /// Connections that made room for others before they showed one.
    pub(super) crowded: AtomicU64,
    /// Connections closed because what was sent to them stayed unread.
    pub(super) unread: AtomicU64,
    /// Calls that were told to ask again later.
    pub(super) later: AtomicU64,
    /// Messages that are too large, compressed, or too slow.
    pub(super) messages: AtomicU64,
    /// Calls whose answer took too long, while the database could serve.
    pub(super) long: AtomicU64,
}

/// One more.
pub(super) fn count(of: &AtomicU64) {
    of.fetch_add(1, Ordering::Relaxed);
}

impl Rejections {
    /// What was counted since this was last asked; nothing if nothing was.
    pub(super) fn take(&self) -> Option<String> {
        let all = [
            (&self.wrong, "calls without a valid token"),
            (
                &self.silent,
                "connections without a token before the timeout",
            ),
            (
                &self.crowded,
                "connections closed for others or for too many invalid tokens",
            ),
            (&self.unread, "connections with unread answers"),
            (&self.later, "calls deferred"),
            (&self.messages, "messages too large, compressed or slow"),
            (&self.long, "calls that timed out"),
        ];
        let counted = all.into_iter().filter_map(|(count, what)| {
            let number = count.swap(0, Ordering::Relaxed);
            (number > 0).then(|| format!("{number} {what}"))
        });
        let counted: Vec<String> = counted.collect();
        (!counted.is_empty()).then(|| counted.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_told_once() {
        let turned = Rejections::default();
        assert_eq!(turned.take(), None);
        count(&turned.wrong);
        count(&turned.wrong);
        count(&turned.unread);
        let told = "2 calls without a valid token, 1 connections with unread answers";
        assert_eq!(turned.take().as_deref(), Some(told));
        assert_eq!(turned.take(), None);
    }
}
