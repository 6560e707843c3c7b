//! MOST: tiers, with second copies of the hottest extents, between which reads are balanced.
//!
//! Source: Tu, Wu, Arpaci-Dusseau and Arpaci-Dusseau, "Getting the MOST out of your Storage Hierarchy with
//! Mirror-Optimized Storage Tiering", FAST 2026 (arXiv 2512.03279).
//!
//! In each interval, the mean latencies of both tiers are smoothed. While the fast tier is the slower one, by more than
//! `tolerance`, the offload ratio grows by `step`: the share of what may go to either tier that goes to the slow one,
//! which are reads and writes of extents with two copies, and new extents. Once it is 1, the hottest extents that only
//! the fast tier has get second copies, up to the share `mirrored` of all extents; at that share they take the place of
//! colder ones. While the slow tier is the slower one, the ratio falls by `step`; once it is 0, the hottest extents of
//! the slow tier move to the fast one, and cold ones make room.
//!
//! What is assumed:
//! - Constants but the interval, the tolerance, the step and `mirrored` are ours: a new interval has a weight of a
//!   quarter, at most 16 copies are under way, and accesses are counted as in HeMem (see `bins.rs`).
//! - Latencies are response times of the host's requests to the devices. A tier that has answered none in an interval
//!   has answered at once.
//! - While both copies of an extent are equal, a write goes to either one. After that all of its writes go there, and
//!   what they have written is read only there; in MOST each block of an extent may be written on either tier. An
//!   extent of which more than half was written loses its other copy, and may get another one.
//! - All but the fast device are one tier. A copy goes to the device with the most room.
//! - After a restart no extent has a second copy.

#[cfg(test)]
mod tests;

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos, Ratio};
use esker_tier::{
    Completed, DeviceIndex, DeviceView, Event, LogicalExtent, MoveOutcome, NewExtent, NewPolicy, Placement,
    PlacementEntry, PlacementError, TwoCopies, WishedMove, Wishes, schema_of,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bins::{Bins, Exchanges, Tier};
use super::tiers::Tiers;

/// The entry of [`super::PUBLISHED_PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "most",
    summary: "Gives the hottest extents a second copy on the slow tier, and balances requests between both copies",
    source: "Tu et al. 2026 (FAST): MOST, mirror-optimized storage tiering",
    parameters: ParameterSource::Schema(schema_of::<MostSettings>),
    capabilities: &[],
    build,
};

/// Weight of a new interval in the latencies.
const NEWEST: f64 = 0.25;
/// Most copies under way.
const COPIES_MAX: usize = 16;
/// Largest share of extents with two copies: each takes two places.
const MIRRORED_MAX: Ratio = Ratio::percent(50);

/// Settings of [`Most`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct MostSettings {
    /// The fast device, by its place in `children`, from 0. All others are the slow tier.
    fast: u16,
    /// Time between two decisions.
    #[schemars(extend("least" = "1ns"))]
    interval: Nanos,
    /// Latencies that differ by less than this part of the slow tier's are equal.
    #[schemars(extend("most" = "100%"))]
    tolerance: Ratio,
    /// By how much the offload ratio changes in an interval.
    #[schemars(extend("least" = "0.0000001%", "most" = "100%"))]
    step: Ratio,
    /// Largest share of all extents of the devices that have a second copy.
    #[schemars(extend("most" = "50%"))]
    mirrored: Ratio,
}

impl Default for MostSettings {
    fn default() -> Self {
        Self {
            fast: 0,
            interval: Nanos::from_millis(200),
            tolerance: Ratio::percent(5),
            step: Ratio::percent(2),
            mirrored: Ratio::percent(20),
        }
    }
}

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let settings: MostSettings = policy.options()?;
    let error = |key: &str, message: String| Err(PlacementError::new(key, message));
    if settings.interval == Nanos::ZERO {
        return error("interval", "`interval` is 0; decisions are made once in some time".to_string());
    }
    for (key, value) in [("tolerance", settings.tolerance), ("step", settings.step)] {
        if value > Ratio::ONE {
            return error(key, format!("`{key}` is {value}; it has to be at most 100%"));
        }
    }
    if settings.step == Ratio::ZERO {
        return error("step", "`step` is 0; the offload ratio would never change".to_string());
    }
    if settings.mirrored > MIRRORED_MAX {
        let message = "it has to be at most 50%, because each extent with a second copy takes two places";
        return error("mirrored", format!("`mirrored` is {}; {message}", settings.mirrored));
    }
    Ok(Box::new(Most::new(Tiers::new(settings.fast, policy)?, settings)))
}

/// The latency of a tier.
#[derive(Clone, Copy, Debug, Default)]
struct Latency {
    /// Response times of this interval, in nanoseconds, and their number.
    nanos: f64,
    requests: f64,
    /// The mean of an interval, in nanoseconds, smoothed.
    smoothed: f64,
}

impl Latency {
    fn count(&mut self, done: &Completed) {
        self.nanos += done.at.saturating_sub(done.sent).0 as f64;
        self.requests += 1.0;
    }

    fn end_interval(&mut self) {
        let mean = if self.requests > 0.0 { self.nanos / self.requests } else { 0.0 };
        self.smoothed += NEWEST * (mean - self.smoothed);
        (self.nanos, self.requests) = (0.0, 0.0);
    }
}

/// The share of what may go to either tier that goes to the slow one.
#[derive(Clone, Copy, Debug, Default)]
struct Offload {
    ratio: f64,
    /// What is still due to the slow tier.
    due: f64,
}

impl Offload {
    /// Returns true if the next one goes to the slow tier.
    fn next(&mut self) -> bool {
        self.due += self.ratio;
        let offloads = self.due >= 1.0;
        self.due -= f64::from(u8::from(offloads));
        offloads
    }
}

/// Balances the latencies of two tiers by reads of extents with two copies.
#[derive(Debug)]
struct Most {
    tiers: Tiers,
    settings: MostSettings,
    /// Of the fast and of the slow tier.
    latencies: [Latency; 2],
    offload: Offload,
    bins: Bins,
    moves: Exchanges,
    /// Extents that are being copied to a second place.
    mirroring: Vec<LogicalExtent>,
    /// Number of extents with a second copy.
    mirrored: u32,
    /// End of the interval; `None` while there are no requests.
    timer: Option<Nanos>,
}

impl Most {
    fn new(tiers: Tiers, settings: MostSettings) -> Self {
        Self {
            tiers,
            settings,
            latencies: [Latency::default(); 2],
            offload: Offload::default(),
            bins: Bins::new(),
            moves: Exchanges::default(),
            mirroring: Vec::new(),
            mirrored: 0,
            timer: None,
        }
    }

    fn tier(&self, device: DeviceIndex) -> Tier {
        if device == self.tiers.fast { Tier::Fast } else { Tier::Slow }
    }

    /// Ends the interval.
    fn decide(&mut self, devices: &[DeviceView], wishes: &mut Wishes) {
        self.latencies.iter_mut().for_each(Latency::end_interval);
        self.bins.sweep();
        let [fast, slow] = self.latencies.map(|latency| latency.smoothed);
        let (tolerance, step) = (self.settings.tolerance.as_f64(), self.settings.step.as_f64());
        if fast > (1.0 + tolerance) * slow {
            if self.offload.ratio >= 1.0 {
                self.mirror(devices, wishes);
            }
            self.offload.ratio = (self.offload.ratio + step).min(1.0);
        } else if fast < (1.0 - tolerance) * slow {
            if self.offload.ratio <= 0.0 {
                self.promote(devices, wishes);
            }
            self.offload.ratio = (self.offload.ratio - step).max(0.0);
        }
    }

    fn copies(&self) -> usize {
        self.moves.count() + self.mirroring.len()
    }

    /// Gives the hottest extents of the fast tier second copies.
    fn mirror(&mut self, devices: &[DeviceView], wishes: &mut Wishes) {
        let extents: u64 = devices.iter().map(|view| u64::from(view.extents)).sum();
        let most = self.settings.mirrored.of(extents);
        let room = |view: &DeviceView| if view.has_room() { view.free_extents } else { 0 };
        let mut free: Vec<u32> = devices.iter().map(room).collect();
        free[usize::from(self.tiers.fast.0)] = 0;
        let mut waiting = Vec::new();
        while self.copies() + waiting.len() < COPIES_MAX {
            let Some((hot, count)) = self.bins.hottest(Tier::Fast, 0, f64::INFINITY) else { break };
            let roomiest = (0..free.len()).rev().max_by_key(|&device| free[device]).filter(|&device| free[device] > 0);
            let has_room = u64::from(self.mirrored) + (self.mirroring.len() as u64) < most;
            match roomiest.filter(|_| has_room) {
                Some(device) => {
                    free[device] -= 1;
                    self.bins.unlist(hot);
                    self.mirroring.push(LogicalExtent(hot));
                    let to = DeviceIndex(device as u16);
                    wishes.mirrors.push(WishedMove::among_requests(LogicalExtent(hot), to));
                }
                None => {
                    // The next interval finds the room that this makes.
                    let Some((cold, _)) = self.bins.coldest(Tier::Both).filter(|(_, of)| *of < count) else { break };
                    self.bins.unlist(cold);
                    wishes.drop_mirrors.push(LogicalExtent(cold));
                    self.bins.unlist(hot);
                    waiting.push(hot);
                }
            }
        }
        waiting.into_iter().for_each(|extent| self.bins.list(extent));
    }

    /// Moves the hottest extents of the slow tier to the fast one.
    fn promote(&mut self, devices: &[DeviceView], wishes: &mut Wishes) {
        let fast = self.tiers.fast_view(devices);
        let back = self.tiers.slow_with_room(devices);
        if !fast.has_room() && !fast.is_full() {
            return;
        }
        let mut room = fast.free_extents;
        while self.copies() < COPIES_MAX {
            if room > 0 {
                let Some((hot, _)) = self.bins.hottest(Tier::Slow, 0, f64::INFINITY) else { return };
                let wished = WishedMove::among_requests(LogicalExtent(hot), self.tiers.fast);
                self.moves.begin(wished, &mut self.bins, wishes);
                room -= 1;
                continue;
            }
            let pairs = [Tier::Fast, Tier::Both].map(|cold| self.bins.best_pair(Tier::Slow, cold, f64::INFINITY));
            let Some((hot, cold, _)) = pairs.into_iter().flatten().max_by_key(|(_, _, gain)| *gain) else { return };
            wishes.without_room += u64::from(back.is_none());
            let Some(back) = back else { return };
            let first = WishedMove::among_requests(LogicalExtent(cold), back);
            let then = WishedMove::among_requests(LogicalExtent(hot), self.tiers.fast);
            self.moves.begin_both(first, then, &mut self.bins, wishes);
        }
    }

    fn ended(&mut self, extent: LogicalExtent, outcome: MoveOutcome, wishes: &mut Wishes) {
        match self.mirroring.iter().position(|&mirroring| mirroring == extent) {
            Some(position) => {
                self.mirroring.swap_remove(position);
                self.bins.list(extent.0);
            }
            None => drop(self.moves.ended(extent, outcome, &mut self.bins, wishes)),
        }
    }

    /// Returns the device for a request of an extent with two copies.
    fn one_of(&mut self, copies: &TwoCopies<'_>) -> DeviceIndex {
        let slow = if copies.home == self.tiers.fast { copies.mirror } else { copies.home };
        if self.offload.next() { slow } else { self.tiers.fast }
    }

    fn is_moving(&self, extent: LogicalExtent) -> bool {
        self.moves.has(extent) || self.mirroring.contains(&extent)
    }
}

impl Placement for Most {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        let offloads = new.write.is_some() && self.offload.next();
        self.tiers.place(!offloads, devices)
    }

    fn placed(&mut self, extent: LogicalExtent, _: Bytes, device: Option<DeviceIndex>) {
        let tier = device.map(|device| self.tier(device));
        self.bins.place(extent.0, tier, self.is_moving(extent));
    }

    /// One of two copies is on the fast device, the other one on the slow tier.
    fn mirrored(&mut self, extent: LogicalExtent, home: DeviceIndex, device: Option<DeviceIndex>) {
        let tier = if device.is_some() { Tier::Both } else { self.tier(home) };
        self.mirrored = if device.is_some() { self.mirrored + 1 } else { self.mirrored - 1 };
        self.bins.place(extent.0, Some(tier), self.is_moving(extent));
    }

    fn reads_from(&mut self, read: &TwoCopies<'_>, _: &[DeviceView]) -> DeviceIndex {
        self.one_of(read)
    }

    fn writes_to(&mut self, write: &TwoCopies<'_>, _: &[DeviceView]) -> DeviceIndex {
        self.one_of(write)
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Request { request, first, extents } if request.kind.has_data() => {
                (first.0..first.0 + extents).for_each(|extent| self.bins.count(extent));
                // Without requests there is no timer: nothing moves while the host is idle.
                if self.timer.is_none() {
                    let at = now + self.settings.interval;
                    self.timer = Some(at);
                    wishes.wake(at);
                }
            }
            Event::Completed(done) if done.for_host && done.ok && done.kind.has_data() => {
                let tier = self.tier(done.device);
                self.latencies[tier as usize].count(&done);
            }
            Event::Moved { extent, outcome } => self.ended(extent, outcome, wishes),
            Event::Timer => match self.timer {
                Some(at) if at > now => wishes.wake(at),
                Some(_) => {
                    self.timer = None;
                    self.decide(devices, wishes);
                }
                None => {}
            },
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    fn devices_joined(&mut self, _: usize) {}
}
