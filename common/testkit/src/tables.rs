//! The one reader of the tables in this directory.

use std::fs;
use std::path::Path;

/// The lines of a table, each as its fields.
///
/// # Panics
/// If the file can't be read or holds no line.
pub fn table(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/data")
        .join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let lines: Vec<Vec<String>> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect();
    assert!(!lines.is_empty(), "{name}: no lines");
    lines
}
