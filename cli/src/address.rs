//! Addresses of coordinators as people type and paste them: `localhost:7273`, `:7273`, `[::1]`, with a scheme or
//! without.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use crate::pasted;

/// The port that a text names which names none.
const PORT: u16 = 7273;

/// Where a coordinator listens: a host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listen {
    host: Host,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// All addresses of this machine.
    All,
    Address(IpAddr),
    /// A name that may have several addresses.
    Name(String),
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port;
        match &self.host {
            Host::All => write!(f, ":{port} (every address of this machine)"),
            Host::Address(address) => write!(f, "{}", SocketAddr::new(*address, port)),
            Host::Name(name) => write!(f, "{name}:{port}"),
        }
    }
}

impl Listen {
    /// Reads `ADDRESS:PORT`, `NAME:PORT`, or `:PORT` for all addresses of this machine, for clap. The port may be left
    /// out, and `http://` may stand before it.
    ///
    /// # Errors
    /// If the text is anything else.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = || {
            "expected ADDRESS:PORT, as in 127.0.0.1:7273, localhost:7273, or :7273 for every address of this machine"
                .to_owned()
        };
        let text = pasted::ascii(text);
        let place = without_scheme(text.trim()).trim_end_matches('/');
        let (host, port) = split(place);
        let port = match port {
            None => PORT,
            Some(port) => port
                .parse()
                .map_err(|_| format!("`{port}` is not a port, 0 to 65535"))?,
        };
        let host = match host {
            "" if place.is_empty() => return Err(expected()),
            "" | "*" => Host::All,
            host => match bare(host).parse() {
                Ok(address) => Host::Address(address),
                Err(_) if is_name(host) => Host::Name(host.to_owned()),
                Err(_) => return Err(expected()),
            },
        };
        Ok(Listen { host, port })
    }

    /// Returns the addresses that the host has, each once and at least one. Of all addresses of this machine it is the
    /// one of IPv6, which is reached by IPv4 too, unless the machine has no IPv6.
    ///
    /// # Errors
    /// If the host has no address.
    pub(crate) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let port = self.port;
        match &self.host {
            Host::Address(address) => Ok(vec![SocketAddr::new(*address, port)]),
            Host::All => {
                let all = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
                let there = std::net::TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok();
                Ok(vec![if there {
                    all
                } else {
                    (Ipv4Addr::UNSPECIFIED, port).into()
                }])
            }
            Host::Name(name) => {
                let mut addresses: Vec<SocketAddr> = Vec::new();
                for address in (name.as_str(), port).to_socket_addrs()? {
                    if !addresses.contains(&address) {
                        addresses.push(address);
                    }
                }
                // Clients that know one address only know the one of IPv4.
                addresses.sort_by_key(SocketAddr::is_ipv6);
                Ok(addresses)
            }
        }
    }
}

/// Returns the address of a coordinator as clients need it. Without a scheme it is `http://` where the host is this
/// machine and no authority for TLS is named, else `https://`, since a token is not sent in the clear by accident;
/// then the port may be left out, too.
pub(crate) fn url(text: &str, has_authority: bool) -> String {
    let text = pasted::ascii(text);
    let text = text.trim().trim_end_matches('/');
    if let Some((scheme, place)) = text.split_once("://") {
        return format!("{}://{place}", scheme.to_ascii_lowercase());
    }
    if text.is_empty() {
        return String::new();
    }
    let (host, port) = split(text);
    // A coordinator's `--listen` at every address of this machine.
    let host = if host.is_empty() || host == "*" {
        "localhost"
    } else {
        host
    };
    let host = if host.parse::<Ipv6Addr>().is_ok() {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    let scheme = if is_here(&host) && !has_authority {
        "http"
    } else {
        "https"
    };
    let port = port.map_or_else(|| PORT.to_string(), str::to_owned);
    format!("{scheme}://{host}:{port}")
}

fn without_scheme(text: &str) -> &str {
    let schemes = ["http://", "https://"].into_iter();
    let mut rest = schemes.filter_map(|scheme| text.strip_prefix(scheme));
    rest.next().unwrap_or(text)
}

/// The host and, if there is one, the port. An address of IPv6 without brackets has none.
fn split(text: &str) -> (&str, Option<&str>) {
    if text.parse::<Ipv6Addr>().is_ok() {
        return (text, None);
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    }
}

/// A host without the brackets around an address of IPv6.
fn bare(host: &str) -> &str {
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or(host)
}

/// Whether a host can be a name. One of digits alone is a port to which a colon is missing.
fn is_name(host: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    host.chars().all(fits) && host.contains(|c: char| c.is_ascii_alphabetic())
}

/// Whether a host is this machine by its very text.
fn is_here(host: &str) -> bool {
    let address = bare(host).parse::<IpAddr>();
    address.map_or(host.eq_ignore_ascii_case("localhost"), |address| {
        address.is_loopback() || address.is_unspecified()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_listen_are_read_as_people_type_them() {
        for (text, shown) in [
            ("127.0.0.1:7273", "127.0.0.1:7273"),
            ("0.0.0.0", "0.0.0.0:7273"),
            ("[::1]:1", "[::1]:1"),
            ("[::1]", "[::1]:7273"),
            ("::1", "[::1]:7273"),
            ("localhost:0", "localhost:0"),
            ("localhost", "localhost:7273"),
            ("kazoe-1.example.org", "kazoe-1.example.org:7273"),
            (":7273", ":7273 (every address of this machine)"),
            ("*:7273", ":7273 (every address of this machine)"),
            ("*", ":7273 (every address of this machine)"),
            ("http://localhost:7273/", "localhost:7273"),
            ("https://localhost", "localhost:7273"),
            ("\u{feff}localhost：７２７３\r", "localhost:7273"),
        ] {
            let read = Listen::parse(text).map(|listen| listen.to_string());
            assert_eq!(read.as_deref(), Ok(shown), "{text}");
        }
        for text in [
            "",
            " ",
            "/",
            "7273",
            "a b:1",
            "me@host:1",
            "[::1",
            "1.2.3:4",
            "tcp://a:1",
        ] {
            let why = Listen::parse(text).unwrap_err();
            assert!(why.starts_with("expected ADDRESS:PORT"), "{text}: {why}");
        }
        for text in ["localhost:", "localhost:70000", "127.0.0.1:x", ":-1"] {
            let why = Listen::parse(text).unwrap_err();
            assert!(why.ends_with("is not a port, 0 to 65535"), "{text}: {why}");
        }
    }

    #[test]
    fn a_host_is_listened_to_at_all_its_addresses() {
        let addresses = |text: &str| Listen::parse(text).unwrap().addresses().unwrap();
        let here = addresses("localhost:1");
        assert!(here.contains(&"127.0.0.1:1".parse().unwrap()), "{here:?}");
        assert!(
            here.iter().all(|address| address.ip().is_loopback()),
            "{here:?}"
        );
        let all = addresses(":1");
        assert_eq!(all.len(), 1);
        assert!(all[0].ip().is_unspecified());
        assert!(Listen::parse("kazoe.invalid").unwrap().addresses().is_err());
    }

    #[test]
    fn an_address_without_a_scheme_is_in_the_clear_on_this_machine_alone() {
        for (text, wanted) in [
            ("http://a:1/", "http://a:1"),
            ("https://a", "https://a"),
            ("localhost:1", "http://localhost:1"),
            ("LOCALHOST", "http://LOCALHOST:7273"),
            ("127.0.0.2", "http://127.0.0.2:7273"),
            ("[::1]:1", "http://[::1]:1"),
            ("::1", "http://[::1]:7273"),
            (":1", "http://localhost:1"),
            ("*:1", "http://localhost:1"),
            ("0.0.0.0:1", "http://0.0.0.0:1"),
            ("10.0.0.5:1", "https://10.0.0.5:1"),
            ("2001:db8::1", "https://[2001:db8::1]:7273"),
            ("localhost.example:1", "https://localhost.example:1"),
            ("me:hush@localhost:1", "https://me:hush@localhost:1"),
            (" kazoe.example/\r", "https://kazoe.example:7273"),
            ("", ""),
            ("htp://a", "htp://a"),
            ("Http://A:1", "http://A:1"),
        ] {
            assert_eq!(url(text, false), wanted);
        }
        assert_eq!(url("localhost:1", true), "https://localhost:1");
    }
}
