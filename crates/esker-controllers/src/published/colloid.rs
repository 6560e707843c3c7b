//! Colloid: hot extents move until both tiers answer equally fast.
//!
//! Sources: Vuppalapati and Agarwal, "Tiered Memory Management: Access Latency is the Key!", SOSP 2024, as the authors'
//! fork of HeMem implements it (`src/pebs.c`, `src/pebs.h`; the variant with a binary search).
//!
//! In each quantum, the time that requests were under way on each tier and their number are averaged (a new quantum has
//! a weight of a sixteenth); by Little's law their quotient is the loaded latency. If both latencies are within `delta`
//! of that of the fast tier, nothing moves. Else the share p of the requests that the fast tier answers becomes the
//! lower bound of the best share if that tier is the faster one, otherwise the upper bound, and the middle of both
//! bounds is the next aim. A bound that p has crossed begins anew at 0 or 1; so does the far one once the bounds are
//! within `epsilon` of each other, because the best share has changed. Extents whose accesses are together the
//! difference between aim and p move, the hottest that fit first, swapped with cold ones if there is no room. In one
//! quantum no more bytes move than the requests in that difference carry, nor than `migration_limit`; an extent that
//! has begun to move is moved whole.
//!
//! What is assumed:
//! - The quantum is that of HeMem, made for memory, which answers some ten thousand times faster than flash.
//! - Latencies are response times of the host's requests to the devices. A tier that has answered none has latency 0.
//! - All accesses count; HeMem samples one in 5,003. As in HeMem, counts are halved when an extent has 18, and
//!   those of extents that are not used follow in steps of 8,192 extents a quantum.
//! - All but the fast device are one tier. An extent that moves there goes to the device with the most room.
//! - At most 16 extents are moved or swapped in a quantum. The next one ends when they have moved.
//! - New extents go to the fast device while it has room; so do data that are there before the first request.

#[cfg(test)]
mod tests;

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos, Ratio};
use esker_tier::{
    Completed, DeviceIndex, DeviceView, Event, LogicalExtent, MoveOutcome, NewExtent, NewPolicy, Placement,
    PlacementEntry, PlacementError, WishedMove, Wishes, schema_of,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bins::{Bins, Exchanges, Tier};
use super::tiers::{ExtentSize, Tiers};

/// The entry of [`super::PUBLISHED_PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "colloid",
    summary: "Moves hot extents until the loaded latencies of the fast device and of the others are equal",
    source: "Vuppalapati and Agarwal 2024 (SOSP): Colloid; constants of its integration with HeMem",
    parameters: ParameterSource::Schema(schema_of::<ColloidSettings>),
    capabilities: &[],
    build,
};

/// Weight of a new quantum in the averages.
const NEWEST: f64 = 1.0 / 16.0;
/// Most extents that are moved or swapped in a quantum.
const MOVES_MAX: usize = 16;

/// Settings of [`Colloid`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ColloidSettings {
    /// The fast device, by its place in `children`, from 0. All others are the slow tier.
    fast: u16,
    /// Time between two decisions.
    #[schemars(extend("least" = "1ns"))]
    quantum: Nanos,
    /// Latencies that differ by less than this part of the fast tier's are equal.
    #[schemars(extend("most" = "100%"))]
    delta: Ratio,
    /// Bounds of the best share that are nearer to each other than this are no longer right.
    #[schemars(extend("most" = "100%"))]
    epsilon: Ratio,
    /// Most bytes that move in a quantum. The last extent may exceed it.
    #[schemars(extend("least" = "1B"))]
    migration_limit: Bytes,
}

impl Default for ColloidSettings {
    fn default() -> Self {
        Self {
            fast: 0,
            quantum: Nanos::from_millis(10),
            delta: Ratio::percent(5),
            epsilon: Ratio::percent(1),
            migration_limit: Bytes::mib(100),
        }
    }
}

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let settings: ColloidSettings = policy.options()?;
    let error = |key: &str, message: String| Err(PlacementError::new(key, message));
    if settings.quantum == Nanos::ZERO {
        return error("quantum", "`quantum` is 0; decisions are made once in some time".to_string());
    }
    for (key, value) in [("delta", settings.delta), ("epsilon", settings.epsilon)] {
        if value > Ratio::ONE {
            return error(key, format!("`{key}` is {value}; it has to be at most 100%"));
        }
    }
    if settings.migration_limit == Bytes::ZERO {
        return error("migration_limit", "`migration_limit` is 0; some bytes have to be allowed to move".to_string());
    }
    Ok(Box::new(Colloid::new(Tiers::new(settings.fast, policy)?, settings)))
}

/// What a tier has answered: in this quantum, and on average in a quantum.
#[derive(Clone, Copy, Debug, Default)]
struct TierLoad {
    nanos: f64,
    requests: f64,
    bytes: f64,
    average_nanos: f64,
    average_requests: f64,
    average_bytes: f64,
}

impl TierLoad {
    fn count(&mut self, done: &Completed) {
        self.nanos += done.at.saturating_sub(done.sent).0 as f64;
        self.requests += 1.0;
        self.bytes += done.length.0 as f64;
    }

    fn end_quantum(&mut self) {
        for (now, average) in [
            (&mut self.nanos, &mut self.average_nanos),
            (&mut self.requests, &mut self.average_requests),
            (&mut self.bytes, &mut self.average_bytes),
        ] {
            *average += NEWEST * (std::mem::take(now) - *average);
        }
    }

    /// Returns the loaded latency, in nanoseconds.
    fn latency(&self) -> f64 {
        if self.average_requests > 0.0 { self.average_nanos / self.average_requests } else { 0.0 }
    }
}

/// Bounds of the share of the requests for which both tiers answer equally fast.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    low: f64,
    high: f64,
}

impl Bounds {
    /// Returns by how much the share `p` of the fast tier, whose latency is `fast`, has to change; the sign says in
    /// which direction.
    fn shift(&mut self, p: f64, fast: f64, slow: f64, settings: &ColloidSettings) -> f64 {
        if (fast - slow).abs() < settings.delta.as_f64() * fast {
            return 0.0;
        }
        let is_faster = fast < slow;
        if is_faster {
            self.low = p;
            self.high = if self.high <= p { 1.0 } else { self.high };
        } else {
            self.high = p;
            self.low = if self.low >= p { 0.0 } else { self.low };
        }
        if (self.high - self.low).abs() < settings.epsilon.as_f64() {
            if is_faster {
                self.high = 1.0;
            } else {
                self.low = 0.0;
            }
        }
        f64::midpoint(self.low, self.high) - p
    }
}

/// Balances the loaded latencies of two tiers.
#[derive(Debug)]
struct Colloid {
    tiers: Tiers,
    settings: ColloidSettings,
    extent: ExtentSize,
    /// The loads of the fast and of the slow tier.
    loads: [TierLoad; 2],
    bounds: Bounds,
    bins: Bins,
    moves: Exchanges,
    /// End of the quantum; `None` while there are no requests.
    timer: Option<Nanos>,
    /// Whether the quantum is over and only waits for moves.
    is_over: bool,
}

impl Colloid {
    fn new(tiers: Tiers, settings: ColloidSettings) -> Self {
        Self {
            tiers,
            settings,
            extent: ExtentSize::default(),
            loads: [TierLoad::default(); 2],
            bounds: Bounds { low: 0.0, high: 1.0 },
            bins: Bins::new(),
            moves: Exchanges::default(),
            timer: None,
            is_over: false,
        }
    }

    fn tier(&self, device: DeviceIndex) -> Tier {
        if device == self.tiers.fast { Tier::Fast } else { Tier::Slow }
    }

    /// Ends the quantum: decides what moves.
    fn decide(&mut self, devices: &[DeviceView], wishes: &mut Wishes) {
        self.is_over = false;
        self.loads.iter_mut().for_each(TierLoad::end_quantum);
        self.bins.sweep();
        let [fast, slow] = &self.loads;
        let requests = fast.average_requests + slow.average_requests;
        if requests > 0.0 {
            let bytes = fast.average_bytes + slow.average_bytes;
            let p = fast.average_requests / requests;
            let shift = self.bounds.shift(p, fast.latency(), slow.latency(), &self.settings);
            let limit = (shift.abs() * bytes).min(self.settings.migration_limit.0 as f64);
            self.migrate(shift, limit, devices, wishes);
        }
    }

    /// Moves extents whose accesses are the share `shift` of all, but no more than `limit` bytes: to the fast tier if
    /// `shift` is above zero.
    fn migrate(&mut self, shift: f64, limit: f64, devices: &[DeviceView], wishes: &mut Wishes) {
        let to_fast = shift > 0.0;
        let (from, to) = if to_fast { (Tier::Slow, Tier::Fast) } else { (Tier::Fast, Tier::Slow) };
        let slow = self.tiers.slow_with_room(devices);
        let target = if to_fast { Some(self.tiers.fast) } else { slow.or_else(|| self.any_slow(devices)) };
        let Some(target) = target else { return };
        let target_view = &devices[usize::from(target.0)];
        if !target_view.has_room() && !target_view.is_full() {
            return;
        }
        let back = if to_fast { slow } else { Some(self.tiers.fast) };
        let back = back.filter(|back| devices[usize::from(back.0)].has_room());
        let mut room = target_view.free_extents;
        let (mut left, mut moved) = (shift.abs() * self.bins.total() as f64, 0.0);
        while moved < limit && self.moves.count() < MOVES_MAX {
            if room > 0 {
                let Some((extent, count)) = self.bins.hottest(from, 0, left) else { return };
                let wished = WishedMove::among_requests(LogicalExtent(extent), target);
                self.moves.begin(wished, &mut self.bins, wishes);
                (left, room) = (left - f64::from(count), room - 1);
                moved += self.extent.bytes() as f64;
            } else {
                let Some((hot, cold, gain)) = self.bins.best_pair(from, to, left) else { return };
                wishes.without_room += u64::from(back.is_none());
                let Some(back) = back else { return };
                let first = WishedMove::among_requests(LogicalExtent(cold), back);
                let then = WishedMove::among_requests(LogicalExtent(hot), target);
                self.moves.begin_both(first, then, &mut self.bins, wishes);
                left -= f64::from(gain);
                moved += 2.0 * self.extent.bytes() as f64;
            }
        }
    }

    /// Returns the first slow device that only lacks room.
    fn any_slow(&self, devices: &[DeviceView]) -> Option<DeviceIndex> {
        self.tiers.slow(devices).find(|(_, view)| view.is_full()).map(|(device, _)| device)
    }

    /// Notes that the move of `extent` has ended. What it has made room for moves next.
    fn ended(&mut self, extent: LogicalExtent, outcome: MoveOutcome, devices: &[DeviceView], wishes: &mut Wishes) {
        let was_asked_for = self.moves.ended(extent, outcome, &mut self.bins, wishes);
        if was_asked_for && self.is_over && self.moves.under_way() == 0 {
            self.decide(devices, wishes);
        }
    }
}

impl Placement for Colloid {
    fn place(&mut self, _: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        self.tiers.place(true, devices)
    }

    fn placed(&mut self, extent: LogicalExtent, start: Bytes, device: Option<DeviceIndex>) {
        self.extent.learn(extent, start);
        let tier = device.map(|device| self.tier(device));
        self.bins.place(extent.0, tier, self.moves.has(extent));
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Request { request, first, extents } if request.kind.has_data() => {
                (first.0..first.0 + extents).for_each(|extent| self.bins.count(extent));
                // Without requests there is no timer: nothing moves while the host is idle.
                if self.timer.is_none() && !self.is_over {
                    let at = now + self.settings.quantum;
                    self.timer = Some(at);
                    wishes.wake(at);
                }
            }
            Event::Completed(done) if done.for_host && done.ok && done.kind.has_data() => {
                let tier = self.tier(done.device);
                self.loads[tier as usize].count(&done);
            }
            Event::Moved { extent, outcome } => self.ended(extent, outcome, devices, wishes),
            Event::Timer => match self.timer {
                Some(at) if at > now => wishes.wake(at),
                Some(_) => {
                    self.timer = None;
                    match self.moves.under_way() {
                        0 => self.decide(devices, wishes),
                        _ => self.is_over = true,
                    }
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
