//! Suggests a known name for an unknown one.

/// The nearest of the known names, if it is near: a third of the letters may differ, `-` and `_` and a
/// missing table set aside.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = plain(name);
    let distance = |known: &str| {
        let known = plain(known);
        let within = known.rsplit('.').next().unwrap_or_default();
        let whole = strsim::damerau_levenshtein(&name, &known);
        whole.min(strsim::damerau_levenshtein(&name, within))
    };
    known
        .into_iter()
        .map(|known| (distance(known), known))
        .min()
        .filter(|&(distance, _)| distance * 3 <= name.len())
        .map(|(_, known)| known)
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace(['-', '_'], "")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_is_found_if_it_is_near() {
        let known = ["hold", "lease", "tls.cert", "tls.client_ca", "no_tokens"];
        for (name, meant) in [
            ("hodl", Some("hold")),
            ("Lease", Some("lease")),
            ("no-tokens", Some("no_tokens")),
            ("cert", Some("tls.cert")),
            ("tls.crt", Some("tls.cert")),
            ("tls-client-ca", Some("tls.client_ca")),
            ("banana", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), meant, "{name}");
        }
    }
}
