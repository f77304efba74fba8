//! The address of a database: which parts of it are known, and what it is called in messages.

use std::str::FromStr;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

use super::connect::ConnectError;

/// Reads an address. An error repeats nothing of it that may be a password.
///
/// # Errors
/// [`ConnectError::Address`].
pub(super) fn parse(url: &str) -> Result<PgConnectOptions, ConnectError> {
    if !url.starts_with("postgresql://") && !url.starts_with("postgres://") {
        return Err(ConnectError::Address("unknown scheme".to_owned()));
    }
    if let Some(setting) = unknown_setting(url) {
        return Err(ConnectError::Address(format!(
            "unknown setting `{setting}`"
        )));
    }
    if has_several_hosts(url) {
        return Err(ConnectError::Address(
            "it names several hosts, and Kazoe supports one: name the primary alone, or a DNS \
             name, a virtual IP address or a proxy that leads to the primary"
                .to_owned(),
        ));
    }
    let options = PgConnectOptions::from_str(url)
        // The error itself may repeat a value, of which nobody knows whether it is secret.
        .map_err(|_| {
            ConnectError::Address(
                "a part of it, such as its port or a setting's value, is invalid".to_owned(),
            )
        })?;
    Ok(options
        .application_name("kazoe")
        // It concerns numbers sent as text, which Kazoe does not ask for, and poolers refuse it.
        .extra_float_digits(None)
        .disable_statement_logging())
}

/// What sqlx knows in an address's query. It would log what it does not know, with the value.
const SETTINGS: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// The name of the first setting in an address that is not known, as far as it can be shown.
fn unknown_setting(url: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let names = query.split('&').filter(|setting| !setting.is_empty());
    names
        .map(|setting| setting.split('=').next().unwrap_or_default())
        .find(|name| !SETTINGS.contains(name) && !is_option(name))
        .map(|name| {
            name.chars()
                .filter(char::is_ascii_graphic)
                .take(40)
                .collect()
        })
}

/// Whether an address lists hosts or ports, as libpq takes them: `h1:5432,h2:5432`, or `host=h1,h2`.
fn has_several_hosts(url: &str) -> bool {
    let lists = |text: &str| text.contains(',') || text.to_ascii_lowercase().contains("%2c");
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let place = place.split_once("://").map_or(place, |(_, place)| place);
    let authority = place.split('/').next().unwrap_or_default();
    // A password may hold a comma.
    let hosts = authority.rsplit('@').next().unwrap_or_default();
    let of_hosts = |setting: &&str| {
        let name = setting.split('=').next().unwrap_or_default();
        ["host", "hostaddr", "port"].contains(&name)
    };
    lists(hosts) || query.split('&').filter(of_hosts).any(lists)
}

/// `options[NAME]`, also with its brackets escaped.
fn is_option(name: &str) -> bool {
    let name = name
        .to_ascii_lowercase()
        .replace("%5b", "[")
        .replace("%5d", "]");
    name.starts_with("options[") && name.ends_with(']')
}

/// Returns what messages call the database: its address without a secret.
pub(super) fn name(options: &PgConnectOptions) -> String {
    let host = options.get_socket().map_or_else(
        || options.get_host().to_owned(),
        |socket| socket.display().to_string(),
    );
    let database = options
        .get_database()
        .unwrap_or_else(|| options.get_username());
    format!("{host}:{}/{database}", options.get_port())
}

#[cfg(test)]
mod tests {
    use super::{ConnectError, name, parse};

    #[test]
    fn a_setting_that_is_not_known_is_refused_without_its_value() {
        let known = "postgresql://x@h/d?host=/run&options[lock_timeout]=2s&options%5Bgeqo%5D=on";
        parse(known).unwrap();
        for url in [
            "postgresql://x@h/d?sslpassword=hush",
            "postgresql://x@h/d?host=/run&passwd=hush&port=1",
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(
                error.contains("passw") && !error.contains("hush"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_makes_no_sense_is_not_repeated() {
        for url in [
            "postgresql://x:hush@h:hush/d",
            "postgresql://x@h/d?sslmode=hush",
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_database_s_name_holds_no_secret() {
        let url = "postgresql://kazoe_runtime:hush@db.example:5433/kazoe";
        assert_eq!(name(&parse(url).unwrap()), "db.example:5433/kazoe");
        let error = parse("sqlite://hush@x").map(|_| ()).unwrap_err();
        assert!(matches!(error, ConnectError::Address(_)), "{error:?}");
        assert!(!error.to_string().contains("hush"), "{error}");
    }
    #[test]
    fn several_hosts_are_refused_by_name() {
        for url in [
            "postgresql://x:hush@h1,h2/d",
            "postgresql://x:hush@h1:5432,h2:5433/d",
            "postgresql://x:hush@h1%2Ch2/d",
            "postgresql://x:hush@/d?host=h1,h2",
            "postgresql://x:hush@h/d?sslmode=require&hostaddr=10.0.0.1,10.0.0.2",
            "postgresql://x:hush@h/d?host=h1%2ch2",
            "postgresql://x:hush@h/d?port=5432,5433",
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains("several hosts"), "{url}: {error}");
            assert!(!error.contains("hush"), "{error}");
        }
        parse("postgresql://x:hush,hush@h/d?options[search_path]=a,b").unwrap();
    }
}
