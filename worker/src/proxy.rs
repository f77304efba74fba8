//! Which proxy a coordinator is reached through, if through any.

use std::error::Error;
use std::fmt;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

/// A proxy, and what is shown to it.
#[derive(Clone)]
pub struct Proxy {
    pub(crate) address: Uri,
    pub(crate) credentials: Option<HeaderValue>,
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
            "{}: invalid address of an HTTP proxy; it has the form \
             http://[USER:PASSWORD@]HOST:PORT",
            self.name
        )
    }
}

impl Error for ProxyError {}

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
            let message = find(text, COORDINATOR, &[]);
            assert!(message.starts_with("--proxy: invalid address"), "{message}");
            assert!(!message.contains("hush"), "{message}");
            let variable = find("", COORDINATOR, &[("https_proxy", text)]);
            assert!(
                variable.starts_with("https_proxy: invalid address"),
                "{variable}"
            );
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
