//! Caches of table 2, and their runs under the stand-ins: counted, in no time, or in time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use esker_cache::{Found, NO_ADMISSION};
use esker_core::{Arrival, Bytes, Lba, LogicalPage, Nanos, Ratio, ReplaySettings, Request, Rng};
use esker_flash::{CacheCleaning, Choice, HostManagedCache, HostManagedCacheError, SsdSettings, WriteFrontiers};
use esker_results::HostManagedCacheReport;
use esker_sim::{
    CacheReply, ConstantSettings, DeviceDescription, EraseUnit, HostManagedCacheSettings, PageStreams, ServiceTimes,
    System,
};

use super::workloads::{Population, Reads, Scale, WORKLOADS};
use crate::drive::Drive;
use crate::timed::response_times;
use crate::{Context, Item, ItemFault, ReproduceError};

/// Over-provisioning of table 2, percent.
pub(super) const SHARES: [u64; 3] = [15, 25, 35];
/// Sizes of table 2, GB.
pub(super) const SIZES: [u32; 4] = [3, 4, 5, 6];
/// The caches without zero migration.
pub(super) const POLICIES: [&str; 4] = ["lru", "flru", "arc", "farc"];

/// Which blocks take pages at a time. The text does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OpenBlocks {
    /// One on each of the eight dies, in turn page by page, as in the simulator that the paper extended.
    PerDie,
    /// One at a time: figure 2 draws new pages one after the other in one block.
    One,
}

/// Both, by their names in claims.
pub(super) const LAYOUTS: [(&str, OpenBlocks); 2] =
    [("an open block per die", OpenBlocks::PerDie), ("one open block", OpenBlocks::One)];

/// A cache of table 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cache {
    pub(super) gigabytes: u32,
    /// Percent.
    pub(super) over_provisioning: u64,
    pub(super) policy: &'static str,
    pub(super) zero_migration: bool,
    pub(super) open: OpenBlocks,
}

impl Cache {
    /// Valid pages are migrated, and each die has an open block.
    pub(super) fn new(gigabytes: u32, over_provisioning: u64, policy: &'static str) -> Self {
        Self { gigabytes, over_provisioning, policy, zero_migration: false, open: OpenBlocks::PerDie }
    }

    pub(super) fn zero_migration(self) -> Self {
        Self { zero_migration: true, ..self }
    }

    pub(super) fn open(self, open: OpenBlocks) -> Self {
        Self { open, ..self }
    }

    fn cleaning(&self) -> CacheCleaning {
        if self.zero_migration { CacheCleaning::ZeroMigration } else { CacheCleaning::Migrate }
    }

    /// The flash, scaled down. It keeps its eight dies and its blocks of 64 pages.
    pub(super) fn flash(&self, scale: Scale) -> SsdSettings {
        let drive = Drive::preset("xia-cache-3g").changed(|flash| {
            flash.geometry.blocks_per_plane = 512 * self.gigabytes / scale.part;
            flash.factory_over_provisioning = None;
            flash.over_provisioning = Some(Ratio::percent(self.over_provisioning));
            flash.write_frontiers = match self.open {
                OpenBlocks::PerDie => WriteFrontiers::Die,
                OpenBlocks::One => WriteFrontiers::Pool,
            };
        });
        drive.settings
    }

    pub(super) fn build(
        &self,
        scale: Scale,
        volume_pages: u32,
        seed: u64,
    ) -> Result<HostManagedCache, HostManagedCacheError> {
        let volume = Bytes::kib(4 * u64::from(volume_pages));
        let [policy, admission] = [self.policy, NO_ADMISSION].map(Choice::named);
        HostManagedCache::new(&self.flash(scale), &policy, &admission, self.cleaning(), volume, seed)
    }
}

/// Results in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timed {
    pub(super) mean_ms: f64,
    pub(super) deviation_ms: f64,
}

/// How requests come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arrivals {
    /// At random (Poisson), with this mean rate.
    PerSecond(u32),
    /// Each when the one before it has ended.
    OneAtATime,
}

/// When a miss is complete, and how requests come: the text has neither.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) reply: CacheReply,
    pub(super) arrivals: Arrivals,
}

impl Load {
    /// What the items take: algorithm 1 fetches the data into the flash, then returns them; and about the mean rate of
    /// WebSearch1, for every workload (assumed).
    const USUAL: Self = Self { reply: CacheReply::AfterFill, arrivals: Arrivals::PerSecond(335) };
}

/// What tells one run from all others: population, workload, cache, scale and seed.
type Key = (Population, usize, Cache, Scale, u64);

/// Results of runs, which several figures share.
static COUNTED: Mutex<BTreeMap<Key, HostManagedCacheReport>> = Mutex::new(BTreeMap::new());
static TIMED: Mutex<BTreeMap<Key, Timed>> = Mutex::new(BTreeMap::new());

/// The runs of an item, one after the other.
pub(super) struct Runs<'a> {
    pub(super) item: &'a Item,
    context: &'a Context<'a>,
    scale: Scale,
    population: Population,
    all: usize,
    done: usize,
    /// The reads of the workload that was asked for last.
    reads: RefCell<Option<(usize, Rc<Reads>)>>,
}

impl<'a> Runs<'a> {
    /// `all` is their number.
    pub(super) fn new(item: &'a Item, context: &'a Context<'a>, scale: Scale, all: usize) -> Self {
        let population = Population::ByInterval;
        Self { item, context, scale, population, all, done: 0, reads: RefCell::default() }
    }

    /// With another population of pages.
    pub(super) fn of(self, population: Population) -> Self {
        Self { population, ..self }
    }

    /// Counts `done` runs of the item as done before these, for progress.
    pub(super) fn after(self, done: usize) -> Self {
        Self { done, ..self }
    }

    fn error(&self, fault: impl Into<ItemFault>) -> ReproduceError {
        ReproduceError::of(self.item, fault)
    }

    fn reads(&self, workload: usize) -> Rc<Reads> {
        let mut kept = self.reads.borrow_mut();
        match &*kept {
            Some((of, reads)) if *of == workload => reads.clone(),
            _ => {
                let reads = Rc::new(WORKLOADS[workload].reads(self.population, self.scale, self.context.seed));
                *kept = Some((workload, reads.clone()));
                reads
            }
        }
    }

    fn begin(&mut self) -> Result<(), ReproduceError> {
        (self.context.progress)((self.done as f64 / self.all as f64).min(1.0));
        self.done += 1;
        if self.context.cancel.load(Ordering::Relaxed) { Err(ReproduceError::Cancelled) } else { Ok(()) }
    }

    /// What `cache` hits and erases under `workload`, in no time.
    pub(super) fn counted(&mut self, workload: usize, cache: Cache) -> Result<HostManagedCacheReport, ReproduceError> {
        self.begin()?;
        let key = (self.population, workload, cache, self.scale, self.context.seed);
        if let Some(found) = COUNTED.lock().expect("nothing panics with the lock").get(&key) {
            return Ok(*found);
        }
        let reads = self.reads(workload);
        let built = cache.build(self.scale, reads.volume_pages, self.context.seed);
        let mut flash = built.map_err(|error| self.error(error))?;
        for some in reads.first.chunks(16_384) {
            if self.context.cancel.load(Ordering::Relaxed) {
                return Err(ReproduceError::Cancelled);
            }
            for page in some.iter().flat_map(|first| *first..first + reads.pages).map(LogicalPage) {
                if flash.access(Nanos::ZERO, page) == Found::Miss {
                    flash.fill_untimed(page);
                }
            }
        }
        let report = flash.report();
        COUNTED.lock().expect("nothing panics with the lock").insert(key, report);
        Ok(report)
    }

    /// How fast `cache` answers under `workload` and the usual load.
    pub(super) fn timed(&mut self, workload: usize, cache: Cache) -> Result<Timed, ReproduceError> {
        let key = (self.population, workload, cache, self.scale, self.context.seed);
        if let Some(found) = TIMED.lock().expect("nothing panics with the lock").get(&key) {
            self.begin()?;
            return Ok(*found);
        }
        let found = self.timed_under(workload, cache, Load::USUAL)?;
        TIMED.lock().expect("nothing panics with the lock").insert(key, found);
        Ok(found)
    }

    /// How fast `cache` answers under `workload` and `load`, in front of a disk that takes 5 ms.
    pub(super) fn timed_under(&mut self, workload: usize, cache: Cache, load: Load) -> Result<Timed, ReproduceError> {
        self.begin()?;
        let reads = self.reads(workload);
        let system = system(&cache, self.scale, reads.volume_pages, load.reply);
        let mut device = system.assemble(self.context.seed).map_err(|error| self.error(error))?.device;
        let mut rng = Rng::derive(self.context.seed, "arrivals");
        let (mean, settings) = match load.arrivals {
            Arrivals::PerSecond(rate) => (1e9 / f64::from(rate), ReplaySettings::OPEN),
            Arrivals::OneAtATime => (0.0, ReplaySettings::closed(1)),
        };
        let mut now = 0;
        let arrivals = reads.first.iter().map(|first| {
            now += rng.exponential(mean) as u64;
            let request = Request::read(Lba(u64::from(*first) * 8), Bytes::kib(4 * u64::from(reads.pages)));
            Arrival { at: Nanos(now), request }
        });
        let times = response_times(&mut *device, arrivals, &settings, self.context.cancel);
        let (_, times) = times.map_err(|fault| self.error(fault))?;
        Ok(Timed { mean_ms: times.mean() / 1e6, deviation_ms: times.stddev() / 1e6 })
    }
}

impl Runs<'_> {
    /// Response times in microseconds of one page on an idle cache: where it is held, and where it misses.
    pub(super) fn unloaded(&mut self) -> Result<(f64, f64), ReproduceError> {
        self.begin()?;
        let system = system(&Cache::new(3, 15, "flru"), self.scale, 1 << 17, CacheReply::AfterFill);
        let mut device = system.assemble(self.context.seed).map_err(|error| self.error(error))?.device;
        let mut mean_us = |start: Nanos| {
            let arrival = Arrival { at: start, request: Request::read(Lba(0), Bytes::kib(4)) };
            let settings = ReplaySettings { start, ..ReplaySettings::OPEN };
            let times = response_times(&mut *device, [arrival], &settings, self.context.cancel);
            let (_, times) = times.map_err(|fault| self.error(fault))?;
            Ok(times.mean() / 1e3)
        };
        let miss = mean_us(Nanos::ZERO)?;
        Ok((mean_us(Nanos::from_millis(100))?, miss))
    }
}

const CACHE: &str = "cache";

/// `cache` in front of a disk that takes 5 ms and never queues (table 2).
fn system(cache: &Cache, scale: Scale, volume_pages: u32, reply: CacheReply) -> System {
    let disk = ConstantSettings {
        service_time: Nanos::from_millis(5),
        service: ServiceTimes::Fixed,
        servers: 4096,
        capacity: Bytes::kib(4 * u64::from(volume_pages)),
        queue_depth: None,
    };
    let settings = HostManagedCacheSettings {
        backing: "disk".to_string(),
        flash_preset: "xia-cache-3g".to_string(),
        flash: Some(cache.flash(scale)),
        over_provisioning: None,
        blocks_per_plane: None,
        wear: None,
        endurance_cycles: None,
        policy: Choice::named(cache.policy),
        admission: Choice::named(NO_ADMISSION),
        cleaning: cache.cleaning(),
        erase: EraseUnit::Block,
        victim: None,
        streams: PageStreams::None,
        reply,
    };
    let devices = [("disk", DeviceDescription::new(disk)), (CACHE, DeviceDescription::new(settings))];
    System::of(devices.map(|(name, device)| (name.to_string(), device)), CACHE).expect("the disk is there")
}

/// The geometric mean, which the paper takes over its workloads.
pub(super) fn geometric_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += value.ln();
        count += 1;
    }
    (sum / f64::from(count)).exp()
}
