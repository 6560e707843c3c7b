//! Moves extents to the device that, as measured, answers their mix of reads and writes faster.

use std::collections::VecDeque;

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos, Ratio, Request, RequestKind};
use esker_results::TokenReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::room::{RoomMaker, RoomSettings};
use super::{
    Completed, DeviceView, Event, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError, StaticSplit,
    WishedMove, Wishes, schema_of,
};
use crate::extent::{DeviceIndex, LogicalExtent};

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "migration",
    summary: "Starts as stripes; moves extents in use to the device that answers their reads and writes faster",
    source: "Wu 2011, section II.B: measurement-driven migration, and Migration-2 of section II.D",
    parameters: ParameterSource::Schema(schema_of::<MigrationSettings>),
    capabilities: &[],
    build,
};

/// Weight of a new sample in the average response times, from section II.B.
const NEWEST: f64 = 0.01;
/// Weight of a new sample in the recent average, which shows whether response times rise or fall.
const NEWEST_OF_LATE: f64 = 0.1;
/// Nothing leaves a device whose recent response time is below this share of its average: earlier moves have relieved
/// it, and its queue is becoming shorter. The average follows a hundred requests later; by then many more extents would
/// have left, and would be missing there.
const RECOVERS: f64 = 0.8;
/// Accesses are counted over this many uses per extent, on average, and then anew: an extent that was used long ago is
/// cold now.
const COUNTED_OVER: u32 = 2;
/// An extent replaces a colder one if it was used more often than expected of the colder one in the same time, by more
/// than this many standard deviations. Among extents that are used equally often, chance alone would otherwise keep
/// moving them.
const HOTTER: f64 = 4.0;
/// Number of uses that an extent may have missed by chance.
const MISSED: f64 = 3.0;

/// Settings of [`Migration`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct MigrationSettings {
    /// Weights of the stripes, as of `static-split`. With an empty list the devices take turns.
    weights: Vec<u32>,
    /// The least advantage for which an extent moves: with 100% its reads and writes have to take twice as long as
    /// elsewhere.
    delta: Ratio,
    /// Accesses to an extent before it may move, counted anew after each move.
    accesses_min: u16,
    /// At most one extent moves in each interval.
    #[schemars(extend("least" = "1ns"))]
    interval: Nanos,
    /// Of this many extents, those used last, one is moved.
    #[schemars(range(min = 1, max = 10_000))]
    recent: u32,
    /// Extents whose requests are larger than this on average stay where they are: stripes serve large requests well
    /// (Migration-2). If left out, all may move.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_max: Option<Bytes>,
    /// Whether and when the coldest extents of a device that fills up move to one with more extents in idle moments
    /// (`{}`: as the defaults say). They take no turn of `interval`. If left out, they stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    make_room: Option<RoomSettings>,
}

impl Default for MigrationSettings {
    fn default() -> Self {
        Self {
            weights: Vec::new(),
            delta: Ratio::ONE,
            accesses_min: 4,
            interval: Nanos::from_millis(10),
            recent: 100,
            request_max: None,
            make_room: None,
        }
    }
}

/// Limit of `recent`: the list is searched at each access.
const RECENT_MAX: u32 = 10_000;

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let settings: MigrationSettings = policy.options()?;
    let error = |key: &str, message: String| Err(PlacementError::new(key, message));
    if settings.interval == Nanos::ZERO {
        return error("interval", "`interval` is 0; an extent moves in some time".to_string());
    }
    if settings.recent == 0 || settings.recent > RECENT_MAX {
        return error("recent", format!("`recent` is {}; it has to be 1 to {RECENT_MAX}", settings.recent));
    }
    settings.make_room.as_ref().map_or(Ok(()), |room| room.check("make_room"))?;
    let stripes = StaticSplit::of_weights(&settings.weights, policy.devices)?;
    Ok(Box::new(Migration::new(settings, stripes, policy.devices)))
}

/// Average response times of a device, in nanoseconds; `None` before the first request.
#[derive(Clone, Copy, Debug, Default)]
struct ResponseTimes {
    read: Option<f64>,
    write: Option<f64>,
    /// Of reads and writes together: the long-term average, and the recent one.
    both: Option<f64>,
    of_late: Option<f64>,
}

impl ResponseTimes {
    /// Returns true if requests are being answered faster and faster.
    fn fall(&self) -> bool {
        self.both.zip(self.of_late).is_some_and(|(average, of_late)| of_late < RECOVERS * average)
    }
}

/// Adds a sample to an average, in which it has the weight `weight`.
fn follow(average: &mut Option<f64>, weight: f64, sample: f64) {
    *average = Some(average.map_or(sample, |average| average + weight * (sample - average)));
}

/// What is known about an extent.
#[derive(Clone, Copy, Debug, Default)]
struct ExtentAccesses {
    reads: u16,
    writes: u16,
    /// Average size of the requests that touched it, in bytes.
    request: u32,
    /// The device that holds it; `None` until a request to it has ended.
    device: Option<DeviceIndex>,
    /// Number of uses of all extents when these counts began. It wraps around, so an extent that was not used for four
    /// billion uses counts as recently used once.
    since: u32,
}

impl ExtentAccesses {
    fn count(&self) -> f64 {
        f64::from(self.reads) + f64::from(self.writes)
    }
}

/// Measures devices and counts accesses to extents.
#[derive(Debug)]
struct Migration {
    settings: MigrationSettings,
    stripes: StaticSplit,
    times: Vec<ResponseTimes>,
    /// The extents by number, up to the last one with a request.
    extents: Vec<ExtentAccesses>,
    /// Number of uses of extents so far. It wraps around.
    uses: u32,
    /// The most recently used extents, newest first.
    recent: VecDeque<LogicalExtent>,
    /// Time of the next token, which lets an extent move; `None` while there are no requests.
    timer: Option<Nanos>,
    /// Counts of all tokens so far.
    tokens: TokenReport,
    room: Option<RoomMaker>,
}

impl Migration {
    fn new(settings: MigrationSettings, stripes: StaticSplit, devices: usize) -> Self {
        let room = settings.make_room.clone().map(|settings| RoomMaker::new(settings, devices));
        Self {
            room,
            settings,
            stripes,
            times: vec![ResponseTimes::default(); devices],
            extents: Vec::new(),
            uses: 0,
            recent: VecDeque::new(),
            timer: None,
            tokens: TokenReport::default(),
        }
    }

    fn extent(&mut self, extent: LogicalExtent) -> &mut ExtentAccesses {
        let index = extent.0 as usize;
        if self.extents.len() <= index {
            self.extents.resize(index + 1, ExtentAccesses::default());
        }
        &mut self.extents[index]
    }

    fn count(&mut self, request: &Request, extent: LogicalExtent) {
        let size = u32::try_from(request.length.0).unwrap_or(u32::MAX);
        let is_read = request.kind == RequestKind::Read;
        self.uses = self.uses.wrapping_add(1);
        // If nothing makes room, accesses are counted as published.
        let extents = self.extents.len() as u32;
        let counted_over = if self.room.is_some() { COUNTED_OVER.saturating_mul(extents) } else { u32::MAX };
        let uses = self.uses;
        let accesses = self.extent(extent);
        if uses.wrapping_sub(accesses.since) > counted_over {
            *accesses = ExtentAccesses { device: accesses.device, since: uses, ..ExtentAccesses::default() };
        }
        let before = accesses.count();
        accesses.request = ((f64::from(accesses.request) * before + f64::from(size)) / (before + 1.0)) as u32;
        let counter = if is_read { &mut accesses.reads } else { &mut accesses.writes };
        *counter = counter.saturating_add(1);
        match self.recent.iter().position(|&recent| recent == extent) {
            Some(position) => drop(self.recent.remove(position)),
            None if self.recent.len() == self.settings.recent as usize => drop(self.recent.pop_back()),
            None => {}
        }
        self.recent.push_front(extent);
    }

    fn measure(&mut self, done: &Completed) {
        for extent in done.first.0..done.first.0 + done.extents {
            self.extent(LogicalExtent(extent)).device = Some(done.device);
        }
        let times = &mut self.times[done.device.0 as usize];
        let average = if done.kind == RequestKind::Read { &mut times.read } else { &mut times.write };
        let sample = done.at.saturating_sub(done.sent).0 as f64;
        follow(average, NEWEST, sample);
        follow(&mut times.both, NEWEST, sample);
        follow(&mut times.of_late, NEWEST_OF_LATE, sample);
    }

    /// Returns the mean response time that the extent's reads and writes would have on `device`; `None` if such
    /// requests have not been measured there.
    fn cost(&self, accesses: &ExtentAccesses, device: DeviceIndex) -> Option<f64> {
        let ResponseTimes { read, write, .. } = self.times[device.0 as usize];
        let part = |count: u16, time: Option<f64>| if count == 0 { Some(0.0) } else { Some(f64::from(count) * time?) };
        Some((part(accesses.reads, read)? + part(accesses.writes, write)?) / accesses.count())
    }

    /// Returns the device to which `extent` should move, among those for which `takes` is true; `None` if no move is
    /// worth it.
    fn better_device(
        &self,
        extent: LogicalExtent,
        devices: &[DeviceView],
        takes: fn(&DeviceView) -> bool,
    ) -> Option<DeviceIndex> {
        let accesses = self.extents.get(extent.0 as usize)?;
        let count = u32::from(accesses.reads) + u32::from(accesses.writes);
        let too_large = self.settings.request_max.is_some_and(|max| u64::from(accesses.request) > max.0);
        if count < u32::from(self.settings.accesses_min.max(1)) || too_large {
            return None;
        }
        let device = accesses.device?;
        if self.times[usize::from(device.0)].fall() {
            return None;
        }
        let here = self.cost(accesses, device)?;
        let others = (0..).zip(devices).filter(|(_, view)| takes(view)).map(|(index, _)| DeviceIndex(index));
        let costs = others.filter_map(|device| Some((self.cost(accesses, device)?, device)));
        let (there, device) = costs.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let gains = here > (1.0 + self.settings.delta.as_f64()) * there;
        (gains && self.deserves_room(accesses, device, &devices[usize::from(device.0)])).then_some(device)
    }

    /// Returns true if an extent with these accesses may go to `device`: there is enough room, or the extent is hotter
    /// than the one that would have to leave.
    fn deserves_room(&self, accesses: &ExtentAccesses, device: DeviceIndex, view: &DeviceView) -> bool {
        let Some(coldest) = self.room.as_ref().and_then(|room| room.would_leave(device, view)) else { return true };
        // An extent that was never used is judged over the time since the beginning.
        let coldest = self.extents.get(coldest.0 as usize).copied().unwrap_or_default();
        let uses_since = |accesses: &ExtentAccesses| f64::from(self.uses.wrapping_sub(accesses.since).max(1));
        let expected = (coldest.count() + MISSED) * uses_since(accesses) / uses_since(&coldest);
        accesses.count() > expected + HOTTER * expected.sqrt() + 1.0
    }

    /// Spends a token on moving the most recently used extent that gains enough. If there is none, the token lapses.
    fn move_one(&mut self, devices: &[DeviceView], wishes: &mut Wishes) {
        self.tokens.granted += 1;
        let gains =
            |extent: &LogicalExtent| Some((*extent, self.better_device(*extent, devices, DeviceView::has_room)?));
        let Some((extent, device)) = self.recent.iter().find_map(gains) else {
            self.tokens.lapsed += 1;
            let would = |extent: &LogicalExtent| self.better_device(*extent, devices, DeviceView::is_full).is_some();
            wishes.without_room += u64::from(devices.iter().any(DeviceView::is_full) && self.recent.iter().any(would));
            return;
        };
        self.tokens.moves += 1;
        wishes.moves.push(WishedMove::among_requests(extent, device));
        *self.extent(extent) = ExtentAccesses { since: self.uses, ..ExtentAccesses::default() };
        self.recent.retain(|&recent| recent != extent);
    }
}

impl Placement for Migration {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        self.stripes.place(new, devices)
    }

    fn shares(&self, extents: u32, extent: Bytes, devices: usize) -> Option<Vec<u32>> {
        self.stripes.shares(extents, extent, devices)
    }

    fn placed(&mut self, extent: LogicalExtent, _: Bytes, device: Option<DeviceIndex>) {
        if let Some(room) = &mut self.room {
            room.placed(extent, device);
        }
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        if let Some(room) = &mut self.room {
            room.observe(now, event, devices, |from, to| devices[to].extents > devices[from].extents, wishes);
        }
        match *event {
            Event::Request { request, first, extents } if request.kind.has_data() => {
                (first.0..first.0 + extents).for_each(|extent| self.count(request, LogicalExtent(extent)));
                // Without requests there is no timer: nothing moves while the host is idle.
                if self.timer.is_none() {
                    let at = now + self.settings.interval;
                    self.timer = Some(at);
                    wishes.wake(at);
                }
            }
            Event::Completed(done) if done.for_host && done.ok && done.kind.has_data() => self.measure(&done),
            Event::Timer => match self.timer {
                Some(at) if at > now => wishes.wake(at),
                Some(_) => {
                    self.timer = None;
                    self.move_one(devices, wishes);
                }
                None => {}
            },
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    fn tokens(&self) -> Option<TokenReport> {
        Some(self.tokens)
    }

    fn devices_joined(&mut self, devices: usize) {
        self.stripes.devices_joined(devices);
        self.times.resize(devices, ResponseTimes::default());
        self.room.iter_mut().for_each(|room| room.devices_joined(devices));
    }
}
