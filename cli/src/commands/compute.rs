//! `kazoe compute`: computes a part of a campaign on a machine without a network.

use std::fs;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kazoe_common::census::{Counter, Cut, Segment};
use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::ledger::{CampaignRecord, Ledger, LocalStore, Snapshot};
use kazoe_coordinator::ledger_file::{
    Exported, Header, ImportError, check_self_tests, export_to_path, import as take_in,
};
use kazoe_coordinator::output_file::{self, OutputFile};
use kazoe_coordinator::progress::took;
use kazoe_worker::session::Progress as Session;
use kazoe_worker::stop::Stop as StopRequest;
use serde_json::json;

use super::import;
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::progress::Progress;
use crate::quantity::{self, counted};
use crate::threads::Threads;
use crate::{local, rlimits, signals, sqlite_args};

/// Compute a part of a campaign on a machine without a network.
///
/// It reads the campaign from the header of a ledger file: 'kazoe export' writes one on the machine with the
/// campaign, even before any segment is computed. It writes its segments into a ledger file for 'kazoe import',
/// and prints the file's name. Ctrl-C saves the finished segments, and the same command resumes. Segments
/// finished before 'kill -9' or a power cut are saved beside the file, and the same command uses them too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe export shogi --output campaign.ledger.tsv                 where the campaign is
  kazoe compute campaign.ledger.tsv --segments 0..500 -o part.ledger.tsv
  kazoe import part.ledger.tsv --coordinator http://127.0.0.1:7273
  kazoe compute campaign.ledger.tsv --segments 500.. --threads 8")]
pub(super) struct Args {
    /// The campaign: a ledger file, or - for standard input.
    campaign: PathBuf,

    /// The segments: A..B is A to B - 1, A.. goes to the end, ..B begins at 0.
    #[arg(short, long, value_name = "A..B", value_parser = span)]
    segments: Span,

    /// The ledger file to write [default: VARIANT-ID-A-B.ledger.tsv].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The number of threads: a number, max, or max-1 [default: max, all that the system allows].
    #[arg(short = 't', long, value_name = "T", value_parser = Threads::parse, allow_hyphen_values = true)]
    threads: Option<Threads>,

    #[command(flatten)]
    form: FormArgs,
}

/// Segments as they are typed; an end that was left out is the campaign's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: Segment,
    to: Option<Segment>,
}

fn span(text: &str) -> Result<Span, String> {
    let expected = || "expected segments, as in 0..500, 500.. or ..500".to_owned();
    let (from, to) = text.split_once("..").ok_or_else(expected)?;
    let number = |text: &str| quantity::parse(text).map_err(|error| error.to_string());
    let span = Span {
        from: if from.is_empty() { 0 } else { number(from)? },
        to: (!to.is_empty()).then(|| number(to)).transpose()?,
    };
    match span.to {
        Some(to) if to <= span.from => Err(format!("{text} is empty: it ends before segment {to}")),
        _ => Ok(span),
    }
}

impl Span {
    /// The segments, if the campaign has them.
    fn of(self, cut: Cut) -> Result<Range<Segment>, Stop> {
        let all = cut.segments();
        let to = self.to.unwrap_or(all);
        if self.from >= all || to > all {
            return Err(Stop::usage(format_args!(
                "--segments: the campaign has the segments 0..{all}"
            )));
        }
        Ok(self.from..to)
    }
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let header = import::open(&self.campaign)?.header().clone();
        let segments = self.segments.of(header.cut)?;
        let counter = Arc::new(Counter::new(&header.campaign).map_err(Stop::failed)?);
        check_self_tests(&header, &local::self_tests(&counter)).map_err(Stop::failed)?;
        let path = self.path(&header, &segments)?;
        sqlite_args::block_on(self.compute(&header, segments, counter, &path, output))
    }

    fn path(&self, header: &Header, segments: &Range<Segment>) -> Result<PathBuf, Stop> {
        let named = self.output.clone();
        let path = named.unwrap_or_else(|| name(header, segments));
        if path == Path::new("-") || output_file::is_standard_output(&path) {
            return Err(Stop::usage(
                "--output must name a file: an interrupted part resumes from it",
            ));
        }
        // Before anything is computed.
        OutputFile::check(&path).map_err(at(&path))?;
        Ok(path)
    }

    async fn compute(
        &self,
        header: &Header,
        segments: Range<Segment>,
        counter: Arc<Counter>,
        path: &Path,
        output: &mut Output,
    ) -> Result<Ending, Stop> {
        let is_stream = output_file::is_stream(path);
        let desk = if is_stream {
            Unfinished::open(&name(header, &segments)).await?
        } else {
            Unfinished::open(path).await?
        };
        let ledger = &desk.ledger;
        let (campaign, cut) = (header.campaign.clone(), header.cut);
        let begun = local::begin(ledger, campaign, cut, &counter).await;
        let (record, _) = begun.map_err(Stop::failed)?;
        if !is_stream {
            take_up(ledger, &record, &counter, path).await?;
        }
        let stop = Arc::new(StopRequest::new());
        signals::ask(Arc::clone(&stop))?;
        let there = part(ledger, &record, &segments).await?;
        self.say(&record, &segments, there);
        self.work(ledger, &record, counter, &segments, there, stop)
            .await?;
        let there = part(ledger, &record, &segments).await?;
        let written = export_to_path(ledger, &record.id, path).await;
        let written = written.map_err(Stop::failed)?;
        if is_stream && there.segments < segments.end - segments.start {
            // It can't be read back: the same command goes on from the folder.
            desk.keep().await?;
        } else {
            desk.close().await?;
        }
        self.tell(&record, &segments, there, path, written, output)
    }

    fn say(&self, record: &CampaignRecord, segments: &Range<Segment>, there: Part) {
        tell(format_args!(
            "Computing the segments {} to {} of campaign {} of {}: {} of {} samples are finished.",
            grouped(segments.start),
            grouped(segments.end - 1),
            record.id,
            record.campaign.variant.name,
            grouped(there.samples),
            grouped(samples(record.cut, segments)),
        ));
    }

    async fn work(
        &self,
        ledger: &LocalStore,
        record: &CampaignRecord,
        counter: Arc<Counter>,
        segments: &Range<Segment>,
        there: Part,
        stop: Arc<StopRequest>,
    ) -> Result<(), Stop> {
        let threads = self.threads.unwrap_or_default().number();
        rlimits::leave_cpu_time_to_stop(threads);
        let mut progress = Progress::new(samples(record.cut, segments), there.samples);
        progress.set_estimate(format!("campaign {}", record.id));
        let show = |session: &Session, _: &Snapshot| {
            progress.set(there.samples + session.computed, session.rate);
        };
        let range = segments.clone();
        let worked = local::run(ledger, record, counter, range, threads, stop, show).await;
        progress.end();
        let (summary, _) = worked.map_err(Stop::failed)?;
        tell(format_args!(
            "{} computed in {} on {}.",
            counted(summary.progress.delivered, "sample"),
            took(summary.progress.elapsed),
            counted(threads as u64, "thread")
        ));
        Ok(())
    }

    /// What was written, and whether that is all.
    fn tell(
        &self,
        record: &CampaignRecord,
        segments: &Range<Segment>,
        there: Part,
        path: &Path,
        written: Exported,
        output: &mut Output,
    ) -> Result<Ending, Stop> {
        let wanted = segments.end - segments.start;
        if self.form.json() {
            output.json(&json!({
                "version": JSON_VERSION,
                "campaign": record.id,
                "file": path.display().to_string(),
                "from": segments.start,
                "to": segments.end,
                "complete": there.segments == wanted,
                "segments": written.segments,
                "samples": written.samples,
                "digest": written.digest.to_string(),
                "fingerprint": written.fingerprint.to_string(),
            }))?;
        } else {
            tell(format_args!(
                "{}, {}, digest {}, fingerprint {}.",
                counted(written.segments, "segment"),
                counted(written.samples, "sample"),
                written.digest,
                written.fingerprint
            ));
            output.line(path.display())?;
        }
        if there.segments == wanted {
            return Ok(Ending::Done);
        }
        tell(format_args!(
            "Saved: {} of {}. The same command resumes.",
            grouped(there.segments),
            counted(wanted, "segment")
        ));
        Ok(Ending::Interrupted)
    }
}

/// The name of a part's file, if the user gives none.
fn name(header: &Header, segments: &Range<Segment>) -> PathBuf {
    let (variant, id) = (header.campaign.variant.id, header.campaign.id());
    let (from, to) = (segments.start, segments.end);
    PathBuf::from(format!("{variant}-{id}-{from}-{to}.ledger.tsv"))
}

/// How much of a range is there.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    segments: u64,
    samples: u64,
}

async fn part(
    ledger: &LocalStore,
    record: &CampaignRecord,
    segments: &Range<Segment>,
) -> Result<Part, Stop> {
    /// Segments read at a time.
    const PAGE: u32 = 256;
    let mut part = Part::default();
    let mut from = segments.start;
    loop {
        let page = ledger.segments(&record.id, from, PAGE).await;
        let page = page.map_err(Stop::failed)?;
        let Some(last) = page.last() else {
            return Ok(part);
        };
        from = last.segment + 1;
        for one in page.iter().filter(|one| one.segment < segments.end) {
            part.segments += 1;
            part.samples += one.samples;
        }
    }
}

fn samples(cut: Cut, segments: &Range<Segment>) -> u64 {
    let whole = segments.end - segments.start - 1;
    whole * cut.segment_samples() + cut.samples_of(segments.end - 1)
}

/// Takes in what an earlier run wrote, if it did.
async fn take_up(
    ledger: &LocalStore,
    record: &CampaignRecord,
    counter: &Counter,
    path: &Path,
) -> Result<(), Stop> {
    if !path.try_exists().map_err(at(path))? {
        return Ok(());
    }
    let file = import::open(path)?;
    let theirs = file.header();
    if theirs.campaign != record.campaign || theirs.cut != record.cut {
        return Err(Stop::failed(format_args!(
            "{} is of another campaign ({}, {} samples); name another file by --output",
            path.display(),
            theirs.campaign.id(),
            grouped(theirs.cut.samples)
        )));
    }
    let self_tests = local::self_tests(counter);
    let taken = take_in(ledger, &local::who(), file, self_tests, |_| true).await;
    taken.map_err(|error| match error {
        ImportError::File(error) => import::wrong(path, &error),
        other => Stop::failed(other),
    })?;
    Ok(())
}

/// What is finished while the rest is computed: a ledger in a folder beside the file, or, for a pipe or a
/// device, in the current folder.
struct Unfinished {
    ledger: LocalStore,
    folder: PathBuf,
}

impl Unfinished {
    async fn open(path: &Path) -> Result<Self, Stop> {
        let mut folder = path.as_os_str().to_owned();
        folder.push(".unfinished");
        let folder = PathBuf::from(folder);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(at(&folder)(error));
            }
            _ => {}
        }
        let ledger = LocalStore::open(&folder.join("kazoe.db")).await;
        let ledger = ledger.map_err(Stop::failed)?;
        Ok(Unfinished { ledger, folder })
    }

    /// The rest is computed later.
    async fn keep(self) -> Result<(), Stop> {
        self.ledger.close().await.map_err(Stop::failed)
    }

    /// All of it is in the file.
    async fn close(self) -> Result<(), Stop> {
        self.ledger.close().await.map_err(Stop::failed)?;
        fs::remove_dir_all(&self.folder).map_err(at(&self.folder))
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> Stop {
    move |error| Stop::failed(format_args!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{Span, span};

    #[test]
    fn ranges_of_segments_parse() {
        let typed = |text, from, to| assert_eq!(span(text), Ok(Span { from, to }), "{text}");
        typed("0..500", 0, Some(500));
        typed("2k..", 2_000, None);
        typed("..7", 0, Some(7));
        typed("..", 0, None);
        for text in ["", "5", "5..5", "6..5", "a..b", "-1..5", "1...5"] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
