//! Simulates all caches, on all threads.

use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_cache::{AccessKind, AccessLog, AccessLogBuilder, Admission, Sample, Shape, VolumeAccesses};
use esker_core::{Nanos, Ratio, jobs, words};
use esker_curves::CurveObjects;
use esker_results::cache::{CacheResult, CacheSpread};

use super::asked::Pair;
use super::figures::{self, Figures, Run};
use crate::args::{CacheArguments, CacheBy, Common};
use crate::commands::sampled::{ObjectBytes, Sampled, empty_sample, scaled};
use crate::commands::transfers::{Transfer, Transfers};
use crate::failure::Failure;
use crate::progress::{Progress, Unit};
use crate::{cancel, memory};

/// All runs of the command.
pub(super) struct Runs<'a> {
    pub(super) arguments: &'a CacheArguments,
    pub(super) common: &'a Common,
    pub(super) objects: CurveObjects,
    pub(super) pairs: &'a [Pair<'a>],
    /// How many requests, the first ones, only warm the caches.
    pub(super) warm: u64,
    /// From the first access that is counted to the last one, if the trace has times.
    pub(super) duration: Option<Nanos>,
}

/// Accesses between two looks at the memory, to within those of one request.
const LOOK: u64 = 1 << 18;

/// Says when to look at the memory.
struct Looks {
    /// Size of an object; `None` if a request is one access.
    piece: Option<NonZeroU64>,
    /// Accesses since the last look.
    accesses: u64,
}

impl Looks {
    /// Whether it is time to look after a request of this length.
    fn is_due_after(&mut self, length: u64) -> bool {
        self.accesses += 1 + self.piece.map_or(0, |piece| length / piece);
        let is_due = self.accesses >= LOOK;
        if is_due {
            self.accesses = 0;
        }
        is_due
    }
}

impl Runs<'_> {
    fn first_seed(&self) -> u64 {
        self.common.seed.unwrap_or(1)
    }

    /// The accesses of all objects, or those of each sample.
    pub(super) fn logs(&self, transfers: &Transfers) -> Result<Vec<AccessLog>, Failure> {
        self.check_times()?;
        let seeds = self.arguments.seeds;
        // Memory that is free now, for each of the logs.
        let limit = memory::available_bytes().map(|bytes| bytes / u64::from(seeds));
        let log = |index: usize| self.log(transfers, self.first_seed().wrapping_add(index as u64), limit);
        let logs = jobs::collect(self.common.threads(), seeds as usize, log);
        let logs = logs.into_iter().collect::<Result<Vec<_>, _>>()?;
        if logs[0].accesses() == 0 {
            return Err(Failure::input("no request reads or writes a single byte: there is nothing to cache")
                .with_hint("`--object start-block` counts requests whatever their length"));
        }
        if let (Some(rate), true) = (self.arguments.sample, logs.iter().any(AccessLog::is_empty)) {
            return Err(empty_sample(rate));
        }
        if let Some(rate) = self.arguments.sample {
            check_volumes(&logs, transfers.volumes(), rate)?;
        }
        Ok(logs)
    }

    /// An admission policy with a budget a day needs a trace that has times.
    fn check_times(&self) -> Result<(), Failure> {
        let needs = self.pairs.iter().find(|pair| pair.admission.needs_times());
        let (Some(pair), None) = (needs, self.duration) else { return Ok(()) };
        let name = pair.admission.entry.name;
        Err(Failure::input(format!("`{name}` looks at the times of accesses, and the trace has none"))
            .with_hint(format!("leave `{name}` out of --admission, or give a trace with times")))
    }

    fn log(&self, transfers: &Transfers, seed: u64, limit: Option<u64>) -> Result<AccessLog, Failure> {
        let piece = self.objects.bytes().and_then(NonZeroU64::new);
        let mut builder = match self.arguments.sample {
            Some(rate) => AccessLogBuilder::sampled(piece, Sample { rate: rate.as_f64(), seed }),
            None => AccessLogBuilder::new(piece),
        };
        if self.pairs.iter().any(|pair| pair.admission.needs_times()) {
            builder = builder.with_times();
        }
        if self.arguments.by == Some(CacheBy::Volume) {
            builder = builder.with_volumes();
        }
        let (mut requests, mut looks) = (0, Looks { piece, accesses: 0 });
        transfers.for_each(|Transfer { at, volume, offset, length, writes }| {
            if self.warm > 0 && requests == self.warm {
                builder.end_warm_up();
            }
            builder.at(at);
            builder.volume(volume);
            builder.request(offset, length, if writes { AccessKind::Write } else { AccessKind::Read })?;
            requests += 1;
            match limit {
                Some(limit) if looks.is_due_after(length) && builder.memory_bytes() > limit => Err(too_large(limit)),
                _ => Ok(()),
            }
        })?;
        Ok(builder.finish(self.pairs.iter().any(|pair| pair.policy.is_bound())))
    }

    /// Number of distinct objects; for samples an estimate.
    pub(super) fn distinct_objects(&self, logs: &[AccessLog]) -> u64 {
        let estimates = logs.iter().map(|log| f64::from(log.objects()) / log.rate());
        (estimates.sum::<f64>() / logs.len() as f64).round() as u64
    }

    /// Bytes of the distinct objects; for samples an estimate.
    pub(super) fn distinct_bytes(&self, logs: &[AccessLog]) -> u64 {
        let estimates = logs.iter().map(|log| log.object_bytes() as f64 / log.rate());
        (estimates.sum::<f64>() / logs.len() as f64).round() as u64
    }

    /// The sample, if there is one. The largest request has `largest` bytes.
    pub(super) fn sample(&self, logs: &[AccessLog], largest: u64) -> Option<Sampled> {
        let rate = self.arguments.sample?;
        let mean = || self.distinct_bytes(logs) as f64 / self.distinct_objects(logs) as f64;
        let bytes = self.arguments.sized.then(|| ObjectBytes { mean: mean(), largest });
        Some(Sampled { rate, bytes })
    }

    /// How many of the accesses are the first to their object; for samples an estimate.
    pub(super) fn first_uses(&self, logs: &[AccessLog]) -> f64 {
        let estimates = logs.iter().map(|log| f64::from(log.first_uses()) / log.rate());
        estimates.sum::<f64>() / logs.len() as f64
    }

    /// The result of each pair of policies at each size. `volumes` are the names of the volumes.
    pub(super) fn simulate(
        &self,
        logs: &[AccessLog],
        volumes: &[String],
        sizes: &[u64],
    ) -> Result<Vec<CacheResult>, Failure> {
        let bar = Progress::new(self.common.quiet, Unit::Things("accesses"));
        bar.set_message("simulating");
        let (pairs, seeds) = (self.pairs.len(), logs.len());
        let caches = sizes.len() * pairs;
        let total = logs.iter().map(AccessLog::len).sum::<u64>() * caches as u64;
        let done = AtomicU64::new(0);
        let continues = |accesses| {
            bar.set(done.fetch_add(accesses, Ordering::Relaxed) + accesses, total);
            if cancel::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let run = |index: usize| -> Result<Option<Run>, Failure> {
            let (cache, log) = (index / seeds, &logs[index % seeds]);
            let (size, Pair { policy, admission }) = (sizes[cache / pairs], &self.pairs[cache % pairs]);
            let shape = self.shape(size, log, index % seeds);
            let mut policy = match self.arguments.sized {
                true => {
                    esker_cache::build_by_size(&policy.choice, shape.objects, self.scaled(size).max(1), shape.seed)?
                }
                false => esker_cache::build(&policy.choice, &shape)?,
            };
            let mut admission = match admission.admits_all() {
                true => None,
                false => Some(esker_cache::build_admission(&admission.choice, &shape)?),
            };
            let admission = admission.as_mut().map(|admission| &mut **admission as &mut dyn Admission);
            Ok(Run::of(log, &mut *policy, admission, continues))
        };
        let runs = jobs::collect(self.common.threads(), caches * seeds, run);
        let runs = runs.into_iter().collect::<Result<Option<Vec<Run>>, _>>()?.ok_or_else(Failure::cancelled)?;
        Ok(runs
            .chunks(seeds)
            .enumerate()
            .map(|(cache, runs)| self.result(&self.pairs[cache % pairs], sizes[cache / pairs], volumes, runs))
            .collect())
    }

    /// The size of the cache for a sample.
    fn scaled(&self, size: u64) -> u64 {
        self.arguments.sample.map_or(size, |rate| scaled(size, rate))
    }

    fn shape(&self, size: u64, log: &AccessLog, seed: usize) -> Shape {
        let size = self.scaled(size);
        // No cache of 16 times the objects lets any go; policies whose tables grow with the cache stay small.
        let most = (u64::from(log.objects()) * 16).clamp(1, u64::from(u32::MAX));
        let seed = self.first_seed().wrapping_add(seed as u64);
        Shape { capacity: size.min(most) as u32, objects: log.objects(), seed }
    }

    /// The mean over samples.
    fn result(&self, pair: &Pair<'_>, size: u64, volumes: &[String], runs: &[Run]) -> CacheResult {
        let all: Vec<_> = runs.iter().map(|run| run.all).collect();
        let Figures { requests, misses, refused, miss_ratio, byte_miss_ratio, write_bytes, write_bytes_per_day } =
            Figures::mean(&all, self.duration);
        let size_bytes = match self.arguments.sized {
            true => Some(size),
            false => self.objects.bytes().map(|bytes| size.saturating_mul(bytes)),
        };
        let ratios: Vec<f64> = all.iter().map(esker_cache::Counts::miss_ratio).collect();
        CacheResult {
            policy: pair.policy.choice.to_string(),
            admission: pair.admission.choice.to_string(),
            size,
            size_bytes,
            requests,
            misses,
            refused,
            miss_ratio,
            byte_miss_ratio,
            write_bytes,
            write_bytes_per_day,
            drive_writes_per_day: write_bytes_per_day.zip(size_bytes).map(|(day, size)| day as f64 / size as f64),
            mean_access_us: None,
            price_per_saved_ms: None,
            spread: spread(&ratios),
            volumes: figures::by_volume(runs, volumes, self.duration),
        }
    }
}

/// Refuses samples that have no object of some volume: they know nothing of it.
fn check_volumes(logs: &[AccessLog], names: &[String], rate: Ratio) -> Result<(), Failure> {
    let is_unknown = |volume: &VolumeAccesses| volume.accesses > 0 && volume.objects == 0;
    let mut unknown = logs.iter().filter_map(|log| log.volumes().iter().position(is_unknown));
    let Some(volume) = unknown.next() else { return Ok(()) };
    Err(Failure::input(format!("a sample of {rate} has no objects of volume {}", figures::name(names, volume)))
        .with_hint("sample more, or leave --by out"))
}

fn spread(ratios: &[f64]) -> Option<CacheSpread> {
    if ratios.len() < 2 {
        return None;
    }
    let number = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / number;
    let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / (number - 1.0);
    Some(CacheSpread {
        miss_ratio_lowest: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        miss_ratio_highest: ratios.iter().copied().fold(0.0, f64::max),
        miss_ratio_standard_error: (variance / number).sqrt(),
    })
}

fn too_large(limit: u64) -> Failure {
    Failure::work(format!(
        "the accesses need more memory than the {} that are free: 8 bytes each (16 where an admission policy looks at \
         times), and up to 43 for each object (47 with --by)",
        words::bytes(limit as f64)
    ))
    .with_hint("`--sample 1%` takes a hundredth of that; larger objects (`--object 4KiB`) are fewer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_comes_after_as_many_accesses_whatever_the_requests() {
        let requests = |piece, length| {
            let mut looks = Looks { piece: NonZeroU64::new(piece), accesses: 0 };
            (1..).find(|_| looks.is_due_after(length)).unwrap()
        };
        assert_eq!(requests(512, 4 << 20), 32);
        assert_eq!(requests(4096, 512), LOOK);
        assert_eq!(requests(0, 4 << 20), LOOK, "start blocks");
    }

    #[test]
    fn the_spread_is_that_of_the_textbook() {
        let spread = spread(&[0.2, 0.4, 0.6]).unwrap();
        assert_eq!((spread.miss_ratio_lowest, spread.miss_ratio_highest), (0.2, 0.6));
        // Standard deviation 0.2, over the root of three.
        assert!((spread.miss_ratio_standard_error - 0.2 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(super::spread(&[0.2]), None);
    }
}
