//! How a program reaches a coordinator: address, certificates, token.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};

use crate::proxy::Proxy;
use crate::tunnel::Tunnel;

/// The longest that a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// How long a coordinator may be silent, unless somebody says otherwise.
pub const SILENCE: Duration = Duration::from_secs(60);

/// A channel that shows a token with each request.
pub type Wire = InterceptedService<Channel, Bearer>;

/// Where a coordinator is, and what is shown to it.
#[derive(Clone)]
pub struct Link {
    /// `http://HOST:PORT`, or `https://HOST:PORT` with TLS.
    pub url: String,
    /// PEM: whom to believe instead of the system's authorities.
    pub authority: Option<Vec<u8>>,
    /// PEM: a certificate and its key, where the coordinator asks for one.
    pub certificate: Option<(Vec<u8>, Vec<u8>)>,
    /// The token, one line.
    pub token: Option<String>,
    /// Through which proxy, if through any.
    pub proxy: Option<Proxy>,
    /// The address of ours to connect from, where the system is not to choose one.
    pub from: Option<IpAddr>,
    /// For how long it may be silent where an answer is due, before it is asked again. A connection on
    /// which nothing came for a third of that is asked whether it lives, and has another third to say so.
    pub silence: Duration,
}

impl Default for Link {
    fn default() -> Self {
        Link {
            url: String::new(),
            authority: None,
            certificate: None,
            token: None,
            proxy: None,
            from: None,
            silence: SILENCE,
        }
    }
}

/// No secret of it.
impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("url", &shown(&self.url))
            .field("token", &self.token.as_ref().map(|_| "..."))
            .field("proxy", &self.proxy)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// A channel that connects when it is needed, and again when it was lost.
    ///
    /// # Errors
    /// If the address, a certificate or the token cannot be one.
    pub fn open(&self) -> Result<Wire, LinkError> {
        let bearer = Bearer::new(self.token.as_deref())?;
        let wrong = || LinkError::Address(shown(&self.url).to_owned());
        if has_more_than_a_place(&self.url) {
            return Err(LinkError::Secret(shown(&self.url).to_owned()));
        }
        let secure = self.url.starts_with("https://");
        if !secure && !self.url.starts_with("http://") {
            return Err(wrong());
        }
        let endpoint = Endpoint::from_shared(self.url.clone());
        let mut endpoint = endpoint
            .map_err(|_| wrong())?
            .connect_timeout(self.patience())
            .http2_keep_alive_interval(self.silence / 3)
            .keep_alive_timeout(self.silence / 3)
            .local_address(self.from)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true);
        if secure {
            let mut tls = ClientTlsConfig::new();
            tls = match &self.authority {
                Some(authority) => tls.ca_certificate(Certificate::from_pem(authority)),
                None => tls.with_native_roots(),
            };
            if let Some((certificate, key)) = &self.certificate {
                tls = tls.identity(Identity::from_pem(certificate, key));
            }
            endpoint = endpoint.tls_config(tls).map_err(LinkError::Tls)?;
        }
        let channel = match &self.proxy {
            // The tunnel may take as long as a connection, and what goes through it as long again.
            Some(proxy) => endpoint
                .connect_timeout(2 * self.patience())
                .connect_with_connector_lazy(Tunnel::new(proxy.clone(), self.patience())),
            None => endpoint.connect_lazy(),
        };
        Ok(InterceptedService::new(channel, bearer))
    }

    /// How long a connection may take to be made: it fails, and says why, before an answer is given up.
    fn patience(&self) -> Duration {
        CONNECT.min(self.silence / 3)
    }
}

/// Whether an address says more than where: a name, a password, a query. None of it is used, and it may be
/// secret.
fn has_more_than_a_place(url: &str) -> bool {
    url.contains(['@', '?', '#'])
}

/// An address without what may be secret in it.
fn shown(url: &str) -> &str {
    let place = url.split(['?', '#']).next().unwrap_or_default();
    place.rsplit('@').next().unwrap_or_default()
}

/// Shows the token with each request.
#[derive(Clone, Debug)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

/// Whether a text can be sent as a token.
///
/// # Errors
/// [`LinkError::Token`] if it has characters that no token has.
pub fn check_token(token: &str) -> Result<(), LinkError> {
    Bearer::new(Some(token)).map(|_| ())
}

impl Bearer {
    fn new(token: Option<&str>) -> Result<Self, LinkError> {
        let Some(token) = token else {
            return Ok(Bearer(None));
        };
        let value = format!("Bearer {}", token.trim());
        let mut value: MetadataValue<Ascii> = value.parse().map_err(|_| LinkError::Token)?;
        // It stays out of logs, and of HTTP/2's tables.
        value.set_sensitive(true);
        Ok(Bearer(Some(value)))
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request
                .metadata_mut()
                .insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// Why a coordinator cannot be reached as told.
#[derive(Debug)]
pub enum LinkError {
    /// The text is no address.
    Address(String),
    /// The address holds a name, a password or a query; this is the rest of it.
    Secret(String),
    /// The certificates make no sense.
    Tls(tonic::transport::Error),
    /// The token has characters that none has.
    Token,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Address(url) => write!(
                f,
                "invalid coordinator address `{url}`; it has the form http://HOST:7273, or \
                 https://HOST:7273 with TLS"
            ),
            LinkError::Secret(place) => write!(
                f,
                "the coordinator's address has a user, a password or a query, which is not \
                 supported: remove it ({place}), and give the token with --token-file"
            ),
            LinkError::Tls(error) => write!(f, "unusable certificates: {error:?}"),
            LinkError::Token => write!(
                f,
                "malformed API token: a token is one line, as `kazoe token create` printed it"
            ),
        }
    }
}

impl std::error::Error for LinkError {}

#[cfg(test)]
mod tests {
    use super::{Bearer, Link, LinkError};

    #[test]
    fn a_token_stays_out_of_what_is_printed() {
        let link = Link {
            url: "http://127.0.0.1:1".to_owned(),
            token: Some("t-1.hush".to_owned()),
            ..Link::default()
        };
        assert!(!format!("{link:?}").contains("hush"), "{link:?}");
        let bearer = Bearer::new(link.token.as_deref()).unwrap();
        assert!(!format!("{bearer:?}").contains("hush"), "{bearer:?}");
        assert!(matches!(Bearer::new(Some("a\nb")), Err(LinkError::Token)));
    }

    #[test]
    fn a_secret_in_an_address_is_refused_and_not_repeated() {
        for url in [
            "http://me:hush@host:1",
            "htp://me:hush@host:1",
            "https://hush@host:1",
            "http://host:1?token=hush",
            "http://host:1/#hush",
        ] {
            let link = Link {
                url: url.to_owned(),
                ..Link::default()
            };
            let error = link.open().unwrap_err();
            assert!(matches!(error, LinkError::Secret(_)), "{url}: {error:?}");
            for printed in [error.to_string(), format!("{error:?} {link:?}")] {
                assert!(!printed.contains("hush"), "{printed}");
                assert!(printed.contains("host:1"), "{printed}");
            }
        }
    }

    #[test]
    fn an_address_names_its_scheme() {
        for url in ["127.0.0.1:7273", "ftp://x", "", "http://"] {
            let link = Link {
                url: url.to_owned(),
                ..Link::default()
            };
            assert!(matches!(link.open(), Err(LinkError::Address(_))), "{url}");
        }
    }
}
