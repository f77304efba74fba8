//! One connection, from its first byte to its end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_rustls::TlsAcceptor;
use tonic::service::Routes;
use tracing::debug;

use super::admission::Admission;
use super::connections::Connection;
use super::limits::{
    CONNECTION_WINDOW, ERROR_RESETS, GRACE, HEADERS, KEEP_ALIVE, RESETS, SEND_BUFFER,
    STREAM_WINDOW, STREAMS,
};
use super::rejections::count;
use super::stalled_reads::Unread;
use super::{Coordinator, chance, left};

/// What all connections share.
#[derive(Clone)]
pub(super) struct Front {
    pub(super) coordinator: Arc<Coordinator>,
    pub(super) routes: Routes,
    pub(super) tls: Option<TlsAcceptor>,
}

/// Why a connection ends before its peer ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// No good token came in time.
    Silent,
    /// It made room for another, or was wrong too often.
    Closed,
    /// What was sent stays unread.
    Unread,
    /// It grew too old, and its calls did not end.
    Old,
}

impl Front {
    /// Serves one connection until it ends.
    pub(super) async fn serve(self, stream: TcpStream, guest: Connection) {
        let guest = Arc::new(guest);
        let newcomer = Instant::now() + self.coordinator.settings.limits.newcomer;
        // Small messages are not held back; a failure shows in the next read.
        let _ = stream.set_nodelay(true);
        let Some(acceptor) = &self.tls else {
            return self.speak(stream, guest, newcomer).await;
        };
        let shaken = tokio::select! {
            shaken = acceptor.accept(stream) => shaken,
            () = sleep_until(newcomer) => return self.ended(End::Silent),
            () = guest.closed() => return self.ended(End::Closed),
            () = left(self.coordinator.leaving.subscribe()) => return,
        };
        match shaken {
            Ok(stream) => self.speak(stream, guest, newcomer).await,
            Err(error) => debug!("no TLS handshake: {error}"),
        }
    }

    /// HTTP/2 over a wire.
    async fn speak<Wire>(&self, wire: Wire, guest: Arc<Connection>, newcomer: Instant)
    where
        Wire: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let limits = &self.coordinator.settings.limits;
        let unread = Arc::new(Unread::default());
        let gate = Admission {
            coordinator: Arc::clone(&self.coordinator),
            routes: self.routes.clone(),
            guest: Arc::clone(&guest),
            unread: Arc::clone(&unread),
        };
        let service = service_fn(move |request: Request<Incoming>| {
            let gate = gate.clone();
            async move { Ok::<_, Infallible>(gate.answer(request).await) }
        });
        let connection = http2().serve_connection(TokioIo::new(wire), service);
        tokio::pin!(connection);
        let leaving = left(self.coordinator.leaving.subscribe());
        tokio::pin!(leaving);
        let mut looks = interval((limits.stall / 4).max(Duration::from_millis(1)));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Not all at once after a restart that all came back from at once.
        let mut old = Some(Instant::now() + limits.age.mul_f64(0.9 + 0.2 * chance()));
        let mut over = None;
        let (mut asked, mut is_leaving) = (false, false);
        loop {
            tokio::select! {
                ended = &mut connection => {
                    if let Err(error) = ended {
                        debug!("a connection ended: {error}");
                    }
                    return;
                }
                () = guest.closed() => return self.ended(End::Closed),
                () = sleep_until(newcomer), if !asked => {
                    asked = true;
                    if !guest.is_known() {
                        return self.ended(End::Silent);
                    }
                }
                _ = looks.tick() => {
                    if unread.longest() >= limits.stall {
                        return self.ended(End::Unread);
                    }
                }
                () = until(old) => {
                    old = None;
                    over = Some(Instant::now() + GRACE);
                    connection.as_mut().graceful_shutdown();
                }
                () = until(over) => return self.ended(End::Old),
                () = &mut leaving, if !is_leaving => {
                    is_leaving = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }

    fn ended(&self, why: End) {
        let turned = &self.coordinator.turned_away;
        match why {
            End::Silent => count(&turned.silent),
            End::Closed => count(&turned.crowded),
            End::Unread => count(&turned.unread),
            End::Old => {}
        }
        debug!(?why, "a connection is closed");
    }
}

fn http2() -> http2::Builder<TokioExecutor> {
    let mut http2 = http2::Builder::new(TokioExecutor::new());
    http2
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .max_header_list_size(HEADERS)
        .max_pending_accept_reset_streams(RESETS)
        .max_local_error_reset_streams(ERROR_RESETS)
        .keep_alive_interval(KEEP_ALIVE.0)
        .keep_alive_timeout(KEEP_ALIVE.1);
    http2
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
