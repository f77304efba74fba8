//! The report: the published estimate beside ours, and what programs read of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::runs::Place;

/// A database with a complete campaign of mini shogi.
fn counted(samples: &str) -> Place {
    let place = Place::new();
    let ran = place.kazoe(&["run", "--samples", samples, "--segment", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    place
}

/// A database of which 7 of 10 segments of mini shogi are computed.
fn unfinished() -> Place {
    let place = counted("40_000");
    let ran = place.kazoe(&["export", "-o", "whole.ledger.tsv"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let compute = ["compute", "whole.ledger.tsv", "-s", "..7", "-o", "part.tsv"];
    let ran = place.kazoe(&compute);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let other = Place::new();
    let part = place.0.path().join("part.tsv");
    let ran = other.kazoe(&["import", part.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    other
}

fn report(place: &Place, form: &str) -> String {
    place.kazoe(&["report", "--format", form]).silent()
}

/// The lines of a CSV report: section, item, figure and value.
fn lines_of_csv(text: &str) -> Vec<[String; 4]> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(text.as_bytes());
    let records = reader.records();
    records
        .map(|record| {
            let record = record.expect("a line of as many columns as the header");
            let cells: Vec<String> = record.iter().map(str::to_owned).collect();
            cells.try_into().expect("four columns")
        })
        .collect()
}

/// The value of a figure in a CSV report.
fn figure(lines: &[[String; 4]], name: [&str; 3]) -> Option<String> {
    let line = lines.iter().find(|line| line[..3] == name)?;
    Some(line[3].clone())
}

#[test]
fn the_published_estimate_stands_beside_ours_in_every_form() {
    let place = counted("40_000");
    let text = report(&place, "text");
    let lines: Vec<&str> = text.lines().collect();
    let ours = lines
        .iter()
        .position(|line| line.starts_with("Estimate  2.41e18"));
    let from = ours.expect("our estimate") + 4;
    assert_eq!(
        lines[from..from + 3],
        [
            "Published 2.3780e18   (folded; Ishii and Tanaka, 100,000,000 samples)",
            "  2.3763e18 to 2.3797e18     3 sigma, normal, for a number of samples fixed beforehand",
            "The two folded estimates agree: they are 1.09 standard deviations of their difference apart, less \
             than 3.",
        ]
    );
    assert!(text.contains("Published none   (no unfolded estimate is published)\n"));
    let markdown = report(&place, "md");
    assert!(markdown.contains("| published (folded; Ishii and Tanaka, 100,000,000 samples) | 2.3780e18 | 2.3763e18 to 2.3797e18 |"));
    assert!(
        markdown.contains("\nThe two folded estimates agree: they are 1.09 standard deviations")
    );

    let json = place.report();
    let published = &json["published"];
    assert_eq!(published["folded"]["estimate"], "2.3780e18");
    assert_eq!(published["folded"]["lower_float"], 2.3763e18);
    assert_eq!(published["folded"]["upper"], "2.3797e18");
    assert_eq!(published["unfolded"], Value::Null);
    assert_eq!(published["samples"], 100_000_000);
    assert_eq!(published["reachable"], 14_849_198);
    assert_eq!(published["verdict"], "agrees");
    assert_eq!(published["z"], json["funnel"][4]["compared"]["z"]);
    let csv = lines_of_csv(&report(&place, "csv"));
    let value = |name| figure(&csv, name).unwrap_or_default();
    assert_eq!(value(["published", "folded", "estimate"]), "2.3780e18");
    assert_eq!(value(["published", "", "verdict"]), "agrees");

    // The paper has figures for the other stages; the report no longer says that there are none.
    for form in ["text", "md", "csv", "json"] {
        let said = report(&place, form);
        assert!(!said.contains("nobody else"), "{form}");
        let missing = "Table 1 has rows for mini shogi, whose figures were not at hand";
        assert!(said.contains(missing), "{form}");
    }
}

#[test]
fn shogi_has_a_published_unfolded_estimate_too() {
    let place = Place::new();
    let ran = place.kazoe(&["run", "shogi", "--samples", "20k"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = ran.stdout;
    for line in [
        "Published 6.55e68   (folded; Ishii and Tanaka, 5,000,000,000 samples)",
        "  6.546923e68 to 6.553074e68  3 sigma, normal, for a number of samples fixed beforehand",
        "Published 1.31e69   (unfolded; Ishii and Tanaka, 5,000,000,000 samples; no interval is published)",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    }
    assert!(text.contains("The two folded estimates agree: "), "{text}");
    let published = &place.report()["published"];
    assert_eq!(published["unfolded"]["estimate_float"], 1.31e69);
    assert_eq!(published["unfolded"]["lower"], Value::Null);
    assert_eq!(published["not_at_hand"], Value::Null);
}

#[test]
fn what_is_unfinished_or_small_is_not_judged() {
    let place = unfinished();
    let text = report(&place, "text");
    let sentence = "Whether the two folded estimates agree is judged when the campaign is complete; so far they";
    assert!(text.contains(sentence), "{text}");
    assert!(text.contains("\nagreement  judged when the campaign is complete: "));
    assert_eq!(place.report()["published"]["verdict"], "unfinished");

    let small = counted("20");
    let text = report(&small, "text");
    assert!(
        text.contains("There are too few samples to judge whether"),
        "{text}"
    );
    assert!(
        text.contains("\nagreement  there are too few samples to compare"),
        "{text}"
    );
    assert!(!text.contains("AGREE "), "{text}");
    assert_eq!(small.report()["published"]["verdict"], "too_few_samples");
}

#[test]
fn every_stage_has_its_interval() {
    let place = counted("40_000");
    let json = place.report();
    let csv = lines_of_csv(&report(&place, "csv"));
    let markdown = report(&place, "md");
    for row in json["funnel"].as_array().unwrap() {
        let stage = row["stage"].as_str().unwrap();
        let share = row["passed"].as_f64().unwrap() / 40_000.0;
        let float = row["share_float"].as_f64().unwrap();
        assert!((float / share - 1.0).abs() < 1e-15, "{stage}: {float}");
        let ends = &row["share_interval"];
        assert_eq!(ends["method"], "clopper_pearson");
        let [lower, upper] = ["lower", "upper"].map(|end| ends[end].as_f64().unwrap());
        assert!(lower < share && share < upper, "{stage}");
        // Six standard errors wide, nearly.
        let wide = (upper - lower) / (share * (1.0 - share) / 40_000.0).sqrt();
        assert!((5.9..6.3).contains(&wide), "{stage}: {wide}");
        let found = figure(&csv, ["funnel", stage, "share_interval.lower"]);
        let found: f64 = found.unwrap().parse().unwrap();
        assert!((found / lower - 1.0).abs() < 1e-15, "{stage}: {found}");
    }
    // The last stage's is the estimate's.
    let last = json["funnel"][4]["share_interval"].clone();
    assert_eq!(last, json["estimates"]["share_intervals"][1]);
    assert!(markdown.contains("| reachable | 6,017 | 15.042% | 14.5% to 15.6% | 2,626 |"));
}

#[test]
fn floats_stand_beside_exact_numbers() {
    let json = counted("40_000").report();
    let mut seen = 0;
    beside_floats(&json, &mut seen);
    assert!(seen > 30, "{seen} floats");
}

/// Asserts that an exact number with a float beside it is that float, and that no fraction lacks one.
fn beside_floats(value: &Value, seen: &mut usize) {
    if let Some(elements) = value.as_array() {
        elements.iter().for_each(|one| beside_floats(one, seen));
    }
    let Some(members) = value.as_object() else {
        return;
    };
    for (name, below) in members {
        beside_floats(below, seen);
        let number = |value: &Value| value.as_str().and_then(|text| text.parse::<f64>().ok());
        let exact = match (number(&below["numerator"]), number(&below["denominator"])) {
            (Some(numerator), Some(denominator)) => Some(numerator / denominator),
            _ => number(below).filter(|_| !["seed", "digest"].contains(&name.as_str())),
        };
        let Some(exact) = exact else { continue };
        let float = members.get(&format!("{name}_float"));
        let Some(float) = float.and_then(Value::as_f64) else {
            assert!(below.is_string(), "{name} is a fraction without a float");
            continue;
        };
        assert!(
            (float / exact - 1.0).abs() < 1e-15 || float == exact,
            "{name}"
        );
        *seen += 1;
    }
}

/// The first cells of the page's tables, without the code marks: JSON's names of the fields, and the
/// sections and figures of CSV.
fn documented(page: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut fields = BTreeSet::new();
    let mut figures = BTreeSet::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let codes = |cell: &str| -> Vec<String> {
            let parts = cell.split('`').skip(1).step_by(2);
            parts.map(str::to_owned).collect()
        };
        fields.extend(codes(cells[0]));
        figures.extend(codes(cells[1]));
    }
    (fields, figures)
}

/// The names of all fields of a document: `funnel[].passed`; a fraction is one field.
fn fields_of(value: &Value, way: &str, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) if !members.contains_key("numerator") => {
            for (name, below) in members {
                let dot = if way.is_empty() { "" } else { "." };
                fields_of(below, &format!("{way}{dot}{name}"), fields);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                fields_of(element, &format!("{way}[]"), fields);
            }
        }
        _ => {
            fields.insert(way.to_owned());
        }
    }
}

/// The page says what every field is, and of none that is not there.
#[test]
fn the_page_names_every_field_and_figure() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/report.md");
    let (fields, figures) = documented(&fs::read_to_string(page).unwrap());
    let shogi = Place::new();
    let ran = shogi.kazoe(&["run", "shogi", "--samples", "20k", "--cap", "100"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut found_fields = BTreeSet::new();
    let mut found_figures = BTreeSet::new();
    for place in [counted("40_000"), unfinished(), shogi] {
        fields_of(&place.report(), "", &mut found_fields);
        let lines = lines_of_csv(&report(&place, "csv"));
        assert_eq!(lines[0], ["section", "item", "figure", "value"]);
        let mut once = BTreeSet::new();
        for line in &lines[1..] {
            let [section, item, figure, value] = line;
            assert!(
                once.insert([section, item, figure]),
                "{line:?} is there twice"
            );
            assert!(!value.is_empty(), "{line:?}");
            let item = match (section.as_str(), item.as_str()) {
                (_, "") => "",
                ("estimates" | "published", item) => item,
                _ => "*",
            };
            let methods = ["normal", "clopper_pearson", "anytime_valid"];
            let steps = figure.split('.');
            let steps = steps.map(|step| if methods.contains(&step) { "*" } else { step });
            let figure = steps.collect::<Vec<_>>().join(".");
            found_figures.insert([section, item, &figure].join(","));
        }
    }
    // Of a report's two homes only one is here, and of what depends on chance or others nothing.
    let elsewhere = ["coordinator"].map(str::to_owned);
    found_fields.extend(elsewhere.clone());
    found_figures.extend(elsewhere.map(|name| format!("report,,{name}")));
    // Workers are named in a coordinator's report; cli/tests/cluster/presence.rs reads those.
    found_fields.remove("workers");
    for name in ["worker", "name", "owner", "segments"] {
        found_fields.insert(format!("workers[].{name}"));
    }
    for name in ["name", "owner", "segments"] {
        found_figures.insert(format!("workers,*,{name}"));
    }
    for name in ["z", "z_with_undecided"] {
        found_figures.insert(format!("funnel,*,compared.{name}"));
        found_figures.insert(format!("depths,*,compared.{name}"));
        found_figures.insert(format!("published,,{name}"));
    }
    found_figures.remove("depths,*,compared.z_with_undecided");
    found_figures.insert("owners,*,z".to_owned());
    let of_null = [
        "published.unfolded",
        "paths",
        "estimates",
        "funnel[].compared",
        "depths[].compared",
    ];
    found_fields.retain(|field| !of_null.contains(&field.as_str()));
    for (named, found) in [(&fields, &found_fields), (&figures, &found_figures)] {
        let missing: Vec<&String> = found.difference(named).collect();
        let stale: Vec<&String> = named.difference(found).collect();
        assert!(
            missing.is_empty() && stale.is_empty(),
            "docs/report.md lacks {missing:?}, and names {stale:?}, which no report has"
        );
    }
}

/// The page's example for Python's own `csv` prints what the page says.
#[test]
fn the_page_s_example_runs() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/report.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks: BTreeMap<&str, &str> = page
        .split("\n```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n'))
        .collect();
    let place = counted("1M");
    fs::write(place.0.path().join("report.csv"), report(&place, "csv")).unwrap();
    let ran = Command::new("python3")
        .args(["-c", blocks["python with-csv"]])
        .current_dir(place.0.path())
        .output()
        .expect("python3 starts");
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{stderr}");
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(printed.trim_end(), blocks["text printed"]);
}
