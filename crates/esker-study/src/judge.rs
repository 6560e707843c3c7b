//! Whether a design keeps the budgets.

use esker_core::words;
use esker_results::study::{Budgets, CacheWarmed, Candidate, CandidateOutcome, Endurance, Judgement, PolicySettled};

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
    // What misses another budget, or this one by far, is not saved by other random numbers.
    let missed = |kept: Option<bool>, close: bool| kept == Some(false) && !close;
    let missed = missed(judgement.p99, close_p99)
        || missed(judgement.headroom, close_load)
        || missed(judgement.utilisation, false)
        || missed(judgement.devices, false)
        || unsettled.is_some();
    judgement.close = !missed && (close_p99 || close_load);
    let kept = [judgement.p99, judgement.utilisation, judgement.headroom, judgement.years, judgement.devices];
    let carries = candidate.grown.is_none_or(|grown| grown.keeps_up);
    judgement.keeps_budgets = served && carries && unsettled.is_none() && kept.iter().all(|kept| kept.unwrap_or(true));
    judgement
}

/// Why a hybrid or a cache cannot be judged: its policy had not settled by the end of the trace, or it was not warm.
fn unsettled(candidate: &Candidate) -> Option<String> {
    if let Some(cache) = &candidate.cache {
        return cache.warmed.and_then(|warmed| still_cold(&warmed));
    }
    let PolicySettled { late_moves, late_moves_max, settled } = candidate.hybrid.as_ref()?.settled?;
    (!settled).then(|| {
        format!(
            "its policy had not settled: {} extents moved in the last quarter of the trace, {} may",
            words::count(late_moves),
            words::count(late_moves_max)
        )
    })
}

/// Why a cache cannot be judged, if it was not warm.
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

/// Judges the 99th percentile. Returns whether it is so close to the budget that chance decides.
fn response_times(candidate: &Candidate, budgets: &Budgets, judgement: &mut Judgement) -> bool {
    let (Some(limit), Some(busy)) = (budgets.p99_us, &candidate.busy) else { return false };
    // What waits for the limits of a volume, or for cleaning, may wait at other times than the busiest.
    let hour = candidate.busiest_hour.map_or(0.0, |hour| hour.response_time.p99_us);
    let first = busy.response_time.p99_us;
    let p99 = busy.p99_us_of_other_seed.map_or(first, |other| other.max(first));
    judgement.p99 = Some(p99 <= limit && hour <= limit);
    // Over the budget, but never by more than the noise.
    let all = [first, p99, hour];
    let close = all.iter().any(|&p99| p99 > limit) && all.iter().all(|&p99| p99 < limit * (1.0 + NOISE));
    if p99 > limit {
        let (p99, limit) = (words::time(p99), words::time(limit));
        judgement.reasons.push(format!("p99 in the busiest time is {p99}, the budget {limit}"));
    } else if hour > limit {
        let (hour, limit) = (words::time(hour), words::time(limit));
        judgement.reasons.push(format!("p99 in the busiest hour is {hour}, the budget {limit}"));
    }
    let (Some(grown), true) = (&candidate.grown, judgement.p99 == Some(true)) else { return close };
    let after =
        format!("after {} of growth ({} times the load)", words::years(budgets.years), words::factor(grown.factor));
    match grown.busiest_hour_p99_us {
        _ if !grown.keeps_up => judgement.reasons.push(format!("cannot keep up {after}")),
        Some(then) if then > limit => {
            judgement.p99 = Some(false);
            let (then, limit) = (words::time(then), words::time(limit));
            judgement.reasons.push(format!("p99 in the busiest hour is {then} {after}, the budget {limit}"));
        }
        _ => return close,
    }
    false
}

/// Judges how busy it is, and how much more it carries. Returns whether the latter is so close that chance decides.
fn load(candidate: &Candidate, budgets: &Budgets, judgement: &mut Judgement) -> bool {
    let mut close = false;
    if let (Some(limit), Some(busy)) = (budgets.utilisation, &candidate.busy)
        && let Some(utilisation) = busy.utilisation
    {
        judgement.utilisation = Some(utilisation <= limit);
        if utilisation > limit {
            judgement.reasons.push(format!(
                "its {} is {} busy in the busiest time, the budget is {}",
                words::resource(busy.resource.as_deref().unwrap_or_default()),
                words::percent(utilisation),
                words::percent(limit)
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
        // What already breaks under the load of the trace was said above.
        if let (false, Some(limited_by), true) = (kept, &headroom.limited_by, headroom.factor >= 1.0) {
            let at = words::factor(headroom.breaks_at.unwrap_or(asked));
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
            format!("the flash lasts {}, the budget is {}", words::years(years), words::years(budgets.years))
        }
        (_, Some(asked), Some(sold)) if asked > sold => {
            format!("{} drive writes a day are asked for, {} are warranted", words::factor(asked), words::factor(sold))
        }
        _ => "the flash does not last as long as asked".into(),
    }
}

/// What the rule needs to know of a judged design.
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
    let p99_us = candidate.busy.as_ref().map_or(f64::INFINITY, |busy| busy.response_time.p99_us);
    // With the life aside, which the rule looks at by itself.
    let kept = [judgement.p99, judgement.utilisation, judgement.headroom, judgement.devices];
    let keeps = match served && kept.iter().all(|kept| kept.unwrap_or(true)) {
        _ if served && judgement.close => Keeps::Close,
        _ if unsettled(candidate).is_some() => Keeps::No,
        true => Keeps::Yes,
        false => Keeps::No,
    };
    Contender {
        cost: candidate.cost.as_ref().map_or(f64::INFINITY, |cost| cost.total),
        keeps,
        life,
        capacity: capacity(candidate),
        parts: candidate.device_count,
        p99_us,
        missed: missed(candidate, budgets, served),
    }
}

/// Capacity on sale of all devices; of a hybrid or a cache, what its volumes offer.
fn capacity(candidate: &Candidate) -> u64 {
    match candidate.volume_bytes() {
        Some(bytes) => bytes,
        None => candidate.capacity_on_sale_bytes.unwrap_or(0) * u64::from(candidate.count.unwrap_or(1)),
    }
}

/// By how much budgets are missed: the sum of the logarithms of how many times too much. A design that cannot keep up
/// misses by more than any that can.
fn missed(candidate: &Candidate, budgets: &Budgets, served: bool) -> f64 {
    if !served {
        return f64::MAX;
    }
    let times = |is: Option<f64>, limit: Option<f64>| match (is, limit) {
        (Some(is), Some(limit)) if is > limit && limit > 0.0 => (is / limit).ln(),
        _ => 0.0,
    };
    let busy = candidate.busy.as_ref();
    let endurance = candidate.endurance.as_ref().filter(|endurance| endurance.kept != Some(true));
    let longest = |endurance: &Endurance| endurance.lifetime_range_years.map(|[_, longest]| longest);
    let years = endurance.and_then(|endurance| endurance.lifetime_years.or(longest(endurance)));
    // A life below the budget and more writes than are warranted are one miss, not two.
    let warranted = endurance
        .map_or(0.0, |endurance| times(endurance.drive_writes_per_day_asked, endurance.drive_writes_per_day_sold));
    let hour = candidate.busiest_hour.map_or(0.0, |hour| hour.response_time.p99_us);
    times(busy.map(|busy| busy.response_time.p99_us.max(hour)), budgets.p99_us)
        + times(busy.and_then(|busy| busy.utilisation), budgets.utilisation)
        + times(budgets.headroom, candidate.headroom.as_ref().map(|headroom| headroom.factor.max(1.0)))
        + times(Some(f64::from(candidate.device_count)), budgets.devices.map(f64::from))
        + times(Some(budgets.years), years).max(warranted)
}
