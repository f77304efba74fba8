//! A way to the coordinator through a proxy: a tunnel that it opens when it is asked to `CONNECT`. What
//! goes through it, TLS too, is between the coordinator and us.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tower_service::Service;

/// A proxy, and what is shown to it.
#[derive(Clone)]
pub struct Proxy {
    address: Uri,
    credentials: Option<HeaderValue>,
}

/// No secret of it.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

/// Its address, without what is secret.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.address.authority().map_or("", |place| place.as_str());
        write!(f, "http://{place}")
    }
}

impl Proxy {
    /// The proxy for a coordinator: the one that was told, or else for `https://` the one of `HTTPS_PROXY`
    /// unless `NO_PROXY` says otherwise, as `variable` knows them in upper or lower case.
    ///
    /// # Errors
    /// If the address is none of a proxy that we can use.
    pub fn find(
        told: Option<&str>,
        coordinator: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, ProxyError> {
        if let Some(told) = told.filter(|told| !told.is_empty()) {
            return Proxy::new(told, "--proxy").map(Some);
        }
        let either = |upper: &'static str, lower: &'static str| {
            let set = |name| variable(name).filter(|value| !value.is_empty());
            let upper = set(upper).map(|value| (upper, value));
            upper.or_else(|| set(lower).map(|value| (lower, value)))
        };
        let Some((name, address)) = either("HTTPS_PROXY", "https_proxy") else {
            return Ok(None);
        };
        let (_, exceptions) = either("NO_PROXY", "no_proxy").unwrap_or_default();
        let any = Matcher::builder()
            .https("http://any")
            .no(exceptions)
            .build();
        let coordinator = coordinator.parse::<Uri>().unwrap_or_default();
        match any.intercept(&coordinator) {
            Some(_) => Proxy::new(&address, name).map(Some),
            None => Ok(None),
        }
    }

    /// Reads `http://[USER:PASSWORD@]HOST:PORT`, which something of this name said.
    fn new(text: &str, name: &'static str) -> Result<Self, ProxyError> {
        let any = Uri::from_static("https://any");
        let found = Matcher::builder().all(text).build().intercept(&any);
        let found = found.filter(|found| {
            let uri = found.uri();
            uri.scheme_str() == Some("http") && uri.port_u16().is_some()
        });
        let found = found.ok_or(ProxyError { name })?;
        Ok(Proxy {
            address: found.uri().clone(),
            credentials: Intercept::basic_auth(&found).cloned(),
        })
    }
}

/// What was told is no address of a proxy that we can use. It is not repeated: it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyError {
    name: &'static str,
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is not the address of a proxy that opens tunnels; it looks like \
             http://[USER:PASSWORD@]HOST:PORT",
            self.name
        )
    }
}

impl Error for ProxyError {}

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
            Why::Away(words) => write!(f, "cannot be reached: {words}"),
            Why::Silent(patience) => write!(f, "did not answer within {patience:?}"),
            Why::Broken(words) => write!(f, "did not answer as one does: {words}"),
            Why::Nameless => write!(
                f,
                "asks for a user name and a password, as in http://USER:PASSWORD@HOST:PORT"
            ),
            Why::Stranger => write!(f, "does not take the user name and the password"),
            Why::Refused(place, status) => write!(f, "opens no tunnel to {place}: {status}"),
        }
    }
}

impl Error for TunnelError {}

#[cfg(test)]
mod tests {
    use super::Proxy;

    const COORDINATOR: &str = "https://kazoe.example:7273";

    fn find(told: &str, coordinator: &str, variables: &[(&str, &str)]) -> String {
        let variable = |name: &str| {
            let value = variables.iter().find(|(other, _)| *other == name);
            value.map(|(_, value)| (*value).to_owned())
        };
        match Proxy::find(Some(told), coordinator, variable) {
            Ok(None) => "none".to_owned(),
            Ok(Some(proxy)) => proxy.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_is_told_wins_over_the_environment_and_its_exceptions() {
        let variables = [("HTTPS_PROXY", "http://b:2"), ("NO_PROXY", "*")];
        for coordinator in [COORDINATOR, "http://127.0.0.1:7273"] {
            assert_eq!(find("http://a:1", coordinator, &variables), "http://a:1");
        }
        assert_eq!(find("a:1", COORDINATOR, &[]), "http://a:1");
    }

    #[test]
    fn the_environment_is_for_tls_and_has_exceptions() {
        let both = [("HTTPS_PROXY", "http://b:2"), ("https_proxy", "http://c:3")];
        assert_eq!(find("", COORDINATOR, &both), "http://b:2");
        assert_eq!(find("", COORDINATOR, &both[1..]), "http://c:3");
        assert_eq!(find("", "http://kazoe.example:7273", &both), "none");
        assert_eq!(find("", COORDINATOR, &[("HTTPS_PROXY", "")]), "none");
        for (exceptions, found) in [
            ("kazoe.example", "none"),
            ("example", "none"),
            ("*", "none"),
            ("other.example, 10.0.0.0/8", "http://b:2"),
        ] {
            let variables = [both[0], ("no_proxy", exceptions)];
            assert_eq!(find("", COORDINATOR, &variables), found, "{exceptions}");
        }
        let inside = [both[0], ("NO_PROXY", "10.0.0.0/8")];
        assert_eq!(find("", "https://10.1.2.3:7273", &inside), "none");
    }

    #[test]
    fn an_address_is_no_proxys_without_its_secret() {
        for text in [
            "socks5://me:hush@a:1",
            "https://me:hush@a:1",
            "me:hush",
            "http://me:hush@",
        ] {
            let told = find(text, COORDINATOR, &[]);
            assert!(told.starts_with("--proxy is not the address"), "{told}");
            assert!(!told.contains("hush"), "{told}");
            let variable = find("", COORDINATOR, &[("https_proxy", text)]);
            assert!(variable.starts_with("https_proxy is not"), "{variable}");
        }
    }

    #[test]
    fn credentials_stay_out_of_what_is_printed() {
        let proxy = Proxy::new("http://me:hu%20sh@a:1", "--proxy").unwrap();
        assert_eq!(proxy.credentials.as_ref().unwrap(), "Basic bWU6aHUgc2g=");
        for text in [format!("{proxy:?}"), proxy.to_string()] {
            assert!(text.contains("http://a:1"), "{text}");
            assert!(!text.contains("hu") && !text.contains("bWU6"), "{text}");
        }
    }
}
