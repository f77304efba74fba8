//! What the environment says, and what is odd in it.

use std::collections::BTreeMap;

use super::key::Key;
use super::suggest;
use crate::exit::Stop;

/// An environment.
pub(crate) type Variables = BTreeMap<String, String>;

/// Returns the variables of these settings as [`config::Environment`] reads them, and which variable it was. Empty
/// ones are as if they were not there. White space around a value, such as the CR of a file of variables with CR LF,
/// is no part of it.
pub(super) fn variables(
    keys: &[Key],
    environment: &Variables,
) -> Result<(Variables, BTreeMap<Key, String>), Stop> {
    let mut found = (Variables::new(), BTreeMap::new());
    for key in keys {
        let names = key.variables();
        let value = |name: &String| {
            let value = environment.get(name)?.trim();
            Some(value).filter(|value| !value.is_empty())
        };
        let (name, value) = match (value(&names.nested), value(&names.plain)) {
            (Some(nested), Some(plain)) if nested != plain => {
                return Err(Stop::usage(format_args!(
                    "{} and {} are two names of one setting and have different values",
                    names.nested, names.plain
                )));
            }
            (Some(value), _) => (&names.nested, value),
            (None, Some(value)) => (&names.plain, value),
            (None, None) => continue,
        };
        found.1.insert(key.clone(), name.clone());
        found.0.insert(names.nested.clone(), value.to_owned());
    }
    Ok(found)
}

/// A line for each variable that is nearly one of ours, and one for all others that begin as ours do:
/// Kubernetes makes such ones.
pub(super) fn warnings(known: &[String], environment: &Variables) -> Vec<String> {
    let strip = |name: &'_ str| name.strip_prefix("KAZOE_").map(str::to_owned);
    let mut warnings = Vec::new();
    let mut strange = Vec::new();
    for name in environment.keys().filter(|name| !known.contains(name)) {
        let Some(rest) = strip(name) else { continue };
        let rests = known.iter().filter_map(|name| name.strip_prefix("KAZOE_"));
        match suggest::nearest(&rest, rests) {
            Some(meant) => warnings.push(format!(
                "the variable {name} is unknown and ignored; did you mean KAZOE_{meant}?"
            )),
            None => strange.push(name.as_str()),
        }
    }
    if !strange.is_empty() {
        warnings.push(format!(
            "unknown variables are ignored: {}",
            strange.join(", ")
        ));
    }
    warnings
}
