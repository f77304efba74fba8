//! The report as one JSON document. Sizes, estimates and the ends of their intervals are exact: integers as
//! strings, fractions as two of them. Beside each of these, `NAME_float` is the nearest float.

use kazoe_common::estimate::published::Printed;
use kazoe_common::estimate::{
    Beside, Comparison, Folding, Method, PathFigures, Share, largest_wrong_share, numerals,
};
use num_bigint::BigUint;
use num_rational::Ratio;
use serde_json::{Value, json};

use super::{Findings, Home, audits, z_against_the_rest};
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
            "share_float": float(&estimates.share),
            "relative_standard_error": estimates.relative_standard_error,
            "share_intervals": estimates
                .share_intervals
                .iter()
                .map(|(method, share)| share_interval(*method, share))
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
        "size_float": integer_float(&report.size),
        "self_mirrored": report.self_mirrored.to_string(),
        "self_mirrored_float": integer_float(&report.self_mirrored),
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
        "audit_bound": audits::bound(findings).name(),
        "funnel": report
            .funnel
            .iter()
            .map(|row| json!({
                "stage": row.stage.name(),
                "passed": row.passed,
                "rejected": row.rejected,
                "rejected_as": row.stage.rejected().name(),
                "share": share(row.passed, row.samples),
                "share_float": share_float(row.passed, row.samples),
                "share_interval": share_interval(Method::ClopperPearson, &row.interval),
                "compared": compared(row.comparison.as_ref()),
            }))
            .collect::<Vec<_>>(),
        "depths": report
            .depths
            .iter()
            .map(|row| json!({
                "depth": row.depth,
                "samples": row.count,
                "share": share(row.count, report.samples),
                "share_float": share_float(row.count, report.samples),
                "share_interval": share_interval(Method::ClopperPearson, &row.interval),
                "compared": compared(row.comparison.as_ref()),
            }))
            .collect::<Vec<_>>(),
        "paths": report.paths.as_ref().map(paths),
        "estimates": estimates,
        "published": report.beside.as_ref().map(|beside| {
            published(beside, snapshot.is_complete(), report.published.not_at_hand)
        }),
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
        "estimate_float": float(&folding.estimate),
        "intervals": folding
            .intervals
            .iter()
            .map(|(method, interval)| json!({
                "method": method.name(),
                "lower": interval.lower.to_string(),
                "lower_float": integer_float(&interval.lower),
                "upper": interval.upper.to_string(),
                "upper_float": integer_float(&interval.upper),
            }))
            .collect::<Vec<_>>(),
    })
}

/// The published estimate, and whether ours agrees with it.
fn published(beside: &Beside, complete: bool, not_at_hand: Option<&str>) -> Value {
    let comparison = &beside.comparison;
    json!({
        "authors": beside.printed.authors,
        "samples": beside.experiment.samples,
        "reachable": comparison.count,
        "folded": printed(&beside.printed.folded),
        "unfolded": beside.printed.unfolded.as_ref().map(printed),
        "z": comparison.z,
        "z_with_undecided": comparison.z_with_undecided,
        "verdict": beside.verdict(complete).name(),
        "not_at_hand": not_at_hand,
    })
}

/// A published number as its authors printed it.
fn printed(printed: &Printed) -> Value {
    let float = |text: &str| text.parse::<f64>().ok();
    let [lower, upper] = printed.interval.map_or([None, None], |ends| ends.map(Some));
    json!({
        "estimate": printed.estimate,
        "estimate_float": float(printed.estimate),
        "method": printed.interval.map(|_| Method::Normal.name()),
        "lower": lower,
        "lower_float": lower.and_then(float),
        "upper": upper,
        "upper_float": upper.and_then(float),
    })
}

fn share_interval(method: Method, share: &Share) -> Value {
    json!({
        "method": method.name(),
        "lower": share.lower,
        "upper": share.upper,
    })
}

/// The share of all samples; `null` without samples.
fn share(count: u64, samples: u64) -> Value {
    if samples == 0 {
        Value::Null
    } else {
        fraction(&Ratio::new(count, samples))
    }
}

fn share_float(count: u64, samples: u64) -> Option<f64> {
    (samples > 0).then(|| float(&Ratio::new(count, samples)))
}

fn fraction<T: Clone + num_integer::Integer + ToString>(ratio: &Ratio<T>) -> Value {
    json!({
        "numerator": ratio.numer().to_string(),
        "denominator": ratio.denom().to_string(),
    })
}

/// The float nearest to a fraction.
fn float<T: Clone + Into<BigUint>>(ratio: &Ratio<T>) -> f64 {
    let [numerator, denominator] = [ratio.numer(), ratio.denom()].map(|part| part.clone().into());
    numerals::float(&Ratio::new(numerator, denominator))
}

fn integer_float(number: &BigUint) -> f64 {
    numerals::float(&number.clone().into())
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
        "ratio_median_float": float(&figures.ratio_median),
        "ratio_p95": fraction(&figures.ratio_p95),
        "ratio_p95_float": float(&figures.ratio_p95),
        "ratio_max": fraction(&figures.ratio_max),
        "ratio_max_float": float(&figures.ratio_max),
    })
}
