//! A connection to the coordinator through a proxy, which opens a tunnel when it is asked to `CONNECT`. What
//! goes through it, TLS too, is between the coordinator and us.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HOST, PROXY_AUTHORIZATION};
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use tower_service::Service;

use crate::proxy::Proxy;

/// Makes connections through a proxy.
#[derive(Clone, Debug)]
pub(crate) struct Tunnel {
    proxy: Proxy,
    to_proxy: HttpConnector,
    /// How long it may take.
    patience: Duration,
}

impl Tunnel {
    pub(crate) fn new(proxy: Proxy, patience: Duration) -> Self {
        let mut to_proxy = HttpConnector::new();
        to_proxy.set_nodelay(true);
        Tunnel {
            proxy,
            to_proxy,
            patience,
        }
    }
}

impl Service<Uri> for Tunnel {
    type Response = Upgraded;
    type Error = TunnelError;
    type Future = Pin<Box<dyn Future<Output = Result<Upgraded, TunnelError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TunnelError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, coordinator: Uri) -> Self::Future {
        let Tunnel {
            proxy,
            to_proxy,
            patience,
        } = self.clone();
        Box::pin(async move {
            let dug = dig(&proxy, to_proxy, &coordinator);
            let why = match tokio::time::timeout(patience, dug).await {
                Ok(Ok(tunnel)) => return Ok(tunnel),
                Ok(Err(why)) => why,
                Err(_) => Why::Silent(patience),
            };
            Err(TunnelError {
                proxy: proxy.to_string(),
                why,
            })
        })
    }
}

/// Asks the proxy for a tunnel to the coordinator.
async fn dig(
    proxy: &Proxy,
    mut to_proxy: HttpConnector,
    coordinator: &Uri,
) -> Result<Upgraded, Why> {
    let place = place(coordinator);
    let stream = to_proxy.call(proxy.address.clone()).await;
    let stream = stream.map_err(|error| Why::Away(words(&error)))?;
    let broken = |error: hyper::Error| Why::Broken(words(&error));
    let (mut requests, connection) = http1::handshake(stream).await.map_err(broken)?;
    // It ends with its only request, or becomes the tunnel.
    tokio::spawn(connection.with_upgrades());
    let mut request = Request::builder()
        .method(Method::CONNECT)
        .uri(&place)
        .header(HOST, &place);
    if let Some(credentials) = &proxy.credentials {
        request = request.header(PROXY_AUTHORIZATION, credentials);
    }
    let request = request.body(Empty::<Bytes>::new());
    let request = request.map_err(|error| Why::Broken(error.to_string()))?;
    let answer = requests.send_request(request).await.map_err(broken)?;
    match answer.status() {
        status if status.is_success() => hyper::upgrade::on(answer).await.map_err(broken),
        StatusCode::PROXY_AUTHENTICATION_REQUIRED if proxy.credentials.is_none() => {
            Err(Why::Nameless)
        }
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => Err(Why::Stranger),
        status => Err(Why::Refused(place, status)),
    }
}

/// Host and port of an address.
fn place(uri: &Uri) -> String {
    let usual = if uri.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    let port = uri.port_u16().unwrap_or(usual);
    format!("{}:{port}", uri.host().unwrap_or_default())
}

/// An error and what caused it.
fn words(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}

/// Why there is no tunnel, and whose it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TunnelError {
    proxy: String,
    why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    Away(String),
    Silent(Duration),
    Broken(String),
    Nameless,
    Stranger,
    Refused(String, StatusCode),
}

impl fmt::Display for TunnelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy {} ", self.proxy)?;
        match &self.why {
            Why::Away(words) => write!(f, "is unreachable: {words}"),
            Why::Silent(patience) => write!(f, "did not answer within {patience:?}"),
            Why::Broken(words) => write!(f, "sent an invalid answer: {words}"),
            Why::Nameless => write!(
                f,
                "requires a user name and a password, as in http://USER:PASSWORD@HOST:PORT"
            ),
            Why::Stranger => write!(f, "rejects the user name and the password"),
            Why::Refused(place, status) => write!(f, "opens no tunnel to {place}: {status}"),
        }
    }
}

impl Error for TunnelError {}
