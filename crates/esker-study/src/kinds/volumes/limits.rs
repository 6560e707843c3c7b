//! Rules out volumes by their limits and their latency.

use esker_cloud::limits;
use esker_core::words;

use super::Ordered;
use super::orders::settings_of;
use crate::choose::NOISE;
use crate::offers::{Part, RuledOutBy};
use crate::strain::Limits;

/// Returns what rules out a volume by its limits or its latency.
pub(super) fn ruled_out(volumes: &Part<'_>, ordered: &Ordered, budgets: &Limits) -> Option<RuledOutBy> {
    let settings = settings_of(volumes.product, &ordered.volume).ok()?;
    let allowed = limits(&settings).ok()?;
    let pace = &ordered.pace;
    let share = |all: f64| all / f64::from(volumes.count);
    let checks = [
        ("operations", allowed.operations, allowed.host_operations, pace.busy_operations, pace.mean_operations),
        ("throughput", allowed.throughput, allowed.host_throughput, pace.busy_bytes, pace.mean_bytes),
    ];
    for (what, limit, host, busy, mean) in checks {
        let rate = |per_s: f64| match what {
            "operations" => format!("{} operations/s", words::count(per_s.round() as u64)),
            _ => format!("{}/s", words::bytes(per_s)),
        };
        let peak = limit.peak().min(host.unwrap_or(u64::MAX)) as f64 / 1e3;
        if share(busy) > peak * budgets.utilisation * (1.0 + ROUNDING) {
            let reason = format!(
                "lets {} through, and the busiest time asks for {}: more than {} of it",
                rate(peak),
                rate(share(busy)),
                words::percent_limit(budgets.utilisation)
            );
            return Some((what, reason));
        }
        if share(mean) > limit.sustained_per_s() {
            let reason = format!(
                "lets {} through for good, and the trace asks for {} on average: its credits would run dry",
                rate(limit.sustained_per_s()),
                rate(share(mean)),
            );
            return Some((what, reason));
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

/// Returns by how much volumes miss budgets under their limits, each as the logarithm of value over budget.
pub(super) fn missed(volumes: &Part<'_>, ordered: &Ordered, budgets: &Limits) -> Option<Vec<f64>> {
    let over = |is: f64, limit: f64| if is > limit && limit > 0.0 { (is / limit).ln() } else { 0.0 };
    let settings = settings_of(volumes.product, &ordered.volume).ok()?;
    let (allowed, pace) = (limits(&settings).ok()?, &ordered.pace);
    let rates = [(allowed.operations, pace.busy_operations), (allowed.throughput, pace.busy_bytes)]
        .map(|(limit, busy)| over(busy / f64::from(volumes.count), limit.peak() as f64 / 1e3 * budgets.utilisation));
    let latency = settings.latency.read.p99.min(settings.latency.write.p99).as_micros_f64();
    Some([&rates[..], &[over(latency, budgets.p99_us)]].concat())
}
