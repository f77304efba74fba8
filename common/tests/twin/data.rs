//! The data files with known answers, line by line.

use kazoe_common::census::Outcome;

/// The fields of every line that is not a comment.
fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split('\t').collect())
}

/// (rank, SFEN) of `data/ranks-*.tsv`.
pub(crate) fn ranks(text: &'static str) -> Vec<(&'static str, &'static str)> {
    rows(text).map(|fields| (fields[0], fields[1])).collect()
}

/// (SFEN, outcome, depth) of `data/verdicts-*.tsv`.
pub(crate) fn verdicts(text: &'static str) -> Vec<(&'static str, Outcome, Option<u32>)> {
    rows(text)
        .map(|fields| {
            let outcome = Outcome::by_name(fields[1]).expect("an outcome's name");
            let depth = fields.get(2).filter(|depth| !depth.is_empty());
            (fields[0], outcome, depth.map(|d| d.parse().unwrap()))
        })
        .collect()
}
