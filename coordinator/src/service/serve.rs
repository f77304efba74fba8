//! Listening.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use kazoe_proto::v1::DESCRIPTORS;
use kazoe_proto::v1::admin_server::AdminServer;
use kazoe_proto::v1::campaigns_server::CampaignsServer;
use kazoe_proto::v1::work_server::WorkServer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tonic::service::Routes;
use tonic_health::server::HealthReporter;
use tracing::{info, warn};

use super::Coordinator;
use super::admin::AdminService;
use super::campaigns::CampaignsService;
use super::connection::Front;
use super::connections::Connections;
use super::database;
use super::event_log;
use super::limits::{ANSWER, PROOFS, TALLIES};
use super::work::WorkService;

/// How long a coordinator that leaves waits for calls that are being answered.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait when the system gives no more connections.
const EXHAUSTED: Duration = Duration::from_millis(200);

/// Serves all listeners until `leave` is over; then lends nothing more, takes what arrives, and returns.
pub async fn serve(
    coordinator: Arc<Coordinator>,
    listeners: Vec<TcpListener>,
    tls: Option<TlsAcceptor>,
    leave: impl Future<Output = ()> + Send,
) {
    let (health, routes) = routes(&coordinator).await;
    let front = Front {
        coordinator: Arc::clone(&coordinator),
        routes,
        tls,
    };
    let keeping = Arc::clone(&coordinator);
    let keyring = tokio::spawn(async move { keeping.keyring.keep(&keeping.ledger).await });
    let chronicle = tokio::spawn(event_log::keep(Arc::clone(&coordinator)));
    let mut watching = tokio::spawn(database::watch(Arc::clone(&coordinator), health.clone()));
    let leave = async {
        leave.await;
        // It may not say again that the coordinator serves.
        watching.abort();
        let _ = (&mut watching).await;
        info!("shutting down: no new leases; arriving tallies are still accepted");
        health.set_not_serving::<WorkServer<WorkService>>().await;
        coordinator.leave();
    };
    let open = watch::Sender::new(());
    // The ports are closed as soon as no connection is accepted any more.
    tokio::select! {
        () = accept(&front, listeners, &open) => {}
        () = leave => {}
    }
    drop(front);
    let _ = tokio::time::timeout(PATIENCE, open.closed()).await;
    chronicle.abort();
    keyring.abort();
}

/// The services, and who tells how they are.
async fn routes(coordinator: &Arc<Coordinator>) -> (HealthReporter, Routes) {
    let (health, health_service) = tonic_health::server::health_reporter();
    let campaigns = CampaignsServer::new(CampaignsService(Arc::clone(coordinator)))
        .max_decoding_message_size(PROOFS)
        .max_encoding_message_size(ANSWER);
    let work = WorkServer::new(WorkService(Arc::clone(coordinator)))
        .max_decoding_message_size(TALLIES)
        .max_encoding_message_size(ANSWER);
    let admin = AdminServer::new(AdminService(Arc::clone(coordinator)))
        .max_decoding_message_size(TALLIES)
        .max_encoding_message_size(ANSWER);
    health
        .set_serving::<CampaignsServer<CampaignsService>>()
        .await;
    health.set_serving::<WorkServer<WorkService>>().await;
    let routes = Routes::new(health_service)
        .add_service(campaigns)
        .add_service(work)
        .add_service(admin);
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1();
    let routes = match reflection {
        Ok(reflection) => routes.add_service(reflection),
        Err(_) => routes,
    };
    (health, routes.prepare())
}

/// Lets connections in for as long as it is polled.
async fn accept(front: &Front, listeners: Vec<TcpListener>, open: &watch::Sender<()>) {
    let coordinator = &front.coordinator;
    let guests = Arc::new(Connections::new(&coordinator.settings.limits));
    let mut exhausted = false;
    loop {
        match next(&listeners).await {
            Ok((stream, peer)) => {
                exhausted = false;
                let guest = guests.enter(peer.ip());
                let (front, open) = (front.clone(), open.subscribe());
                tokio::spawn(async move {
                    front.serve(stream, guest).await;
                    drop(open);
                });
            }
            // A peer that went before it was let in is no matter; out of file handles, it is best to wait.
            Err(error) => {
                if !std::mem::replace(&mut exhausted, true) {
                    warn!("no connection can be taken: {error}");
                }
                sleep(EXHAUSTED).await;
            }
        }
    }
}

/// Returns the next connection of any listener.
async fn next(listeners: &[TcpListener]) -> io::Result<(TcpStream, SocketAddr)> {
    poll_fn(|context| {
        let mut polled = listeners
            .iter()
            .map(|listener| listener.poll_accept(context));
        polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
    })
    .await
}

/// Whether an address is reached from this machine alone.
#[must_use]
pub fn is_local(address: &SocketAddr) -> bool {
    address.ip().is_loopback()
}
