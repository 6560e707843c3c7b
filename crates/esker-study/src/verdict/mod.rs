//! The verdict in plain words, from the numbers in the report alone.

mod phrases;
mod price;

use esker_core::words;
use esker_results::study::{
    Budgets, Candidate, CandidateOutcome, Evidence, Finding, Grade, JudgedTime, Level, Measured, Misalignment,
    MissRatioCurve, Need, ReplayMode, ReplaySummary, Verdict,
};

use crate::search::MarketResult;
use phrases::{life_of, price_of, survival_of};
use price::{because, price, saving};

/// The data for a verdict.
pub(crate) struct Facts<'a> {
    pub(crate) budgets: &'a Budgets,
    pub(crate) need: &'a Need,
    pub(crate) replay: &'a ReplaySummary,
    pub(crate) profile: &'a esker_results::profile::Profile,
    /// Why the trace has no arrival times, if it has none, as the beginning of a sentence.
    pub(crate) why_no_times: &'a str,
    pub(crate) measured: Option<&'a Measured>,
    /// The markets; that of the headline is the first.
    pub(crate) markets: &'a [MarketResult],
    pub(crate) curve: &'a MissRatioCurve,
    pub(crate) misalignments: &'a [Misalignment],
    pub(crate) evidence: &'a Evidence,
}

impl Facts<'_> {
    fn recommended(&self) -> Option<&Candidate> {
        self.markets.first()?.recommended()
    }
    fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.markets.iter().flat_map(|market| market.tried.iter().map(|tried| &tried.candidate))
    }
}

/// Writes the verdict.
pub(crate) fn verdict(facts: &Facts<'_>) -> Verdict {
    let recommended = facts.recommended();
    let mut findings = Vec::new();
    price(facts, &mut findings);
    saving(facts, &mut findings);
    performance(facts, recommended, &mut findings);
    lifetime(recommended, &mut findings);
    let of_kind = facts.markets.first().and_then(MarketResult::recommended_offer);
    findings.extend(of_kind.into_iter().flat_map(|best| best.arrangement.findings(&best.candidate)));
    cache(facts, &mut findings);
    confidence(facts, &mut findings);
    let mut answers = facts.markets.iter().map(|found| found.answer(because(found, facts)));
    let first = answers.next().unwrap_or_default();
    Verdict {
        headline: headline(facts, recommended),
        recommended: first.recommended,
        market: first.market,
        equals: first.equals,
        close: first.close,
        because: first.because,
        nearest: first.nearest,
        other_markets: answers.collect(),
        findings,
    }
}

fn headline(facts: &Facts<'_>, recommended: Option<&Candidate>) -> String {
    if facts.replay.mode == ReplayMode::Closed {
        return format!(
            "{}, so no product can be recommended. It asks for {} of capacity, and writes {}.",
            facts.why_no_times,
            words::bytes(facts.need.capacity_bytes as f64),
            words::bytes(facts.profile.write_bytes as f64)
        );
    }
    let Some(best) = recommended else { return headline_of_none(facts) };
    let not_reached = facts.markets.first().map_or(0, |found| found.not_reached);
    let found = if not_reached > 0 { "that was found to keep" } else { "that keeps" };
    let unjudged = best.endurance.as_ref().is_some_and(|endurance| endurance.kept.is_none());
    let every = if unjudged { "every budget that can be judged" } else { "every budget" };
    let doubt = if facts.evidence.grade == Grade::Low { "On low evidence, " } else { "" };
    let mut text = format!("{doubt}{} is the cheapest {found} {every}", best.title_and_year());
    text += &format!(": {}", price_of(best, facts.budgets.years));
    if let Some(worst) = best.judgement.worst_p99 {
        text += &format!(", 99 % of requests within {} {}", words::time(worst.p99_us), worst.time.within());
    }
    if let Some(headroom) = &best.headroom {
        // Larger loads were not tried.
        let more = if headroom.is_lower_bound { "at least " } else { "" };
        text += &format!(", {more}{} times the load carried", words::factor(headroom.factor));
    }
    match (&best.endurance, life_of(best)) {
        (Some(_), Some(life)) if unjudged => {
            text += &format!("; whether its flash lasts long enough cannot be told: {life}");
        }
        (Some(_), Some(life)) => text += &format!(", and its flash lasts {life}"),
        (Some(_), None) => text += ", and the life of its flash cannot be told",
        (None, _) => {}
    }
    text + ". " + &survival_of(best, facts.budgets.years)
}

fn headline_of_none(facts: &Facts<'_>) -> String {
    let Some(found) = facts.markets.first() else { return "The catalogue has no product for this workload.".into() };
    let Some(nearest) = found.choice.nearest.and_then(|n| found.tried.get(n)) else {
        return "The catalogue has no product that can be judged for this workload.".into();
    };
    let nearest = &nearest.candidate;
    let missed = if nearest.judgement.reasons.is_empty() {
        "the life of its flash cannot be told".to_string()
    } else {
        nearest.judgement.reasons.join("; ")
    };
    let none = if found.not_reached > 0 {
        format!(
            "None of the {} designs that were simulated keeps every budget; --thorough simulates dearer ones.",
            found.tried.len()
        )
    } else {
        "No design keeps every budget.".to_string()
    };
    format!("{none} {} comes nearest, but {missed}.", nearest.title_and_year())
}

fn performance(facts: &Facts<'_>, recommended: Option<&Candidate>, findings: &mut Vec<Finding>) {
    let mut say = |level, text: String| findings.push(Finding { level, topic: "performance".into(), text });
    if let Some(best) = recommended {
        if let (Some(measured), Some(hour)) = (facts.measured, best.busiest_hour) {
            let (today, then) = (measured.busiest_hour_p99_us, hour.response_time.p99_us);
            if today > 0.0 && then > 0.0 {
                let (level, compared) = if then <= today {
                    (Level::Good, format!("{} times faster than", words::factor(today / then)))
                } else {
                    (Level::Warning, format!("{} times slower than", words::factor(then / today)))
                };
                let of = match measured.requests as f64 / facts.profile.requests.max(1) as f64 {
                    share if share < 0.99 => {
                        format!(" (of the {} of requests whose time it recorded)", words::percent(share))
                    }
                    _ => String::new(),
                };
                say(
                    level,
                    format!(
                        "Today, as measured in the trace{of}, 99 % of requests in the busiest hour take at most {}; {} \
                        is {compared} that.",
                        words::time(today),
                        best.title
                    ),
                );
            }
        }
        other_times(best, &mut say);
        if let Some((utilisation, time, resource)) = best.worst_utilisation() {
            let (resource, busy) = (words::resource(resource), words::percent(utilisation));
            let breaks = best.headroom.as_ref().and_then(|headroom| {
                let (at, by) = (headroom.breaks_at?, headroom.limited_by.as_ref()?);
                Some((words::factor(at), by))
            });
            // The design is limited by the budget that breaks first, which need not be that of the busiest resource.
            let text = match breaks {
                Some((at, by)) => format!(
                    "What limits it: under {at} times the load {by}. Its busiest resource {}, its {resource}, is \
                     {busy} busy.",
                    time.within()
                ),
                None => format!("Its busiest resource {} is its {resource}: {busy} busy.", time.within()),
            };
            say(Level::Info, text);
        }
    }
    misaligned(facts.misalignments, &mut say);
}

/// Adds the percentile of the busiest time by requests, if the headline has that of another time.
fn other_times(best: &Candidate, say: &mut impl FnMut(Level, String)) {
    let (Some(worst), Some(busy)) = (best.judgement.worst_p99, &best.busy) else { return };
    if worst.time != JudgedTime::BusiestByRequests {
        let (p99, first) = (words::time(worst.p99_us), words::time(busy.response_time.p99_us));
        say(
            Level::Info,
            format!(
                "{} is slowest {}: 99 % of requests within {p99}, and within {first} in the busiest time by requests.",
                best.title,
                worst.time.within()
            ),
        );
    }
}

/// Adds one finding for all volumes, because they are misaligned for the same reason.
fn misaligned(misalignments: &[Misalignment], say: &mut impl FnMut(Level, String)) {
    let Some(first) = misalignments.first() else { return };
    let shifts: std::collections::BTreeSet<i64> = misalignments.iter().map(|one| one.shift_bytes).collect();
    let volumes = match misalignments.len() {
        1 => format!("Volume {} is", first.volume),
        n => format!("{n} volumes are"),
    };
    let shift = match shifts.len() {
        1 => format!("by {} bytes", first.shift_bytes),
        _ => "each by a number of bytes of its own".to_string(),
    };
    let best = misalignments.iter().map(|one| one.aligned_after).fold(0.0, f64::max);
    let (level, cost) = match &first.cost {
        Some(cost) => {
            let text = format!(
                " On {} that takes the mean from {} to {} and page programs from {} to {}.",
                cost.candidate,
                words::time(cost.as_traced.mean_us),
                words::time(cost.aligned.mean_us),
                words::count(cost.as_traced.page_programs),
                words::count(cost.aligned.page_programs),
            );
            let gain = cost.as_traced.mean_us / cost.aligned.mean_us.max(1e-9);
            (if gain > 1.1 { Level::Warning } else { Level::Info }, text)
        }
        None => (Level::Info, String::new()),
    };
    say(
        level,
        format!(
            "{volumes} misaligned: shifting {shift} would align up to {} of the requests.{cost}",
            words::percent(best)
        ),
    );
}

fn lifetime(recommended: Option<&Candidate>, findings: &mut Vec<Finding>) {
    let Some(best) = recommended else { return };
    let Some(endurance) = &best.endurance else { return };
    let mut say = |level, text: String| findings.push(Finding { level, topic: "lifetime".into(), text });
    let asked = endurance.drive_writes_per_day_asked;
    let often = |writes: f64| if writes < 0.01 { "less than 0.01".to_string() } else { words::factor(writes) };
    let warranted = match (asked, endurance.drive_writes_per_day_sold) {
        (Some(asked), Some(sold)) => {
            format!(" It asks for {} drive writes a day; {} are warranted.", often(asked), words::factor(sold))
        }
        (Some(asked), None) => format!(" It asks for {} drive writes a day.", often(asked)),
        _ => String::new(),
    };
    let level = match endurance.kept {
        Some(true) => Level::Good,
        Some(false) => Level::Bad,
        None => Level::Warning,
    };
    if let Some(life) = life_of(best) {
        let range = match endurance.lifetime_range_years {
            Some(_) => ", from these minutes around the clock to eight hours a day",
            None => "",
        };
        say(level, format!("The flash of {} lasts {life}{range}. {}{warranted}", best.title, endurance.basis));
    } else {
        say(level, format!("The life of the flash of {} cannot be told. {}", best.title, endurance.basis));
    }
    if endurance.cycles_of_warranty {
        let erases = words::count(endurance.rated_cycles);
        say(
            Level::Info,
            format!(
                "Its maker warrants more writes than blocks take that are erased as often as is usual for such flash; \
                as many erases count as the warranty takes, written at random: {erases}."
            ),
        );
    }
    if let Some(why) = &endurance.below_warranty {
        say(Level::Warning, why.clone());
    }
}

fn cache(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let mut say = |text: String| findings.push(Finding { level: Level::Info, topic: "cache".into(), text });
    let curve = facts.curve;
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
    say(text);
}

/// Returns the largest notable share of page reads that found no data, and the design that did them.
fn most_unwritten_reads<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> Option<(f64, &'a str)> {
    let shares = candidates.flat_map(|candidate| {
        let flash = candidate.devices.values().filter_map(|device| device.flash.as_ref());
        flash.filter_map(|flash| Some((flash.notable_unwritten_reads()?, candidate.title.as_str())))
    });
    shares.max_by(|one, other| one.0.total_cmp(&other.0))
}

/// The verdict with what was assumed of several traces.
pub(crate) fn with_assumed(mut verdict: Verdict, remark: Option<&str>) -> Verdict {
    let finding = |remark: &str| Finding { level: Level::Info, topic: "confidence".into(), text: remark.to_string() };
    verdict.findings.extend(remark.map(finding));
    verdict
}

fn confidence(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let mut say = |level, text: String| findings.push(Finding { level, topic: "confidence".into(), text });
    let level = match facts.evidence.grade {
        Grade::Low => Level::Warning,
        Grade::Medium | Grade::High => Level::Info,
    };
    let reasons = facts.evidence.reasons.join(" ");
    say(level, format!("Evidence: {}. {reasons}", facts.evidence.grade.name()).trim_end().to_string());
    if let Some((share, title)) = most_unwritten_reads(facts.candidates()) {
        say(
            Level::Warning,
            format!(
                "Of the pages that were read, up to {} ({title}) had been trimmed or never written: reading them takes \
                no flash operation, and counts in all means and percentiles.",
                words::percent(share)
            ),
        );
    }
    if facts.replay.mode == ReplayMode::Closed {
        let highest = facts.candidates().filter(|candidate| candidate.outcome == CandidateOutcome::Served);
        let rates = highest.filter_map(|candidate| {
            let requests = candidate.requests.as_ref()?;
            // Little's law: with a fixed number of requests under way, the rate follows from the mean.
            let depth = f64::from(facts.replay.queue_depth?);
            Some((depth / (requests.all.response_time.mean_us / 1e6), candidate.title.as_str()))
        });
        if let Some((rate, title)) = rates.max_by(|one, other| one.0.total_cmp(&other.0)) {
            say(
                Level::Info,
                format!(
                    "{} The highest rate, {} requests per second, is that of {title}.",
                    facts.replay.reason,
                    words::count(rate as u64)
                ),
            );
        }
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
        assert_eq!(most_unwritten_reads([candidate("tlc", 1000, 10), candidate("disk", 0, 0)].iter()), None);
        let designs = [candidate("tlc", 1000, 10), candidate("slc", 1000, 30), candidate("qlc", 1000, 20)];
        assert_eq!(most_unwritten_reads(designs.iter()), Some((0.03, "slc")));
    }
}
