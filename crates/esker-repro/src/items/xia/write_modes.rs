//! Runs of the stand-ins on Xia's drive with each policy of write modes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::{
    Arrival, Bytes, Completion, Control, Device, Lba, Nanos, Observer, Precondition, Ratio, ReplayEnd, ReplaySettings,
    Request, RequestKind, ResourceKind, Rng, Verdict, jobs, replay,
};
use esker_flash::{ModeSettings, ParameterValue, Ssd, SsdError, SsdSettings, WriteModeSettings};
use esker_results::{FlashReport, Report, RequestStatistics};

use super::caches::geometric_mean;
use super::volumes::{VOLUMES, VolumeScale};
use crate::drive::{Drive, FLASH, choice};
use crate::{Axis, Context, Curve, Figure, Item, ItemFault, ReproduceError};

/// A policy of write modes, as the figures compare them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scheme {
    Normal,
    Agcr,
    /// AGCR whose copies take no longer than at medium cost: the host's writes are never at high cost.
    AgcrMediumCopies,
    /// AGCR whose reads are as fast as those of the normal drive.
    AgcrNormalReads,
    Differentiated {
        m: i8,
        n: i8,
    },
    /// The paper's own, with pages that were neither read nor written lately copied in the normal mode.
    IdleNormal,
}

impl Scheme {
    /// The paper's own, with the values that it chooses in section 5.4.2.1.
    pub(super) const CHOSEN: Self = Self::Differentiated { m: -1, n: 3 };

    fn modes(self) -> WriteModeSettings {
        let [low_cost, medium_cost, high_cost] = self.times().map(|(page_program, page_read)| {
            let [page_program, read] = [page_program, page_read].map(Nanos::from_micros);
            Some(ModeSettings { page_program, page_read: Some(read), decode: Nanos::ZERO, raw_errors: 1.0, code: None })
        });
        let value = |value: i8| ParameterValue::Number(f64::from(value));
        let policy = match self {
            Self::Normal => choice("normal", []),
            Self::Agcr | Self::AgcrMediumCopies | Self::AgcrNormalReads => choice("agcr", []),
            Self::IdleNormal => choice("differentiated", [("idle", ParameterValue::Text("normal".to_string()))]),
            Self::Differentiated { m, n } => choice("differentiated", [("m", value(m)), ("n", value(n))]),
        };
        WriteModeSettings { policy, low_cost, medium_cost, high_cost }
    }

    /// Program and read of pages at low, medium and high cost, us.
    fn times(self) -> [(u64, u64); 3] {
        let [_, (medium_cost, _), _] = MODES;
        match self {
            Self::AgcrMediumCopies => MODES.map(|(program, read)| (program.min(medium_cost), read)),
            Self::AgcrNormalReads => MODES.map(|(program, _)| (program, NORMAL_READ_US)),
            _ => MODES,
        }
    }
}

/// Table 7: program and read of pages at low, medium and high cost, us. Those of the normal mode are the preset's.
pub(super) const MODES: [(u64, u64); 3] = [(650, 145), (1300, 110), (2600, 75)];
const NORMAL_READ_US: u64 = 45;

/// Share of time for which the dies of the normal drive are busy (assumed).
pub(super) const LOAD: f64 = 0.5;

/// What a drive holds before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Contents {
    /// Its whole address space, in the steady state: cleaning copies most of the pages of a victim.
    Full,
    /// The pages that the requests touch, a quarter of the address space: cleaning copies little.
    Touched,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Mean response times of all requests, of reads and of writes, us.
    pub(super) all_us: f64,
    pub(super) read_us: f64,
    pub(super) write_us: f64,
    /// Share of time for which the dies are busy.
    pub(super) busy: f64,
    pub(super) flash: FlashReport,
}

type Key = (usize, Scheme, State, u64, u64);
/// What was measured already: several figures are about the same runs.
static MEASURED: Mutex<BTreeMap<Key, Measured>> = Mutex::new(BTreeMap::new());
/// Requests per second that load the normal drive of a volume by one percent.
static RATES: Mutex<BTreeMap<(usize, State, u64), f64>> = Mutex::new(BTreeMap::new());

/// The size of a drive and its requests, and what it holds before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) scale: VolumeScale,
    pub(super) contents: Contents,
}

impl State {
    pub(super) const fn full(scale: VolumeScale) -> Self {
        Self { scale, contents: Contents::Full }
    }

    pub(super) const fn touched(scale: VolumeScale) -> Self {
        Self { scale, contents: Contents::Touched }
    }
}

/// The drive of section 5.4.1 for volume `volume`, with eight packages of as many blocks as its address space needs.
pub(super) fn settings(volume: usize, scheme: Scheme, scale: VolumeScale) -> SsdSettings {
    let mut settings = Drive::preset("xia-mlc-32g").settings;
    let block = u64::from(settings.geometry.pages_per_block);
    let pages = f64::from(VOLUMES[volume].pages(scale)) / 0.85;
    settings.geometry.planes_per_die = 1;
    settings.geometry.blocks_per_plane = (pages / (8 * block) as f64).ceil() as u32;
    settings.write_modes = Some(scheme.modes());
    settings
}

struct Watch<'a> {
    statistics: RequestStatistics,
    cancel: &'a AtomicBool,
}

impl<D: ?Sized> Observer<D> for Watch<'_> {
    fn completed(&mut self, arrival: Nanos, request: &Request, completion: &Completion) -> Verdict {
        self.statistics.record(arrival, request.kind, completion);
        if self.cancel.load(Ordering::Relaxed) { Verdict::Stop } else { Verdict::Continue }
    }
}

/// Trims all pages of the drive that no request of `volume` touches. Returns when that is done.
fn trim_untouched(ssd: &mut Ssd, volume: usize, scale: VolumeScale, seed: u64) -> Result<Nanos, ItemFault> {
    let row = &VOLUMES[volume];
    let extent = row.pages_per_request();
    let touched: BTreeSet<u32> = row.accesses(scale, seed).map(|access| access.page / extent).collect();
    let size = Bytes::kib(8 * u64::from(extent));
    let untouched = (0..row.pages(scale) / extent).filter(|extent| !touched.contains(extent));
    let trim = |at: u32| Request::new(RequestKind::Trim, Lba(u64::from(at * extent) * 16), size);
    let trims = untouched.map(|extent| Arrival { at: Nanos::ZERO, request: trim(extent) });
    let cancel = AtomicBool::new(false);
    let mut watch = Watch { statistics: RequestStatistics::default(), cancel: &cancel };
    let run = replay(ssd, trims, &ReplaySettings::closed(1), &mut watch)?;
    match watch.statistics.errors() {
        0 => Ok(run.last_event),
        failed => Err(ItemFault::RequestsFailed(failed)),
    }
}

/// Replays the volume's requests at `rate` per second on a drive in this state. The time returned is that of the
/// requests.
fn replayed(
    (volume, scheme, State { scale, contents }, seed): (usize, Scheme, State, u64),
    rate: f64,
    cancel: &AtomicBool,
) -> Result<(Ssd, RequestStatistics, Nanos), ItemFault> {
    let fault = |error: SsdError| ItemFault::Cache(error.into());
    let mut ssd = Ssd::new(FLASH, &settings(volume, scheme, scale), seed).map_err(fault)?;
    // The short runs of tests begin with a drive that was only filled.
    let condition = match scale.fewer {
        1 => Precondition::Steady { utilisation: Ratio::ONE, seed },
        _ => Precondition::Filled { utilisation: Ratio::ONE },
    };
    ssd.control(Nanos::ZERO, Control::Precondition(condition))?;
    let start = match contents {
        Contents::Full => Nanos::ZERO,
        Contents::Touched => trim_untouched(&mut ssd, volume, scale, seed)?,
    };
    ssd.control(start, Control::StartMeasuring)?;
    let row = &VOLUMES[volume];
    let size = Bytes::kib(8 * u64::from(row.pages_per_request()));
    let mut rng = Rng::derive(seed, "arrivals");
    let mut now = start.0 as f64;
    let arrivals = row.accesses(scale, seed).map(|access| {
        now += rng.exponential(1e9 / rate);
        let start = Lba(u64::from(access.page) * 16);
        let request = if access.is_write { Request::write(start, size) } else { Request::read(start, size) };
        Arrival { at: Nanos(now as u64), request }
    });
    let mut watch = Watch { statistics: RequestStatistics::default(), cancel };
    let run = replay(&mut ssd, arrivals, &ReplaySettings { start, ..ReplaySettings::OPEN }, &mut watch)?;
    match run.end {
        ReplayEnd::Complete if watch.statistics.errors() == 0 => Ok((ssd, watch.statistics, run.last_event - start)),
        ReplayEnd::Complete => Err(ItemFault::RequestsFailed(watch.statistics.errors())),
        ReplayEnd::Stopped => Err(esker_sim::RunError::Cancelled.into()),
        end => Err(ItemFault::EndedEarly(end)),
    }
}

/// Share of this time for which the dies were busy.
fn busy_share(ssd: &Ssd, time: Nanos) -> f64 {
    let busy = ssd.telemetry().busy.into_iter().find(|busy| busy.kind == ResourceKind::Die);
    busy.map_or(0.0, |busy| busy.busy.0 as f64 / f64::from(busy.count) / time.0 as f64)
}

/// Requests per second that load the normal drive of `volume` by one percent: busy time is proportional to requests.
fn rate_of_a_percent(volume: usize, state: State, seed: u64, cancel: &AtomicBool) -> Result<f64, ItemFault> {
    if let Some(found) = RATES.lock().expect("nothing panics with the lock").get(&(volume, state, seed)) {
        return Ok(*found);
    }
    let rate = 100.0 / f64::from(VOLUMES[volume].pages_per_request());
    let (ssd, _, end) = replayed((volume, Scheme::Normal, state, seed), rate, cancel)?;
    let found = rate / (100.0 * busy_share(&ssd, end));
    RATES.lock().expect("nothing panics with the lock").insert((volume, state, seed), found);
    Ok(found)
}

/// Runs `volume` under `scheme`, at the rate that keeps the dies of the normal drive busy for `load` of the time.
fn measured(
    (volume, scheme, state, seed): (usize, Scheme, State, u64),
    load: f64,
    cancel: &AtomicBool,
) -> Result<Measured, ItemFault> {
    let key = (volume, scheme, state, seed, (load * 1000.0) as u64);
    if let Some(found) = MEASURED.lock().expect("nothing panics with the lock").get(&key) {
        return Ok(found.clone());
    }
    let rate = 100.0 * load * rate_of_a_percent(volume, state, seed, cancel)?;
    let (ssd, statistics, time) = replayed((volume, scheme, state, seed), rate, cancel)?;
    let flash = Report::of(&ssd).devices[FLASH].flash.clone().ok_or(ItemFault::NotReported("its flash"))?;
    let found = Measured {
        all_us: statistics.response().mean() / 1e3,
        read_us: statistics.read_response().mean() / 1e3,
        write_us: statistics.write_response().mean() / 1e3,
        busy: busy_share(&ssd, time),
        flash,
    };
    MEASURED.lock().expect("nothing panics with the lock").insert(key, found.clone());
    Ok(found)
}

/// Threads that items with many runs use.
const THREADS: usize = 2;

/// Runs each of `schemes` on each of `volumes`. Returns the results by volume, then by scheme.
pub(super) fn matrix(
    item: &Item,
    context: &Context<'_>,
    state: State,
    (volumes, schemes): (&[usize], &[Scheme]),
    load: f64,
) -> Result<Vec<Vec<Measured>>, ReproduceError> {
    let done = Mutex::new(0);
    let found = jobs::collect(THREADS, volumes.len(), |index| {
        let row: Result<Vec<Measured>, ItemFault> = schemes
            .iter()
            .map(|scheme| measured((volumes[index], *scheme, state, context.seed), load, context.cancel))
            .collect();
        let mut done = done.lock().expect("nothing panics with the lock");
        *done += 1;
        (context.progress)(f64::from(*done) / volumes.len() as f64);
        row
    });
    found.into_iter().collect::<Result<_, _>>().map_err(|fault| ReproduceError::of(item, fault))
}

/// All volumes.
pub(super) fn all() -> Vec<usize> {
    (0..VOLUMES.len()).collect()
}

/// The schemes of figures 23 to 26.
pub(super) const COMPARED: [Scheme; 3] = [Scheme::Normal, Scheme::Agcr, Scheme::CHOSEN];

/// Returns the geometric mean over the volumes of a value of scheme `index`, over that of the first scheme.
pub(super) fn mean_over_volumes(found: &[Vec<Measured>], index: usize, of: fn(&Measured) -> f64) -> f64 {
    geometric_mean(found.iter().map(|runs| of(&runs[index]) / of(&runs[0])))
}

/// Bars of all volumes under [`COMPARED`], over those of the normal drive.
pub(super) fn bars(title: &str, found: &[Vec<Measured>], of: fn(&Measured) -> f64) -> Figure {
    let curves = ["normal", "AGCR", "differentiated"].into_iter().enumerate().map(|(scheme, name)| {
        let at = |(volume, runs): (usize, &Vec<Measured>)| (volume as f64, of(&runs[scheme]) / of(&runs[0]));
        Curve::measured(name, found.iter().enumerate().map(at))
    });
    Figure {
        title: title.to_string(),
        note: "Over the normal drive's. The paper's bars are not in the text.".into(),
        x: Axis::categories("volume", VOLUMES.iter().map(|volume| volume.name)),
        y: Axis::linear("over the normal drive's"),
        curves: curves.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variant_of_agcr_is_spared_one_cost() {
        assert_eq!(Scheme::Agcr.times(), [(650, 145), (1300, 110), (2600, 75)]);
        assert_eq!(Scheme::AgcrMediumCopies.times(), [(650, 145), (1300, 110), (1300, 75)]);
        assert_eq!(Scheme::AgcrNormalReads.times(), [(650, 45), (1300, 45), (2600, 45)]);
    }
}
