//! Names that people give: owners of tokens, and labels of workers.
//!
//! Two spellings that look the same must be one owner: an owner never confirms its own tallies. And what a
//! stranger calls a machine must not move the cursor, end a line or turn the text around on a terminal.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::Invalid;

/// The most characters of an owner's name.
pub const MOST_OWNER: usize = 200;

/// The most characters of a worker's label.
pub const MOST_LABEL: usize = 64;

/// The most marks upon one letter of a label: no living script has more, and a pile of them covers other lines.
const MOST_MARKS: usize = 4;

/// Returns the one spelling of an owner's name: in NFC, without characters that show nothing or turn the
/// direction of the text, with one space for each run of white space and none at the ends.
///
/// # Errors
/// If it has a control character, or has not 1 to 200 characters then.
pub fn owner(field: &str, name: &str) -> Result<String, Invalid> {
    if name.chars().any(|c| c.is_control() && !is_space(c)) {
        return Err(Invalid::new(field, "it has a control character"));
    }
    let one = one_spelling(name);
    match one.chars().count() {
        0 => Err(Invalid::new(field, "it has no visible character")),
        1..=MOST_OWNER => Ok(one),
        n => Err(Invalid::new(
            field,
            format!("it has {n} characters, and {MOST_OWNER} at most are allowed"),
        )),
    }
}

/// Returns the one spelling of an owner that a database has. An earlier release may have stored another
/// spelling; a name that has none now stays as it is.
#[must_use]
pub fn stored_owner(name: String) -> String {
    if is_plain(&name) {
        return name;
    }
    owner("owner", &name).unwrap_or(name)
}

/// Returns a worker's label made harmless, whatever it was: one line in NFC of 64 characters at most, without
/// control characters, characters that show nothing and those that turn the direction of the text. Returns
/// `None` if nothing is left.
#[must_use]
pub fn label(name: &str) -> Option<String> {
    // What may become a letter of the label stands within a bounded distance of its beginning.
    let head: String = name.chars().take(64 * MOST_LABEL).collect();
    let visible = head.replace(|c: char| c.is_control(), " ");
    let mut marks = 0;
    let mut short: String = one_spelling(&visible)
        .chars()
        .filter(|&c| {
            marks = if is_combining_mark(c) { marks + 1 } else { 0 };
            marks <= MOST_MARKS
        })
        .skip_while(|&c| is_combining_mark(c))
        .take(MOST_LABEL)
        .collect();
    short.truncate(short.trim_end().len());
    let short = short.trim_start().to_owned();
    (!short.is_empty()).then_some(short)
}

/// Printable ASCII without doubled or outer spaces has one spelling already.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && !name.is_empty()
        && name.trim() == name
        && !name.contains("  ")
}

fn one_spelling(name: &str) -> String {
    let visible = name.chars().filter(|&c| !is_invisible(c));
    let one: String = visible.nfc().collect();
    one.split(is_space).filter(|word| !word.is_empty()).fold(
        String::with_capacity(one.len()),
        |mut all, word| {
            if !all.is_empty() {
                all.push(' ');
            }
            all.push_str(word);
            all
        },
    )
}

fn is_space(c: char) -> bool {
    // The braille pattern without dots shows as a space and is none by its properties.
    c.is_whitespace() || c == '\u{2800}'
}

/// Whether a character shows nothing, or belongs to no text: formats (zero-width ones, directions, tags),
/// fillers, selectors of variants, and code points that are private or not assigned.
fn is_invisible(c: char) -> bool {
    let formats = matches!(
        c.general_category(),
        GeneralCategory::Format
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate
            | GeneralCategory::Unassigned
    );
    // Default_Ignorable_Code_Point beyond the formats.
    let fillers = matches!(
        c,
        '\u{034f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    formats || fillers
}

#[cfg(test)]
mod tests {
    use super::{MOST_LABEL, MOST_OWNER, label, owner, stored_owner};

    #[test]
    fn spellings_that_look_alike_are_one_owner() {
        for (name, one) in [
            ("Tanaka Lab", "Tanaka Lab"),
            (" Tanaka  Lab\u{a0}", "Tanaka Lab"),
            ("Tanaka\u{200b} Lab", "Tanaka Lab"),
            ("Tanaka\u{2003}Lab\n", "Tanaka Lab"),
            ("\u{202e}Tanaka Lab\u{202c}", "Tanaka Lab"),
            ("\u{2066}Tanaka\u{2069} Lab", "Tanaka Lab"),
            ("\u{feff}Tanaka Lab", "Tanaka Lab"),
            ("Tana\u{ad}ka Lab", "Tanaka Lab"),
            ("Tanaka\u{3164} Lab\u{e0041}", "Tanaka Lab"),
            ("Tanaka\u{2800}Lab", "Tanaka Lab"),
            ("Tanaka\u{fe0f} Lab", "Tanaka Lab"),
            ("e\u{301}quipe", "\u{e9}quipe"),
            // A mark behind a character that shows nothing belongs to the letter before.
            ("e\u{200d}\u{301}quipe", "\u{e9}quipe"),
            ("\u{212b}ngstr\u{f6}m", "\u{c5}ngstr\u{f6}m"),
            ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}"),
            (
                "\u{7530}\u{4e2d}\u{3000}\u{7814}",
                "\u{7530}\u{4e2d} \u{7814}",
            ),
        ] {
            assert_eq!(owner("owner", name).as_deref(), Ok(one), "{name:?}");
            assert_eq!(owner("owner", one).as_deref(), Ok(one), "{one:?} again");
            assert_eq!(stored_owner(name.to_owned()), one, "{name:?} stored");
        }
    }

    #[test]
    fn an_owner_has_1_to_200_characters_and_no_control_character() {
        let longest = "\u{7530}".repeat(MOST_OWNER);
        assert_eq!(owner("owner", &longest), Ok(longest.clone()));
        for (name, why) in [
            (longest + "x", "201 characters"),
            (String::new(), "no visible character"),
            ("\u{200b} \u{2060}".to_owned(), "no visible character"),
            ("a\u{1b}[31mb".to_owned(), "control character"),
            ("a\0b".to_owned(), "control character"),
            ("a\u{9b}b".to_owned(), "control character"),
        ] {
            let refused = owner("owner", &name).unwrap_err();
            assert_eq!(refused.field, "owner");
            assert!(refused.why.contains(why), "{name:?}: {refused}");
            assert_eq!(
                stored_owner(name.clone()),
                name,
                "it stays as it was stored"
            );
        }
    }

    #[test]
    fn a_label_is_one_short_harmless_line() {
        for (name, shown) in [
            ("rack-7", Some("rack-7")),
            (" rack\t7\r\n", Some("rack 7")),
            ("a\u{1b}[31mred\u{1b}[0m", Some("a [31mred [0m")),
            ("a\u{9b}2Jb", Some("a 2Jb")),
            ("a\u{202e}b\u{200f}c", Some("abc")),
            ("\u{200b}\u{feff}", None),
            ("\n\n", None),
            ("", None),
            ("e\u{301}", Some("\u{e9}")),
            ("\u{301}\u{302}x", Some("x")),
            ("x\0y", Some("x y")),
            ("\u{1f468}\u{200d}\u{1f4bb}", Some("\u{1f468}\u{1f4bb}")),
        ] {
            assert_eq!(label(name).as_deref(), shown, "{name:?}");
        }
        let long = label(&"\u{6f22}".repeat(100_000)).unwrap();
        assert_eq!(long.chars().count(), MOST_LABEL);
        let piled = label(&("x".to_owned() + &"\u{336}".repeat(1000))).unwrap();
        assert_eq!(piled.chars().count(), 5);
        for name in [&long, &piled] {
            assert_eq!(label(name).as_ref(), Some(name), "made harmless once");
        }
    }
}
