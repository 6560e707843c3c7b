//! Chooses the placement policy of hybrids: each policy is replayed on a pair of products with a sample of the trace.

use std::ops::Range;

use esker_core::{Bytes, Control, Nanos, Ratio, jobs};
use esker_results::Report;
use esker_results::study::{PoliciesCompared, PolicyReplay};
use esker_sim::{Simulation, Workload};

use super::policies::{POLICIES, PolicyEntry};
use crate::StudyError;
use crate::busy::work;
use crate::choose::NOISE;
use crate::design::Design;
use crate::judging::{PlacementCounts, PlayedParts, QuarterCounts, late_moves_max, policy_settled};
use crate::offers::OfferInputs;
use crate::setup::experiment;

/// The most work of a sample: a request counts once, and once more for every 16 KiB.
const WORK_MAX: u64 = 200_000;

/// The placement policy of some hybrids.
#[derive(Clone, Debug)]
pub(super) struct PolicyChoice {
    pub(super) policy: &'static PolicyEntry,
    /// Why this policy was chosen, as a sentence.
    pub(super) because: String,
    pub(super) compared: Option<PoliciesCompared>,
}

impl PolicyChoice {
    /// A policy that was not compared with others.
    pub(super) fn without_others(policy: &'static PolicyEntry) -> Self {
        Self { policy, because: String::new(), compared: None }
    }
}

/// The requests on which policies are compared.
pub(super) struct Sample {
    requests: Workload,
    count: u64,
}

impl Sample {
    /// Returns the sample of a trace: all of it or, of a trace with much work, as many requests as [`WORK_MAX`] holds
    /// that end with the busiest stretch (the first ones, if there are fewer before its end).
    pub(super) fn of(inputs: &OfferInputs<'_>) -> Result<Self, StudyError> {
        let (workload, profile) = (inputs.workload, &inputs.workload.profile);
        let all = work(profile.requests, profile.read_bytes + profile.write_bytes);
        let (Some(stretch), true) = (inputs.stretch, all > WORK_MAX) else {
            return Ok(Self { requests: workload.requests.first(u64::MAX), count: profile.requests });
        };
        let most = (u128::from(profile.requests) * u128::from(WORK_MAX) / u128::from(all)) as usize;
        let times = || workload.arrivals().map(|(at, _)| at);
        let sampled = sampled(times().take_while(|&at| at < stretch.to).count(), most);
        let from = times().nth(sampled.start).unwrap_or(Nanos::ZERO);
        let to = times().nth(sampled.end).unwrap_or(Nanos::NEVER);
        let part = workload.requests.part(|at| from <= at && at < to).map_err(StudyError::design)?;
        let count = times().filter(|&at| from <= at && at < to).count() as u64;
        Ok(Self { requests: part.expect("a study is of traces"), count })
    }
}

/// Returns which requests are in a sample of `most`, if the busiest stretch ends after the first `end`.
fn sampled(end: usize, most: usize) -> Range<usize> {
    let end = end.max(most);
    end - most..end
}

/// Replays every policy on the pair called `on`, whose design with each policy `design` makes, and chooses. The hybrid
/// has extents of this size.
pub(super) fn compare(
    inputs: &OfferInputs<'_>,
    sample: &Sample,
    (on, extent): (&str, Bytes),
    design: impl Fn(&'static PolicyEntry) -> Result<Design, StudyError> + Sync,
) -> Result<PolicyChoice, StudyError> {
    let replays = jobs::collect(inputs.settings.threads, POLICIES.len(), |index| {
        let policy = &POLICIES[index];
        inputs.hooks.tell(&format!("comparing policies of hybrids: {}", policy.name), 0, None);
        match design(policy).and_then(|design| replay(inputs, sample, policy.name, &design)) {
            // A pair that cannot be simulated is reported by the search.
            Err(StudyError::Design(_)) => Ok(PolicyReplay { policy: policy.name.into(), ..PolicyReplay::default() }),
            replayed => replayed,
        }
    });
    let replays: Vec<PolicyReplay> = replays.into_iter().collect::<Result<_, _>>()?;
    let (chosen, because) = choose(&replays, inputs.p99_us, late_moves_max(sample.count) * extent.0);
    let compared = PoliciesCompared { on: on.into(), requests: sample.count, policies: replays };
    Ok(PolicyChoice { policy: &POLICIES[chosen], because, compared: Some(compared) })
}

/// Replays the sample on a design.
fn replay(
    inputs: &OfferInputs<'_>,
    sample: &Sample,
    policy: &str,
    design: &Design,
) -> Result<PolicyReplay, StudyError> {
    let experiment = experiment(inputs.workload, design, Ratio::ONE, inputs.settings)?;
    let mut simulation = Simulation::with(experiment, Some(inputs.drives)).map_err(StudyError::design)?;
    simulation.control(Control::StartMeasuring).map_err(StudyError::design)?;
    let (mut parts, mut counts) = (PlayedParts::new(simulation, &sample.requests), QuarterCounts::default());
    let mut results = PolicyReplay { policy: policy.into(), ..PolicyReplay::default() };
    let mut late = None;
    for (count, upto) in counts.iter_mut().zip([0, sample.count / 2, sample.count - sample.count / 4, sample.count]) {
        late = parts.up_to(upto, inputs.hooks)?;
        *count = PlacementCounts::of(parts.simulation.device());
        if late.is_none() {
            return Ok(results);
        }
    }
    let [_, _, before, end] = &counts;
    let settled = policy_settled(&counts, sample.count);
    results.p99_us = late.map(|late| late.quantile(0.99).as_micros_f64());
    results.may_be_judged = settled.settled || settled.steady;
    let pages = end.flash_pages - before.flash_pages;
    results.flash_bytes = (pages as f64 * page_bytes(&Report::of(parts.simulation.device()))) as u64;
    results.moved_bytes = end.moves.moved_bytes - before.moves.moved_bytes;
    Ok(results)
}

/// Returns the size of a page of the flash.
fn page_bytes(report: &Report) -> f64 {
    let drive = report.devices.values().find_map(|device| Some((device.capacity_bytes, device.flash.as_ref()?)));
    drive.map_or(0.0, |(bytes, flash)| bytes as f64 / flash.pages.host.max(1) as f64)
}

/// Chooses among the results of all policies, the simplest of which is first; returns its place, and why. It takes the
/// one with the lowest 99th percentile among those that may be judged and keep the budget of `limit_us`; if none does,
/// among all: with other devices it may settle. Of those that are within [`NOISE`] of it, it takes the one that
/// writes least to the flash, of those within the same noise the one that moves least, and of those the first.
/// `few_bytes` more written or moved are noise, too: what a policy may still move that counts as settled.
fn choose(replays: &[PolicyReplay], limit_us: Option<f64>, few_bytes: u64) -> (usize, String) {
    let p99 = |place: &usize| replays[*place].p99_us.unwrap_or(f64::INFINITY);
    let keeps = |place: &usize| p99(place) <= limit_us.unwrap_or(f64::MAX);
    let places = || 0..replays.len();
    let judged = places().filter(|&place| replays[place].may_be_judged);
    let within: Vec<usize> = judged.filter(keeps).collect();
    let (among, which) = match within.is_empty() {
        false => (within, "of the policies that keep the budget"),
        true => (places().collect(), "of the policies, none of which keeps the budget and can be judged"),
    };
    let few = few_bytes as f64;
    let fastest = nearly_least(&among, 0.0, p99);
    let wearing_least = nearly_least(&fastest, few, |&place| replays[place].flash_bytes as f64);
    let moving_least = nearly_least(&wearing_least, few, |&place| replays[place].moved_bytes as f64);
    let chosen = moving_least[0];
    let PolicyReplay { policy, .. } = &replays[chosen];
    let because = match (fastest.len(), wearing_least.len(), moving_least.len()) {
        (1, ..) => format!("{policy} is the fastest {which}."),
        (alike, 1, _) => format!("{policy} writes the flash least of {alike} that are equally fast, {which}."),
        (alike, _, 1) => {
            format!("{policy} moves least of {alike} that are equally fast and write the flash alike, {which}.")
        }
        (.., alike) => format!("{policy} is the simplest of {alike} that do the same, {which}."),
    };
    (chosen, because)
}

/// Returns those of `among` whose value is the least, but for noise, or at most `few` more than the least.
fn nearly_least(among: &[usize], few: f64, value: impl Fn(&usize) -> f64) -> Vec<usize> {
    let least = among.iter().map(&value).fold(f64::INFINITY, f64::min);
    among.iter().copied().filter(|place| value(place) <= (least * (1.0 + NOISE)).max(least + few)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(policy: &str, p99_us: f64, [flash_bytes, moved_bytes]: [u64; 2]) -> PolicyReplay {
        let p99_us = (p99_us > 0.0).then_some(p99_us);
        PolicyReplay { policy: policy.into(), p99_us, may_be_judged: true, flash_bytes, moved_bytes }
    }

    fn chosen(replays: &[PolicyReplay], limit_us: f64) -> String {
        let (place, because) = choose(replays, Some(limit_us), 5);
        assert!(because.starts_with(&replays[place].policy), "{because}");
        replays[place].policy.clone()
    }

    #[test]
    fn a_sample_ends_with_the_busiest_stretch_or_is_the_beginning() {
        assert_eq!(sampled(900, 300), 600..900);
        assert_eq!(sampled(100, 300), 0..300);
    }

    #[test]
    fn the_fastest_is_taken_and_of_equals_what_writes_and_moves_least() {
        let first = replayed("first", 1_000.0, [50, 50]);
        let of = |other: PolicyReplay| chosen(&[first.clone(), other], 5_000.0);
        assert_eq!(of(replayed("fast", 800.0, [90, 90])), "fast");
        assert_eq!(of(replayed("as-fast", 950.0, [49, 49])), "first", "noise decides nothing");
        assert_eq!(of(replayed("wears-less", 1_090.0, [40, 90])), "wears-less");
        assert_eq!(of(replayed("wears-little-less", 950.0, [45, 49])), "first", "few bytes are noise");
        assert_eq!(of(replayed("moves-less", 1_090.0, [52, 40])), "moves-less");
        assert_eq!(of(replayed("slow", 1_110.0, [1, 1])), "first");
        assert_eq!(of(replayed("cannot-keep-up", 0.0, [0, 0])), "first");
    }

    #[test]
    fn what_keeps_the_budget_and_can_be_judged_is_taken_before_what_is_fast() {
        let unjudged = PolicyReplay { may_be_judged: false, ..replayed("unjudged", 100.0, [1, 1]) };
        let slow = replayed("slow", 900.0, [5, 5]);
        assert_eq!(chosen(&[unjudged.clone(), slow.clone()], 1_000.0), "slow");
        // If none does both, the fastest is nearest to the budget.
        assert_eq!(chosen(&[slow, unjudged.clone()], 500.0), "unjudged");
        assert_eq!(chosen(&[replayed("cannot-keep-up", 0.0, [0, 0]), unjudged], 500.0), "unjudged");
    }
}
