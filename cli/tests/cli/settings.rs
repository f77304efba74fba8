//! The settings of `kazoe coordinator` and `kazoe worker`, layer by layer, as `--print-config` shows them.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ran, command};

/// A folder with a file of settings.
struct Desk(TempDir);

impl Desk {
    fn with(file: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("k.toml"), file).unwrap();
        Desk(folder)
    }

    fn run(&self, words: &[&str], environment: &[(&str, &str)]) -> Ran {
        let mut command = command(words);
        for (name, _) in std::env::vars() {
            if name.starts_with("KAZOE_") {
                command.env_remove(name);
            }
        }
        let ran = command
            .current_dir(self.0.path())
            .envs(environment.iter().copied())
            .output();
        ran.unwrap().into()
    }

    /// What a program would run with, its file being named first.
    #[track_caller]
    fn settings(&self, program: &str, flags: &[&str], environment: &[(&str, &str)]) -> Value {
        let words = [
            &[program, "--config", "k.toml", "--print-config", "--json"],
            flags,
        ]
        .concat();
        let shown = self.run(&words, environment).silent();
        serde_json::from_str(&shown).unwrap()
    }

    #[track_caller]
    fn refusal(&self, flags: &[&str], environment: &[(&str, &str)]) -> String {
        let words = [&["coordinator", "--config", "k.toml"], flags].concat();
        let ran = self.run(&words, environment);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        let message = ran.stderr.lines().next().unwrap();
        message.strip_prefix("error: ").unwrap().to_owned()
    }
}

#[track_caller]
fn assert_is(settings: &Value, key: &str, value: impl Into<Value>, from: &str) {
    let setting = &settings["settings"][key];
    assert_eq!(setting["value"], value.into(), "{key}: {settings}");
    assert_eq!(setting["from"], from, "{key}");
}

#[test]
fn each_layer_wins_over_the_ones_below() {
    let desk = Desk::with("hold = '2m'\nlease = '3s'\naudit = '5%'\n[log]\nlevel = 'debug'\n");
    let environment = [("KAZOE_LEASE", "4s"), ("KAZOE_AUDIT", "6%")];
    let shown = desk.settings("coordinator", &["--audit", "7%"], &environment);
    assert_eq!(
        (&shown["version"], &shown["command"]),
        (&1.into(), &"coordinator".into())
    );
    assert_eq!(shown["file"], "k.toml");
    assert_is(&shown, "rhythm", "30s", "default");
    assert_is(&shown, "hold", "2m", "file k.toml");
    assert_is(&shown, "lease", "4s", "environment KAZOE_LEASE");
    assert_is(&shown, "audit", "7%", "flag --audit");
    assert_is(&shown, "log.level", "debug", "file k.toml");
    assert_eq!(shown["settings"]["tls.cert"]["from"], Value::Null);
}

#[test]
fn tables_are_nested_in_variables_by_two_underscores_or_one() {
    let desk = Desk::with("[tls]\ncert = 'a'\nkey = 'a'\nclient_ca = 'a'\n");
    let environment = [
        ("KAZOE_TLS__CERT", "b"),
        ("KAZOE_TLS_KEY", "c"),
        ("KAZOE_TLS_CLIENT_CA", ""),
    ];
    let shown = desk.settings("coordinator", &[], &environment);
    assert_is(&shown, "tls.cert", "b", "environment KAZOE_TLS__CERT");
    assert_is(&shown, "tls.key", "c", "environment KAZOE_TLS_KEY");
    // An empty variable says nothing.
    assert_is(&shown, "tls.client_ca", "a", "file k.toml");
    let twice = [("KAZOE_TLS__CERT", "b"), ("KAZOE_TLS_CERT", "c")];
    let message = desk.refusal(&[], &twice);
    assert!(
        message.starts_with("KAZOE_TLS__CERT and KAZOE_TLS_CERT are two names of one"),
        "{message}"
    );
}

#[test]
fn a_variable_names_the_file_and_what_is_typed_another() {
    let desk = Desk::with("nice = 3\n");
    fs::write(desk.0.path().join("other.toml"), "nice = 4\nonce = true\n").unwrap();
    let named = [("KAZOE_CONFIG", "other.toml")];
    let shown = desk
        .run(&["worker", "--print-config", "--json"], &named)
        .silent();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_is(&shown, "nice", 4, "file other.toml");
    assert_is(&shown, "once", true, "file other.toml");
    let shown = desk.settings("worker", &[], &named);
    assert_is(&shown, "nice", 3, "file k.toml");
    assert_is(&shown, "once", false, "default");
}

#[test]
fn a_switch_of_a_file_is_turned_off_by_the_environment_and_on_by_a_flag() {
    let desk = Desk::with("no_tokens = true\n");
    let off = [("KAZOE_NO_TOKENS", "false")];
    assert_is(
        &desk.settings("coordinator", &[], &off),
        "no_tokens",
        false,
        "environment KAZOE_NO_TOKENS",
    );
    assert_is(
        &desk.settings("coordinator", &["--no-tokens"], &off),
        "no_tokens",
        true,
        "flag --no-tokens",
    );
}

#[test]
fn of_settings_that_exclude_each_other_the_higher_layer_is_meant() {
    let desk = Desk::with("[database]\nurl = 'postgresql://a/b'\n[tls]\ncert = 'c'\nkey = 'k'\n");
    let variable = [("KAZOE_DATABASE_URL_FILE", "runtime.url")];
    let shown = desk.settings("coordinator", &[], &variable);
    assert_is(
        &shown,
        "database.url_file",
        "runtime.url",
        "environment KAZOE_DATABASE_URL_FILE",
    );
    assert_eq!(shown["settings"]["database.url"]["value"], Value::Null);
    let shown = desk.settings("coordinator", &["--plaintext"], &[]);
    assert_is(&shown, "plaintext", true, "flag --plaintext");
    assert_eq!(shown["settings"]["tls.cert"]["value"], Value::Null);
    // A switch that is off excludes nothing.
    let shown = desk.settings("coordinator", &[], &[("KAZOE_PLAINTEXT", "false")]);
    assert_is(&shown, "tls.cert", "c", "file k.toml");
    let both = Desk::with("database.url = 'postgresql://a/b'\ndatabase.url_file = 'f'\n");
    let message = both.refusal(&[], &[]);
    assert!(message.contains("exclude each other"), "{message}");
}

#[test]
fn what_a_file_cannot_say_is_refused_by_name() {
    for (file, message) in [
        (
            "hodl = '1m'",
            "k.toml: unknown key `hodl`; did you mean `hold`?",
        ),
        (
            "[tls]\ncrt = 'x'",
            "k.toml: unknown key `tls.crt`; did you mean `tls.cert`?",
        ),
        (
            "[banana]",
            "k.toml: unknown key `banana`; `kazoe coordinator --print-config` shows all keys",
        ),
        (
            "threads = 4",
            "k.toml: `threads` is a setting of `kazoe worker`, not of `kazoe coordinator`: each has its own file",
        ),
        (
            "hold = ['1m']",
            "file k.toml: `hold` takes one value, not several",
        ),
        (
            "hold = 60",
            "file k.toml: invalid value `60` of `hold`: expected a time, as in 500ms, 20s, 2m, 6h or 2d",
        ),
        (
            "no_tokens = 'yes'",
            "file k.toml: invalid value `yes` of `no_tokens`: expected true or false",
        ),
        (
            "log.level = 'loud'",
            "file k.toml: invalid value `loud` of `log.level`: expected warn, info, debug",
        ),
        (
            "listen = ''",
            "file k.toml: invalid value `` of `listen`: expected ADDRESS:PORT, as in 127.0.0.1:7273, localhost:7273, or :7273 for every address of this machine",
        ),
        // A line with a password is not repeated.
        (
            "[database]\nurl = 'postgresql://a:hush@b",
            "k.toml, line 2: invalid literal string, expected `'`",
        ),
    ] {
        assert_eq!(Desk::with(file).refusal(&[], &[]), message, "{file}");
    }
    let desk = Desk::with("");
    let message = desk.refusal(&[], &[("KAZOE_HOLD", "x")]);
    assert!(
        message.starts_with("environment KAZOE_HOLD: invalid value `x` of `hold`"),
        "{message}"
    );
    let missing = desk.run(&["worker", "--config", "missing.toml"], &[]);
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.starts_with("error: missing.toml: "),
        "{missing:?}"
    );
}

#[test]
fn a_command_warns_of_unknown_variables_but_not_of_other_commands_variables() {
    let desk = Desk::with("");
    let environment = [
        ("KAZOE_SERVICE_HOST", "10.0.0.1"),
        ("KAZOE_PORT", "tcp://10.0.0.1:7273"),
        ("KAZOE_LISTN", "x"),
        ("KAZOE_DB", "x"),
        ("KAZOE_TOKEN_FILE", "x"),
        ("KAZOE_MAX_LOAD", "2"),
        ("KAZOE_CONFIG", "k.toml"),
    ];
    let ran = desk.run(&["coordinator", "--print-config"], &environment);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.stderr,
        "warning: the variable KAZOE_LISTN is unknown and ignored; did you mean KAZOE_LISTEN?\n\
         warning: unknown variables are ignored: KAZOE_PORT, KAZOE_SERVICE_HOST\n"
    );
}

#[test]
fn what_is_printed_is_a_file_that_says_the_same() {
    let desk = Desk::with(
        "hold = '2m'\n[database]\nurl_file = \"a \\\"b\\\".url\"\n[log]\nformat = 'json'\n",
    );
    let shown = desk
        .run(
            &["coordinator", "--config", "k.toml", "--print-config"],
            &[],
        )
        .silent();
    let again = Desk::with(&shown);
    let values = |settings: Value| -> Vec<Value> {
        let settings = settings["settings"].as_object().unwrap();
        settings
            .values()
            .map(|setting| setting["value"].clone())
            .collect()
    };
    assert_eq!(
        values(again.settings("coordinator", &[], &[])),
        values(desk.settings("coordinator", &[], &[]))
    );
    let shown = desk
        .run(
            &[
                "worker",
                "--print-config",
                "--nice",
                "7",
                "--max-load",
                "2.5",
            ],
            &[],
        )
        .silent();
    let again = Desk::with(&shown).settings("worker", &[], &[]);
    assert_is(&again, "nice", 7, "file k.toml");
    assert_is(&again, "max_load", 2.5, "file k.toml");
}

#[test]
fn secrets_are_masked_wherever_they_come_from() {
    let url = "postgresql://me:hush@db/kazoe?sslpassword=hush";
    let desk = Desk::with(&format!("[database]\nurl = '{url}'\n"));
    for (flags, environment) in [
        (vec![], vec![]),
        (vec![], vec![("KAZOE_DATABASE_URL", url)]),
        (vec!["--database-url", url], vec![]),
    ] {
        for form in [vec![], vec!["--json"]] {
            let words = [
                &["coordinator", "--config", "k.toml", "--print-config"],
                &flags[..],
                &form,
            ]
            .concat();
            let shown = desk.run(&words, &environment).silent();
            assert!(!shown.contains("hush"), "{shown}");
            assert!(
                shown.contains("postgresql://me:***@db/kazoe?sslpassword=***"),
                "{shown}"
            );
        }
    }
    let proxy = [("KAZOE_PROXY", "http://me:hush@proxy:3128")];
    let shown = Desk::with("").settings("worker", &[], &proxy);
    assert_is(
        &shown,
        "proxy",
        "http://me:***@proxy:3128",
        "environment KAZOE_PROXY",
    );
}

#[test]
fn help_names_defaults_and_variables() {
    for (program, words) in [
        (
            "coordinator",
            [
                "[default: 127.0.0.1:7273]",
                "[env: KAZOE_LISTEN=]",
                "[env: KAZOE_HOLD=]",
            ],
        ),
        (
            "worker",
            [
                "[default: 1m]",
                "[env: KAZOE_NICE=]",
                "[env: KAZOE_CONFIG=]",
            ],
        ),
    ] {
        let help = Desk::with("").run(&[program, "--help"], &[]).silent();
        for word in words {
            assert!(help.contains(word), "{word}: {help}");
        }
    }
}

#[test]
fn the_files_of_the_documentation_are_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md");
    let text = fs::read_to_string(path).unwrap();
    for program in ["coordinator", "worker"] {
        let begin = format!("```toml\n# {program}.toml\n");
        let (_, rest) = text.split_once(&begin).unwrap();
        let desk = Desk::with(rest.split("```").next().unwrap());
        let shown = desk.settings(program, &[], &[]);
        let settings = shown["settings"].as_object().unwrap().values();
        let message = settings.filter(|setting| setting["from"] == "file k.toml");
        assert!(message.count() >= 4, "{shown}");
    }
}
