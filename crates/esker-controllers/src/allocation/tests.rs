//! The allocator on a flash whose cleaning follows a formula, on which the cache is trained.

use esker_core::Rng;

use super::model::Traffic;
use super::*;

const SLOTS: u32 = 1000;
const LINE: u64 = 4096;
const SIZES: CacheSizes = CacheSizes { line: Bytes(LINE), slots: SLOTS, most: SLOTS, room: SLOTS, seed: 1 };

/// The share that cleaning finds valid on this flash.
fn valid(over_provisioning: f64) -> f64 {
    (1.0 - over_provisioning).powi(2)
}

/// One write per millisecond, to a cache that adopts each choice at once.
struct AllocatorRun {
    allocator: Allocator,
    rng: Rng,
    now: Nanos,
    left: f64,
    written: u64,
    erased: f64,
}

impl AllocatorRun {
    fn new(settings: &AllocationSettings) -> Self {
        let (curve, training) = (AllocationCurve::Exact, AllocationTraining::OnFlash);
        let settings = AllocationSettings { curve, training, ..settings.clone() };
        Self {
            allocator: Allocator::new(&settings, &SIZES),
            rng: Rng::new(1),
            now: Nanos::ZERO,
            left: settings.first.as_f64(),
            written: 0,
            erased: 0.0,
        }
    }

    /// Writes `times` times, each time to a line that `draw` draws.
    fn write(&mut self, times: u64, draw: impl Fn(&mut Rng) -> u64) {
        for _ in 0..times {
            self.now += Nanos::from_millis(1);
            self.written += LINE;
            self.erased += 1.0 / ((1.0 - valid(self.left)) * 64.0);
            self.allocator.learn_wear(self.erased as u64, self.written);
            let line = draw(&mut self.rng) as u32;
            self.left = self.allocator.count(self.now, line, true).unwrap_or(self.left);
        }
    }
}

/// Draws a line: half of the accesses go to a set that all but the smallest sizes hold, the others to any line.
fn mixed(rng: &mut Rng) -> u64 {
    if rng.chance(1, 2) { rng.below(400) } else { rng.below(4000) }
}

/// The chosen size costs about as little as the best of all sizes, with half of the accesses spread over four times the
/// flash, and half over a small set.
#[test]
fn the_size_with_the_least_latency_is_found() {
    for miss in [Nanos::from_micros(100), Nanos::from_millis(1), Nanos::from_millis(5)] {
        let settings = AllocationSettings { miss, copying_back: CopyingBack::InTurn, ..AllocationSettings::default() };
        let mut run = AllocatorRun::new(&settings);
        run.write(60_000, mixed);
        let mut curve = CurveBuilder::new(&CurveSettings::default());
        let mut rng = Rng::new(2);
        (0..100_000).for_each(|_| curve.access(mixed(&mut rng)));
        let before = curve.so_far();
        (0..400_000).for_each(|_| curve.access(mixed(&mut rng)));
        let curve = curve.so_far().since(&before);
        let cost = |over_provisioning: f64| {
            let miss_ratio = curve.miss_ratio_at((f64::from(SLOTS) * (1.0 - over_provisioning)) as u64);
            let traffic = Traffic { writes: 1.0, miss_ratio, evicting: 1.0, valid: valid(over_provisioning) };
            run.allocator.costs.latency(&traffic, CopyingBack::InTurn)
        };
        let best = PERCENT.map(|percent| cost(f64::from(percent) / 100.0)).fold(f64::INFINITY, f64::min);
        let found = cost(run.left);
        assert!(found < 1.03 * best, "{miss}: {found} with {}, {best} would do", run.left);
    }
}

/// The allocator knows what cleaning finds valid with the size at which the cache serves.
#[test]
fn cleaning_is_measured() {
    let mut run = AllocatorRun::new(&AllocationSettings::default());
    run.write(60_000, mixed);
    let (believed, true_share) = (run.allocator.valid.at(run.left), valid(run.left));
    assert!((believed - true_share).abs() < 0.05, "{believed} at {}, not {true_share}", run.left);
    let trained: Vec<bool> = run.allocator.windows.iter().map(|window| window.trains).collect();
    assert_eq!(trained.iter().filter(|trains| **trains).count(), 1, "{trained:?}");
}

/// A change from a hot set to writes all over the volume changes the curve, so the cache is trained again.
#[test]
fn another_workload_is_trained_again() {
    let mut run = AllocatorRun::new(&AllocationSettings::default());
    run.write(40_000, |rng| rng.below(100));
    let trained = |run: &AllocatorRun| run.allocator.windows.iter().filter(|window| window.trains).count();
    assert_eq!(trained(&run), 1);
    run.write(40_000, |rng| 10_000 + rng.below(3000));
    assert!(trained(&run) > 1, "{:?}", run.allocator.windows);
}

/// A budget of erases between those of the smallest and of the largest cache is kept to within 5 %.
#[test]
fn a_lifetime_is_kept() {
    let per_write = |over_provisioning: f64| 1.0 / ((1.0 - valid(over_provisioning)) * 64.0);
    let settings = |share: f64| {
        // Erases per day at one write per millisecond, as cycles of all blocks in a year.
        let per_day = share * 86_400_000.0;
        let blocks = f64::from(SLOTS) / 64.0;
        let lifetime = Some(Lifetime { years: 1, cycles: (per_day * 365.0 / blocks) as u32 });
        AllocationSettings { lifetime, ..AllocationSettings::default() }
    };
    for target in [0.3, 0.5, 0.7] {
        let budget = per_write(target);
        let mut run = AllocatorRun::new(&settings(budget));
        run.write(200_000, mixed);
        let used = run.erased / 200_000.0;
        assert!(used < 1.05 * budget, "{used} of {budget} a write");
        assert!(run.allocator.windows.last().unwrap().keeps_lifetime);
    }
    // No cache can keep a budget below what the smallest size takes.
    let mut run = AllocatorRun::new(&settings(0.5 * per_write(0.85)));
    run.write(100_000, mixed);
    let last = run.allocator.windows.last().unwrap();
    assert!(!last.keeps_lifetime && last.left_to_cleaning > 0.8, "{last:?}");
}

/// If cleaning finds nothing valid, no other size could be better, and none is tried: the window does not say that the
/// cache is trained.
#[test]
fn a_training_without_steps_is_not_called_one() {
    let training = AllocationTraining::OnFlash;
    let settings = AllocationSettings { curve: AllocationCurve::Exact, training, ..AllocationSettings::default() };
    let mut allocator = Allocator::new(&settings, &SIZES);
    for write in 1..=10_000 {
        // Fewer erases than blocks written: nothing was copied.
        allocator.learn_wear(write / 70, write * LINE);
        allocator.count(Nanos::from_millis(write), (write % 10) as u32, true);
    }
    let windows = allocator.windows;
    assert!(windows.len() >= 4 && windows.iter().all(|window| !window.trains), "{windows:?}");
}
