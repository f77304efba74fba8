//! The report as one JSON document. Numbers that exceed 2^53 are strings; sizes and estimates are exact.

use kazoe_common::estimate::{Comparison, Folding, PathFigures, largest_wrong_share};
use num_rational::Ratio;
use serde_json::{Value, json};

use super::{Findings, Home, z_against_the_rest};
use crate::output::JSON_VERSION;

pub(super) fn render(findings: &Findings) -> String {
    format!("{:#}\n", document(findings))
}

/// The report as data.
pub(super) fn document(findings: &Findings) -> Value {
    let Findings {
        record,
        snapshot,
        fingerprint,
        report,
        builds,
        owners,
        machines,
        home,
    } = findings;
    let campaign = &record.campaign;
    let where_it_is = match home {
        Home::Database(_) => "database",
        Home::Coordinator(_) => "coordinator",
    };
    let estimates = report.estimates.as_ref().map(|estimates| {
        json!({
            "share": fraction(&estimates.share),
            "relative_standard_error": estimates.relative_standard_error,
            "share_intervals": estimates
                .share_intervals
                .iter()
                .map(|(method, share)| json!({
                    "method": method.name(),
                    "lower": share.lower,
                    "upper": share.upper,
                }))
                .collect::<Vec<_>>(),
            "folded": folding(&estimates.folded),
            "unfolded": folding(&estimates.unfolded),
        })
    });
    json!({
        "version": JSON_VERSION,
        "campaign": record.id,
        "variant": campaign.variant.id,
        "population": campaign.population.name(),
        "size": report.size.to_string(),
        "self_mirrored": report.self_mirrored.to_string(),
        "design": campaign.design.name(),
        "seed": campaign.seed.to_string(),
        "cap": campaign.cap,
        "wanted_samples": record.cut.samples,
        "segment_blocks": record.cut.segment_blocks,
        "complete": snapshot.is_complete(),
        "revision": snapshot.revision,
        "prefix": {
            "segments": snapshot.prefix.segments,
            "samples": report.samples,
            "undecided": report.undecided,
            "digest": report.digest.to_string(),
            "fingerprint": fingerprint.to_string(),
        },
        "accepted_samples": snapshot.accepted_samples,
        "segments": {
            "accepted": snapshot.counts.accepted,
            "disputed": snapshot.counts.disputed,
            "set_aside": snapshot.counts.set_aside,
            "leased": snapshot.counts.leased,
            "returned": snapshot.counts.returned,
            "retracted": snapshot.counts.retracted,
            "unleased": snapshot.counts.unleased,
        },
        "audited_segments": snapshot.audited,
        "largest_wrong_share": largest_wrong_share(snapshot.audited),
        "funnel": report
            .funnel
            .iter()
            .map(|row| json!({
                "stage": row.stage.name(),
                "passed": row.passed,
                "rejected": row.rejected,
                "rejected_as": row.stage.rejected().name(),
                "compared": compared(row.comparison.as_ref()),
            }))
            .collect::<Vec<_>>(),
        "depths": report
            .depths
            .iter()
            .map(|row| json!({
                "depth": row.depth,
                "samples": row.count,
                "compared": compared(row.comparison.as_ref()),
            }))
            .collect::<Vec<_>>(),
        "paths": report.paths.as_ref().map(paths),
        "estimates": estimates,
        "greatest_z": report.greatest_z(),
        "builds": builds
            .iter()
            .map(|build| json!({ "build": build.build, "segments": build.segments }))
            .collect::<Vec<_>>(),
        "owners": owners
            .iter()
            .map(|one| json!({
                "owner": one.owner,
                "segments": one.segments,
                "samples": one.samples,
                "reachable": one.reachable,
                "audited": one.audited,
                "disagreed": one.disagreed,
                "disputed": one.disputed,
                "core_seconds": one.core_seconds,
                "estimated_segments": one.estimated,
                "z": z_against_the_rest(one, owners),
            }))
            .collect::<Vec<_>>(),
        "workers": machines.documents(),
        "workers_left_out": machines.left_out,
        (where_it_is): home.name(),
        "next": findings.next_command(),
    })
}

fn folding(folding: &Folding) -> Value {
    json!({
        "estimate": fraction(&folding.estimate),
        "intervals": folding
            .intervals
            .iter()
            .map(|(method, interval)| json!({
                "method": method.name(),
                "lower": interval.lower.to_string(),
                "upper": interval.upper.to_string(),
            }))
            .collect::<Vec<_>>(),
    })
}

fn fraction<T: Clone + num_integer::Integer + ToString>(ratio: &Ratio<T>) -> Value {
    json!({
        "numerator": ratio.numer().to_string(),
        "denominator": ratio.denom().to_string(),
    })
}

fn compared(comparison: Option<&Comparison>) -> Value {
    comparison.map_or(Value::Null, |other| {
        json!({
            "source": other.source.name(),
            "samples": other.samples,
            "count": other.count,
            "z": other.z,
            "z_with_undecided": other.z_with_undecided,
        })
    })
}

fn paths(figures: &PathFigures) -> Value {
    json!({
        "count": figures.count,
        "length_min": figures.length_min,
        "length_median": figures.length_median,
        "length_max": figures.length_max,
        "ratio_median": fraction(&figures.ratio_median),
        "ratio_p95": fraction(&figures.ratio_p95),
        "ratio_max": fraction(&figures.ratio_max),
    })
}
