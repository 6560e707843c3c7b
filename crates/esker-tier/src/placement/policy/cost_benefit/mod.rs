//! Moves an extent once what it has cost to leave it exceeds what the move costs.

mod pace;
#[cfg(test)]
mod tests;

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos, Request, RequestKind};

use super::costs::{DeviceCosts, EXTENTS_MAX, arrived, moves_max, worn};
use super::first_places::{CostSettings, FirstPlaces, cheaper_place};
use super::life_budget::{LIFE_PERIOD, LifeBudget};
use super::usage::Residents;
use super::{
    Completed, DeviceView, Event, MoveOutcome, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError,
    Rewrite, WishedMove, Wishes, schema_of,
};
use crate::engine::LifeSpent;
use crate::extent::{DeviceIndex, LogicalExtent};
use pace::Pace;

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "cost-benefit",
    summary: "Moves an extent once leaving it has cost more than the move does; writes have a price that holds a life",
    source: "Ours: rent or buy (Karlin et al. 1988, competitive snoopy caching) with marginal latencies of queues",
    parameters: ParameterSource::Schema(schema_of::<CostSettings>),
    capabilities: &[],
    build,
};

/// Differences of cost below this share of the cost do not count: they may be noise.
const TOLERANCE: f64 = 0.1;
/// Balances are halved after this many requests for each extent.
const REQUESTS_PER_EXTENT: u64 = 4;
/// Standard deviations by which an extent has to be hotter than the colder quarter of those on a full device to go
/// there. They are many, because it is compared again with each of its requests.
const NOISE: f64 = 6.0;
/// How many extents are looked at to find the one that is best moved away from a full device.
const VICTIMS: usize = 16;
/// Requests after which devices without any are taken to have become faster.
const FADE_AFTER: u64 = 4096;

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let (first, life) = policy.options::<CostSettings>()?.check(policy.devices)?;
    let mut built = CostBenefit { first, life, ..CostBenefit::default() };
    built.devices_joined(policy.devices);
    Ok(Box::new(built))
}

/// Keeps a balance for each extent: by how much its requests would have been cheaper on another device. Once that
/// exceeds what a move costs, the extent moves (rent or buy). What a request costs is its wait and its own time on the
/// device. So extents leave a device that has become slower or has too much to do, and stop when both cost the same;
/// [`Pace`] sees to it that not too many do at a time.
///
/// It takes four bytes for each extent, and two for its device.
#[derive(Debug, Default)]
struct CostBenefit {
    devices: Vec<DeviceCosts>,
    /// For each extent, what its requests have cost here beyond what they would have cost elsewhere, in nanoseconds.
    /// Less than zero if it is at the right place.
    balances: Vec<f32>,
    residents: Residents,
    moving: Vec<LogicalExtent>,
    pace: Pace,
    /// The extent whose balance is halved next.
    hand: u32,
    requests: u64,
    /// Bytes of an extent; zero before that is known.
    extent: u64,
    /// How long each device should last.
    life: Option<LifeBudget>,
    first: FirstPlaces,
}

/// What makes room on a full device.
#[derive(Clone, Copy, Debug)]
struct Victim {
    extent: LogicalExtent,
    /// What its requests would have cost elsewhere beyond what they have cost here, in nanoseconds.
    loses: f64,
    /// The lower quartile of the same for all that were looked at.
    quartile: f64,
}

impl CostBenefit {
    /// Returns the device, of those for which `takes` is true, on which a request costs least on average, and what it
    /// costs.
    fn cheapest(&self, kind: RequestKind, length: Bytes, takes: impl Fn(usize) -> bool) -> Option<(usize, f64)> {
        let devices = (0..self.devices.len()).filter(|&device| takes(device));
        let costs = devices.map(|device| (device, self.devices[device].of(kind, length)));
        costs.min_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// Returns what a move costs.
    fn move_cost(&self, from: usize, to: usize) -> f64 {
        let length = Bytes(self.extent);
        let write = RequestKind::Write { fua: true };
        self.devices[from].of_copy(RequestKind::Read, length) + self.devices[to].of_copy(write, length)
    }

    /// Takes a request of the host to some extents.
    fn requested(
        &mut self,
        request: &Request,
        (first, extents): (LogicalExtent, u32),
        views: &[DeviceView],
        wishes: &mut Wishes,
    ) {
        arrived(&mut self.devices, views);
        self.requests += 1;
        if self.requests.is_multiple_of(FADE_AFTER) {
            self.devices.iter_mut().for_each(DeviceCosts::fade);
        }
        if self.requests.is_multiple_of(REQUESTS_PER_EXTENT) && !self.balances.is_empty() {
            self.hand = (self.hand + 1) % self.balances.len() as u32;
            self.balances[self.hand as usize] *= 0.5;
        }
        self.pace.request(&self.devices, views);
        for number in first.0..first.0 + extents.min(EXTENTS_MAX) {
            let extent = LogicalExtent(number);
            let Some(DeviceIndex(home)) = self.residents.device_of(extent) else { continue };
            let home = usize::from(home);
            let elsewhere = |device: usize| device != home && views[device].is_usable();
            let Some((to, there)) = self.cheapest(request.kind, request.length, elsewhere) else { continue };
            let here = self.devices[home].of(request.kind, request.length);
            if (here - there).abs() <= TOLERANCE * here.max(there) {
                continue;
            }
            let balance = &mut self.balances[number as usize];
            *balance += ((here - there) / f64::from(extents)) as f32;
            if here > there && f64::from(*balance) > self.move_cost(home, to) {
                self.wish(extent, (home, to), here - there, (views, wishes));
            }
        }
    }

    /// Asks for the move of `extent`, for which each request saves `saved`; if there is no room, for that of the extent
    /// which is best moved away, if both moves together are worth it.
    fn wish(
        &mut self,
        extent: LogicalExtent,
        (from, to): (usize, usize),
        saved: f64,
        (views, wishes): (&[DeviceView], &mut Wishes),
    ) {
        let at_a_time = moves_max(&views[from]);
        if self.moving.len() >= at_a_time || self.moving.contains(&extent) || !self.pace.allows() {
            return;
        }
        let (leaves, to) = if views[to].has_room() {
            (extent, to)
        } else {
            let both = self.move_cost(from, to) + self.move_cost(to, from);
            let victim =
                self.victim(to).filter(|victim| views[from].has_room() && self.wins(extent, victim, saved, both));
            let Some(victim) = victim else {
                wishes.without_room += 1;
                return;
            };
            (victim.extent, from)
        };
        self.pace.moves();
        self.moving.push(leaves);
        wishes.moves.push(WishedMove::among_requests(leaves, DeviceIndex(to as u16)));
    }

    /// Returns true if `extent` wins enough at the place of `victim` to pay for `both` moves, and not by chance. It has
    /// had about as many requests as its balance has times `saved`, and such numbers vary by their square root.
    fn wins(&self, extent: LogicalExtent, victim: &Victim, saved: f64, both: f64) -> bool {
        let won = f64::from(self.balances[extent.0 as usize]);
        // An extent without requests counts as having had one: it may be as hot as others and have had none by chance.
        let deviation = ((victim.quartile + saved) * saved).sqrt();
        won - victim.loses > both && won - victim.quartile > NOISE * deviation
    }

    /// Returns the extent of `device`, of some that are looked at, that would lose least elsewhere.
    fn victim(&mut self, device: usize) -> Option<Victim> {
        let on = DeviceIndex(device as u16);
        let mut seen = [(0.0, LogicalExtent(0)); VICTIMS];
        let mut count = 0;
        while count < VICTIMS {
            let is_free = |extent| (!self.moving.contains(&extent)).then_some(on);
            let Some((extent, _)) = self.residents.next_to_leave(on, 4 * VICTIMS as u32, is_free) else { break };
            seen[count] = (-self.balances[extent.0 as usize], extent);
            count += 1;
        }
        let seen = &mut seen[..count];
        seen.sort_by(|one, other| one.0.total_cmp(&other.0));
        let loses = |index: usize| f64::from(seen[index].0.max(0.0));
        let &(_, extent) = seen.first()?;
        Some(Victim { extent, loses: loses(0), quartile: loses((count - 1) / 4) })
    }

    fn moved(&mut self, extent: LogicalExtent, outcome: MoveOutcome) {
        self.moving.retain(|&moving| moving != extent);
        if outcome != MoveOutcome::Done
            && let Some(balance) = self.balances.get_mut(extent.0 as usize)
        {
            // What could not move has to earn its move again.
            *balance = 0.0;
        }
    }
}

impl Placement for CostBenefit {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        self.first.place(new, &self.devices, devices)
    }

    fn placed(&mut self, extent: LogicalExtent, start: Bytes, device: Option<DeviceIndex>) {
        let index = extent.0 as usize;
        if self.balances.len() <= index {
            self.balances.resize(index + 1, 0.0);
        }
        if let Some(extent) = start.0.checked_div(u64::from(extent.0)) {
            self.extent = extent;
        }
        let before = self.residents.placed(extent, device);
        if device.is_none() || before.is_none() {
            self.balances[index] = 0.0;
        } else if device != before {
            // What it would have saved here speaks against moving back.
            self.balances[index] = -self.balances[index];
        }
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Request { request, first, extents } if request.kind.has_data() && extents > 0 => {
                self.requested(request, (first, extents), devices, wishes);
            }
            Event::Completed(done @ Completed { ok: true, .. }) if done.kind.has_data() => {
                self.devices[usize::from(done.device.0)].ended(&done);
            }
            Event::Moved { extent, outcome } => self.moved(extent, outcome),
            Event::Device { device, telemetry } => worn(&mut self.devices, now, device, telemetry),
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    /// A write that replaces everything moves its extent without a copy.
    fn redirect(&mut self, write: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        let (to, [here, there]) = cheaper_place(write, &self.devices, devices)?;
        let balance = self.balances.get(write.extent.0 as usize).map_or(0.0, |&balance| f64::from(balance));
        (here - there + balance > TOLERANCE * here).then_some(DeviceIndex(to as u16))
    }

    fn redirects(&self) -> bool {
        true
    }

    fn telemetry_period(&self) -> Option<Nanos> {
        self.life.map(|_| LIFE_PERIOD)
    }

    fn life_spent(&self, device: DeviceIndex) -> Option<LifeSpent> {
        self.devices.get(usize::from(device.0))?.life_spent()
    }

    fn devices_joined(&mut self, devices: usize) {
        self.devices.resize(devices, DeviceCosts::new(self.life));
        self.first.devices_joined(devices);
    }
}
