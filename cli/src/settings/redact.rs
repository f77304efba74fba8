//! Redacts the secret part of a printed value.

/// What stands in the place of a secret.
const MASK: &str = "***";

/// An address without its password: what stands before its last `@`, but for the name of the user, and the
/// parameters that are called so. Rather too much than too little: who wrote an address wrongly has
/// written a password too.
pub(super) fn address(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return MASK.to_owned();
    };
    let (user, rest) = match rest.rsplit_once('@') {
        Some((who, rest)) => {
            let name = who.split_once(':').map_or(who, |(name, _)| name);
            let password = if who.contains(':') { ":***" } else { "" };
            (format!("{name}{password}@"), rest)
        }
        None => (String::new(), rest),
    };
    let Some((place, parameters)) = rest.split_once('?') else {
        return format!("{scheme}://{user}{rest}");
    };
    let parameters: Vec<String> = parameters.split('&').map(parameter).collect();
    format!("{scheme}://{user}{place}?{}", parameters.join("&"))
}

fn parameter(text: &str) -> String {
    match text.split_once('=') {
        Some((name, _)) if name.to_lowercase().contains("pass") => format!("{name}={MASK}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn passwords_are_masked_also_in_addresses_that_are_wrong() {
        for (text, shown) in [
            (
                "postgresql://me:hush@db:5432/kazoe",
                "postgresql://me:***@db:5432/kazoe",
            ),
            ("postgresql://me@db/kazoe", "postgresql://me@db/kazoe"),
            ("postgresql://db:5432/kazoe", "postgresql://db:5432/kazoe"),
            (
                "postgresql://me:hu/s@h?@db/kazoe",
                "postgresql://me:***@db/kazoe",
            ),
            (
                "postgresql://db/k?user=me&password=hush&sslmode=require",
                "postgresql://db/k?user=me&password=***&sslmode=require",
            ),
            (
                "postgresql://db/k?sslpassword=hush",
                "postgresql://db/k?sslpassword=***",
            ),
            ("me:hush@db", "***"),
            ("hush", "***"),
            ("http://:hush@proxy:3128", "http://:***@proxy:3128"),
        ] {
            assert_eq!(address(text), shown, "{text}");
        }
    }
}
