//! Chooses the admission policy of a cache before any device is simulated. Among the policies that cause no more slow
//! requests than admitting everything, it takes the one that writes least to the flash. Policies run on the same
//! samples of the trace on which replacement policies are compared.

use std::ops::ControlFlow;

use esker_cache::{ADMISSIONS, Access, AccessKind, AccessLog, Admission, NO_ADMISSION, Shape, build, build_admission};
use esker_core::registry::Choice;
use esker_core::{Nanos, words};
use esker_results::study::AdmissionWrites;

use super::miniature::{CacheShape, NOISE_MIN, mean, standard_error};
use crate::{Hooks, StudyError};

/// An admission policy has to lower the bytes written to the flash by at least this share; if it saves less, the
/// simpler cache is better. Assumed.
const SAVING_MIN: f64 = 0.1;

/// The admission policy for caches of one shape and one way of writing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AdmissionChoice {
    pub(super) admission: &'static str,
    /// Why this policy was chosen, as a sentence.
    pub(super) because: String,
    pub(super) compared: Vec<AdmissionWrites>,
}

/// The admission policies for caches of one shape: one for write-through, one for write-back.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Admissions {
    pub(super) through: AdmissionChoice,
    pub(super) back: AdmissionChoice,
}

impl Admissions {
    /// The choice for flash that holds everything the trace touches: nothing is evicted, so each line enters once.
    pub(super) fn any() -> Self {
        let choice = AdmissionChoice {
            admission: NO_ADMISSION,
            because: "Everything enters: the flash holds all that the trace touches.".into(),
            compared: Vec::new(),
        };
        Self { through: choice.clone(), back: choice }
    }
}

/// Wraps an admission policy and counts its decisions.
#[derive(Debug)]
struct CountingAdmission {
    inner: Box<dyn Admission>,
    read_misses: u64,
    refused_writes: u64,
    entered: u64,
    written_hits: u64,
}

impl Admission for CountingAdmission {
    fn admits(&mut self, now: Nanos, access: &Access) -> bool {
        let admitted = self.inner.admits(now, access);
        self.entered += u64::from(admitted);
        match access.kind {
            AccessKind::Read => self.read_misses += 1,
            AccessKind::Write => self.refused_writes += u64::from(!admitted),
        }
        admitted
    }

    fn hit(&mut self, now: Nanos, access: &Access) {
        if access.kind == AccessKind::Write {
            self.written_hits += u64::from(access.bytes);
        }
        self.inner.hit(now, access);
    }

    fn set_rate(&mut self, rate: f64) {
        self.inner.set_rate(rate);
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.inner.set_capacity(capacity);
    }

    fn memory_bytes(&self) -> usize {
        self.inner.memory_bytes()
    }
}

/// Results of one admission policy, with one number for each sample, per access of the trace.
#[derive(Clone, Debug)]
struct AdmissionResult {
    admission: &'static str,
    /// Accesses that wait for the disks: with write-through, reads that miss; with write-back, also writes that are
    /// refused.
    slow_through: Vec<f64>,
    slow_back: Vec<f64>,
    /// Bytes written to the flash.
    written: Vec<f64>,
}

/// Simulates every admission policy together with the replacement policy `policy` in caches of one shape, and chooses.
pub(super) fn compare_admissions(
    samples: &[AccessLog],
    shape: CacheShape,
    policy: &str,
    seed: u64,
    hooks: &Hooks<'_>,
) -> Result<Admissions, StudyError> {
    let mut tried = Vec::new();
    for entry in ADMISSIONS {
        let mut one =
            AdmissionResult { admission: entry.name, slow_through: vec![], slow_back: vec![], written: vec![] };
        for log in samples {
            let capacity = (shape.slots as f64 * log.rate()).round().clamp(1.0, u32::MAX.into()) as u32;
            let small = Shape { capacity, objects: log.objects().max(1), seed };
            let mut cache = build(&Choice::named(policy), &small).map_err(StudyError::design)?;
            let inner = build_admission(&Choice::named(entry.name), &small).map_err(StudyError::design)?;
            let mut counting =
                CountingAdmission { inner, read_misses: 0, refused_writes: 0, entered: 0, written_hits: 0 };
            let go_on = |_| if hooks.cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            log.simulate_admitting(&mut *cache, &mut counting, go_on).ok_or(StudyError::Cancelled)?;
            // A sample with more accesses than its rate predicts has some very popular lines, and those hit.
            let per_access = |count: u64| count as f64 / log.rate() / log.accesses().max(1) as f64;
            one.slow_through.push(per_access(counting.read_misses));
            one.slow_back.push(per_access(counting.read_misses + counting.refused_writes));
            one.written.push(per_access(counting.entered * shape.line_bytes + counting.written_hits));
        }
        tried.push(one);
    }
    Ok(Admissions { through: choose(&tried, |one| &one.slow_through), back: choose(&tried, |one| &one.slow_back) })
}

/// Chooses among the results of all admission policies; the first of them admits everything. Among the policies whose
/// slow accesses exceed those of the first by no more than noise (twice the standard error of the differences between
/// samples), it takes the one that writes least. It takes the first if no policy saves at least [`SAVING_MIN`] of the
/// writes, and more than noise.
fn choose(tried: &[AdmissionResult], slow: impl Fn(&AdmissionResult) -> &Vec<f64>) -> AdmissionChoice {
    let all = &tried[0];
    let more = |one: &[f64], than: &[f64]| -> Vec<f64> { one.iter().zip(than).map(|(one, than)| one - than).collect() };
    let compared: Vec<AdmissionWrites> = tried
        .iter()
        .map(|one| {
            let difference = more(slow(one), slow(all));
            AdmissionWrites {
                admission: one.admission.into(),
                slow_ratio: mean(slow(one)),
                more: mean(&difference),
                noise: (2.0 * standard_error(&difference)).max(NOISE_MIN),
                written_bytes_per_access: mean(&one.written),
            }
        })
        .collect();
    let before = mean(&all.written);
    let saves = |index: usize| {
        let less = more(&all.written, &tried[index].written);
        mean(&less) > (SAVING_MIN * before).max(2.0 * standard_error(&less))
    };
    let fits = |&index: &usize| compared[index].more <= compared[index].noise && saves(index);
    let written = |index: usize| compared[index].written_bytes_per_access;
    let best = (1..tried.len()).filter(fits).min_by(|&one, &other| written(one).total_cmp(&written(other)));
    let because = match best {
        Some(index) => format!(
            "It lowers what is written to the flash by {}; {} of accesses wait for disks, and {} if everything enters.",
            words::percent(1.0 - written(index) / before),
            words::percent(compared[index].slow_ratio),
            words::percent(compared[0].slow_ratio),
        ),
        None => "No other lowers what is written to the flash by a tenth without more accesses that wait for disks."
            .to_string(),
    };
    AdmissionChoice { admission: tried[best.unwrap_or(0)].admission, because, compared }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use esker_cache::{AccessLogBuilder, Sample};

    use super::*;

    fn tried(admission: &'static str, slow: f64, written: f64) -> AdmissionResult {
        AdmissionResult { admission, slow_through: vec![slow; 8], slow_back: vec![slow; 8], written: vec![written; 8] }
    }

    #[test]
    fn what_writes_less_is_taken_if_nothing_is_slower() {
        let choice = |others: &[AdmissionResult]| {
            let all: Vec<AdmissionResult> = [&[tried("none", 0.30, 4000.0)], others].concat();
            choose(&all, |one| &one.slow_back)
        };
        let less = choice(&[tried("larc", 0.302, 1000.0), tried("bloom", 0.30, 1500.0)]);
        assert_eq!(less.admission, "larc");
        assert!(less.because.contains("by 75"), "{}", less.because);
        assert_eq!(choice(&[tried("larc", 0.32, 1000.0)]).admission, "none");
        assert_eq!(choice(&[tried("larc", 0.30, 3700.0)]).admission, "none");
        // A saving that varies more between samples than it is on average is noise.
        let mut unsure = tried("larc", 0.30, 0.0);
        unsure.written = (0..8).map(|n| if n % 2 == 0 { 7000.0 } else { 0.0 }).collect();
        assert_eq!(choice(&[unsure]).admission, "none");
    }

    /// Half of the accesses are to lines that are never used again, so these need not enter. A refused write waits for
    /// the disks; with write-through it waits for them anyway.
    #[test]
    fn what_is_read_once_need_not_enter() {
        let log = |seed: u64, kind: AccessKind| {
            let mut builder = AccessLogBuilder::sampled(NonZeroU64::new(4096), Sample { rate: 0.125, seed });
            for round in 0..120_u64 {
                for page in 0..2_000_u64 {
                    builder.request(page * 4096, 4096, AccessKind::Read).unwrap();
                    builder.request((10_000 + round * 2_000 + page) * 4096, 4096, kind).unwrap();
                }
            }
            builder.finish(false)
        };
        let (cancel, simulated) = (false.into(), 0.into());
        let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
        let admissions = |kind| {
            let samples: Vec<AccessLog> = (0..8).map(|seed| log(seed, kind)).collect();
            compare_admissions(&samples, CacheShape { line_bytes: 4096, slots: 6_000 }, "lru", 1, &hooks).unwrap()
        };
        let reads = admissions(AccessKind::Read);
        assert_ne!(reads.through.admission, NO_ADMISSION, "{reads:?}");
        assert_eq!(reads.through.admission, reads.back.admission);
        let writes = admissions(AccessKind::Write);
        assert_ne!(writes.through.admission, NO_ADMISSION, "{writes:?}");
        assert_eq!(writes.back.admission, NO_ADMISSION, "{writes:?}");
    }
}
