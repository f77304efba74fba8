//! What was measured for people.

use std::fmt::Write;
use std::time::Duration;

use kazoe_common::estimate::numerals::grouped;

use crate::findings::{Findings, Load, LoadStep, QueryLatency, Use};
use crate::latency::Latencies;

pub(crate) fn render(findings: &Findings) -> String {
    let mut text = format!(
        "Simulated workers that hand in {} results a second together, {} s for each number\n",
        grouped(findings.rate),
        findings.time.as_secs_f64()
    );
    for one in &findings.levels {
        text += &level(one);
    }
    let recovery = &findings.recovery;
    text += &format!(
        "\nThe coordinator killed under load, and another in its place\n  \
         another listens after                {}\n  \
         {:.0} results a second again after  {}\n  \
         every worker heard after             {}\n",
        time(Some(recovery.listening)),
        recovery.rate,
        time(Some(recovery.flowing)),
        time(Some(recovery.heard)),
    );
    text += &format!(
        "\nLoad with a reader that held a transaction open for {:.0} s\n{}",
        findings.reader_open.as_secs_f64(),
        load(&findings.with_reader)
    );
    text += "\nLooking at the campaign                 segments        calls       p50       p99       max\n";
    for one in &findings.looks {
        text += &looks(one);
    }
    let audit = &findings.audit;
    text += &format!(
        "\nAudit: each of {} acknowledged tallies is in the ledger once; {} segments accepted; \
         the first {} add up to a serial run's; the database has {}\n",
        grouped(audit.acknowledged),
        grouped(audit.accepted),
        grouped(audit.prefix),
        bytes(audit.bytes)
    );
    text
}

fn level(level: &LoadStep) -> String {
    format!(
        "\n{} workers: {} joined in {}, {} heard\n{}{}{}{}",
        grouped(level.workers),
        grouped(level.joined),
        time(Some(level.joining.0)).trim(),
        grouped(level.heard),
        load(&level.load),
        used("coordinator", level.coordinator),
        used("PostgreSQL", level.postgres),
        used("simulated workers", level.crowds),
    )
}

fn load(load: &Load) -> String {
    let mut text = format!(
        "  {:.0} results a second, {:.0} leases a second, {:.0} a second told to ask again\n",
        load.results, load.leases, load.later
    );
    text += "  call            calls       p50       p99       max\n";
    for (call, times) in &load.calls {
        if times.calls() > 0 {
            let _ = writeln!(text, "  {:10} {}", call.name(), latencies(times));
        }
    }
    for (code, times) in &load.failed {
        let _ = writeln!(
            text,
            "  {} calls failed and were made again: {code}",
            grouped(*times)
        );
    }
    text
}

fn used(who: &str, used: Option<Use>) -> String {
    used.map_or_else(
        || format!("  {who}: not seen from here\n"),
        |used| {
            format!(
                "  {who:18} {:>10} of memory, {:.2} processors\n",
                bytes(used.memory),
                used.processor
            )
        },
    )
}

fn looks(looks: &QueryLatency) -> String {
    format!(
        "  Watch, {:27} {:>12} {}\n  Report, {:26} {:>12} {}\n",
        looks.when,
        grouped(looks.segments),
        latencies(&looks.watch),
        looks.when,
        grouped(looks.segments),
        latencies(&looks.report)
    )
}

fn latencies(latencies: &Latencies) -> String {
    format!(
        "{:>10} {:>9} {:>9} {:>9}",
        grouped(latencies.calls()),
        time(latencies.quantile(0.5)),
        time(latencies.quantile(0.99)),
        time(latencies.longest())
    )
}

/// A time in the unit that suits it.
fn time(time: Option<Duration>) -> String {
    match time {
        None => "-".to_owned(),
        Some(time) if time < Duration::from_millis(100) => {
            format!("{:.1} ms", time.as_secs_f64() * 1e3)
        }
        Some(time) if time < Duration::from_secs(1) => format!("{} ms", time.as_millis()),
        Some(time) => format!("{:.2} s", time.as_secs_f64()),
    }
}

fn bytes(bytes: u64) -> String {
    format!("{} MB", grouped(bytes.div_ceil(1_000_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        for (micros, text) in [
            (1_234, "1.2 ms"),
            (99_960, "100.0 ms"),
            (123_400, "123 ms"),
            (4_560_000, "4.56 s"),
        ] {
            assert_eq!(time(Some(Duration::from_micros(micros))), text);
        }
        assert_eq!(time(None), "-");
        assert_eq!(bytes(1_234_000_000), "1,234 MB");
    }
}
