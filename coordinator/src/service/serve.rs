//! Listening.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kazoe_proto::v1::DESCRIPTORS;
use kazoe_proto::v1::admin_server::AdminServer;
use kazoe_proto::v1::campaigns_server::CampaignsServer;
use kazoe_proto::v1::work_server::WorkServer;
use tokio::net::TcpListener;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Server, ServerTlsConfig};
use tracing::info;

use super::admin::AdminService;
use super::campaigns::CampaignsService;
use super::chronicle;
use super::work::WorkService;
use super::{Coordinator, left};

/// The largest message that a worker may send: the tallies and witnesses of a few large segments.
const MOST_BYTES: usize = 32 << 20;

/// How long a coordinator that leaves waits for calls that are being answered.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a silent connection is asked whether it still lives, and how long it may take to answer.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// Serves until `leave` is over; then lends nothing more, takes what arrives, and returns.
///
/// # Errors
/// If the TLS settings make no sense, or the port fails.
pub async fn serve(
    coordinator: Arc<Coordinator>,
    listener: TcpListener,
    tls: Option<ServerTlsConfig>,
    leave: impl Future<Output = ()> + Send,
) -> Result<(), tonic::transport::Error> {
    let guard = coordinator.door.guard();
    let (health, health_service) = tonic_health::server::health_reporter();
    let campaigns = CampaignsServer::new(CampaignsService(Arc::clone(&coordinator)));
    let work = WorkServer::new(WorkService(Arc::clone(&coordinator)))
        .max_decoding_message_size(MOST_BYTES);
    let admin = AdminServer::new(AdminService(Arc::clone(&coordinator)))
        .max_decoding_message_size(MOST_BYTES);
    health
        .set_serving::<CampaignsServer<CampaignsService>>()
        .await;
    health.set_serving::<WorkServer<WorkService>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1();
    let mut server = Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE.0))
        .http2_keepalive_timeout(Some(KEEP_ALIVE.1));
    if let Some(tls) = tls {
        server = server.tls_config(tls)?;
    }
    let router = server
        .add_service(health_service)
        .add_service(InterceptedService::new(campaigns, guard.clone()))
        .add_service(InterceptedService::new(work, guard.clone()))
        .add_service(InterceptedService::new(admin, guard));
    let router = match reflection {
        Ok(reflection) => router.add_service(reflection),
        Err(_) => router,
    };
    let chronicle = tokio::spawn(chronicle::keep(Arc::clone(&coordinator)));
    let leave = async {
        leave.await;
        info!("leaving: nothing more is lent, what arrives is still taken");
        health.set_not_serving::<WorkServer<WorkService>>().await;
        coordinator.leave();
    };
    // Connections that we accept ourselves are not told so by the server's settings.
    let connections = TcpIncoming::from(listener).with_nodelay(Some(true));
    let serving = router.serve_with_incoming_shutdown(connections, leave);
    let ended = tokio::select! {
        ended = serving => ended,
        () = async {
            left(coordinator.leaving.subscribe()).await;
            tokio::time::sleep(PATIENCE).await;
        } => Ok(()),
    };
    chronicle.abort();
    ended
}

/// Whether an address is reached from this machine alone.
#[must_use]
pub fn is_local(address: &SocketAddr) -> bool {
    address.ip().is_loopback()
}
