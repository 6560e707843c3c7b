//! Judges whether a design keeps the budgets.

use esker_core::words;
use esker_results::study::{
    Budgets, CacheWarmed, Candidate, CandidateOutcome, Endurance, JudgedState, Judgement, PolicySettled,
};

use crate::choose::{Contender, Keeps, Life, NOISE};

/// Judges one simulated design.
pub(crate) fn judge(candidate: &Candidate, budgets: &Budgets) -> Judgement {
    let served = candidate.outcome == CandidateOutcome::Served;
    let mut judgement = Judgement::default();
    match &candidate.outcome {
        CandidateOutcome::Served => {}
        CandidateOutcome::Saturated { since_clock, .. } => {
            judgement.reasons.push(format!("cannot keep up: saturated from {since_clock} on"));
        }
        CandidateOutcome::Failed { reason } => {
            judgement.reasons.push(format!("could not be simulated: {reason}"));
        }
    }
    let close_p99 = response_times(candidate, budgets, &mut judgement);
    if !carries_growth(candidate) && judgement.p99 != Some(false) {
        judgement.reasons.push(format!("cannot keep up {}", after_growth(candidate, budgets)));
    }
    if saturates_with_other_seed(candidate) {
        judgement.reasons.push("cannot keep up in the busiest times with other random numbers".into());
    }
    judgement.reasons.extend(candidate.runs_dry.iter().map(|dry| dry.reason.clone()));
    let close_load = load(candidate, budgets, &mut judgement);
    if let Some(endurance) = &candidate.endurance {
        judgement.years = endurance.kept;
        if endurance.kept == Some(false) {
            judgement.reasons.push(life_reason(candidate, budgets));
            judgement
                .reasons
                .extend(endurance.below_warranty.as_ref().map(|why| why.trim_end_matches('.').to_string()));
        }
    }
    let unsettled = unsettled(candidate);
    judgement.reasons.extend(unsettled.clone());
    if let Some(limit) = budgets.devices {
        judgement.devices = Some(candidate.device_count <= limit);
        if candidate.device_count > limit {
            judgement.reasons.push(format!("takes {} devices, the budget is {limit}", candidate.device_count));
        }
    }
    // Other random numbers do not save a design that misses another budget, or misses this one by far.
    let missed = |kept: Option<bool>, close: bool| kept == Some(false) && !close;
    let missed = missed(judgement.p99, close_p99)
        || missed(judgement.headroom, close_load)
        || missed(judgement.utilisation, false)
        || missed(judgement.devices, false)
        || !carries_growth(candidate)
        || saturates_with_other_seed(candidate)
        || candidate.runs_dry.is_some()
        || unsettled.is_some();
    judgement.close = !missed && (close_p99 || close_load);
    let kept = [judgement.p99, judgement.utilisation, judgement.headroom, judgement.years, judgement.devices];
    let kept = kept.iter().all(|kept| kept.unwrap_or(true));
    let keeps_up = carries_growth(candidate) && !saturates_with_other_seed(candidate) && candidate.runs_dry.is_none();
    judgement.keeps_budgets = served && keeps_up && unsettled.is_none() && kept;
    judgement
}

/// Whether only chance let it keep up in the busiest times.
fn saturates_with_other_seed(candidate: &Candidate) -> bool {
    candidate.busy.as_ref().is_some_and(|busy| busy.saturates_with_other_seed)
}

/// Whether it still keeps up at the end of the years asked for.
fn carries_growth(candidate: &Candidate) -> bool {
    candidate.grown.is_none_or(|grown| grown.keeps_up)
}

fn after_growth(candidate: &Candidate, budgets: &Budgets) -> String {
    let factor = candidate.grown.map_or(1.0, |grown| grown.factor);
    format!("after {} of growth ({} times the load)", words::years_limit(budgets.years), words::factor(factor))
}

/// Says why a design cannot be judged: its policy had not settled by the end of the trace, or its cache was not warm.
fn unsettled(candidate: &Candidate) -> Option<String> {
    match &candidate.judged {
        JudgedState::Any => None,
        JudgedState::Settled(state) => still_moving(&state.settled?),
        JudgedState::Warm(state) => still_cold(&state.warmed?),
    }
}

/// Says why a placement policy cannot be judged, if it had not settled.
fn still_moving(settled: &PolicySettled) -> Option<String> {
    let PolicySettled { late_moves, late_moves_max, settled, third_moves, late_growth, steady } = *settled;
    (!settled && !steady).then(|| {
        let [late, most, third] = [late_moves, late_moves_max, third_moves].map(words::count);
        let gained = match late_growth {
            0.. => format!("{} more were on flash then", words::count(late_growth.unsigned_abs())),
            _ => format!("{} fewer were on flash then", words::count(late_growth.unsigned_abs())),
        };
        format!(
            "its policy had not settled: {late} extents moved in the last quarter of the trace, {most} may; {third} \
             moved in the quarter before, and {gained}"
        )
    })
}

/// Says why a cache cannot be judged, if it was not warm.
fn still_cold(warmed: &CacheWarmed) -> Option<String> {
    let CacheWarmed { late_requests: requests, late_lines, late_lines_max, warm, .. } = *warmed;
    let [lines, most] = [late_lines, late_lines_max].map(words::count);
    (!warm).then(|| match late_lines > late_lines_max {
        true => format!(
            "the cache was still filling: {lines} new lines in the last {} requests before the busiest \
             stretch, {most} may",
            words::count(requests)
        ),
        false => format!("too few requests before the busiest stretch to warm a cache: {}", words::count(4 * requests)),
    })
}

/// Judges the 99th percentile. Returns true if it misses the budget by so little that chance decides.
fn response_times(candidate: &Candidate, budgets: &Budgets, judgement: &mut Judgement) -> bool {
    let worst = candidate.worst_percentile();
    judgement.worst_p99 = worst;
    let (Some(limit), Some(_), Some(worst)) = (budgets.p99_us, &candidate.busy, worst) else { return false };
    // Requests that wait for a volume's limits, for cleaning or for the arm may wait at other times than the busiest.
    let (p99, within) = (worst.p99_us, worst.time.within());
    judgement.p99 = Some(p99 <= limit);
    // Over the budget, but not by more than the noise.
    let close = p99 > limit && p99 < limit * (1.0 + NOISE);
    if p99 > limit {
        let (p99, limit) = (words::time(p99), words::time_limit(limit));
        judgement.reasons.push(format!("p99 {within} is {p99}, the budget {limit}"));
    }
    let (Some(grown), true) = (&candidate.grown, judgement.p99 == Some(true)) else { return close };
    match grown.busiest_hour_p99_us {
        Some(then) if grown.keeps_up && then > limit => {
            judgement.p99 = Some(false);
            let (then, limit, after) = (words::time(then), words::time_limit(limit), after_growth(candidate, budgets));
            judgement.reasons.push(format!("p99 in the busiest hour is {then} {after}, the budget {limit}"));
            false
        }
        _ => close,
    }
}

/// Judges how busy a design is, and how much more load it carries. Returns true if it carries too little by so little
/// that chance decides.
fn load(candidate: &Candidate, budgets: &Budgets, judgement: &mut Judgement) -> bool {
    let mut close = false;
    if let (Some(limit), Some((utilisation, time, resource))) = (budgets.utilisation, candidate.worst_utilisation()) {
        judgement.utilisation = Some(utilisation <= limit);
        if utilisation > limit {
            judgement.reasons.push(format!(
                "its {} is {} busy {}, the budget is {}",
                words::resource(resource),
                words::percent(utilisation),
                time.within(),
                words::percent_limit(limit)
            ));
        }
    }
    if let (Some(asked), Some(headroom)) = (budgets.headroom, &candidate.headroom) {
        let kept = headroom.factor >= asked;
        judgement.headroom = Some(kept);
        let near = headroom.breaks_at.is_some_and(|at| at <= asked)
            && headroom
                .p99_us
                .zip(budgets.p99_us)
                .is_some_and(|(p99, limit)| p99 > limit && p99 < limit * (1.0 + NOISE));
        close = !kept && near;
        // What breaks under the load of the trace itself was reported above.
        if let (false, Some(limited_by), true) = (kept, &headroom.limited_by, headroom.factor >= 1.0) {
            let at = headroom.breaks_at.map_or_else(|| words::number_limit(asked), words::factor);
            judgement.reasons.push(format!("under {at} times the load {limited_by}"));
        }
    }
    close
}

fn life_reason(candidate: &Candidate, budgets: &Budgets) -> String {
    let Some(endurance) = &candidate.endurance else { return String::new() };
    let years = endurance.lifetime_years.or(endurance.lifetime_range_years.map(|[_, longest]| longest));
    match (years, endurance.drive_writes_per_day_asked, endurance.drive_writes_per_day_sold) {
        (Some(years), ..) if years < budgets.years => {
            format!("the flash lasts {}, the budget is {}", words::years(years), words::years_limit(budgets.years))
        }
        (_, Some(asked), Some(sold)) if asked > sold => {
            format!("{} drive writes a day are asked for, {} are warranted", words::factor(asked), words::factor(sold))
        }
        _ => "the flash does not last as long as asked".into(),
    }
}

/// Returns what the rule has to know of a judged design.
pub(crate) fn contender(candidate: &Candidate, budgets: &Budgets) -> Contender {
    let judgement = &candidate.judgement;
    let life = match &candidate.endurance {
        None => Life::None,
        Some(endurance) => match endurance.kept {
            Some(true) => Life::Kept,
            Some(false) => Life::Broken,
            None => Life::Unjudged,
        },
    };
    let served = candidate.outcome == CandidateOutcome::Served;
    // With the first seed, because only some designs were simulated with another.
    let p99_us = first_p99_us(candidate).unwrap_or(f64::INFINITY);
    // Without the life of the flash, which the rule looks at separately.
    let kept = [judgement.p99, judgement.utilisation, judgement.headroom, judgement.devices];
    let keeps = match served && kept.iter().all(|kept| kept.unwrap_or(true)) {
        _ if served && judgement.close => Keeps::Close,
        _ if unsettled(candidate).is_some() || !carries_growth(candidate) => Keeps::No,
        _ if saturates_with_other_seed(candidate) || candidate.runs_dry.is_some() => Keeps::No,
        true => Keeps::Yes,
        false => Keeps::No,
    };
    Contender {
        cost: candidate.cost.total,
        keeps,
        life,
        capacity: capacity(candidate),
        parts: candidate.device_count,
        p99_us,
        missed: missed(candidate, budgets, served),
    }
}

/// Returns the largest 99th percentile of a design with the first seed; `None` if no percentile judges it.
fn first_p99_us(candidate: &Candidate) -> Option<f64> {
    candidate.busy.as_ref()?;
    candidate.percentiles(|busy| busy.response_time.p99_us).into_iter().map(|one| one.p99_us).reduce(f64::max)
}

/// Capacity on sale of all devices; for a design of several products, the capacity of one copy's volume.
fn capacity(candidate: &Candidate) -> u64 {
    match candidate.volume_on_sale_bytes {
        Some(bytes) => bytes,
        None => candidate.capacity_on_sale_bytes.unwrap_or(0) * u64::from(candidate.count),
    }
}

/// Returns by how much budgets are missed: the sum of the logarithms of value over budget. A design that cannot keep up
/// misses by more than any that can.
fn missed(candidate: &Candidate, budgets: &Budgets, served: bool) -> f64 {
    if !served {
        return f64::MAX;
    }
    let times = |is: Option<f64>, limit: Option<f64>| match (is, limit) {
        (Some(is), Some(limit)) if is > limit && limit > 0.0 => (is / limit).ln(),
        _ => 0.0,
    };
    let endurance = candidate.endurance.as_ref().filter(|endurance| endurance.kept != Some(true));
    let longest = |endurance: &Endurance| endurance.lifetime_range_years.map(|[_, longest]| longest);
    let years = endurance.and_then(|endurance| endurance.lifetime_years.or(longest(endurance)));
    // A life below the budget and more writes than are warranted are one miss, not two.
    let warranted = endurance
        .map_or(0.0, |endurance| times(endurance.drive_writes_per_day_asked, endurance.drive_writes_per_day_sold));
    // How much load it carries is not known, if not all that it grows to: at least today's.
    let growth = candidate.grown.filter(|grown| !grown.keeps_up).map_or(0.0, |grown| grown.factor.max(1.0).ln());
    let grown_p99_us = candidate.grown.filter(|grown| grown.keeps_up).and_then(|grown| grown.busiest_hour_p99_us);
    growth
        + candidate.runs_dry.as_ref().map_or(0.0, |dry| dry.times.max(1.0).ln())
        + times(first_p99_us(candidate), budgets.p99_us).max(times(grown_p99_us, budgets.p99_us))
        + times(candidate.worst_utilisation().map(|(utilisation, ..)| utilisation), budgets.utilisation)
        + times(budgets.headroom, candidate.headroom.as_ref().map(|headroom| headroom.factor.max(1.0)))
        + times(Some(f64::from(candidate.device_count)), budgets.devices.map(f64::from))
        + times(Some(budgets.years), years).max(warranted)
}

#[cfg(test)]
mod tests {
    use esker_results::LatencySummary;
    use esker_results::study::{BusiestHour, BusyResults, GrownLoad, JudgedTime};

    use super::*;

    fn summary(p99_us: f64) -> LatencySummary {
        LatencySummary { p99_us, ..LatencySummary::default() }
    }

    fn busy(p99_us: f64, utilisation: f64) -> Option<BusyResults> {
        let resource = Some("arm".to_string());
        Some(BusyResults {
            response_time: summary(p99_us),
            resource,
            utilisation: Some(utilisation),
            ..Default::default()
        })
    }

    /// A design with these percentiles: by requests, by bytes, in the busiest hour, and over the whole trace.
    fn candidate([by_requests, by_bytes, hour, whole]: [f64; 4]) -> Candidate {
        let mut candidate = Candidate::new("a", "A", "hdd", 1);
        (candidate.busy, candidate.busy_by_bytes) = (busy(by_requests, 0.2), busy(by_bytes, 0.3));
        candidate.busiest_hour = Some(BusiestHour { start_s: 0.0, requests: 9, response_time: summary(hour) });
        let mut requests = esker_results::RequestResults::default();
        requests.all.response_time = summary(whole);
        candidate.requests = Some(requests);
        candidate
    }

    fn within(p99_us: f64) -> Budgets {
        Budgets { p99_us: Some(p99_us), utilisation: Some(0.7), years: 5.0, ..Budgets::default() }
    }

    /// The figures of IOzone and hplajw: a busiest minute far below the rest of the trace.
    #[test]
    fn the_budget_holds_in_every_busy_time_and_over_the_whole_trace() {
        let kept = judge(&candidate([97.0, 97.0, 900.0, 990.0]), &within(1_000.0));
        assert!(kept.keeps_budgets && kept.p99 == Some(true) && kept.reasons.is_empty(), "{kept:?}");
        assert_eq!(kept.worst_p99.map(|worst| (worst.p99_us, worst.time)), Some((990.0, JudgedTime::WholeTrace)));
        for (place, (time, words)) in [
            (JudgedTime::BusiestByRequests, "in the busiest time is 1.3 ms"),
            (JudgedTime::BusiestByBytes, "in the busiest time by bytes is 1.3 ms"),
            (JudgedTime::BusiestHour, "in the busiest hour is 1.3 ms"),
            (JudgedTime::WholeTrace, "over the whole trace is 1.3 ms"),
        ]
        .into_iter()
        .enumerate()
        {
            let mut percentiles = [97.0; 4];
            percentiles[place] = 1_300.0;
            let broken = judge(&candidate(percentiles), &within(1_000.0));
            assert!(!broken.keeps_budgets && broken.p99 == Some(false) && !broken.close, "{time:?}: {broken:?}");
            assert_eq!(broken.reasons, [format!("p99 {words}, the budget 1 ms")]);
            assert_eq!(broken.worst_p99.map(|worst| worst.time), Some(time));
            let contender = contender(&Candidate { judgement: broken, ..candidate(percentiles) }, &within(1_000.0));
            assert_eq!((contender.p99_us, contender.keeps), (1_300.0, Keeps::No));
            assert!((contender.missed - 1.3f64.ln()).abs() < 1e-12);
        }
    }

    /// A design that keeps up by chance alone is no answer, and has no percentile with other random numbers that would
    /// stand beside others.
    #[test]
    fn what_cannot_keep_up_with_other_random_numbers_is_refused() {
        let mut lucky = candidate([97.0; 4]);
        assert!(judge(&lucky, &within(1_000.0)).keeps_budgets);
        lucky.busy.as_mut().unwrap().saturates_with_other_seed = true;
        lucky.judgement = judge(&lucky, &within(1_000.0));
        let judged = &lucky.judgement;
        assert!(!judged.keeps_budgets && !judged.close && judged.p99 == Some(true), "{judged:?}");
        assert_eq!(judged.reasons, ["cannot keep up in the busiest times with other random numbers"]);
        assert_eq!(judged.worst_p99.unwrap().p99_us, 97.0);
        assert_eq!(contender(&lucky, &within(1_000.0)).keeps, Keeps::No);
    }

    /// A cache is cold at the beginning of the trace, so the last quarter counts.
    #[test]
    fn of_a_cache_the_last_quarter_counts_instead_of_the_whole_trace() {
        let mut warm = candidate([97.0, 97.0, 97.0, 60_000.0]);
        warm.judged = JudgedState::Warm(Default::default());
        warm.last_quarter = Some(summary(400.0));
        let judged = judge(&warm, &within(1_000.0));
        assert_eq!(judged.worst_p99.map(|worst| (worst.p99_us, worst.time)), Some((400.0, JudgedTime::LastQuarter)));
        assert_eq!(judged.p99, Some(true));
    }

    #[test]
    fn a_resource_is_idle_enough_in_both_busy_stretches() {
        let mut busy_by_bytes = candidate([97.0; 4]);
        busy_by_bytes.busy_by_bytes = busy(97.0, 0.9);
        let judged = judge(&busy_by_bytes, &within(1_000.0));
        assert_eq!(judged.utilisation, Some(false));
        assert_eq!(judged.reasons, ["its disk arm is 90 % busy in the busiest time by bytes, the budget is 70 %"]);
    }

    #[test]
    fn other_random_numbers_count_where_they_are_worse() {
        let mut close = candidate([97.0, 980.0, 97.0, 97.0]);
        close.busy_by_bytes.as_mut().unwrap().p99_us_of_other_seed = Some(1_050.0);
        let judged = judge(&close, &within(1_000.0));
        assert!(judged.p99 == Some(false) && judged.close, "{judged:?}");
        assert_eq!(contender(&close, &within(1_000.0)).p99_us, 980.0);
    }

    #[test]
    fn the_rule_takes_what_keeps_its_budgets_and_nothing_else() {
        let grown = |keeps_up, busiest_hour_p99_us| Some(GrownLoad { factor: 7.5, keeps_up, busiest_hour_p99_us });
        let all = [None, grown(true, Some(500.0)), grown(true, Some(2_000.0)), grown(false, None)];
        for (p99_us, utilisation, limit_us, grown) in all
            .into_iter()
            .flat_map(|grown| [None, Some(1_000.0)].map(|limit| (limit, grown)))
            .flat_map(|(limit, grown)| [97.0, 1_300.0].map(|p99| (p99, limit, grown)))
            .flat_map(|(p99, limit, grown)| [0.2, 0.9].map(|utilisation| (p99, utilisation, limit, grown)))
        {
            let mut one = Candidate { grown, ..candidate([p99_us; 4]) };
            one.busy = busy(p99_us, utilisation);
            let budgets = Budgets { p99_us: limit_us, ..within(1_000.0) };
            one.judgement = judge(&one, &budgets);
            let what = format!("p99 {p99_us} of {limit_us:?}, {utilisation} busy, {grown:?}: {:?}", one.judgement);
            let contender = contender(&one, &budgets);
            assert_eq!(contender.keeps == Keeps::Yes, one.judgement.keeps_budgets, "{what}");
            assert_eq!(one.judgement.keeps_budgets, one.judgement.reasons.is_empty(), "{what}");
            assert_eq!(one.judgement.keeps_budgets, contender.missed == 0.0, "{what}");
        }
    }
}
