//! The report as CSV: one figure a line, the names and values of the JSON document.

use serde_json::Value;

use super::{Findings, json};

pub(super) fn render(findings: &Findings) -> String {
    let mut text = String::from("figure,value\n");
    flatten(&json::document(findings), &mut String::new(), &mut text);
    text
}

/// Appends a line for each leaf, named by the way to it: `funnel.reachable.passed`.
fn flatten(value: &Value, way: &mut String, text: &mut String) {
    let length = way.len();
    let mut step = |name: &str, below: &Value, way: &mut String| {
        if length > 0 {
            way.push('.');
        }
        way.push_str(name);
        flatten(below, way, text);
        way.truncate(length);
    };
    match value {
        Value::Object(fields) => {
            for (name, below) in fields {
                step(name, below, way);
            }
        }
        Value::Array(items) => {
            for (i, below) in items.iter().enumerate() {
                let name = ["stage", "method", "depth", "build", "owner"]
                    .iter()
                    .find_map(|&key| below.get(key))
                    .map_or_else(|| i.to_string(), plain);
                step(&name, below, way);
            }
        }
        leaf => {
            let line = format!("{},{}\n", quoted(way), quoted(&plain(leaf)));
            text.push_str(&line);
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn leaves_are_named_by_the_way_to_them() {
        let value = json!({
            "a": 1,
            "b": { "c": null, "d": "x,\"y\"" },
            "funnel": [{ "stage": "canonical", "passed": 7 }],
            "list": [true, false],
        });
        let mut text = String::new();
        flatten(&value, &mut String::new(), &mut text);
        assert_eq!(
            text,
            "a,1\nb.c,\nb.d,\"x,\"\"y\"\"\"\nfunnel.canonical.stage,canonical\n\
             funnel.canonical.passed,7\nlist.0,true\nlist.1,false\n"
        );
    }
}
