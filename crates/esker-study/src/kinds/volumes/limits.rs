//! Rules out volumes by their limits and their latency.

use esker_cloud::{Limit, limits};
use esker_core::words;
use esker_results::study::RunsDry;

use super::Ordered;
use super::orders::settings_of;
use crate::choose::NOISE;
use crate::offers::{Part, RuledOutBy};
use crate::strain::Limits;

/// Returns what rules out a volume by its limits or its latency.
pub(super) fn ruled_out(volumes: &Part<'_>, ordered: &Ordered, budgets: &Limits) -> Option<RuledOutBy> {
    let settings = settings_of(volumes, &ordered.volume).ok()?;
    let allowed = limits(&settings).ok()?;
    let pace = &ordered.pace;
    let rates = [
        (OPERATIONS, allowed.operations, allowed.host_operations, pace.busy_operations, pace.mean_operations),
        (THROUGHPUT, allowed.throughput, allowed.host_throughput, pace.busy_bytes, pace.mean_bytes),
    ];
    for (what, limit, host, busy, mean) in rates {
        let peak = limit.peak().min(host.unwrap_or(u64::MAX)) as f64 / 1e3;
        let share = busy / f64::from(volumes.count);
        if share > peak * budgets.utilisation * (1.0 + ROUNDING) {
            let reason = format!(
                "lets {} through, and the busiest time asks for {}: more than {} of it",
                rate(what, peak),
                rate(what, share),
                words::percent_limit(budgets.utilisation)
            );
            return Some((what, reason));
        }
        if let Some(dry) = dry(what, limit, mean / f64::from(volumes.count), budgets) {
            return Some((what, dry.reason));
        }
    }
    let latency = settings.latency.read.p99.min(settings.latency.write.p99).as_micros_f64();
    // The 99th percentile of a simulated sample is near that of the distribution.
    if latency > budgets.p99_us * (1.0 + NOISE) {
        let (latency, budget) = (words::time(latency), words::time_limit(budgets.p99_us));
        let reason = format!("99 % of its requests take up to {latency} without any load, the budget is {budget}");
        return Some(("latency", reason));
    }
    None
}

/// Tolerance for ordered rates, which are rounded to whole operations and bytes.
const ROUNDING: f64 = 1e-6;

const OPERATIONS: &str = "operations";
const THROUGHPUT: &str = "throughput";

fn rate(what: &str, per_s: f64) -> String {
    match what {
        OPERATIONS => format!("{} operations/s", words::count(per_s.round() as u64)),
        _ => format!("{}/s", words::bytes(per_s)),
    }
}

/// Returns how a load of `mean` a second empties the bucket of one volume. What saves up credits has to carry the load
/// that was asked for without them. Of a volume without credits the simulation shows what it carries: there only the
/// trace itself counts.
fn dry(what: &str, limit: Limit, mean: f64, budgets: &Limits) -> Option<RunsDry> {
    let load = if limit.burst.is_some() { budgets.load.max(budgets.grown).max(1.0) } else { 1.0 };
    let (asked, sustained) = (mean * load, limit.sustained_per_s());
    (asked > sustained).then(|| {
        let (through, asked_for) = (rate(what, sustained), rate(what, asked));
        let who = match load > 1.0 {
            true => format!("{} times the load of the trace", words::factor(load)),
            false => "the trace".into(),
        };
        let then = if limit.burst.is_some() { ": its credits would run dry" } else { "" };
        let reason = format!("lets {through} through for good, and {who} asks for {asked_for} on average{then}");
        RunsDry { times: asked / sustained.max(1e-9), reason }
    })
}

/// Returns how the load empties the credits of volumes, by the rate of which they have the least. A trace may end
/// before it shows.
pub(super) fn runs_dry(volumes: &Part<'_>, ordered: &Ordered, budgets: &Limits) -> Option<RunsDry> {
    let settings = settings_of(volumes, &ordered.volume).ok()?;
    let (allowed, pace) = (limits(&settings).ok()?, &ordered.pace);
    let rates =
        [(OPERATIONS, allowed.operations, pace.mean_operations), (THROUGHPUT, allowed.throughput, pace.mean_bytes)];
    let share = |all: f64| all / f64::from(volumes.count);
    let bursts = rates.into_iter().filter(|(_, limit, _)| limit.burst.is_some());
    let all = bursts.filter_map(|(what, limit, mean)| dry(what, limit, share(mean), budgets));
    all.reduce(|one, other| if other.times > one.times { other } else { one })
}

/// Returns by how much volumes miss budgets under their limits, each as the logarithm of value over budget.
pub(super) fn missed(volumes: &Part<'_>, ordered: &Ordered, budgets: &Limits) -> Option<Vec<f64>> {
    let over = |is: f64, limit: f64| if is > limit && limit > 0.0 { (is / limit).ln() } else { 0.0 };
    let settings = settings_of(volumes, &ordered.volume).ok()?;
    let (allowed, pace) = (limits(&settings).ok()?, &ordered.pace);
    let rates = [
        (allowed.operations, allowed.host_operations, pace.busy_operations),
        (allowed.throughput, allowed.host_throughput, pace.busy_bytes),
    ];
    let rates = rates.map(|(limit, host, busy)| {
        let peak = limit.peak().min(host.unwrap_or(u64::MAX)) as f64 / 1e3;
        over(busy / f64::from(volumes.count), peak * budgets.utilisation)
    });
    let latency = settings.latency.read.p99.min(settings.latency.write.p99).as_micros_f64();
    let dry = runs_dry(volumes, ordered, budgets).map_or(0.0, |dry| dry.times.ln());
    Some([&rates[..], &[over(latency, budgets.p99_us), dry]].concat())
}
