//! The verdict in plain words, from the numbers in the report alone.
//!
//! Prices are unknown here, so "best" means: keeps the budgets, then fewest devices, then the smallest 99th percentile
//! in the busiest hour. The report lists this among its assumptions.

use crate::lifetime::load_of;
use esker_core::words;
use esker_results::study::{
    Budgets, Candidate, CandidateOutcome, Endurance, Finding, Judgement, Level, Measured, Misalignment, MissRatioCurve,
    ReplayMode, ReplaySummary, Verdict,
};

/// Judges one simulated design against the budgets.
pub(crate) fn judge(candidate: &Candidate, budgets: &Budgets) -> Judgement {
    let served = candidate.outcome == CandidateOutcome::Served;
    let mut reasons = Vec::new();
    match &candidate.outcome {
        CandidateOutcome::Served => {}
        CandidateOutcome::Saturated { since_clock, .. } => {
            reasons.push(format!("cannot keep up: saturated from {since_clock} on"));
        }
        CandidateOutcome::Failed { reason } => reasons.push(format!("could not be simulated: {reason}")),
    }
    let p99 = match (budgets.p99_us, &candidate.busiest_hour) {
        (Some(limit), Some(hour)) => {
            let kept = hour.response_time.p99_us <= limit;
            if !kept {
                reasons.push(format!(
                    "p99 in the busiest hour is {}, the budget {}",
                    words::time(hour.response_time.p99_us),
                    words::time(limit)
                ));
            }
            Some(kept)
        }
        _ => None,
    };
    let (p99, carries) = match &candidate.grown {
        None => (p99, true),
        Some(grown) => {
            let after = format!(
                "after {} of growth ({} times the load)",
                words::years(budgets.years),
                words::factor(grown.factor)
            );
            let mut p99 = p99;
            if !grown.keeps_up {
                reasons.push(format!("cannot keep up {after}"));
            } else if let (Some(limit), Some(then)) = (budgets.p99_us, grown.busiest_hour_p99_us)
                && then > limit
            {
                if p99 == Some(true) {
                    reasons.push(format!(
                        "p99 in the busiest hour is {} {after}, the budget {}",
                        words::time(then),
                        words::time(limit)
                    ));
                }
                p99 = Some(false);
            }
            (p99, grown.keeps_up)
        }
    };
    let years = candidate.endurance.as_ref().filter(|endurance| endurance.judged).and_then(|endurance| {
        let lifetime = endurance.lifetime_years?;
        let kept = lifetime >= budgets.years;
        if !kept {
            reasons.push(format!(
                "the flash lasts {}, the budget is {}",
                words::years(lifetime),
                words::years(budgets.years)
            ));
        }
        Some(kept)
    });
    let devices = budgets.devices.map(|limit| {
        let kept = candidate.device_count <= limit;
        if !kept {
            reasons.push(format!("takes {} devices, the budget is {limit}", candidate.device_count));
        }
        kept
    });
    let kept = |verdict: Option<bool>| verdict.unwrap_or(true);
    Judgement {
        keeps_budgets: served && carries && kept(p99) && kept(years) && kept(devices),
        p99,
        years,
        devices,
        reasons,
    }
}

/// The data for a verdict.
pub(crate) struct Evidence<'a> {
    pub(crate) budgets: &'a Budgets,
    pub(crate) replay: &'a ReplaySummary,
    pub(crate) profile: &'a esker_results::profile::Profile,
    pub(crate) measured: Option<&'a Measured>,
    pub(crate) candidates: &'a [Candidate],
    pub(crate) curve: &'a MissRatioCurve,
    pub(crate) misalignments: &'a [Misalignment],
}

/// Writes the verdict.
pub(crate) fn verdict(evidence: &Evidence<'_>) -> Verdict {
    let recommended = recommend(evidence.candidates);
    let mut findings = Vec::new();
    performance(evidence, recommended, &mut findings);
    lifetime(evidence, recommended, &mut findings);
    cache(evidence, &mut findings);
    confidence(evidence, &mut findings);
    Verdict {
        headline: headline(evidence, recommended),
        recommended: recommended.map(|candidate| candidate.name.clone()),
        findings,
    }
}

/// Returns the candidate that keeps the budgets with the fewest devices, then with the smallest busiest-hour p99.
fn recommend(candidates: &[Candidate]) -> Option<&Candidate> {
    candidates
        .iter()
        .filter(|candidate| candidate.judgement.keeps_budgets)
        .min_by(|a, b| a.device_count.cmp(&b.device_count).then_with(|| busiest_p99(a).total_cmp(&busiest_p99(b))))
}

fn busiest_p99(candidate: &Candidate) -> f64 {
    candidate.busiest_hour.map_or(f64::INFINITY, |hour| hour.response_time.p99_us)
}

fn headline(evidence: &Evidence<'_>, recommended: Option<&Candidate>) -> String {
    let Some(best) = recommended else {
        let served =
            evidence.candidates.iter().filter(|candidate| candidate.outcome == CandidateOutcome::Served).count();
        return if served == 0 {
            "None of the designs can keep up with this workload.".into()
        } else {
            format!("{} of {} designs keep up, but none keeps every budget.", served, evidence.candidates.len())
        };
    };
    let mut text = format!("{} carries this workload", best.title);
    if let Some(hour) = best.busiest_hour {
        let when = if evidence.profile.duration_s.is_some_and(|seconds| seconds > 3600.0) {
            "in its busiest hour"
        } else {
            "throughout"
        };
        text += &format!(": {when}, 99 % of requests take at most {}", words::time(hour.response_time.p99_us));
    }
    match &best.endurance {
        Some(endurance) if endurance.judged => match endurance.lifetime_years {
            Some(years) => {
                let more = if endurance.lifetime_is_lower_bound { "more than " } else { "" };
                text += &format!(", and its flash lasts {more}{}", words::years(years));
            }
            None => text += "; the trace has no times, so its life in years cannot be told",
        },
        Some(_) => text += "; the trace writes too little to judge how long its flash lasts",
        None => {}
    }
    text + "."
}

fn performance(evidence: &Evidence<'_>, recommended: Option<&Candidate>, findings: &mut Vec<Finding>) {
    let mut say = |level, text: String| findings.push(Finding { level, topic: "performance".into(), text });
    for candidate in evidence.candidates {
        if let CandidateOutcome::Saturated { since_clock, .. } = &candidate.outcome {
            let limit = candidate
                .limits
                .first()
                .map_or(String::new(), |limit| format!("; its {} is the limit", words::resource(&limit.resource)));
            say(
                Level::Bad,
                format!("{} cannot keep up: requests pile up from {since_clock} on{limit}.", candidate.title),
            );
        }
    }
    let Some(best) = recommended else { return };
    if let (Some(measured), Some(hour)) = (evidence.measured, best.busiest_hour) {
        let (today, then) = (measured.busiest_hour_p99_us, hour.response_time.p99_us);
        if today > 0.0 && then > 0.0 {
            let (level, compared) = if then <= today {
                (Level::Good, format!("{} times faster than", words::factor(today / then)))
            } else {
                (Level::Warning, format!("{} times slower than", words::factor(then / today)))
            };
            say(
                level,
                format!(
                    "Today, as measured in the trace, 99 % of requests in the busiest hour take at most {}; {} is \
                    {compared} that.",
                    words::time(today),
                    best.title
                ),
            );
        }
    }
    if let Some(limit) = best.limits.first() {
        let level = if limit.peak >= 0.8 { Level::Warning } else { Level::Info };
        say(
            level,
            format!(
                "What it would run out of first is its {}: {} busy on average, {} in the busiest interval, {} after \
                the start.",
                words::resource(&limit.resource),
                words::percent(limit.utilisation),
                words::percent(limit.peak.min(1.0)),
                words::clock(limit.peak_s)
            ),
        );
    }
    for misalignment in evidence.misalignments {
        let cost = misalignment.cost.as_ref().map_or(String::new(), |cost| {
            format!(
                " On {} that takes the mean from {} to {} and page programs from {} to {}.",
                cost.candidate,
                words::time(cost.as_traced.mean_us),
                words::time(cost.aligned.mean_us),
                words::count(cost.as_traced.page_programs),
                words::count(cost.aligned.page_programs),
            )
        });
        say(
            Level::Warning,
            format!(
                "Volume {} is misaligned: shifting it by {} bytes would align {} of its requests instead of {}.{cost}",
                misalignment.volume,
                misalignment.shift_bytes,
                words::percent(misalignment.aligned_after),
                words::percent(misalignment.aligned_before),
            ),
        );
    }
}

fn lifetime(evidence: &Evidence<'_>, recommended: Option<&Candidate>, findings: &mut Vec<Finding>) {
    let mut say = |level, text: String| findings.push(Finding { level, topic: "lifetime".into(), text });
    let judged: Vec<(&Candidate, &Endurance, f64)> = evidence
        .candidates
        .iter()
        .filter_map(|candidate| {
            let endurance = candidate.endurance.as_ref().filter(|endurance| endurance.judged)?;
            Some((candidate, endurance, endurance.lifetime_years?))
        })
        .collect();
    for (candidate, endurance, years) in &judged {
        if *years < evidence.budgets.years {
            let growth = evidence.budgets.growth_per_year;
            let enlarged = load_of(evidence.budgets.years, growth) / load_of(years.max(1e-6), growth);
            say(
                Level::Bad,
                format!(
                    "The flash of {} lasts only {} under this load at a capacity of {} (write amplification {}); {} of \
                    it would last {}.",
                    candidate.title,
                    words::years(*years),
                    words::bytes(endurance.lifetime_capacity_bytes as f64),
                    words::amplification(endurance.write_amplification),
                    words::bytes(endurance.lifetime_capacity_bytes as f64 * enlarged),
                    words::years(evidence.budgets.years),
                ),
            );
        }
    }
    if let Some((candidate, endurance, years)) =
        recommended.and_then(|best| judged.iter().find(|(candidate, ..)| candidate.name == best.name))
    {
        let more = if endurance.lifetime_is_lower_bound { "more than " } else { "" };
        let writes = endurance.drive_writes_per_day.unwrap_or(0.0);
        let load = if writes == 0.0 {
            "the host writes nothing".to_string()
        } else {
            let often = if writes < 0.01 { "less than 0.01".to_string() } else { words::factor(writes) };
            let amplification = words::amplification(endurance.write_amplification);
            format!("the host writes {often} times that per day, and each page written costs {amplification} programs")
        };
        say(
            if *years >= evidence.budgets.years { Level::Good } else { Level::Bad },
            format!(
                "The flash of {} lasts {more}{} at a capacity of {}: {load}. A larger drive lasts longer{}.",
                candidate.title,
                words::years(*years),
                words::bytes(endurance.lifetime_capacity_bytes as f64),
                if evidence.budgets.growth_per_year == 0.0 { " in proportion" } else { "" },
            ),
        );
    } else if evidence.candidates.iter().any(|candidate| candidate.endurance.is_some()) && judged.is_empty() {
        say(Level::Info, "Too few writes, or no times, to judge endurance.".into());
    }
}

fn cache(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let curve = evidence.curve;
    let Some(full) = curve.points.last() else { return };
    let best_hit_ratio = 1.0 - full.miss_ratio;
    let text = if best_hit_ratio < 0.05 {
        format!(
            "A cache would hardly help: even one that holds everything touched would serve only {} of page accesses.",
            words::percent(best_hit_ratio)
        )
    } else {
        format!(
            "A cache of {} would serve {} of page accesses; beyond that more cache brings little.",
            words::bytes(curve.knee_bytes as f64),
            words::percent(1.0 - curve.knee_miss_ratio)
        )
    };
    findings.push(Finding { level: Level::Info, topic: "cache".into(), text });
}

/// Returns the largest notable share of pages read without data, and the design that read them.
fn most_unwritten_reads(candidates: &[Candidate]) -> Option<(f64, &str)> {
    let shares = candidates.iter().flat_map(|candidate| {
        let flash = candidate.devices.values().filter_map(|device| device.flash.as_ref());
        flash.filter_map(|flash| Some((flash.notable_unwritten_reads()?, candidate.title.as_str())))
    });
    shares.max_by(|one, other| one.0.total_cmp(&other.0))
}

fn confidence(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let mut say = |text: String| findings.push(Finding { level: Level::Warning, topic: "confidence".into(), text });
    if let Some((share, title)) = most_unwritten_reads(evidence.candidates) {
        say(format!(
            "Of the pages that were read, up to {} ({title}) had been trimmed or never written: reading them takes \
             no flash operation, and counts in all means and percentiles.",
            words::percent(share)
        ));
    }
    if evidence.replay.mode == ReplayMode::Closed {
        say(format!("{} Response times are those of a device kept busy, not of this system.", evidence.replay.reason));
        return;
    }
    match evidence.profile.duration_s {
        Some(seconds) if seconds < 3600.0 => say(format!(
            "The trace covers only {}: it may not hold the busiest time of a day or a week.",
            words::duration(seconds)
        )),
        Some(seconds) if seconds < 86_400.0 => findings.push(Finding {
            level: Level::Info,
            topic: "confidence".into(),
            text: format!(
                "The trace covers {}: less than a day, so daily peaks may be missing.",
                words::duration(seconds)
            ),
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_results::{DeviceReport, FlashReport};

    fn candidate(title: &str, reads: u64, unwritten: u64) -> Candidate {
        let flash = FlashReport { host_page_reads: reads, unwritten_page_reads: unwritten, ..FlashReport::default() };
        let device = DeviceReport { flash: Some(flash), ..DeviceReport::default() };
        let devices = [("ssd".to_string(), device)].into();
        Candidate { devices, ..Candidate::new(title, title, "ssd", 1) }
    }

    #[test]
    fn the_design_with_the_most_reads_without_data_is_reported() {
        assert_eq!(most_unwritten_reads(&[candidate("tlc", 1000, 10), candidate("disk", 0, 0)]), None);
        let designs = [candidate("tlc", 1000, 10), candidate("slc", 1000, 30), candidate("qlc", 1000, 20)];
        assert_eq!(most_unwritten_reads(&designs), Some((0.03, "slc")));
    }
}
