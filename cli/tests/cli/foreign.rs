//! Campaigns of another build in a database file.

use std::path::Path;

use kazoe_common::census::Campaign;
use kazoe_common::game::Variant;
use sqlx::{Connection, SqliteConnection};

use crate::runs::Place;

/// Changes a database past the ledger, as another build does.
fn change(place: &Place, statement: &'static str) {
    let path = place.0.path().join("kazoe.db");
    let changed = async |path: &Path| {
        let url = format!("sqlite:{}", path.display());
        let mut conn = SqliteConnection::connect(&url).await.unwrap();
        let changed = sqlx::query(statement).execute(&mut conn).await.unwrap();
        assert_eq!(changed.rows_affected(), 1, "{statement}");
        conn.close().await.unwrap();
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(changed(&path));
}

/// A place with a known campaign and one of another build, which is newer.
fn place() -> Place {
    let place = Place::new();
    let ran = place.kazoe(&["run", "--samples", "20k", "--segment", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    change(
        &place,
        "INSERT INTO campaigns (id, canonical, variant, population, design, seed, cap, samples,
                                segment_blocks, build, submitted_at)
         SELECT 'aaaaaaaaaa', 'other', 'chushogi', population, 'weighed', seed, cap, samples,
                segment_blocks, 'kazoe 9.0.0 (f00)', submitted_at + 1 FROM campaigns",
    );
    place
}

/// The id of the known campaign.
fn known_id() -> String {
    Campaign::new(&Variant::MINISHOGI, 1).id()
}

#[test]
fn a_campaign_of_another_build_is_shown_and_blocks_nothing_else() {
    let place = place();
    let listed = place.kazoe(&["campaigns"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let last = listed.stdout.lines().nth(1).unwrap();
    assert_eq!(last, "aaaaaaaaaa\tchushogi\t1\tnone\t-\t20000\tunknown");
    assert!(
        listed.stderr.contains("unknown variant `chushogi`"),
        "{}",
        listed.stderr
    );
    assert!(listed.stderr.contains("another build"), "{}", listed.stderr);
    let listed = place.kazoe(&["campaigns", "--json"]);
    let last: serde_json::Value =
        serde_json::from_str(listed.stdout.lines().nth(1).unwrap()).unwrap();
    assert_eq!(last["design"], "weighed");
    assert_eq!(last["state"], "unknown");

    // The newest campaign is the newest of those that are known.
    for command in [
        &["report"][..],
        &["verify"],
        &["export", "--output", "-"],
        &["run", "--samples", "30k"],
        &["run", "shogi", "--samples", "4k"],
    ] {
        let ran = place.kazoe(command);
        assert_eq!(ran.code, Some(0), "{command:?}: {}", ran.stderr);
    }
    let exported = place.kazoe(&["export", "minishogi"]).stdout;
    let imported = place.kazoe(&["import", exported.trim()]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
}

#[test]
fn a_command_that_names_a_campaign_of_another_build_says_what_is_needed() {
    let place = place();
    for name in ["aaaaaaaaaa", "aaa", "chushogi"] {
        for command in ["report", "verify", "export"] {
            place.kazoe(&[command, name]).refused(
                1,
                "error: another build submitted campaign aaaaaaaaaa: unknown variant `chushogi` \
                 (it has variant `chushogi`, population `candidates`, design `weighed`); use the build that \
                 submitted it, `kazoe 9.0.0 (f00)`, or a later one",
            );
        }
    }
    // An id that begins like that of a known campaign is ambiguous, and not taken for it.
    change(
        &place,
        "UPDATE campaigns
         SET id = (SELECT substr(id, 1, 9) FROM campaigns WHERE design = 'plain') || 'z'
         WHERE id = 'aaaaaaaaaa'",
    );
    let id = known_id();
    assert_eq!(place.kazoe(&["report", &id]).code, Some(0));
    let begun = &id[..9];
    place.kazoe(&["report", begun]).refused(
        1,
        &format!("error: `{begun}` is ambiguous: {id} or {begun}z"),
    );
}

#[test]
fn values_that_are_none_make_a_campaign_unknown() {
    for (statement, odd) in [
        ("UPDATE campaigns SET population = 'endgames'", "`endgames`"),
        ("UPDATE campaigns SET design = 'weighed'", "`weighed`"),
        ("UPDATE campaigns SET cap = 'many'", "`many`"),
        ("UPDATE campaigns SET seed = '-1'", "`-1`"),
        ("UPDATE campaigns SET variant = 'shogi'", "options"),
    ] {
        let place = Place::new();
        let ran = place.kazoe(&["run", "--samples", "4k", "--segment", "1"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        change(&place, statement);
        let listed = place.kazoe(&["campaigns"]);
        assert_eq!(listed.code, Some(0), "{statement}: {}", listed.stderr);
        assert!(
            listed.stdout.trim_end().ends_with("\tunknown"),
            "{statement}: {}",
            listed.stdout
        );
        assert!(
            listed.stderr.contains(odd),
            "{statement}: {}",
            listed.stderr
        );
        let other = place.kazoe(&["run", "--seed", "2", "--samples", "4k"]);
        assert_eq!(other.code, Some(0), "{statement}: {}", other.stderr);
    }
}

#[test]
fn a_tally_of_an_unknown_design_hides_its_own_campaign_alone() {
    let place = Place::new();
    for seed in ["1", "2"] {
        let ran = place.kazoe(&["run", "--samples", "4k", "--seed", seed]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    change(
        &place,
        "INSERT INTO result_cells (result, cell, count) VALUES (1, 99, 1)",
    );
    let listed = place.kazoe(&["campaigns", "--json"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(listed.stderr.contains("cell 99"), "{}", listed.stderr);
    let states: Vec<String> = listed
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["state"].to_string())
        .collect();
    assert_eq!(states, ["\"unreadable\"", "\"complete\""]);
    let first = &listed.stdout[listed.stdout.find("\"campaign\":\"").unwrap() + 12..][..10];
    for command in ["report", "export"] {
        let refused = place.kazoe(&[command, first]);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(1), ""),
            "{command}"
        );
        assert!(refused.stderr.contains("cell 99"), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("another build"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(place.kazoe(&["report"]).code, Some(0));
}

#[test]
fn a_ledger_file_of_another_build_says_what_is_needed() {
    let place = Place::new();
    let ran = place.kazoe(&["run", "--samples", "4k"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let file = place.kazoe(&["export"]).stdout;
    let text = std::fs::read_to_string(place.0.path().join(file.trim())).unwrap();
    for (line, known, what, name) in [
        (3, "variant\tminishogi", "variant", "chushogi"),
        (4, "population\tcandidates", "population", "endgames"),
        (6, "design\tplain", "design", "weighed"),
    ] {
        let odd = text.replace(known, &format!("{what}\t{name}"));
        std::fs::write(place.0.path().join("odd.ledger.tsv"), odd).unwrap();
        let words = format!(
            "error: odd.ledger.tsv: line {line}, field `{what}`: `{name}`, expected a {what} that this build \
             knows: another build wrote the file; use that one, or a later one"
        );
        for command in [
            &["verify", "odd.ledger.tsv"][..],
            &["import", "odd.ledger.tsv"],
            &[
                "compute",
                "odd.ledger.tsv",
                "--segments",
                "0..1",
                "-o",
                "part.tsv",
            ],
        ] {
            let import = command[0] == "import";
            let nothing = "; no segment of odd.ledger.tsv was imported";
            let words = words.clone() + if import { nothing } else { "" };
            place.kazoe(command).refused(1, &words);
        }
    }
}
