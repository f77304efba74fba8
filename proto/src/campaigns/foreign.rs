//! The campaigns of a ledger, those of another build apart.

use std::fmt;

use super::{BUILD, CampaignRecord, record, record_message};
use crate::census::unknown_name;
use crate::invalid::{length, text};
use crate::{Invalid, v1};

/// The most campaigns of another build in a message.
const MOST: usize = 1 << 16;

/// The most bytes of each text of another build.
const TEXT: usize = 200;

/// The campaigns of a ledger, each list oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Those that this build can count.
    pub known: Vec<CampaignRecord>,
    /// Those of another build.
    pub foreign: Vec<ForeignCampaign>,
}

/// A campaign of another build. The texts are as that build wrote them, at most 200 bytes of each.
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
    /// Higher ones are served first.
    pub priority: Option<i64>,
    /// The build that submitted it first.
    pub build: String,
    /// When it was first submitted, in milliseconds since 1970 by the ledger's clock.
    pub submitted_at: i64,
    /// What of it is not understood.
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
#[must_use]
pub fn printable(text: &str) -> String {
    const MOST: usize = 80;
    let head: String = text.chars().take(MOST).collect();
    let rest = if head.len() < text.len() { "..." } else { "" };
    format!("{}{rest}", head.escape_debug())
}

/// The campaigns of a ledger as a message.
#[must_use]
pub fn list_response(listed: &Listed) -> v1::ListResponse {
    v1::ListResponse {
        campaigns: listed.known.iter().map(record_message).collect(),
        foreign: listed.foreign.iter().take(MOST).map(message).collect(),
    }
}

/// The campaigns that a message says. One that its sender knows and this build does not is of another build too.
///
/// # Errors
/// The first field that cannot be.
pub fn listed(message: v1::ListResponse) -> Result<Listed, Invalid> {
    length("foreign", &message.foreign, 0..=MOST)?;
    let mut listed = Listed::default();
    for (place, one) in message.foreign.into_iter().enumerate() {
        listed
            .foreign
            .push(foreign(&format!("foreign[{place}]"), one)?);
    }
    for (place, one) in message.campaigns.into_iter().enumerate() {
        let field = format!("campaigns[{place}]");
        match unknown(&one) {
            Some(why) => listed
                .foreign
                .push(foreign(&field, of_another_build(one, why))?),
            None => listed.known.push(record(&field, Some(one))?),
        }
    }
    listed
        .foreign
        .sort_by(|a, b| (a.submitted_at, &a.id).cmp(&(b.submitted_at, &b.id)));
    Ok(listed)
}

/// What of a campaign this build does not know, if anything.
fn unknown(record: &v1::CampaignRecord) -> Option<String> {
    unknown_name(record.campaign.as_ref()?).map(|(_, why)| why)
}

fn of_another_build(record: v1::CampaignRecord, why: String) -> v1::ForeignCampaign {
    let pace = match record.pace() {
        v1::Pace::Unspecified => "unknown",
        v1::Pace::Running => "running",
        v1::Pace::Paused => "paused",
        v1::Pace::Cancelled => "cancelled",
    };
    let campaign = record.campaign.unwrap_or_default();
    v1::ForeignCampaign {
        id: record.id,
        variant: campaign.variant,
        population: campaign.population,
        design: campaign.design,
        seed: campaign.seed.to_string(),
        cap: campaign.cap.map(|cap| cap.to_string()),
        samples: record.cut.map(|cut| cut.samples),
        state: pace.to_owned(),
        priority: record.priority,
        build: record.build,
        submitted_at_ms: record.submitted_at_ms,
        why,
    }
}

fn message(campaign: &ForeignCampaign) -> v1::ForeignCampaign {
    v1::ForeignCampaign {
        id: clip(&campaign.id),
        variant: clip(&campaign.variant),
        population: clip(&campaign.population),
        design: clip(&campaign.design),
        seed: clip(&campaign.seed),
        cap: campaign.cap.as_deref().map(clip),
        samples: campaign.samples,
        state: clip(&campaign.state),
        priority: campaign.priority,
        build: clip(&campaign.build),
        submitted_at_ms: campaign.submitted_at,
        why: clip(&campaign.why),
    }
}

fn foreign(field: &str, message: v1::ForeignCampaign) -> Result<ForeignCampaign, Invalid> {
    let read = |name: &str, value: String| text(&format!("{field}.{name}"), value, 0..=TEXT);
    Ok(ForeignCampaign {
        id: read("id", message.id)?,
        variant: read("variant", message.variant)?,
        population: read("population", message.population)?,
        design: read("design", message.design)?,
        seed: read("seed", message.seed)?,
        cap: message.cap.map(|cap| read("cap", cap)).transpose()?,
        samples: message.samples,
        state: read("state", message.state)?,
        priority: message.priority,
        build: text(&format!("{field}.build"), message.build, 0..=BUILD)?,
        submitted_at: message.submitted_at_ms,
        why: read("why", message.why)?,
    })
}

/// At most 200 bytes of a text, without control characters, which no message has.
fn clip(text: &str) -> String {
    let shown: String = text
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    shown[..shown.floor_char_boundary(TEXT)].to_owned()
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
