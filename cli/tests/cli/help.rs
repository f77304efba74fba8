//! Help: of every command, with examples that work.

use std::collections::BTreeMap;
use std::fs;

use kazoe_common::census::Arm;

use crate::support::kazoe;

fn commands() -> Vec<String> {
    let help = kazoe(&["--help"]).silent();
    let list = help
        .split("Commands:\n")
        .nth(1)
        .expect("a list of commands");
    list.lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

#[test]
fn a_bare_kazoe_prints_a_short_guide() {
    let guide = kazoe::<&str>(&[]).silent();
    assert!(guide.lines().count() <= 12, "{guide}");
    assert!(guide.contains("kazoe --help"));
}

#[test]
fn every_command_has_help_with_examples() {
    let commands = commands();
    for name in [
        "size",
        "unrank",
        "rank",
        "sample",
        "judge",
        "predecessors",
        "perft",
    ] {
        assert!(
            commands.iter().any(|command| command == name),
            "{name} is missing"
        );
    }
    for command in &commands {
        let help = kazoe(&[command, "--help"]).silent();
        assert!(
            help.contains("\nExamples:\n  kazoe ") || help.contains("\nExamples:\n  seq"),
            "{command}: {help}"
        );
        assert_eq!(kazoe(&[command.as_str(), "-h"]).code, Some(0));
    }
}

#[test]
fn the_version_is_the_crates() {
    let version = kazoe(&["--version"]).silent();
    assert_eq!(version, format!("kazoe {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(kazoe(&["-V"]).silent(), version);
    let verbose = kazoe(&["--version", "--verbose"]).silent();
    let there: Vec<_> = Arm::available().into_iter().map(Arm::name).collect();
    let kernel = format!("kernel {} (here: {})", Arm::detect(), there.join(", "));
    assert!(verbose.starts_with(&version), "{verbose}");
    assert_eq!(verbose.lines().nth(1), Some(kernel.as_str()));
}

#[test]
fn help_is_a_command_too() {
    assert_eq!(kazoe(&["help"]).silent(), kazoe(&["--help"]).silent());
    for words in [&["run"][..], &["judge"], &["token", "create"], &["help"]] {
        let asked = kazoe(&[&["help"], words].concat()).silent();
        assert_eq!(
            asked,
            kazoe(&[words, &["--help"]].concat()).silent(),
            "{words:?}"
        );
    }
    let ran = kazoe(&["help", "unrnak"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(2)));
    assert!(ran.stderr.contains("'unrank'"), "{}", ran.stderr);
}

/// The flags below each heading of a help text.
fn headings(help: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut headings: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut heading = "";
    for line in help.lines() {
        if !line.starts_with(' ') && line.ends_with(':') {
            heading = line.trim_end_matches(':');
        }
        let flag = line.split_whitespace().find(|word| word.starts_with("--"));
        if let Some(flag) = flag.filter(|_| line.trim_start().starts_with('-')) {
            headings.entry(heading).or_default().push(flag);
        }
    }
    headings
}

#[test]
fn flags_stand_below_the_heading_that_speaks_of_them() {
    let coordinator = [
        "--coordinator",
        "--token-file",
        "--ca-file",
        "--cert-file",
        "--key-file",
        "--proxy",
    ];
    let mut commands: Vec<Vec<String>> = commands().into_iter().map(|name| vec![name]).collect();
    for act in ["create", "list", "revoke"] {
        commands.push(vec!["token".to_owned(), act.to_owned()]);
    }
    let mut seen = 0;
    for words in commands {
        let help = kazoe(&[&words[..], &["--help".to_owned()]].concat()).silent();
        for (heading, flags) in headings(&help) {
            for flag in flags {
                let fits = match heading {
                    "A coordinator" => coordinator.contains(&flag),
                    "Limits" => flag.starts_with("--max-"),
                    "Settings" => ["--config", "--print-config", "--json"].contains(&flag),
                    _ => !coordinator.contains(&flag),
                };
                assert!(fits, "{words:?}: {flag} stands below {heading}");
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn every_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("man1").display().to_string();
    let said = kazoe(&["man", "--output", &path]).silent();
    let mut wanted: Vec<String> = commands()
        .iter()
        .map(|name| format!("kazoe-{name}.1"))
        .collect();
    wanted.extend(["kazoe.1", "kazoe-token-create.1"].map(str::to_owned));
    for name in &wanted {
        let file = folder.path().join("man1").join(name);
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(text.contains(".TH "), "{name}");
        assert!(said.contains(&file.display().to_string()), "{said}");
    }
    assert_eq!(
        said.lines().count(),
        fs::read_dir(folder.path().join("man1")).unwrap().count()
    );
    let page = kazoe(&["man", "run"]).silent();
    assert_eq!(
        page,
        fs::read_to_string(folder.path().join("man1/kazoe-run.1")).unwrap()
    );
    for words in [
        ".TH kazoe-run 1",
        "\\-\\-samples",
        "KAZOE_DB",
        "kazoe run shogi \\-\\-samples 5M",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(kazoe(&["man"]).silent().contains(".TH kazoe 1"));
    let token = kazoe(&["man", "token", "create"]).silent();
    assert!(token.contains("kazoe token create"), "{token}");
    let ran = kazoe(&["man", "unrnak"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(2)));
}
