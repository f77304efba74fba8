//! Campaigns of another build: rows of `campaigns` that this build cannot interpret.

use std::fmt;

use super::CampaignRecord;
use crate::leasing::Millis;

/// The campaigns of a ledger, each list oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Those that this build can count.
    pub known: Vec<CampaignRecord>,
    /// Those of another build, which this build shows and leaves alone.
    pub foreign: Vec<ForeignCampaign>,
}

/// A campaign of another build: of a variant, population or design that this build does not know, or with
/// options that it cannot read. The texts are as another program wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignCampaign {
    /// Its id.
    pub id: String,
    /// Its variant.
    pub variant: String,
    /// Its population.
    pub population: String,
    /// Its design.
    pub design: String,
    /// Its seed.
    pub seed: String,
    /// Its cap; `None` searches to the end.
    pub cap: Option<String>,
    /// How many samples are wanted; `None` if that is no count.
    pub samples: Option<u64>,
    /// Whether it is worked on.
    pub state: String,
    /// Its priority; `None` where an older coordinator does not report it.
    pub priority: Option<i64>,
    /// The build that submitted it first.
    pub build: String,
    /// When it was first submitted.
    pub submitted_at: Millis,
    /// What this build does not understand: ``this build knows no variant `chushogi` ``.
    pub why: String,
}

/// Says what is not understood, and which build is needed.
impl fmt::Display for ForeignCampaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "another build submitted campaign {}: {} (it has variant `{}`, population `{}`, design `{}`); use the \
             build that submitted it, `{}`, or a later one",
            printable(&self.id),
            self.why,
            printable(&self.variant),
            printable(&self.population),
            printable(&self.design),
            printable(&self.build)
        )
    }
}

/// A text of another program: no more of it than fits on a line, and nothing that is not printable.
pub(super) fn printable(text: &str) -> String {
    const MOST: usize = 80;
    let head: String = text.chars().take(MOST).collect();
    let rest = if head.len() < text.len() { "..." } else { "" };
    format!("{}{rest}", head.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn texts_of_another_program_are_clipped_and_escaped() {
        assert_eq!(printable("chū shōgi"), "chū shōgi");
        assert_eq!(printable("a\tb\u{1b}[31m\n"), "a\\tb\\u{1b}[31m\\n");
        assert_eq!(printable(&"x".repeat(81)), format!("{}...", "x".repeat(80)));
    }
}
