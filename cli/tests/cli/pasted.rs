//! Texts as editors, shells and spreadsheets hand them over: byte order marks, CR LF, other encodings, quotes,
//! separators, and characters of a Japanese keyboard.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use tempfile::TempDir;

use crate::runs::Place;
use crate::support::{Ran, command, kazoe, kazoe_fed};

const MARK: &str = "\u{feff}";
const RANKED: &str = "0\tKpb2/ksb2/gs3/gr3/pr3 b - 1\n1\tkpb2/Ksb2/gs3/gr3/pr3 b - 1\n";
const SFEN: &str = "rbsgk/4p/5/P4/KGSBR b - 1";

/// A text in UTF-16, low byte first, as Windows' Notepad saves "Unicode".
fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn ranks_are_read_past_byte_order_marks_and_line_ends() {
    for text in [
        "0\n1\n".to_owned(),
        "0\r\n1\r\n".to_owned(),
        format!("{MARK}0\n1\n"),
        format!("{MARK}0\r\n1"),
        // Two files, one after the other.
        format!("{MARK}0\r\n{MARK}1\r\n"),
        format!("0\n1\n{MARK}"),
        "\u{a0}0\u{3000}\n\u{ff11}\n".to_owned(),
    ] {
        let ran = kazoe_fed(&["unrank", "minishogi"], &text);
        assert_eq!(ran.silent(), RANKED, "{text:?}");
    }
    assert_eq!(kazoe_fed(&["unrank", "minishogi"], MARK).silent(), "");
    assert_eq!(
        kazoe(&["unrank", "minishogi", "\u{feff}0", "1\r"]).silent(),
        RANKED
    );
}

#[test]
fn a_rank_is_read_as_reports_print_it() {
    let last = "16014219505238849249\t";
    for rank in [
        "16,014,219,505,238,849,249",
        "16_014_219_505_238_849_249",
        "16 014 219 505 238 849 249",
        "１６０１４２１９５０５２３８８４９２４９",
    ] {
        let ran = kazoe(&["unrank", "minishogi", rank]).silent();
        assert!(ran.starts_with(last), "{rank}: {ran}");
    }
    kazoe(&["unrank", "minishogi", "1,60"])
        .refused(1, "error: expected a decimal digit at character 2");
}

#[test]
fn positions_are_read_as_other_programs_write_them() {
    let expected = format!("{SFEN}\treachable\t\n");
    for text in [
        format!("{MARK}{SFEN}\r"),
        format!("sfen {SFEN}"),
        format!("position sfen {SFEN}"),
        format!("  POSITION  SFEN {SFEN}  "),
        format!("'{SFEN}'"),
        format!("\"sfen {SFEN}\""),
        format!("\u{201c}{SFEN}\u{201d}"),
        SFEN.replace(' ', "\u{a0}"),
        SFEN.replace(' ', "\u{3000}"),
        SFEN.replace('5', "\u{ff15}"),
        SFEN.replace('-', "\u{2013}"),
        "position startpos".to_owned(),
    ] {
        let ran = kazoe_fed(&["judge", "minishogi", "--no-mirror"], &text);
        assert_eq!(ran.silent(), expected, "{text:?}");
        let ran = kazoe(&["judge", "minishogi", "--no-mirror", &text]);
        assert_eq!(ran.silent(), expected, "{text:?}");
    }
    let after = "rbsgk/4p/P4/5/KGSBR w - 1";
    for text in [
        format!("position sfen {SFEN} moves 5d5c"),
        "position startpos moves 5d5c".to_owned(),
        "startpos moves 5d5c".to_owned(),
    ] {
        let ran = kazoe(&["predecessors", "minishogi", &text]).silent();
        assert_eq!(
            ran,
            kazoe(&["predecessors", "minishogi", after]).silent(),
            "{text}"
        );
        let ran = kazoe(&["perft", "minishogi", "2", &text]).silent();
        assert_eq!(
            ran,
            kazoe(&["perft", "minishogi", "2", after]).silent(),
            "{text}"
        );
    }
    kazoe(&["judge", "minishogi", "startpos moves 5d5c 5d5c"])
        .refused(1, "error: move 2, `5d5c`, is not legal there");
    kazoe(&["judge", "minishogi", "startpos moves 5d5"]).refused(
        1,
        "error: move 1, `5d5`: not a move such as 7g7f, 8h2b+ or P*5e",
    );
    // What is wrong is pointed at where it stands in the text that was given.
    kazoe(&["judge", "minishogi", "sfen rbsgk/4x/5/P4/KGSBR b - 1"])
        .refused(1, "error: `x` at character 13 is not a piece of mini shogi");
}

#[test]
fn numbers_are_read_as_people_write_them() {
    let expected = kazoe(&["sample", "minishogi", "--count", "1000"]).silent();
    for count in [
        "1k",
        "1K",
        "1,000",
        "1 000",
        "1\u{a0}000",
        "1\u{202f}000",
        "1_000",
        "1e3",
        "１０００",
        "1ｋ",
        "1000\r",
        " 1 k ",
        "\u{feff}1000",
    ] {
        let ran = kazoe(&["sample", "minishogi", "--count", count]);
        assert_eq!(ran.silent(), expected, "{count:?}");
    }
    for (million, same) in [
        ("10m", "10M"),
        ("10g", "10G"),
        ("10b", "10B"),
        ("1t", "1T"),
        ("10,000,000", "1e7"),
    ] {
        let drawn =
            |first| kazoe(&["sample", "minishogi", "--count", "1", "--first", first]).silent();
        assert_eq!(drawn(million), drawn(same));
    }
    for (count, why) in [
        ("1,5", "`,` at character 2 is not part of a number"),
        ("10,00", "`,` at character 3 is not part of a number"),
        ("1,000,00", "`,` at character 2 is not part of a number"),
        (",100", "`,` at character 1 is not part of a number"),
    ] {
        let ran = kazoe(&["sample", "minishogi", "--count", count]);
        assert_eq!(ran.code, Some(2), "{count}");
        assert!(ran.stderr.contains(why), "{count}: {}", ran.stderr);
    }
    assert_eq!(
        kazoe(&["size", "Shogi\r"]).silent(),
        kazoe(&["size", "shogi"]).silent()
    );
}

#[test]
fn a_text_in_another_encoding_is_refused_by_name() {
    let text = "0\r\n1\r\n";
    let marked = |text: &str| [&[0xff, 0xfe], &utf16(text)[..]].concat();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let refusal = "error: reading standard input: this is UTF-16 text: save it as UTF-8";
    for bytes in [
        marked(text),
        utf16(text),
        big.clone(),
        [&[0xfe, 0xff], &big[..]].concat(),
    ] {
        for command in ["unrank", "judge"] {
            kazoe_fed(&[command, "minishogi"], &bytes).refused(1, refusal);
        }
    }
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        fs::write(place.path().join(name), marked(text)).unwrap();
        place.path().join(name).display().to_string()
    };
    let token = file("token", "t-1\r\n");
    let said = format!("error: {token}: this is UTF-16 text: save it as UTF-8");
    kazoe(&[
        "health",
        "--coordinator",
        "http://127.0.0.1:1",
        "--token-file",
        &token,
    ])
    .refused(1, &said);
    let config = file("k.toml", "hold = '2m'\r\n");
    let said = said.replace(&token, &config);
    kazoe(&["coordinator", "--config", &config]).refused(1, &said);
    let ledger = file("x.ledger.tsv", "kazoe-ledger/1\r\n");
    let said = said.replace(&config, &ledger);
    kazoe(&["verify", &ledger]).refused(1, &said);
    let ca = file("ca.pem", "-----BEGIN CERTIFICATE-----\r\n");
    let said = said.replace(&ledger, &ca);
    kazoe(&[
        "health",
        "--coordinator",
        "https://127.0.0.1:1",
        "--ca-file",
        &ca,
    ])
    .refused(1, &said);
}

/// What a command that reaches no coordinator says with this token file.
fn with_token(place: &Path, text: &str) -> Ran {
    fs::write(place.join("token"), text).unwrap();
    let mut command = command(&[
        "health",
        "--coordinator",
        "http://127.0.0.1:1",
        "--token-file",
        "token",
    ]);
    command.current_dir(place).output().unwrap().into()
}

#[test]
fn the_first_line_of_a_secret_file_is_read_past_marks_and_line_ends() {
    let place = tempfile::tempdir().unwrap();
    for text in [
        "t-1.ab\r\n",
        "\u{feff}t-1.ab\r\n",
        "\u{feff}t-1.ab",
        "\u{a0}t-1.ab\u{3000}\n",
    ] {
        let ran = with_token(place.path(), text);
        assert!(ran.stderr.contains("does not answer"), "{text:?}: {ran:?}");
    }
    for text in ["\u{feff}", "\u{feff}\r\nt-1.ab"] {
        let ran = with_token(place.path(), text);
        assert_eq!(
            ran.stderr, "error: token: its first line is empty\n",
            "{text:?}"
        );
    }
    let address = "\u{feff}postgresql://a@127.0.0.1:1/b\r\n";
    fs::write(place.path().join("url"), address).unwrap();
    let migrate = command(&["migrate", "--database-url-file", "url"])
        .current_dir(place.path())
        .output();
    let ran = Ran::from(migrate.unwrap());
    assert!(ran.stderr.contains("127.0.0.1"), "{ran:?}");
    assert!(ran.stderr.contains("Connection refused"), "{ran:?}");
}

#[test]
fn settings_are_read_past_marks_and_line_ends() {
    let place = tempfile::tempdir().unwrap();
    let shown = |text: &str, variables: &[(&str, &str)]| -> serde_json::Value {
        fs::write(place.path().join("k.toml"), text).unwrap();
        let mut command = command(&[
            "coordinator",
            "--config",
            "k.toml",
            "--print-config",
            "--json",
        ]);
        command.envs(variables.iter().copied());
        let shown = Ran::from(command.current_dir(place.path()).output().unwrap()).silent();
        serde_json::from_str(&shown).unwrap()
    };
    let settings = shown(
        "\u{feff}hold = '2m'\r\n[log]\r\nlevel = 'debug'\r\n",
        &[("KAZOE_LEASE", "3s\r")],
    );
    assert_eq!(settings["settings"]["hold"]["value"], "2m");
    assert_eq!(settings["settings"]["log.level"]["value"], "debug");
    assert_eq!(settings["settings"]["lease"]["value"], "3s");
    fs::write(
        place.path().join("k.toml"),
        "hold = '2m'\r\n\r\nhold = [\r\n",
    )
    .unwrap();
    let ran = command(&["coordinator", "--config", "k.toml"])
        .current_dir(place.path())
        .output();
    let ran = Ran::from(ran.unwrap());
    assert!(ran.stderr.starts_with("error: k.toml, line 3: "), "{ran:?}");
}

#[test]
fn ledger_files_are_read_past_marks_and_line_ends() {
    let place = Place::new();
    place.kazoe(&["run", "--samples", "20k", "--segment", "1"]);
    let text = place.kazoe(&["export", "-o", "-"]).silent();
    for name in ["Minishogi\r", " minishogi\u{a0}", "E71AF4D49F", "e71af4\r"] {
        let same = place.kazoe(&["export", name, "-o", "-"]).silent();
        assert_eq!(same.len(), text.len(), "{name:?}");
    }
    let windows = format!("{MARK}{}", text.replace('\n', "\r\n"));
    fs::write(place.0.path().join("windows.ledger.tsv"), windows).unwrap();
    let verified = place.kazoe(&[
        "verify",
        "windows.ledger.tsv",
        "--share",
        "100%",
        "--seed",
        "1",
    ]);
    assert!(
        verified.stdout.contains("5 of 5 segments computed again"),
        "{verified:?}"
    );
    assert_eq!(verified.code, Some(0));
    let imported = place.kazoe(&["import", "windows.ledger.tsv", "--db", "other.db"]);
    assert!(
        imported.stdout.contains("5 segments filled"),
        "{imported:?}"
    );
    assert_eq!(
        place
            .kazoe(&["export", "--db", "other.db", "-o", "-"])
            .silent()
            .len(),
        text.len()
    );
    let part = place.kazoe(&[
        "compute",
        "windows.ledger.tsv",
        "-s",
        "0..1",
        "-o",
        "part.ledger.tsv",
    ]);
    assert_eq!(part.code, Some(0), "{part:?}");
}

/// A certificate for localhost and its key, in a folder.
fn certificate(place: &TempDir, change: impl Fn(String) -> String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let write =
        |name: &str, text: String| fs::write(place.path().join(name), change(text)).unwrap();
    write("cert.pem", made.cert.pem());
    write("key.pem", made.signing_key.serialize_pem());
}

#[test]
fn certificates_are_read_past_marks_and_line_ends() {
    let place = tempfile::tempdir().unwrap();
    certificate(&place, |text| {
        format!("{MARK}{}", text.replace('\n', "\r\n"))
    });
    let tls = [
        "--tls-cert",
        "cert.pem",
        "--tls-key",
        "key.pem",
        "--tls-client-ca",
        "cert.pem",
    ];
    let coordinator = [
        "coordinator",
        "--database-url",
        "postgresql://a@127.0.0.1:1/b",
    ];
    let ran = command(&[&coordinator[..], &tls].concat())
        .current_dir(place.path())
        .output();
    let ran = Ran::from(ran.unwrap());
    // Past the certificates: only the database is missing.
    assert!(ran.stderr.contains("Connection refused"), "{ran:?}");
    let health = [
        "health",
        "--coordinator",
        "https://127.0.0.1:1",
        "--ca-file",
        "cert.pem",
    ];
    let own = ["--cert-file", "cert.pem", "--key-file", "key.pem"];
    let ran = command(&[&health[..], &own].concat())
        .current_dir(place.path())
        .output();
    let ran = Ran::from(ran.unwrap());
    assert!(ran.stderr.contains("does not answer"), "{ran:?}");
    assert!(!ran.stderr.contains("certificate"), "{ran:?}");
}

#[test]
fn a_coordinators_address_may_lack_its_scheme_and_port() {
    for (address, url) in [
        ("127.0.0.1:1", "http://127.0.0.1:1"),
        ("localhost:1", "http://localhost:1"),
        ("[::1]:1", "http://[::1]:1"),
        (" localhost:1/\r", "http://localhost:1"),
        // Beyond this machine a token is not sent in the clear.
        ("kazoe.invalid:1", "https://kazoe.invalid:1"),
        ("kazoe.invalid", "https://kazoe.invalid:7273"),
    ] {
        let ran = kazoe(&["health", "--coordinator", address]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let said = format!("error: the coordinator {url} does not answer");
        assert!(ran.stderr.starts_with(&said), "{address}: {}", ran.stderr);
    }
    // One that answers in the clear where TLS was meant is said to.
    let clear = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", clear.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in clear.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    kazoe(&["health", "--coordinator", &url]).refused(
        1,
        &format!(
            "error: the coordinator {url} does not use TLS: if the network is private, write its address with http://"
        ),
    );
    let ran = kazoe(&["health", "--coordinator", "me:hush@kazoe.invalid:1"]);
    assert_eq!(ran.code, Some(2));
    assert!(!ran.stderr.contains("hush"), "{}", ran.stderr);
}
