//! Positions on the command line.

use crate::ending::Stop;

/// Refuses arguments that look like an SFEN that was not put in quotes.
///
/// # Errors
/// If one of them is a field that stands after the board.
pub(crate) fn expect_quoted(sfens: &[String]) -> Result<(), Stop> {
    if sfens
        .iter()
        .any(|sfen| matches!(sfen.as_str(), "b" | "w" | "-"))
    {
        return Err(Stop::usage(
            "an SFEN holds spaces: put it in quotes, as in '5/5/K1k2/5/5 b - 1'",
        ));
    }
    Ok(())
}
