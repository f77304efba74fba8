//! `kazoe coordinator`: leads workers on a network.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kazoe_coordinator::ledger::Service;
use kazoe_coordinator::service::auth::Door;
use kazoe_coordinator::service::serve::{is_local, serve};
use kazoe_coordinator::service::tls::{self, Part};
use kazoe_coordinator::service::{Coordinator, Settings};
use kazoe_worker::self_test;
use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;
use tracing::{info, warn};

use crate::address::Listen;
use crate::exit::{Ending, Stop};
use crate::limits::LimitArgs;
use crate::logging::LogArgs;
use crate::postgres_args::DatabaseArgs;
use crate::settings::{Settings as Said, SettingsArgs};
use crate::{duration_arg, secrets, signals, text_file};

/// Run a coordinator: lease segments to workers and store their tallies.
///
/// It stores all state in PostgreSQL: it may be killed and restarted at any time, and two may run on one
/// database. On SIGTERM or Ctrl-C it grants no new leases, accepts arriving tallies and exits; the workers wait
/// for the next coordinator. It logs events and each campaign's progress to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe coordinator --database-url-file runtime.url
  kazoe coordinator --database-url-file runtime.url --listen 0.0.0.0:7273 --tls-cert c.pem --tls-key k.pem
  kazoe coordinator --database-url-file runtime.url --listen 10.0.0.5:7273 --plaintext
  kazoe coordinator --database-url-file runtime.url --no-tokens      for a trial on one machine
  kazoe coordinator --config coordinator.toml --print-config         the effective settings and \
  their sources

First, once: 'kazoe migrate' and 'kazoe token create'; see their --help.")]
pub(super) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,

    /// The listening address: an address or a name with its port, as in localhost:7273, at all addresses of the
    /// name; :7273 is every address of this machine. The default port is 7273.
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:7273",
        value_parser = Listen::parse,
        env = "KAZOE_LISTEN"
    )]
    listen: Listen,

    /// Listen beyond this machine without TLS: tokens cross the network in plain text.
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key", "tls_client_ca"])]
    plaintext: bool,

    /// A file with the coordinator's certificates (PEM); enables TLS.
    #[arg(long, value_name = "FILE", env = "KAZOE_TLS_CERT")]
    tls_cert: Option<PathBuf>,

    /// A file with the certificate's key (PEM).
    #[arg(long, value_name = "FILE", env = "KAZOE_TLS_KEY")]
    tls_key: Option<PathBuf>,

    /// A file with the authorities (PEM) of client certificates, which callers then must present.
    #[arg(long, value_name = "FILE", env = "KAZOE_TLS_CLIENT_CA")]
    tls_client_ca: Option<PathBuf>,

    /// Require no tokens: every caller that reaches the port acts as the operator. On this machine only.
    #[arg(long)]
    no_tokens: bool,

    /// The duration of a lease without a heartbeat, at least 1s.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration_arg::parse)]
    hold: Duration,

    /// The target computing time of a lease.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration_arg::parse)]
    lease: Duration,

    /// The share of new campaigns' segments that another owner audits.
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = audit_share)]
    audit: u32,

    /// The interval of each campaign's progress in the log.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration_arg::parse)]
    rhythm: Duration,

    #[command(flatten)]
    log: LogArgs,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    settings: SettingsArgs,
}

/// Reads a share of the segments as millionths: `0%`, `1%`, `100%`.
fn audit_share(text: &str) -> Result<u32, String> {
    if matches!(text.trim(), "0" | "0%") {
        return Ok(0);
    }
    let share = super::verify::share(text)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share between 0 and 1 of a million"
    )]
    let millionths = (share * f64::from(Service::ALL)).round() as u32;
    Ok(millionths.max(1))
}

/// The length of the queue of new connections: after a restart all workers reconnect within seconds.
const BACKLOG: u32 = 16_384;

/// Listens at all addresses of a host on one port.
///
/// # Errors
/// If none of them is an address of this machine, or the port is taken on one of them.
fn listen(place: &Listen, addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, Stop> {
    let failed = |error: io::Error| Stop::failed(format_args!("cannot listen on {place}: {error}"));
    let mut listeners: Vec<TcpListener> = Vec::new();
    let mut missing = None;
    for mut address in addresses.iter().copied() {
        if let Some(first) = listeners.first().filter(|_| address.port() == 0) {
            address.set_port(first.local_addr().map_err(failed)?.port());
        }
        match listen_at(address) {
            Ok(listener) => listeners.push(listener),
            // A name may have addresses of a protocol that this machine does not speak.
            Err(error) if is_missing(&error) => missing = Some(error),
            Err(error) => return Err(failed(error)),
        }
    }
    match missing {
        Some(error) if listeners.is_empty() => Err(failed(error)),
        _ => Ok(listeners),
    }
}

/// Whether an address is none of this machine.
fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    // The connections of the one before us may still be dying.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Args {
    pub(super) fn run(&self, said: Option<&Said>) -> Result<Ending, Stop> {
        let addresses = self.listen.addresses().map_err(|error| {
            let listen = &self.listen;
            Stop::usage(format_args!(
                "--listen: {listen} has no address ({error}); name an address of this machine, as in 127.0.0.1:7273"
            ))
        })?;
        self.check(&addresses)?;
        self.log.begin(said);
        let tls = self.tls()?;
        self.limits.prepare();
        let settings = Settings {
            hold: self.hold,
            lease: self.lease,
            audit_millionths: self.audit,
            rhythm: self.rhythm,
            known: self_test::known().map_err(Stop::failed)?,
            limits: self.limits.limits(),
        };
        let leave = signals::hear()?;
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(Stop::failed)?
            .block_on(self.lead(settings, &addresses, tls, leave))
    }

    /// Checks that the settings go together, before anything is done.
    fn check(&self, addresses: &[SocketAddr]) -> Result<(), Stop> {
        let local = addresses.iter().all(is_local);
        if self.no_tokens && !local {
            return Err(Stop::usage(format_args!(
                "--no-tokens makes every caller at {} an operator: it requires a loopback address, \
                 such as 127.0.0.1:7273",
                self.listen
            )));
        }
        if !local && !self.plaintext && self.tls_cert.is_none() {
            return Err(Stop::usage(format_args!(
                "{} is reachable from other machines, and their tokens would cross the network \
                 unencrypted: give --tls-cert and --tls-key, or --plaintext if the network is \
                 private",
                self.listen
            )));
        }
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return Err(Stop::usage(
                "--tls-cert and --tls-key require each other: a certificate and its key",
            ));
        }
        if self.tls_client_ca.is_some() && self.tls_cert.is_none() {
            return Err(Stop::usage(
                "--tls-client-ca requires --tls-cert and --tls-key",
            ));
        }
        if self.hold < Duration::from_secs(1) {
            return Err(Stop::usage("--hold must be at least 1s"));
        }
        Ok(())
    }

    fn tls(&self) -> Result<Option<TlsAcceptor>, Stop> {
        let read = |path: &PathBuf| text_file::read_pem(path);
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        secrets::warn_if_readable(key);
        let authorities = self.tls_client_ca.as_ref().map(read).transpose()?;
        tls::acceptor(&read(certificate)?, &read(key)?, authorities.as_deref())
            .map(Some)
            .map_err(|error| {
                let file = match error.part() {
                    Part::Certificate => certificate,
                    Part::Key => key,
                    Part::Authority => self.tls_client_ca.as_ref().unwrap_or(certificate),
                };
                Stop::usage(format_args!("{}: {error}", file.display()))
            })
    }

    async fn lead(
        &self,
        settings: Settings,
        addresses: &[SocketAddr],
        tls: Option<TlsAcceptor>,
        leave: signals::Heard,
    ) -> Result<Ending, Stop> {
        let ledger = self.database.connect_to_serve().await?;
        let door = if self.no_tokens {
            warn!(
                "no tokens are required: every caller that reaches the port acts as the operator"
            );
            Door::Open
        } else {
            Door::Credentials
        };
        let listeners = listen(&self.listen, addresses)?;
        let bound: Result<Vec<_>, _> = listeners.iter().map(TcpListener::local_addr).collect();
        let bound = bound
            .map_err(Stop::failed)?
            .iter()
            .map(SocketAddr::to_string)
            .collect::<Vec<_>>();
        info!(
            address = bound.join(", "),
            tls = tls.is_some(),
            version = env!("CARGO_PKG_VERSION"),
            "coordinator ready"
        );
        let coordinator = Arc::new(Coordinator::new(ledger, door, settings));
        serve(coordinator, listeners, tls, leave.wait()).await;
        info!("left");
        Ok(Ending::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::audit_share;

    #[test]
    fn shares_parse_as_percentages() {
        for (text, millionths) in [
            ("0%", 0),
            ("1%", 10_000),
            ("0.5%", 5_000),
            ("100%", 1_000_000),
            ("0.00001%", 1),
        ] {
            assert_eq!(audit_share(text), Ok(millionths), "{text}");
        }
        assert!(audit_share("101%").is_err());
    }
}
