//! The numbers of a result: of one cache, and of each volume that shares it.

use std::ops::ControlFlow;

use esker_cache::{AccessLog, Admission, Counts, Replacement};
use esker_core::Nanos;
use esker_results::cache::CacheVolume;

const DAY: Nanos = Nanos::from_secs(24 * 60 * 60);

/// What one cache does on one log.
pub(super) struct Run {
    pub(super) all: Counts,
    /// By volume, of a log that has them.
    pub(super) volumes: Vec<Counts>,
}

impl Run {
    /// Simulates `policy`, with an admission policy or none. `None` if `continues` has ended it.
    pub(super) fn of(
        log: &AccessLog,
        policy: &mut dyn Replacement,
        admission: Option<&mut dyn Admission>,
        continues: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Option<Self> {
        if !log.volumes().is_empty() {
            let volumes = log.simulate_by_volume(policy, admission, continues)?;
            let all = log.of_the_whole(&volumes.iter().copied().sum());
            return Some(Self { all, volumes: log.of_the_whole_by_volume(&volumes) });
        }
        let counts = match admission {
            None => log.simulate(policy, continues),
            Some(admission) => log.simulate_admitting(policy, admission, continues),
        };
        Some(Self { all: log.of_the_whole(&counts?), volumes: Vec::new() })
    }
}

/// The numbers that caches and volumes have alike.
pub(super) struct Figures {
    pub(super) requests: u64,
    pub(super) misses: u64,
    pub(super) refused: u64,
    pub(super) miss_ratio: f64,
    pub(super) byte_miss_ratio: f64,
    pub(super) write_bytes: u64,
    pub(super) write_bytes_per_day: Option<u64>,
}

impl Figures {
    /// Returns the mean over samples; there has to be at least one. `duration` is that of the trace, if it has times.
    pub(super) fn mean(counts: &[Counts], duration: Option<Nanos>) -> Self {
        let mean = |value: fn(&Counts) -> f64| counts.iter().map(value).sum::<f64>() / counts.len() as f64;
        let write_bytes = mean(|counts| counts.written_bytes as f64).round();
        let per_day = |duration: Nanos| (write_bytes * DAY.0 as f64 / duration.0 as f64).round() as u64;
        Self {
            requests: counts[0].accesses,
            misses: mean(|counts| counts.misses as f64).round() as u64,
            refused: mean(|counts| counts.refused as f64).round() as u64,
            miss_ratio: mean(Counts::miss_ratio),
            byte_miss_ratio: mean(Counts::byte_miss_ratio),
            write_bytes: write_bytes as u64,
            write_bytes_per_day: duration.map(per_day),
        }
    }
}

/// The volumes that have accesses, each the mean over samples. `names` are those of the trace's volumes.
pub(super) fn by_volume(runs: &[Run], names: &[String], duration: Option<Nanos>) -> Vec<CacheVolume> {
    let of_one = |index: usize| {
        let counts: Vec<Counts> = runs.iter().map(|run| run.volumes[index]).collect();
        let Figures { requests, misses, refused, miss_ratio, byte_miss_ratio, write_bytes, write_bytes_per_day } =
            Figures::mean(&counts, duration);
        CacheVolume {
            volume: name(names, index),
            requests,
            misses,
            refused,
            miss_ratio,
            byte_miss_ratio,
            write_bytes,
            write_bytes_per_day,
        }
    };
    let volumes = runs.first().map_or(0, |run| run.volumes.len());
    (0..volumes).map(of_one).filter(|volume| volume.requests > 0).collect()
}

/// The name of a volume by its index.
pub(super) fn name(names: &[String], index: usize) -> String {
    names.get(index).cloned().unwrap_or_else(|| index.to_string())
}
