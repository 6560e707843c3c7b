//! Chooses the replacement policy of a cache before any device is simulated: the simplest policy that misses least on
//! the trace.
//!
//! Each policy runs on samples of the lines, chosen by hash, in a cache that is smaller in the same proportion
//! (Waldspurger et al., "Cache modeling and optimization using miniature simulations", ATC 2017). The spread of the
//! samples tells differences from noise.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::Arc;

use esker_cache::{AccessKind, AccessLog, AccessLogBuilder, REPLACEMENTS, ReplacementCapability, Sample, Shape, build};
use esker_core::registry::Choice;
use esker_core::{jobs, words};
use esker_results::study::PolicyMisses;
use esker_trace::Operation;

use super::admissions::{self, Admissions};
use super::miniature::{CacheShape, NOISE_MIN, mean, standard_error};
use crate::curve::packed_range;
use crate::load::StudyWorkload;
use crate::offers::OfferInputs;
use crate::{Hooks, StudyError};

/// Number of samples of the lines. Each has its own seed.
const SAMPLES: u64 = 8;
/// The largest share of lines in a sample. With it, all samples together take as long as all lines.
const RATE_MAX: f64 = 1.0 / SAMPLES as f64;
/// Approximate limit for the accesses of a sample.
const SAMPLED_MAX: f64 = 500_000.0;

/// The replacement policy of caches of one shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PolicyChoice {
    pub(super) policy: &'static str,
    /// Why this policy was chosen, as a sentence.
    pub(super) because: String,
    pub(super) compared: Vec<PolicyMisses>,
    /// The admission policies to use with it.
    pub(super) admissions: Admissions,
}

/// The policies of all caches that are offered.
#[derive(Debug)]
pub(super) struct Policies {
    choices: BTreeMap<CacheShape, Arc<PolicyChoice>>,
}

impl Policies {
    /// Compares policies in caches of `shapes` under the workload.
    pub(super) fn of(inputs: &OfferInputs<'_>, shapes: &[CacheShape]) -> Result<Self, StudyError> {
        let OfferInputs { workload, settings, hooks, .. } = *inputs;
        let seed = settings.seed;
        let touched = workload.map().footprint();
        let holds_all = |shape: &CacheShape| shape.slots >= touched.div_ceil(shape.line_bytes);
        let (whole, parts): (BTreeSet<_>, BTreeSet<_>) = shapes.iter().copied().partition(holds_all);
        let lines: BTreeSet<u64> = parts.iter().map(|shape| shape.line_bytes).collect();
        let samples = samples(workload, &lines, seed, hooks)?;
        let parts: Vec<CacheShape> = parts.into_iter().collect();
        let compared = jobs::collect(settings.threads, parts.len(), |index| {
            let shape = parts[index];
            hooks.tell(&format!("comparing policies of caches of {} lines", words::count(shape.slots)), 0, None);
            compare_policies(&samples[&shape.line_bytes], shape, seed, hooks)
        });
        let mut choices: BTreeMap<_, _> = whole.into_iter().map(|shape| (shape, Arc::new(any()))).collect();
        for (shape, choice) in parts.into_iter().zip(compared) {
            choices.insert(shape, Arc::new(choice?));
        }
        Ok(Self { choices })
    }

    /// Returns the policy for caches of this shape, if `shape` was one of those compared.
    pub(super) fn choice(&self, shape: CacheShape) -> Option<&Arc<PolicyChoice>> {
        self.choices.get(&shape)
    }
}

/// Names the policies to compare, the simplest first: those that `esker cache` compares and that a device can use.
fn names() -> impl Iterator<Item = &'static str> {
    let fits = |capabilities: &[ReplacementCapability]| {
        capabilities.contains(&ReplacementCapability::Compared)
            && !capabilities.contains(&ReplacementCapability::Future)
    };
    REPLACEMENTS.iter().filter(move |entry| fits(entry.capabilities)).map(|entry| entry.name)
}

/// The choice for flash that holds all that the trace touches: nothing is evicted.
fn any() -> PolicyChoice {
    PolicyChoice {
        policy: names().next().expect("there are policies"),
        because: "The flash holds all that the trace touches: whatever the policy, nothing has to leave.".into(),
        compared: Vec::new(),
        admissions: Admissions::any(),
    }
}

/// Returns samples of the accesses, by line size.
fn samples(
    workload: &StudyWorkload,
    lines: &BTreeSet<u64>,
    seed: u64,
    hooks: &Hooks<'_>,
) -> Result<BTreeMap<u64, Vec<AccessLog>>, StudyError> {
    let profile = &workload.profile;
    let mut builders: BTreeMap<u64, Vec<AccessLogBuilder>> = BTreeMap::new();
    for &line in lines {
        // A request touches at most one line more than its bytes fill.
        let accesses = (profile.read_bytes + profile.write_bytes) / line + profile.requests;
        let rate = RATE_MAX.min(SAMPLED_MAX / accesses.max(1) as f64);
        let sample = |number: u64| Sample { rate, seed: seed.wrapping_add(number) };
        let piece = NonZeroU64::new(line);
        builders.insert(line, (0..SAMPLES).map(|n| AccessLogBuilder::sampled(piece, sample(n))).collect());
    }
    if lines.is_empty() {
        return Ok(BTreeMap::new());
    }
    for (index, record) in workload.records().enumerate() {
        let kind = if record.operation == Operation::Write { AccessKind::Write } else { AccessKind::Read };
        if let Some((offset, length)) = packed_range(workload.map(), &record) {
            for builder in builders.values_mut().flatten() {
                builder.request(offset, length, kind).map_err(StudyError::design)?;
            }
        }
        if index % 65_536 == 0 {
            hooks.check()?;
        }
    }
    let finished = |builders: Vec<AccessLogBuilder>| builders.into_iter().map(|one| one.finish(false)).collect();
    Ok(builders.into_iter().map(|(line, builders)| (line, finished(builders))).collect())
}

/// Simulates every policy in caches of one shape, and chooses.
fn compare_policies(
    samples: &[AccessLog],
    shape: CacheShape,
    seed: u64,
    hooks: &Hooks<'_>,
) -> Result<PolicyChoice, StudyError> {
    let mut misses: Vec<(&'static str, Vec<f64>)> = Vec::new();
    for policy in names() {
        let mut of_samples = Vec::new();
        for log in samples {
            let slots = (shape.slots as f64 * log.rate()).round().clamp(1.0, u32::MAX.into()) as u32;
            let shape = Shape { capacity: slots, objects: log.objects().max(1), seed };
            let mut cache = build(&Choice::named(policy), &shape).map_err(StudyError::design)?;
            let go_on = |_| if hooks.cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            let counts = log.simulate(&mut *cache, go_on).ok_or(StudyError::Cancelled)?;
            of_samples.push(log.of_the_whole(&counts).miss_ratio());
        }
        misses.push((policy, of_samples));
    }
    let choice = choose(&misses);
    let admissions = admissions::compare_admissions(samples, shape, choice.policy, seed, hooks)?;
    Ok(PolicyChoice { admissions, ..choice })
}

/// Chooses from the miss ratios of each policy in all samples; the simplest policy is first. It takes the first one
/// that misses no more than the best, but for noise (twice the standard error of the differences between samples).
fn choose(misses: &[(&'static str, Vec<f64>)]) -> PolicyChoice {
    let best = misses.iter().min_by(|(_, one), (_, other)| mean(one).total_cmp(&mean(other)));
    let (best_name, best) = best.expect("there are policies");
    let compared: Vec<PolicyMisses> = misses
        .iter()
        .map(|(policy, of_samples)| {
            let more: Vec<f64> = of_samples.iter().zip(best).map(|(one, best)| one - best).collect();
            PolicyMisses {
                policy: (*policy).into(),
                miss_ratio: mean(of_samples),
                more: mean(&more),
                noise: (2.0 * standard_error(&more)).max(NOISE_MIN),
            }
        })
        .collect();
    let at = compared.iter().position(|one| one.more <= one.noise).expect("the best is as good as itself");
    let (policy, _) = misses[at];
    let share = |ratio: f64| format!("{} of accesses", words::percent(ratio));
    let because = if policy == *best_name {
        let others = compared.iter().filter(|one| one.policy != policy);
        let next = others.min_by(|one, other| one.miss_ratio.total_cmp(&other.miss_ratio));
        let next =
            next.map_or(String::new(), |next| format!("; next is {} with {}", next.policy, share(next.miss_ratio)));
        format!("It misses least of the policies compared: {}{next}.", share(compared[at].miss_ratio))
    } else {
        format!(
            "It misses {}, {best_name} least with {}: a difference within the noise ({}), so the simpler one is taken.",
            share(compared[at].miss_ratio),
            share(mean(best)),
            words::percent(compared[at].noise)
        )
    };
    PolicyChoice { policy, because, compared, admissions: Admissions::any() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_within_the_noise_takes_the_simplest() {
        // A tenth of a percent counts for nothing, however sure it is. Two percent count if all samples agree, but not
        // if they are far apart.
        let few = choose(&[("lru", vec![0.301; 8]), ("arc", vec![0.300; 8])]);
        assert_eq!((few.policy, few.compared[0].noise), ("lru", NOISE_MIN));
        assert!(few.because.contains("within the noise"), "{}", few.because);
        let sure = choose(&[("lru", vec![0.32; 8]), ("arc", vec![0.30; 8])]);
        assert_eq!(sure.policy, "arc");
        assert!(sure.because.contains("next is lru"), "{}", sure.because);
        let apart = |sign: f64| (0..8).map(|n| 0.32 + sign * if n % 2 == 0 { 0.05 } else { -0.05 }).collect();
        let unsure = choose(&[("lru", apart(1.0)), ("arc", vec![0.30; 8])]);
        assert_eq!(unsure.policy, "lru", "{unsure:?}");
    }

    /// A loop a little longer than the cache: LRU evicts each page just before it is used again.
    #[test]
    fn a_loop_takes_a_policy_that_keeps_part_of_it() {
        let log = |seed: u64| {
            let mut builder = AccessLogBuilder::sampled(NonZeroU64::new(4096), Sample { rate: 0.125, seed });
            for page in (0..10).flat_map(|_| 0..8_000_u64) {
                builder.request(page * 4096, 4096, AccessKind::Read).unwrap();
            }
            builder.finish(false)
        };
        let (cancel, simulated) = (false.into(), 0.into());
        let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
        let samples: Vec<AccessLog> = (0..SAMPLES).map(log).collect();
        let choice = compare_policies(&samples, CacheShape { line_bytes: 4096, slots: 6_000 }, 1, &hooks).unwrap();
        let lru = &choice.compared[0];
        assert!(lru.policy == "lru" && lru.miss_ratio > 0.95 && lru.more > lru.noise, "{choice:?}");
        let taken = choice.compared.iter().find(|one| one.policy == choice.policy).unwrap();
        // No policy can do better than the lower bound: a quarter of the loop does not fit.
        assert!((0.2..0.5).contains(&taken.miss_ratio), "{choice:?}");
    }

    #[test]
    fn the_simplest_is_first_and_none_knows_the_future() {
        let names: Vec<&str> = names().collect();
        assert_eq!(names[0], "lru");
        assert!(names.len() >= 5 && !names.contains(&"belady"), "{names:?}");
    }
}
