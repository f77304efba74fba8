//! Variants on the command line.

use kazoe_common::game::Variant;

use crate::pasted;

/// The most letters that a mistyped name may differ in to be recognised.
const TYPING: usize = 3;

/// The help of an argument that names a variant: all ids, and a note.
pub(crate) fn help(note: &str) -> String {
    let ids = Variant::ALL.map(|variant| variant.id);
    format!("The game: {}{note}", ids.join(" or "))
}

/// Reads a variant's id, for clap.
///
/// # Errors
/// If there is no such variant: names those that there are, and the nearest.
pub(crate) fn parse(text: &str) -> Result<&'static Variant, String> {
    let text = pasted::ascii(text);
    if let Some(variant) = Variant::by_id(&text.trim().to_ascii_lowercase()) {
        return Ok(variant);
    }
    let known: Vec<_> = Variant::ALL.iter().map(|variant| variant.id).collect();
    let mut message = format!("unknown variant, expected one of {}", known.join(", "));
    let lower: String = text
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let nearest = known
        .into_iter()
        .map(|id| (strsim::damerau_levenshtein(&lower, id), id))
        .min()
        .filter(|&(distance, _)| distance <= TYPING);
    if let Some((_, id)) = nearest {
        message += &format!("; did you mean {id}?");
    }
    Err(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_variants_are_found_and_the_nearest_is_suggested() {
        assert_eq!(parse("shogi").map(|v| v.id), Ok("shogi"));
        assert_eq!(parse("minishogi").map(|v| v.id), Ok("minishogi"));
        assert_eq!(parse(" Shogi\r").map(|v| v.id), Ok("shogi"));
        assert_eq!(parse("\u{feff}ｓｈｏｇｉ").map(|v| v.id), Ok("shogi"));
        let known = "unknown variant, expected one of shogi, minishogi";
        let suggests = |text: &str, id: &str| {
            assert_eq!(parse(text), Err(format!("{known}; did you mean {id}?")));
        };
        suggests("shogii", "shogi");
        suggests("Mini-Shogi", "minishogi");
        suggests("mini shogi", "minishogi");
        suggests("minishgoi", "minishogi");
        suggests("sogi", "shogi");
        assert_eq!(parse("chess"), Err(known.to_owned()));
        assert_eq!(parse(""), Err(known.to_owned()));
    }
}
