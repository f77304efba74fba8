//! Help: of every command, with examples that work.

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
