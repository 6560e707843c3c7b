//! Hits and misses of a single cache for each of several volumes that share it.

use std::ops::ControlFlow;

use super::{AccessLog, AccessLogBuilder};
use crate::simulate::perform_admitting;
use crate::{Access, Admission, Counts, Replacement};

/// The accesses of one volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeAccesses {
    /// Number of accesses of the trace, including those that were not sampled.
    pub accesses: u64,
    /// Bytes of all those accesses.
    pub bytes: u64,
    /// Number of distinct objects in the log: those of the volume, or of its sample.
    pub objects: u32,
}

/// The volumes of the objects of a log.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    /// The volume of each object.
    of_objects: Vec<u32>,
    /// The accesses of each volume.
    accesses: Vec<VolumeAccesses>,
}

impl Volumes {
    /// Counts an access of `bytes`, sampled or not.
    #[inline]
    pub(super) fn count(&mut self, volume: u32, bytes: u32) {
        let index = volume as usize;
        if index >= self.accesses.len() {
            self.accesses.resize(index + 1, VolumeAccesses::default());
        }
        self.accesses[index].accesses += 1;
        self.accesses[index].bytes += u64::from(bytes);
    }

    /// Records the volume of an access to `object`. Objects are numbered in the order of their first use.
    #[inline]
    pub(super) fn note(&mut self, object: u32, volume: u32) {
        if object as usize == self.of_objects.len() {
            self.of_objects.push(volume);
            self.accesses[volume as usize].objects += 1;
        }
    }

    /// Resets the counts of accesses. Objects keep their volumes.
    pub(super) fn forget_accesses(&mut self) {
        self.accesses.iter_mut().for_each(|volume| (volume.accesses, volume.bytes) = (0, 0));
    }

    /// Returns the bytes of memory in use.
    pub(super) fn memory_bytes(&self) -> usize {
        self.of_objects.capacity() * size_of::<u32>() + self.accesses.capacity() * size_of::<VolumeAccesses>()
    }

    fn of(&self, access: &Access) -> usize {
        self.of_objects[access.object.index()] as usize
    }
}

impl AccessLogBuilder {
    /// Keeps the volume of each object, for [`AccessLog::simulate_by_volume`]. Takes 4 bytes per object.
    #[must_use]
    pub fn with_volumes(mut self) -> Self {
        self.log.volumes = Some(Volumes::default());
        self
    }

    /// Sets the volume, by its index, of the requests that are added from now on. An object belongs to the volume whose
    /// request came first: volumes have addresses of their own, and share no objects.
    #[inline]
    pub fn volume(&mut self, volume: u32) {
        self.volume = volume;
    }
}

impl AccessLog {
    /// Returns the accesses of each volume, by its index; empty unless the log was built [with
    /// volumes](AccessLogBuilder::with_volumes).
    pub fn volumes(&self) -> &[VolumeAccesses] {
        self.volumes.as_ref().map_or(&[], |volumes| &volumes.accesses)
    }

    /// Counts as [`simulate`](Self::simulate) does, or with an admission policy as
    /// [`simulate_admitting`](Self::simulate_admitting) does, but for each volume of [`volumes`](Self::volumes). All
    /// volumes share the same cache. The counts sum up to what those functions return.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use esker_cache::{AccessKind, AccessLogBuilder, Shape, build};
    /// use esker_core::registry::Choice;
    ///
    /// let mut builder = AccessLogBuilder::new(std::num::NonZeroU64::new(4096)).with_volumes();
    /// for (volume, page) in [(0, 0), (1, 10), (0, 0), (1, 11)] {
    ///     builder.volume(volume);
    ///     builder.request(page * 4096, 4096, AccessKind::Read).unwrap();
    /// }
    /// let log = builder.finish(false);
    /// let mut lru = build(&Choice::named("lru"), &Shape { capacity: 2, objects: 3, seed: 1 }).unwrap();
    /// let counts = log.simulate_by_volume(&mut *lru, None, |_| ControlFlow::Continue(())).unwrap();
    /// assert_eq!(counts.iter().map(|counts| counts.misses).collect::<Vec<_>>(), [1, 2]);
    /// ```
    pub fn simulate_by_volume(
        &self,
        policy: &mut dyn Replacement,
        mut admission: Option<&mut dyn Admission>,
        continues: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Option<Vec<Counts>> {
        let mut counts = vec![Counts::default(); self.volumes().len()];
        let Some(volumes) = &self.volumes else { return Some(counts) };
        let mut warming = Counts::default();
        self.for_each_chunk(continues, |accesses, times, counted| {
            let mut times = times.iter().copied();
            // Consecutive accesses of one volume go to the policy together, as without volumes.
            for run in accesses.chunk_by(|one, next| volumes.of(one) == volumes.of(next)) {
                let counts = if counted { &mut counts[volumes.of(&run[0])] } else { &mut warming };
                match admission.as_deref_mut() {
                    None => policy.perform(run, counts),
                    Some(admission) => self.perform_admitting(policy, admission, &mut times, run, counts),
                }
            }
        })?;
        Some(counts)
    }

    /// Estimates the counts of a cache of the whole trace for each volume, like [`of_the_whole`](Self::of_the_whole).
    /// For a sample, the counts of each volume are rounded, and no volume has more misses than accesses. So the sum may
    /// differ from the estimate for the whole.
    pub fn of_the_whole_by_volume(&self, counts: &[Counts]) -> Vec<Counts> {
        let of_one = |(counts, volume): (&Counts, &VolumeAccesses)| {
            self.rate.map_or(*counts, |rate| counts.of_the_whole(rate, volume.accesses, volume.bytes))
        };
        counts.iter().zip(self.volumes()).map(of_one).collect()
    }

    /// Performs accesses with an admission policy. Accesses without times come at the same time.
    pub(super) fn perform_admitting(
        &self,
        policy: &mut dyn Replacement,
        admission: &mut dyn Admission,
        times: &mut impl Iterator<Item = esker_core::Nanos>,
        accesses: &[Access],
        counts: &mut Counts,
    ) {
        let timed = accesses.iter().map(|access| (times.next().unwrap_or_default(), access));
        perform_admitting(policy, admission, timed, self.rate(), counts);
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use esker_core::registry::Choice;
    use esker_core::{Nanos, Rng};

    use super::*;
    use crate::{ADMISSIONS, AccessKind, REPLACEMENTS, Sample, Shape, build, build_admission};

    const PAGE: u64 = 4096;

    /// A request: its volume, its first page, its number of pages, and its kind.
    type Request = (u32, u64, u64, AccessKind);

    /// Requests of volumes 0, 1 and 3, in short and long turns. Volume 2 has none.
    fn requests(number: usize) -> Vec<Request> {
        let mut rng = Rng::new(11);
        let mut volume = 0;
        let one = |_| {
            if rng.chance(1, 3) {
                volume = [0, 1, 3][rng.below(3) as usize];
            }
            let page = (rng.unit().powi(2) * 40.0 * f64::from(volume + 1)) as u64;
            let kind = if rng.chance(1, 4) { AccessKind::Write } else { AccessKind::Read };
            (volume, page, 1 + rng.below(3), kind)
        };
        (0..number).map(one).collect()
    }

    fn log(requests: &[Request], sample: Option<Sample>) -> AccessLog {
        let piece = NonZeroU64::new(PAGE);
        let builder = sample.map_or_else(|| AccessLogBuilder::new(piece), |one| AccessLogBuilder::sampled(piece, one));
        let mut builder = builder.with_times().with_volumes();
        for (number, &(volume, page, pages, kind)) in requests.iter().enumerate() {
            builder.at(Nanos::from_millis(number as u64 * 50));
            builder.volume(volume);
            // Each volume has addresses of its own. The last page is only touched in part.
            builder.request((u64::from(volume) << 30) | (page * PAGE), pages * PAGE - 512, kind).unwrap();
        }
        builder.finish(true)
    }

    /// Runs the policy over the whole trace, access by access. Each access is counted for the volume of its request.
    fn naive(
        log: &AccessLog,
        requests: &[Request],
        policy: &mut dyn Replacement,
        admission: &mut dyn Admission,
    ) -> Vec<Counts> {
        let mut counts = vec![Counts::default(); 4];
        let volumes = requests.iter().enumerate();
        let mut volumes = volumes.flat_map(|(number, &(volume, _, pages, _))| vec![(number, volume); pages as usize]);
        log.for_each_chunk(
            |_| ControlFlow::Continue(()),
            |accesses, _, _| {
                for access in accesses {
                    let (number, volume) = volumes.next().unwrap();
                    let now = Nanos::from_millis(number as u64 * 50);
                    let counts = &mut counts[volume as usize];
                    counts.accesses += 1;
                    counts.bytes += u64::from(access.bytes);
                    let hits = policy.hit(access);
                    if hits {
                        admission.hit(now, access);
                    } else {
                        counts.misses += 1;
                        counts.missed_bytes += u64::from(access.bytes);
                    }
                    let enters = !hits && admission.admits(now, access);
                    if enters {
                        policy.insert(access);
                    }
                    counts.refused += u64::from(!hits && !enters);
                    if enters || hits && access.kind == AccessKind::Write {
                        counts.written_bytes += u64::from(access.bytes);
                    }
                }
            },
        )
        .unwrap();
        counts
    }

    #[test]
    fn counts_are_those_of_a_naive_run_over_the_whole_trace() {
        let requests = requests(6_000);
        let log = log(&requests, None);
        let shape = Shape { capacity: 60, objects: log.objects(), seed: 1 };
        let go = |_| ControlFlow::Continue(());
        for replacement in REPLACEMENTS {
            for entry in ADMISSIONS {
                let choice: Choice = match entry.name {
                    "reject-first" => "reject-first(bytes_per_day=200MiB)".parse().unwrap(),
                    name => Choice::named(name),
                };
                let policy = || build(&Choice::named(replacement.name), &shape).unwrap();
                let admission = || build_admission(&choice, &shape).unwrap();
                let expected = naive(&log, &requests, &mut *policy(), &mut *admission());
                let found = log.simulate_by_volume(&mut *policy(), Some(&mut *admission()), go);
                assert_eq!(found.as_ref(), Some(&expected), "{} with {}", replacement.name, entry.name);
                let together = log.simulate_admitting(&mut *policy(), &mut *admission(), go).unwrap();
                assert_eq!(expected.iter().copied().sum::<Counts>(), together);
                if entry.name == crate::NO_ADMISSION {
                    assert_eq!(log.simulate_by_volume(&mut *policy(), None, go), Some(expected));
                    assert_eq!(log.simulate(&mut *policy(), go), Some(together));
                }
            }
        }
    }

    #[test]
    fn volumes_have_the_accesses_of_their_requests() {
        let requests = requests(6_000);
        let of = |volume| requests.iter().filter(move |request| request.0 == volume);
        let (whole, sample) = (log(&requests, None), log(&requests, Some(Sample { rate: 0.5, seed: 1 })));
        for volume in 0..4 {
            let expected: u64 = of(volume).map(|request| request.2).sum();
            let (all, sampled) = (whole.volumes()[volume as usize], sample.volumes()[volume as usize]);
            assert_eq!((all.accesses, sampled.accesses), (expected, expected), "{volume}");
            assert_eq!(all.bytes, of(volume).map(|request| request.2 * PAGE - 512).sum::<u64>());
            let mut pages: Vec<u64> = of(volume).flat_map(|request| request.1..request.1 + request.2).collect();
            pages.sort_unstable();
            pages.dedup();
            assert_eq!(u64::from(all.objects), pages.len() as u64);
            assert!(volume == 2 || sampled.objects < all.objects && sampled.objects > 0);
        }
        // Misses of a sample stand for more misses. The accesses are those of the trace.
        let shape = Shape { capacity: 30, objects: sample.objects(), seed: 1 };
        let mut lru = build(&Choice::named("lru"), &shape).unwrap();
        let counts = sample.simulate_by_volume(&mut *lru, None, |_| ControlFlow::Continue(())).unwrap();
        for (volume, estimate) in sample.of_the_whole_by_volume(&counts).iter().enumerate() {
            assert_eq!(estimate.accesses, whole.volumes()[volume].accesses);
            assert_eq!(estimate.misses, (counts[volume].misses * 2).min(estimate.accesses));
        }
        assert_eq!(whole.of_the_whole_by_volume(&counts), counts);
    }

    #[test]
    fn a_log_without_volumes_has_no_counts_by_volume() {
        let mut builder = AccessLogBuilder::new(None);
        builder.volume(3);
        builder.request(0, 512, AccessKind::Read).unwrap();
        let log = builder.finish(false);
        let mut lru = build(&Choice::named("lru"), &Shape { capacity: 1, objects: 1, seed: 1 }).unwrap();
        assert_eq!(log.simulate_by_volume(&mut *lru, None, |_| ControlFlow::Continue(())), Some(Vec::new()));
        assert!(log.volumes().is_empty());
    }
}
