//! Words that paraphrase where a message should name an actor, an action and a thing are in no text that a user
//! reads: README and docs, help, and the string literals of the shipped crates.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::support::kazoe;

/// Whole words, in any case.
const WORDS: [&str; 10] = [
    "told",
    "tells",
    "nobody",
    "somebody",
    "whoever",
    "anew",
    "cannot be",
    "so many",
    "no longer good",
    "half way",
];

/// Texts that keep such a word, and why.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("as `postgres` or `nobody`", "a user of Unix"),
    ("no user `postgres` or `nobody`", "a user of Unix"),
];

/// The words that a text has, in order.
fn words_in(text: &str) -> Vec<&'static str> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let spaced = format!(" {} ", words.join(" "));
    let found = WORDS.into_iter();
    found
        .filter(|word| spaced.contains(&format!(" {word} ")))
        .collect()
}

fn check(place: &str, text: &str, found: &mut Vec<String>) {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (exception, _) in EXCEPTIONS {
        text = text.replace(exception, "");
    }
    for word in words_in(&text) {
        found.push(format!("{place}: `{word}` in: {text}"));
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files below a folder with this extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The string literals of a file that are no documentation and no SQL, with their lines.
fn literals(tokens: TokenStream, found: &mut Vec<(usize, String)>) {
    let mut in_attribute = false;
    for tree in tokens {
        match tree {
            TokenTree::Punct(mark) => in_attribute = matches!(mark.as_char(), '#' | '!'),
            TokenTree::Group(group) => {
                let is_doc = in_attribute
                    && group.delimiter() == Delimiter::Bracket
                    && group.stream().to_string().starts_with("doc =");
                if !is_doc {
                    literals(group.stream(), found);
                }
                in_attribute = false;
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let is_sql = text.starts_with("\"-- ");
                if text.contains('"') && !is_sql {
                    found.push((literal.span().start().line, text.replace("\\n", " ")));
                }
            }
            TokenTree::Ident(_) => in_attribute = false,
        }
    }
}

#[test]
fn messages_have_plain_words() {
    let mut found = Vec::new();
    let mut seen = 0;
    for member in ["cli", "coordinator", "worker", "proto", "common"] {
        for path in files(&root().join(member).join("src"), "rs") {
            let tokens: TokenStream = fs::read_to_string(&path).unwrap().parse().unwrap();
            let mut strings = Vec::new();
            literals(tokens, &mut strings);
            seen += strings.len();
            for (line, text) in strings {
                check(&format!("{}:{line}", path.display()), &text, &mut found);
            }
        }
    }
    assert!(seen > 1_000, "{seen} literals");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn pages_have_plain_words() {
    let mut pages = files(&root().join("docs"), "md");
    pages.extend(["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    let mut found = Vec::new();
    for path in pages {
        let text = fs::read_to_string(&path).unwrap();
        for (line, number) in text.lines().zip(1..) {
            check(&format!("{}:{number}", path.display()), line, &mut found);
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn help_has_plain_words() {
    let folder = tempfile::tempdir().unwrap();
    let ran = kazoe(&["man", "--output", folder.path().to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut found = Vec::new();
    let mut pages = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        check(
            &path.display().to_string(),
            &text.replace('\\', ""),
            &mut found,
        );
        pages += 1;
    }
    assert!(pages > 30, "{pages} pages");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn each_word_is_found() {
    for word in WORDS {
        assert_eq!(words_in(&format!("It is {word}, here.")), [word]);
    }
    assert!(words_in("retold, anewt, cannot have").is_empty());
}
