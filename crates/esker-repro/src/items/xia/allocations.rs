//! Runs of the stand-ins on write caches of chapter 4: with a fixed over-provisioning, and with the cache's own choice.

use std::collections::BTreeMap;
use std::sync::Mutex;

use esker_core::{Arrival, Bytes, Lba, Nanos, Ratio, ReplaySettings, Request, jobs};
use esker_results::{CacheWindow, Report};
use esker_sim::{
    AllocationSettings, AllocationTraining, CacheRole, CacheSettings, ConstantSettings, DeviceDescription, Lifetime,
    ServiceTimes, System, WriteHandling,
};

use super::write_caches::{PAGES_A_GB, SHIFTING, WRITE_VOLUMES, WriteVolume};
use crate::drive::{Drive, FLASH};
use crate::timed::response_times;
use crate::{Context, Item, ItemFault, ReproduceError};

/// Over-provisioning of the fixed caches, percent (section 4.5.1).
pub(super) const FIXED: [u32; 8] = [15, 25, 35, 45, 55, 65, 75, 85];
/// Windows of a run, of the paper's length. Its own traces have 1.9 to 8.4.
pub(super) const WINDOWS: u32 = 12;

/// How the over-provisioning is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Choice {
    /// Percent.
    Fixed(u32),
    /// By the cache, with windows of `window_gb` GB at full size.
    Own { window_gb: u32, on_flash: bool },
    /// By the cache, with the windows of section 4.4, so that a block is erased at most `cycles` times a year.
    Within { cycles: u32 },
}

/// A run: a volume, by its place in [`WRITE_VOLUMES`], and a number of windows of the paper's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Plan {
    pub(super) volume: usize,
    pub(super) windows: u32,
    pub(super) choice: Choice,
    /// Sizes and lengths are divided by this, besides the part of [`Plan::part`]. More than one is for tests.
    pub(super) smaller: u32,
}

impl Plan {
    pub(super) fn new(volume: usize, choice: Choice) -> Self {
        let windows = if volume == SHIFTING { 2 * WINDOWS } else { WINDOWS };
        Self { volume, windows, choice, smaller: 1 }
    }

    fn row(&self) -> &'static WriteVolume {
        &WRITE_VOLUMES[self.volume]
    }

    /// How far it is scaled down: each cache has 64 MiB.
    fn part(&self) -> u32 {
        (self.row().flash_gb * 16.0) as u32 * self.smaller
    }
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Allocated {
    /// Mean response time, us.
    pub(super) mean_us: f64,
    pub(super) hit_ratio: f64,
    /// Erases at full size.
    pub(super) erases: f64,
    /// Mean erases a year of each block that the cache may use.
    pub(super) cycles_per_year: f64,
    pub(super) windows: Vec<CacheWindow>,
}

/// What was measured already: several figures are about the same runs.
static MEASURED: Mutex<BTreeMap<(Plan, u64), Allocated>> = Mutex::new(BTreeMap::new());

const CACHE: &str = "cache";
/// A page on its way to the flash or from there: 4,224 bytes over a bus of 40 MB/s.
const TRANSFER: Nanos = Nanos(105_600);

/// The cache on the flash of table 5, in front of a disk of 5 ms that serves one request at a time.
pub(super) fn system(plan: &Plan) -> System {
    let volume = plan.row();
    let pages = |gigabytes: f64| (gigabytes * PAGES_A_GB / f64::from(plan.part())) as u64;
    let flash_pages = pages(volume.flash_gb);
    // The drive has 7 % more blocks than the cache may take: it keeps 5 % erased (table 5).
    let drive = Drive::preset("xia-cache-3g").changed(|flash| {
        flash.geometry.channels = 1;
        flash.geometry.blocks_per_plane = (flash_pages as f64 / 64.0 / 0.93).ceil() as u32 + 1;
        flash.factory_over_provisioning = None;
        flash.over_provisioning = Some(Ratio::percent(7));
    });
    let disk = ConstantSettings {
        service_time: Nanos::from_millis(5),
        service: ServiceTimes::Fixed,
        servers: 1,
        capacity: Bytes::kib(4 * u64::from(volume.pages(plan.part()))),
        queue_depth: None,
    };
    let own = |window_gb: f64| AllocationSettings {
        window: Some(Bytes::kib(4 * pages(window_gb))),
        read: Nanos::from_micros(25) + TRANSFER,
        program: Nanos::from_micros(200) + TRANSFER,
        ..AllocationSettings::default()
    };
    let (lines, allocation) = match plan.choice {
        Choice::Fixed(percent) => (flash_pages * u64::from(100 - percent) / 100, None),
        Choice::Own { window_gb, on_flash } => {
            let training = if on_flash { AllocationTraining::OnFlash } else { AllocationTraining::InMiniature };
            (flash_pages, Some(AllocationSettings { training, ..own(f64::from(window_gb)) }))
        }
        Choice::Within { cycles } => {
            let lifetime = Some(Lifetime { years: 1, cycles });
            (flash_pages, Some(AllocationSettings { lifetime, ..own(volume.window_gb) }))
        }
    };
    let settings = CacheSettings {
        flash_capacity: Some(Bytes::kib(4 * lines)),
        role: CacheRole::Write,
        write: WriteHandling::WriteBack,
        dirty_low: Ratio::ONE,
        dirty_high: Ratio::ONE,
        trim_freed: true,
        allocation,
        ..CacheSettings::new(FLASH, "disk")
    };
    let devices = [
        ("disk", DeviceDescription::new(disk)),
        (FLASH, drive.description()),
        (CACHE, DeviceDescription::new(settings)),
    ];
    System::of(devices.map(|(name, device)| (name.to_string(), device)), CACHE).expect("both devices are there")
}

/// The writes of `plan`, one at a time.
fn writes(plan: &Plan, seed: u64) -> impl Iterator<Item = Arrival> {
    let volume = plan.row();
    let count = volume.requests(volume.window_gb * f64::from(plan.windows), plan.part());
    let size = Bytes::kib(4 * u64::from(volume.pages_per_request()));
    let arrival = move |page: u32| Arrival { at: Nanos::ZERO, request: Request::write(Lba(u64::from(page) * 8), size) };
    volume.writes(count, plan.part(), seed).into_iter().map(arrival)
}

/// Runs `plan`.
fn measured(plan: &Plan, context: &Context<'_>) -> Result<Allocated, ItemFault> {
    let key = (*plan, context.seed);
    if let Some(found) = MEASURED.lock().expect("nothing panics with the lock").get(&key) {
        return Ok(found.clone());
    }
    let mut device = system(plan).assemble(context.seed)?.device;
    let requests = writes(plan, context.seed);
    let (replayed, times) = response_times(&mut *device, requests, &ReplaySettings::closed(1), context.cancel)?;
    let report = Report::of(&*device);
    let cache = report.devices[CACHE].flash_cache.clone().ok_or(ItemFault::NotReported("its cache"))?;
    let flash = report.devices[FLASH].flash.as_ref().ok_or(ItemFault::NotReported("its flash"))?;
    let blocks = plan.row().flash_gb * PAGES_A_GB / 64.0 / f64::from(plan.part());
    let years = replayed.last_event.as_secs_f64() / (365.0 * 86_400.0);
    let found = Allocated {
        cycles_per_year: flash.erases as f64 / blocks / years,
        mean_us: times.mean() / 1e3,
        hit_ratio: cache.hit_ratio,
        erases: flash.erases as f64 * f64::from(plan.part()),
        windows: cache.windows,
    };
    MEASURED.lock().expect("nothing panics with the lock").insert(key, found.clone());
    Ok(found)
}

/// Threads that items with many runs use.
const THREADS: usize = 2;

/// Runs all of `plans`.
pub(super) fn all(item: &Item, context: &Context<'_>, plans: &[Plan]) -> Result<Vec<Allocated>, ReproduceError> {
    let done = Mutex::new(0);
    let found = jobs::collect(THREADS, plans.len(), |index| {
        let found = measured(&plans[index], context);
        let mut done = done.lock().expect("nothing panics with the lock");
        *done += 1;
        (context.progress)(f64::from(*done) / plans.len() as f64);
        found
    });
    found.into_iter().collect::<Result<_, _>>().map_err(|fault| ReproduceError::of(item, fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prints the runs of figures 13 to 15 on the volumes whose names contain `ESKER_ITEM`.
    #[test]
    #[ignore = "for the documentation: minutes"]
    #[expect(clippy::print_stdout, reason = "it prints a table")]
    fn the_sizes_of_the_documentation() {
        let wanted = std::env::var("ESKER_ITEM").unwrap_or_default();
        let volumes = WRITE_VOLUMES.iter().enumerate().filter(|(_, volume)| volume.name.contains(&wanted));
        super::super::tests::outcome(|context| {
            for (number, volume) in volumes.clone() {
                let own = [false, true].map(|on_flash| Choice::Own { window_gb: volume.window_gb as u32, on_flash });
                let plans: Vec<Plan> =
                    FIXED.map(Choice::Fixed).into_iter().chain(own).map(|choice| Plan::new(number, choice)).collect();
                let found = all(&super::super::figure_13::ITEM, context, &plans)?;
                let times: Vec<f64> = found.iter().map(|run| run.mean_us.round()).collect();
                let best = times[..FIXED.len()].iter().copied().fold(f64::MAX, f64::min);
                println!("{}: {:?}, own {:.3} and {:.3}", volume.name, times, times[8] / best, times[9] / best);
                let [own, least] = [found[8].cycles_per_year, found[7].cycles_per_year];
                let cycles = (own * least).sqrt() as u32;
                let within =
                    all(&super::super::figure_13::ITEM, context, &[Plan::new(number, Choice::Within { cycles })])?;
                println!(
                    "    cycles: own {own:.0}, 85 % {least:.0}, budget {cycles}: {:.3} of it, {:.0} us",
                    within[0].cycles_per_year / f64::from(cycles),
                    within[0].mean_us
                );
                for run in found[8..].iter().chain(&within) {
                    let chosen: Vec<u32> =
                        run.windows.iter().map(|one| (one.left_to_cleaning * 100.0).round() as u32).collect();
                    println!("    {chosen:?}");
                }
            }
            Ok(crate::ItemOutcome::default())
        });
    }
}
