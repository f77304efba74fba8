//! `kazoe verify`: random segments, computed again.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap_complete::engine::ArgValueCompleter;
use kazoe_common::census::{BLOCK, Campaign, Counter, Cut, Fingerprint};
use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::ledger::{Ledger, SelfTest};
use kazoe_coordinator::ledger_file::LedgerFile;
use kazoe_coordinator::tally_text;
use kazoe_worker::stop::Stop as StopRequest;
use serde_json::json;

use super::import;
use crate::campaign_source::PlaceArgs;
use crate::completion::ids;
use crate::exit::{Ending, Stop};
use crate::local::verify::{Checker, Difference, Verified};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::pasted;
use crate::quantity::{self, counted};
use crate::threads::Threads;
use crate::{signals, sqlite_args};

/// Compute random segments again and compare their whole tallies and witnesses.
///
/// Writes nothing. Every mismatch is an error that names the segment and both tallies; exit code 1.
///
/// Prints the fingerprint of all segments, computed again or not: it covers the campaign, the number of
/// samples, every count and the digest. It compares a ledger file with the fingerprint in the file;
/// --fingerprint compares with a published fingerprint.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe verify
  kazoe verify shogi --share 0.1%
  kazoe verify minishogi-3f2a81c04d.ledger.tsv --share 100%
  kazoe verify minishogi --fingerprint 30334e2ef1d600346df19c6619bcbf4a
  kazoe verify --share 5% --seed 42
  kazoe verify shogi --coordinator http://127.0.0.1:7273")]
pub(super) struct Args {
    /// The campaign: its id or the beginning of it, or a game; or a ledger file [default: the newest
    /// campaign].
    #[arg(value_name = "CAMPAIGN|FILE", add = ArgValueCompleter::new(ids::campaigns_and_files))]
    what: Option<String>,

    /// The share of the segments, at least one segment.
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share, allow_hyphen_values = true)]
    share: f64,

    /// The seed of the random choice of segments [default: random].
    #[arg(long, value_name = "S", value_parser = quantity::parse, allow_hyphen_values = true)]
    seed: Option<u64>,

    /// The expected fingerprint of all segments, from a report or the README.
    #[arg(long, value_name = "F")]
    fingerprint: Option<Fingerprint>,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    form: FormArgs,
}

/// Reads `1%` or `0.5%`, more than nothing and at most everything. A plain number may be meant either way.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let text = pasted::ascii(text);
    let text = text.trim();
    let Some(number) = text.strip_suffix('%') else {
        return Err(match text.trim().parse::<f64>() {
            Ok(number) if number > 0.0 && number < 1.0 => {
                format!("{text} is ambiguous: write {text}% or {}%", number * 100.0)
            }
            Ok(_) => format!("{text} lacks its %: write {text}%"),
            Err(_) => "expected a share, as in 1%".to_owned(),
        });
    };
    match number.trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        Ok(_) => Err("a share must be above 0% and at most 100%".to_owned()),
        Err(_) => Err("expected a share, as in 1%".to_owned()),
    }
}

/// What a verification found.
struct Found {
    campaign: Campaign,
    verified: Verified,
    /// The fingerprint that a ledger file states of itself, if it does.
    stated: Option<Fingerprint>,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        signals::leave_at_once()?;
        let seed = match self.seed {
            Some(seed) => seed,
            None => getrandom::u64().map_err(Stop::failed)?,
        };
        let file = self.what.as_ref().map(PathBuf::from);
        let file = file.filter(|path| path.is_file() || path.to_string_lossy().ends_with(".tsv"));
        let found = sqlite_args::block_on(async {
            match &file {
                Some(path) => self.check_file(import::open(path)?, path, seed).await,
                None if self.place.office.is_named() => self.check_afar(seed).await,
                None => self.check_campaign(seed).await,
            }
        })?;
        self.conclude(&found, seed, output)
    }

    /// A coordinator's campaign, by way of its ledger file.
    async fn check_afar(&self, seed: u64) -> Result<Found, Stop> {
        let mut office = self.place.office.open()?;
        let record = office.find(self.what.as_deref()).await?;
        let mut text = Vec::new();
        let write = |piece: &[u8]| {
            text.extend_from_slice(piece);
            Ok(())
        };
        office.export(&record.id, write).await?;
        let place = PathBuf::from(&office.url);
        let file =
            LedgerFile::open(text.as_slice()).map_err(|error| import::wrong(&place, &error))?;
        self.check_file(file, &place, seed).await
    }

    async fn check_file(
        &self,
        mut file: LedgerFile<impl BufRead>,
        path: &Path,
        seed: u64,
    ) -> Result<Found, Stop> {
        let header = file.header().clone();
        let checker = self.checker(&header.campaign, header.cut, seed, &header.self_tests)?;
        let verified = checker
            .file(&mut file)
            .await
            .map_err(|error| import::wrong(path, &error))?;
        Ok(Found {
            campaign: header.campaign,
            verified,
            stated: file.stated_fingerprint(),
        })
    }

    async fn check_campaign(&self, seed: u64) -> Result<Found, Stop> {
        let read = self.place.store.read(async |ledger| {
            let record = sqlite_args::find(ledger, self.what.as_deref()).await?;
            let theirs = ledger.self_tests(&record.id).await.map_err(Stop::failed)?;
            let checker = self.checker(&record.campaign, record.cut, seed, &theirs)?;
            let verified = checker.ledger(ledger, &record).await;
            Ok(Found {
                campaign: record.campaign,
                verified: verified.map_err(Stop::failed)?,
                stated: None,
            })
        });
        read.await
    }

    /// A checker, if this build passes the self-test.
    fn checker(
        &self,
        campaign: &Campaign,
        cut: Cut,
        seed: u64,
        self_tests: &[SelfTest],
    ) -> Result<Checker, Stop> {
        let counter = Arc::new(Counter::new(campaign).map_err(Stop::failed)?);
        for test in self_tests {
            let computed = counter.block(test.block, BLOCK).tally;
            if computed != test.tally {
                return Err(Stop::failed(format_args!(
                    "the self-test of block {} differs: stored [{}], computed [{}]",
                    test.block,
                    tally_text::write(&test.tally),
                    tally_text::write(&computed)
                )));
            }
        }
        let stop = Arc::new(StopRequest::new());
        let threads = Threads::default().number();
        Checker::start(counter, cut, threads, self.share, seed, stop).map_err(Stop::failed)
    }

    fn conclude(&self, found: &Found, seed: u64, output: &mut Output) -> Result<Ending, Stop> {
        let Found {
            campaign,
            verified,
            stated,
        } = found;
        let id = campaign.id();
        let differences = &verified.differences;
        let stored = verified.stored.fingerprint(campaign);
        let whole = verified.checked == verified.segments;
        let computed = whole.then(|| verified.computed.fingerprint(campaign));
        if self.form.json() {
            let segments: Vec<_> = differences.iter().map(|one| one.segment).collect();
            output.json(&json!({
                "version": JSON_VERSION,
                "campaign": id,
                "segments": verified.segments,
                "checked_segments": verified.checked,
                "checked_samples": verified.samples,
                "seed": seed.to_string(),
                "different_segments": segments,
                "digest": verified.stored.digest().to_string(),
                "fingerprint": stored.to_string(),
                "stated_fingerprint": stated.map(|it| it.to_string()),
                "computed_fingerprint": computed.map(|it| it.to_string()),
                "changed": verified.changed,
            }))?;
        } else if verified.segments == 0 {
            output.line(format_args!("{id}\tno segments yet"))?;
        } else {
            let found = match differences.len() {
                0 => "all equal".to_owned(),
                n => format!("{n} DIFFERENT"),
            };
            output.line(format_args!(
                "{id}\tfingerprint {stored}, digest {}, of {}, {}",
                verified.stored.digest(),
                counted(verified.segments, "segment"),
                counted(verified.stored.samples(), "sample"),
            ))?;
            output.line(format_args!(
                "{id}\t{} of {} computed again, {}, seed {seed}: {found}",
                grouped(verified.checked),
                counted(verified.segments, "segment"),
                counted(verified.samples, "sample"),
            ))?;
        }
        output.flush()?;
        for one in differences {
            tell(describe(one));
        }
        let mut wrong = !differences.is_empty();
        let mut differs = |what: String| {
            wrong = true;
            tell(format_args!("error: {what}"));
        };
        if let Some(changed) = &verified.changed {
            differs(changed.clone());
        }
        if let Some(computed) = computed.filter(|&computed| computed != stored) {
            differs(format!(
                "the fingerprint differs: stored {stored}, computed {computed}"
            ));
        }
        if let Some(expected) = self.fingerprint.filter(|&expected| expected != stored) {
            differs(format!(
                "the fingerprint differs: expected {expected}, stored {stored}; the campaign, the \
                 number of samples, a count or the digest differs"
            ));
        }
        Ok(if wrong { Ending::Failed } else { Ending::Done })
    }
}

fn describe(one: &Difference) -> String {
    let segment = one.segment;
    if one.stored == one.computed {
        return format!("error: segment {segment} has other witnesses");
    }
    format!(
        "error: segment {segment} differs: stored [{}], computed [{}]",
        tally_text::write(&one.stored),
        tally_text::write(&one.computed)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_parse_as_percentages() {
        assert_eq!(share("1%"), Ok(0.01));
        assert_eq!(share("0.5 %"), Ok(0.005));
        assert_eq!(share(" 1％\r"), Ok(0.01));
        assert_eq!(share("100%"), Ok(1.0));
        let range = Err("a share must be above 0% and at most 100%".to_owned());
        for text in ["0%", "-1%", "101%", "nan%", "inf%"] {
            assert_eq!(share(text), range, "{text}");
        }
        let number = Err("expected a share, as in 1%".to_owned());
        for text in ["", "%", "one", "1%%"] {
            assert_eq!(share(text), number, "{text}");
        }
        for (text, asked) in [
            ("0.2", "0.2 is ambiguous: write 0.2% or 20%"),
            ("1", "1 lacks its %: write 1%"),
            ("50", "50 lacks its %: write 50%"),
        ] {
            assert_eq!(share(text), Err(asked.to_owned()));
        }
    }
}
