//! What was measured as one JSON document. Times are seconds, sizes bytes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::findings::{Findings, Load, LoadStep, QueryLatency, Use};
use crate::latency::Latencies;

/// The version of the document; it grows when a field changes its meaning or goes.
const JSON_VERSION: u32 = 1;

pub(crate) fn render(findings: &Findings) -> String {
    format!("{:#}\n", document(findings))
}

fn document(findings: &Findings) -> Value {
    let recovery = &findings.recovery;
    let audit = &findings.audit;
    json!({
        "version": JSON_VERSION,
        "build": findings.build,
        "rate": findings.rate,
        "seconds": findings.time.as_secs_f64(),
        "levels": findings.levels.iter().map(level).collect::<Vec<_>>(),
        "recovery": {
            "results_per_second_before": recovery.rate,
            "listening": seconds(recovery.listening),
            "results_flow": seconds(recovery.flowing),
            "every_worker_heard": seconds(recovery.heard),
        },
        "looks": findings.looks.iter().map(looks).collect::<Vec<_>>(),
        "with_reader": {
            "open": seconds(findings.reader_open),
            "load": load(&findings.with_reader),
        },
        "audit": {
            "acknowledged": audit.acknowledged,
            "accepted": audit.accepted,
            "prefix": audit.prefix,
            "database": audit.bytes,
        },
    })
}

fn level(level: &LoadStep) -> Value {
    json!({
        "workers": level.workers,
        "joined": level.joined,
        "heard": level.heard,
        "joining": { "took": seconds(level.joining.0), "join": latencies(&level.joining.1) },
        "load": load(&level.load),
        "coordinator": level.coordinator.map(used),
        "postgres": level.postgres.map(used),
        "simulated_workers": level.crowds.map(used),
    })
}

fn used(used: Use) -> Value {
    json!({ "memory": used.memory, "processors": used.processor })
}

fn load(load: &Load) -> Value {
    let calls = load.calls.iter();
    let calls: serde_json::Map<String, Value> = calls
        .map(|(call, times)| (call.name().to_owned(), latencies(times)))
        .collect();
    json!({
        "seconds": seconds(load.time),
        "results_per_second": load.results,
        "leases_per_second": load.leases,
        "later_per_second": load.later,
        "calls": calls,
        "failed": load.failed,
    })
}

fn looks(looks: &QueryLatency) -> Value {
    json!({
        "when": looks.when,
        "segments": looks.segments,
        "watch": latencies(&looks.watch),
        "report": latencies(&looks.report),
    })
}

fn latencies(latencies: &Latencies) -> Value {
    json!({
        "calls": latencies.calls(),
        "p50": latencies.quantile(0.5).map(seconds),
        "p99": latencies.quantile(0.99).map(seconds),
        "max": latencies.longest().map(seconds),
    })
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}
