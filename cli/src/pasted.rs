//! Characters that keyboards, word processors and web pages put where ASCII is meant.

use std::borrow::Cow;

/// Returns the text with every such character replaced by the one that is meant, one for one, so that the others
/// keep their places: full-width letters, digits and signs, typographic dashes and quotes, and all white space.
/// Characters without a width, byte order marks among them, become spaces.
pub(crate) fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(meant).collect())
}

fn meant(c: char) -> char {
    match c {
        // The full-width forms stand in the order of ASCII, 0xfee0 further on.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{300c}'..='\u{300f}' => '"',
        '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' => ' ',
        c if c.is_whitespace() => ' ',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::ascii;

    #[test]
    fn each_character_is_replaced_by_the_one_that_is_meant() {
        for (text, meant) in [
            ("10M b - 1\t", "10M b - 1\t"),
            ("１０Ｍ／％～", "10M/%~"),
            ("a\u{a0}b\u{3000}c\u{2009}d", "a b c d"),
            ("\u{feff}a\u{200b}", " a "),
            ("b – 1 — − ‐", "b - 1 - - -"),
            ("“a” ‘b’ 「c」", "\"a\" 'b' \"c\""),
            ("飛é", "飛é"),
        ] {
            assert_eq!(ascii(text), meant, "{text}");
        }
    }
}
