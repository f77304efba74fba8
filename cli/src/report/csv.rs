//! The report as CSV (RFC 4180 with line feeds): one figure a line, the names and values of the JSON
//! document.

use csv::WriterBuilder;
use serde_json::{Map, Value};

use super::{Findings, json};

/// The header.
const COLUMNS: [&str; 4] = ["section", "item", "figure", "value"];

/// The section of the figures that stand at the JSON document's top.
const TOP: &str = "report";

/// The members of a JSON document that are sections of their own.
const SECTIONS: [&str; 10] = [
    "prefix",
    "segments",
    "funnel",
    "depths",
    "paths",
    "estimates",
    "published",
    "builds",
    "owners",
    "workers",
];

/// The members of a section that are items of it.
const ITEMS: [&str; 2] = ["folded", "unfolded"];

/// The members that identify the elements of a JSON array.
const KEYS: [&str; 6] = ["stage", "method", "depth", "build", "worker", "owner"];

/// A line without its value.
type Name = [String; 3];

pub(super) fn render(findings: &Findings) -> String {
    let document = json::document(findings);
    let figures = document.as_object().map(figures).unwrap_or_default();
    written(&figures)
}

/// The lines with the header.
fn written(figures: &[(Name, String)]) -> String {
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    let lines = figures
        .iter()
        .map(|([section, item, figure], value)| [section, item, figure, value].map(String::as_str));
    for line in std::iter::once(COLUMNS).chain(lines) {
        writer.write_record(line).expect("memory takes every line");
    }
    let bytes = writer.into_inner().expect("memory takes every line");
    String::from_utf8(bytes).expect("text was written")
}

/// All figures of a document; what is `null` has no line.
fn figures(document: &Map<String, Value>) -> Vec<(Name, String)> {
    let mut figures = Vec::new();
    for (section, value) in document {
        if !SECTIONS.contains(&section.as_str()) {
            leaves(value, [TOP, "", section], &mut figures);
            continue;
        }
        match value {
            Value::Array(elements) => {
                for element in elements {
                    let (key, rest) = named_item(element);
                    leaves(&rest, [section, &key, ""], &mut figures);
                }
            }
            Value::Object(members) => {
                for (name, below) in members {
                    let name = if ITEMS.contains(&name.as_str()) {
                        [section, name.as_str(), ""]
                    } else {
                        [section, "", name]
                    };
                    leaves(below, name, &mut figures);
                }
            }
            _ => {}
        }
    }
    figures
}

/// Appends a line for each leaf below a value; its figure is the way to it: `compared.z`.
fn leaves(value: &Value, name: [&str; 3], figures: &mut Vec<(Name, String)>) {
    let [section, item, figure] = name;
    let step = |below: &str| {
        if figure.is_empty() {
            below.to_owned()
        } else {
            format!("{figure}.{below}")
        }
    };
    match value {
        Value::Object(members) => {
            for (name, below) in members {
                leaves(below, [section, item, &step(name)], figures);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                let (key, rest) = named_item(element);
                leaves(&rest, [section, item, &step(&key)], figures);
            }
        }
        Value::Null => {}
        leaf => figures.push((name.map(str::to_owned), plain(leaf))),
    }
}

/// An element of an array as the value that identifies it, and the rest of it.
fn named_item(element: &Value) -> (String, Value) {
    let mut rest = element.clone();
    let members = rest.as_object_mut();
    let key = members.and_then(|members| KEYS.iter().find_map(|&key| members.shift_remove(key)));
    (key.as_ref().map(plain).unwrap_or_default(), rest)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_figure_is_named_by_section_and_item() {
        let value = json!({
            "a": 1,
            "cap": null,
            "paths": null,
            "funnel": [
                { "stage": "canonical", "passed": 7, "compared": { "z": -0.5, "count": null } },
                { "stage": "king_filter", "passed": 5, "compared": null, "share_interval": { "method": "normal" } },
            ],
            "estimates": {
                "share_float": 0.25,
                "folded": { "estimate": { "numerator": "1" }, "intervals": [{ "method": "normal", "lower": "3" }] },
            },
            "published": { "folded": { "estimate": "6.55e68" }, "unfolded": null },
            "owners": [{ "owner": "x,\"y\"\nz", "z": true }],
        });
        assert_eq!(
            written(&figures(value.as_object().unwrap())),
            "section,item,figure,value\n\
             report,,a,1\n\
             funnel,canonical,passed,7\n\
             funnel,canonical,compared.z,-0.5\n\
             funnel,king_filter,passed,5\n\
             funnel,king_filter,share_interval.method,normal\n\
             estimates,,share_float,0.25\n\
             estimates,folded,estimate.numerator,1\n\
             estimates,folded,intervals.normal.lower,3\n\
             published,folded,estimate,6.55e68\n\
             owners,\"x,\"\"y\"\"\nz\",z,true\n"
        );
    }
}
