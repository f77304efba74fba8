//! The words of the command line so far.

use std::ffi::OsString;

/// The words that a shell shows us, behind `--`, as they were typed.
pub(super) fn words() -> Vec<OsString> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    joined(words.collect(), 0).0
}

/// Joins what was cut at `:` and `=`, and says in which of the words the cursor is.
pub(super) fn joined(words: Vec<OsString>, cursor: usize) -> (Vec<OsString>, usize) {
    let mut joined: Vec<OsString> = Vec::new();
    let mut at = 0;
    let mut goes_on = false;
    for (number, word) in words.into_iter().enumerate() {
        let is_cut = matches!(word.to_str(), Some(":" | "=" | "::"));
        match joined.last_mut().filter(|_| is_cut || goes_on) {
            Some(last) => last.push(word),
            None => joined.push(word),
        }
        goes_on = is_cut;
        if number == cursor {
            at = joined.len() - 1;
        }
    }
    (joined, at)
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn words_are_joined_and_the_cursor_goes_along() {
        let bash = [
            "kazoe",
            "watch",
            "--coordinator",
            "http",
            ":",
            "//127.0.0.1",
            ":",
            "7273",
            "3f",
        ];
        let whole = [
            "kazoe",
            "watch",
            "--coordinator",
            "http://127.0.0.1:7273",
            "3f",
        ];
        let places = [0, 1, 2, 3, 3, 3, 3, 3, 4];
        let words = |words: &[&str]| words.iter().map(Into::into).collect::<Vec<_>>();
        for (cursor, place) in places.into_iter().enumerate() {
            assert_eq!(joined(words(&bash), cursor), (words(&whole), place));
        }
        assert_eq!(joined(words(&whole), 4), (words(&whole), 4));
        // As bash cuts `--share=0.1%`.
        let cut = words(&["kazoe", "verify", "--share", "=", "0.1%"]);
        assert_eq!(
            joined(cut, 4).0,
            words(&["kazoe", "verify", "--share=0.1%"])
        );
    }
}
