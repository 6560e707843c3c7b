//! What one more request costs on each device, in nanoseconds.

use esker_core::{Bytes, Nanos, Request, RequestKind, Telemetry};

use super::DeviceView;
use crate::engine::LifeSpent;
use crate::extent::DeviceIndex;
use crate::placement::copies::COPIES_MAX;
use crate::placement::{Completed, LifeBudget};

/// Number of samples over which a mean is taken; later samples count more.
const SAMPLES: f64 = 64.0;
/// Requests over which the number of requests under way is averaged.
const QUEUE_OVER: f64 = 256.0;
/// A device that gets no requests is taken to have become faster by this factor each time it is looked at, so that it
/// is tried again.
const FADE: f64 = 0.8;
/// A price rises and falls by these factors with each look at the wear.
const PRICE_RISE: f64 = 1.25;
const PRICE_FALL: f64 = 0.9;
/// The least price of this many bytes while a life is overspent, as a part of the device's mean time of a request, and
/// the highest price, as a multiple of that of the slowest device.
const PRICED_BYTES: f64 = 4096.0;
const PRICE_FIRST: f64 = 0.01;
const PRICE_LAST: f64 = 16.0;

/// Most extents of a request that are looked at.
pub(super) const EXTENTS_MAX: u32 = 64;
/// Most moves under way at a time while queues are short.
const MOVES_FEW: usize = 4;
/// A device is left by one extent at a time for this many of its requests under way. The copy of an extent waits behind
/// them, so that with a fixed number of moves the fewest extents would leave the device that has most to do.
const REQUESTS_PER_MOVE: u32 = 2;
/// Most moves under way at a time, however long the queue: fewer than the engine copies at a time, which would refuse
/// the others for want of a buffer.
const MOVES_MAX: usize = 20;
const _: () = assert!(MOVES_FEW <= MOVES_MAX && MOVES_MAX < COPIES_MAX);

/// Returns how many moves may be under way when one more extent is to leave the device of `from`.
pub(super) fn moves_max(from: &DeviceView) -> usize {
    ((from.under_way / REQUESTS_PER_MOVE) as usize).clamp(MOVES_FEW, MOVES_MAX)
}

/// A mean in which later samples count more.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    value: f64,
    samples: f64,
}

impl Mean {
    fn add(&mut self, sample: f64) {
        self.samples = (self.samples + 1.0).min(SAMPLES);
        self.value += (sample - self.value) / self.samples;
    }

    fn known(&self) -> Option<f64> {
        (self.samples > 0.0).then_some(self.value)
    }
}

/// Reads and writes apart.
#[derive(Clone, Copy, Debug, Default)]
struct ByKind([Mean; 2]);

impl ByKind {
    fn of(&mut self, kind: RequestKind) -> &mut Mean {
        &mut self.0[usize::from(kind != RequestKind::Read)]
    }

    /// The mean of `kind`, or if there is none, of the other kind.
    fn mean(&self, kind: RequestKind) -> Option<f64> {
        let own = usize::from(kind != RequestKind::Read);
        self.0[own].known().or_else(|| self.0[1 - own].known())
    }
}

/// What requests cost on one device.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeviceCosts {
    /// How long a request of the host keeps the device busy. With several under way at a time, this is the time from
    /// one end to the next.
    busy: ByKind,
    /// The same for all of the host's requests.
    any: Mean,
    /// The same for reads and writes of copies.
    copies: ByKind,
    /// Mean number of the host's requests under way.
    queue: f64,
    last_end: Nanos,
    /// Whether requests ended since the last [`DeviceCosts::fade`].
    is_in_use: bool,
    life: Option<LifeBudget>,
    /// Price of a byte written.
    price: f64,
}

/// Takes the numbers of the host's requests under way when one arrives.
pub(super) fn arrived(devices: &mut [DeviceCosts], views: &[DeviceView]) {
    devices.iter_mut().zip(views).for_each(|(device, view)| device.arrived(view.under_way));
}

/// Takes what a device knows of its wear at `now`, and sets the price of writes there.
pub(super) fn worn(devices: &mut [DeviceCosts], now: Nanos, DeviceIndex(device): DeviceIndex, telemetry: &Telemetry) {
    let slowest = devices.iter().map(DeviceCosts::busy).fold(0.0, f64::max);
    devices[usize::from(device)].worn(now, telemetry, slowest);
}

impl DeviceCosts {
    /// A device of which nothing is known, and whose writes have a price if it should last for a `life`.
    pub(super) fn new(life: Option<LifeBudget>) -> Self {
        Self { life, ..Self::default() }
    }

    /// Takes what the device knows of its wear at `now`, and sets the price of writes. The slowest device takes
    /// `slowest` for a request.
    fn worn(&mut self, now: Nanos, telemetry: &Telemetry, slowest: f64) {
        let Some(life) = &mut self.life else { return };
        life.look(now, telemetry);
        self.price = match life.is_overspent() {
            true => {
                let (first, last) = (PRICE_FIRST * self.any.value / PRICED_BYTES, PRICE_LAST * slowest / PRICED_BYTES);
                (self.price * PRICE_RISE).max(first).min(last)
            }
            false => self.price * PRICE_FALL,
        };
    }

    /// Returns what the device has used of its life; `None` if it should not last for one.
    pub(super) fn life_spent(&self) -> Option<LifeSpent> {
        self.life.map(|life| life.spent())
    }

    /// Takes the number of the host's requests under way when one arrives.
    fn arrived(&mut self, under_way: u32) {
        self.queue += (f64::from(under_way) - self.queue) / QUEUE_OVER;
    }

    /// Takes the end of a request or of a part of a copy.
    pub(super) fn ended(&mut self, done: &Completed) {
        let since_last_end = done.at.saturating_sub(self.last_end);
        self.last_end = self.last_end.max(done.at);
        let busy = done.at.saturating_sub(done.sent).min(since_last_end).0 as f64;
        if !done.for_host {
            return self.copies.of(done.kind).add(busy);
        }
        self.is_in_use = true;
        self.any.add(busy);
        self.busy.of(done.kind).add(busy);
    }

    /// Makes a device that had no requests since the last call seem faster.
    pub(super) fn fade(&mut self) {
        if !std::mem::take(&mut self.is_in_use) {
            let means = self.busy.0.iter_mut().chain([&mut self.any]);
            means.for_each(|mean| mean.value *= FADE);
        }
    }

    /// Returns what one more request costs on average: the wait for those under way, its own time, and the price of
    /// what it writes. Nothing on a device that is not known, so that it becomes known.
    pub(super) fn of(&self, kind: RequestKind, length: Bytes) -> f64 {
        self.behind(self.queue, kind, length)
    }

    /// Returns what one more request costs behind `under_way` others.
    pub(super) fn behind(&self, under_way: f64, kind: RequestKind, length: Bytes) -> f64 {
        let Some(own) = self.busy.mean(kind) else { return 0.0 };
        under_way * self.any.value + own + self.written(kind, length)
    }

    /// Returns what `write` costs behind what is under way now.
    pub(super) fn now(&self, write: &Request, view: &DeviceView) -> f64 {
        self.behind(f64::from(view.under_way), write.kind, write.length)
    }

    /// Returns what the part of a copy costs that reads here, or writes: its own time, for itself and for all that
    /// wait. Before the first copy, it is taken to last as long as a request of the host.
    pub(super) fn of_copy(&self, kind: RequestKind, length: Bytes) -> f64 {
        let busy = self.copies.mean(kind).or_else(|| self.busy.mean(kind));
        (self.queue + 1.0) * busy.unwrap_or(0.0) + self.written(kind, length)
    }

    /// Returns what one more request of the mean kind costs, without a price.
    pub(super) fn load(&self) -> f64 {
        (self.queue + 1.0) * self.any.value
    }

    /// Returns the mean time of a request.
    pub(super) fn busy(&self) -> f64 {
        self.any.value
    }

    /// Returns what the part of a copy that reads here, or writes, keeps the device busy with, and its price.
    pub(super) fn own_of_copy(&self, kind: RequestKind, length: Bytes) -> f64 {
        let busy = self.copies.mean(kind).or_else(|| self.busy.mean(kind));
        busy.unwrap_or(0.0) + self.written(kind, length)
    }

    /// Returns the mean number of the host's requests under way.
    pub(super) const fn queue(&self) -> f64 {
        self.queue
    }

    /// Returns the price of a byte written.
    pub(super) const fn price(&self) -> f64 {
        self.price
    }

    fn written(&self, kind: RequestKind, length: Bytes) -> f64 {
        if kind == RequestKind::Read { 0.0 } else { self.price * length.0 as f64 }
    }
}
