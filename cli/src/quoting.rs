//! Positions on the command line and in lines of text, and the games that they are of.

use std::borrow::Cow;

use kazoe_common::game::{Position, Rules, Variant};

use crate::exit::Stop;
use crate::quantity::counted;
use crate::{pasted, variant};

/// Refuses arguments that look like an SFEN that was not put in quotes.
///
/// # Errors
/// If one of them is a field that stands after the board.
pub(crate) fn expect_quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<(), Stop> {
    if words
        .into_iter()
        .any(|word| matches!(word, "b" | "w" | "-"))
    {
        return Err(Stop::usage(
            "an SFEN contains spaces: put it in quotes, as in '5/5/K1k2/5/5 b - 1'",
        ));
    }
    Ok(())
}

/// A first argument that is the name of a game or, where that is left out, a position.
#[derive(Clone, Debug)]
pub(crate) enum VariantOrPosition {
    /// The game.
    Variant(&'static Variant),
    /// The position, as it was typed.
    Position(String),
}

impl VariantOrPosition {
    /// Reads it, for clap.
    ///
    /// # Errors
    /// If it is neither.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match variant::parse(text) {
            Ok(variant) => Ok(VariantOrPosition::Variant(variant)),
            Err(_) if is_like_a_position(text) => Ok(VariantOrPosition::Position(text.to_owned())),
            Err(why) => Err(why),
        }
    }
}

fn is_like_a_position(text: &str) -> bool {
    let text = plain(text);
    let first = text.split_whitespace().next().unwrap_or_default();
    let words = ["startpos", "sfen", "position"];
    text.contains('/') || words.iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// The positions that a command is asked about, and perhaps their game.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PositionsArgs {
    #[arg(help = variant::help(" [default: the game with each position's board]"), value_name = "VARIANT", value_parser = VariantOrPosition::parse)]
    first: Option<VariantOrPosition>,

    /// The positions [default: the lines of standard input].
    #[arg(value_name = "SFEN")]
    others: Vec<String>,
}

impl PositionsArgs {
    /// The game, if it was named, and the positions.
    ///
    /// # Errors
    /// If a position was not put in quotes.
    pub(crate) fn read(&self) -> Result<(Games, Vec<String>), Stop> {
        let others = self.others.iter().map(String::as_str);
        let (variant, first) = match &self.first {
            None => (None, None),
            Some(VariantOrPosition::Variant(variant)) => (Some(*variant), None),
            Some(VariantOrPosition::Position(sfen)) => (None, Some(sfen.as_str())),
        };
        let sfens: Vec<&str> = first.into_iter().chain(others).collect();
        expect_quoted(sfens.iter().copied())?;
        let sfens = sfens.into_iter().map(str::to_owned).collect();
        Ok((Games::new(variant), sfens))
    }
}

/// The rules of the game that was named, or else of all games.
pub(crate) struct Games {
    rules: Vec<Rules<u128>>,
}

impl Games {
    /// Of one game, or of all.
    pub(crate) fn new(variant: Option<&'static Variant>) -> Self {
        let variants = variant.map_or_else(|| Variant::ALL.to_vec(), |variant| vec![variant]);
        let rules = variants.into_iter().map(Rules::new).collect();
        Games { rules }
    }

    /// The rules of each game.
    pub(crate) fn rules(&self) -> &[Rules<u128>] {
        &self.rules
    }

    /// Reads a position; says also by which of the rules.
    ///
    /// # Errors
    /// If the text is no position of the game, or of no game.
    pub(crate) fn read(&self, text: &str) -> Result<(usize, Position<u128>), String> {
        let text = plain(text);
        let number = if self.rules.len() == 1 {
            0
        } else {
            self.of_board(&text)?
        };
        Ok((number, read_plain(&self.rules[number], &text)?))
    }

    /// The game whose board has as many ranks as the text, or else as many files.
    fn of_board(&self, text: &str) -> Result<usize, String> {
        let board = text.split_whitespace().next().unwrap_or_default();
        if board.is_empty() {
            return Err("an empty SFEN".to_owned());
        }
        if board.eq_ignore_ascii_case("startpos") {
            return Err("`startpos` is ambiguous: name the game before it".to_owned());
        }
        let files = |rank: &str| {
            let squares = rank.chars().filter(|&c| c != '+');
            squares
                .map(|c| c.to_digit(10).map_or(1, |n| n as usize))
                .sum::<usize>()
        };
        let (height, width) = (
            board.split('/').count(),
            files(board.split('/').next().unwrap_or_default()),
        );
        let has = |height_fits: bool| {
            let mut fitting = self.rules.iter().enumerate().filter(|(_, rules)| {
                let variant = rules.variant();
                if height_fits {
                    usize::from(variant.height) == height
                } else {
                    usize::from(variant.width) == width
                }
            });
            match (fitting.next(), fitting.next()) {
                (Some((number, _)), None) => Some(number),
                _ => None,
            }
        };
        has(true).or_else(|| has(false)).ok_or_else(|| {
            let known = self.rules.iter().map(|rules| {
                let Variant {
                    id, height, width, ..
                } = *rules.variant();
                format!("{id} has {height} and {width}")
            });
            let known = known.collect::<Vec<_>>().join(", ");
            let size = [
                counted(height as u64, "rank"),
                counted(width as u64, "file"),
            ]
            .join(" and ");
            format!("no known game has a board of {size}: {known}")
        })
    }
}

/// Reads a position of one game, as other programs write it: SFEN, in quotes or after the words `sfen` or `position
/// sfen`, or `startpos`, and moves that follow the word `moves`.
///
/// # Errors
/// If the text is anything else, or a move is not legal.
pub(crate) fn read(rules: &Rules<u128>, text: &str) -> Result<Position<u128>, String> {
    read_plain(rules, &plain(text))
}

fn read_plain(rules: &Rules<u128>, text: &str) -> Result<Position<u128>, String> {
    let (sfen, moves) = match find_word(text, "moves") {
        Some(place) if !text[place + 5..].trim().is_empty() => (&text[..place], &text[place + 5..]),
        _ => (text, ""),
    };
    let mut position = if sfen.trim().eq_ignore_ascii_case("startpos") {
        rules.initial()
    } else {
        rules.parse(sfen).map_err(|error| error.to_string())?
    };
    for (number, name) in (1..).zip(moves.split_whitespace()) {
        let named = rules.variant().parse_move(name);
        let named = named.map_err(|error| format!("move {number}, `{name}`: {error}"))?;
        if !rules.legal_moves(&position).contains(&named) {
            return Err(format!("move {number}, `{name}`, is not legal there"));
        }
        position = rules.play(&position, named);
    }
    Ok(position)
}

/// Where a word begins that stands between spaces.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let ends = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    let bytes = text.as_bytes();
    text.match_indices(word)
        .map(|(place, _)| place)
        .find(|&place| {
            ends(place.checked_sub(1).map(|before| &bytes[before]))
                && ends(bytes.get(place + word.len()))
        })
}

/// The text in ASCII as far as it is meant so, with spaces in the place of quotes around it and of the words that may
/// stand before an SFEN: its characters keep their places.
fn plain(text: &str) -> Cow<'_, str> {
    let mut text = pasted::ascii(text);
    loop {
        let start = text.len() - text.trim_start().len();
        let end = text.trim_end().len();
        let inner = text.get(start..end).unwrap_or_default();
        let quote = inner
            .chars()
            .next()
            .filter(|&c| matches!(c, '\'' | '"' | '`'));
        let is_quoted = inner.len() > 1 && quote.is_some_and(|quote| inner.ends_with(quote));
        let first = inner.split_whitespace().next().unwrap_or_default();
        let is_word = ["position", "sfen"]
            .iter()
            .any(|word| first.eq_ignore_ascii_case(word));
        let taken = if is_quoted {
            [start..start + 1, end - 1..end]
        } else if is_word && first.len() < inner.len() {
            [start..start + first.len(), end..end]
        } else {
            return text;
        };
        for range in taken {
            let spaces = " ".repeat(range.len());
            text.to_mut().replace_range(range, &spaces);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_an_sfen_becomes_spaces() {
        for (text, wanted) in [
            ("5/5 b - 1", "5/5 b - 1"),
            ("sfen 5/5 b -", "     5/5 b -"),
            ("'position sfen 5/5 b -'", "               5/5 b - "),
            ("\u{201c}5/5 b -\u{201d}", " 5/5 b - "),
            ("\"'5/5'\"", "  5/5  "),
            ("sfen", "sfen"),
            ("'", "'"),
            ("", ""),
            ("飛/5", "飛/5"),
            ("「飛/5」", " 飛/5 "),
        ] {
            assert_eq!(plain(text), wanted, "{text}");
        }
    }

    #[test]
    fn moves_follow_the_word_alone() {
        assert_eq!(find_word("startpos moves 1a1b", "moves"), Some(9));
        assert_eq!(find_word("moves 1a1b", "moves"), Some(0));
        assert_eq!(find_word("xmoves movesx", "moves"), None);
    }

    #[test]
    fn the_boards_size_identifies_the_game() {
        let games = Games::new(None);
        let of = |text: &str| games.of_board(text).map(|n| games.rules()[n].variant().id);
        assert_eq!(of("rbsgk/4p/5/P4/KGSBR b - 1"), Ok("minishogi"));
        assert_eq!(of("9/9/9/9/9/9/9/9/9 b - 1"), Ok("shogi"));
        // One rank too many, and one file.
        assert_eq!(of("5/5/5/5/5/5"), Ok("minishogi"));
        assert_eq!(of("91/9/9/9/9/9/9/9/9"), Ok("shogi"));
        assert_eq!(
            of("3/3/3"),
            Err("no known game has a board of 3 ranks and 3 files: shogi has 9 and 9, minishogi has 5 and 5".to_owned())
        );
        assert!(
            of("l")
                .unwrap_err()
                .contains("a board of 1 rank and 1 file:")
        );
        assert!(of("").is_err() && of("startpos").is_err());
    }
}
