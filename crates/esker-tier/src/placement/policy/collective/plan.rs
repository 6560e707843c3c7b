//! Which extents should move, and where.

use std::collections::BTreeMap;

use esker_assign::{Assignment, RowLimit, Solution};
use esker_core::{Bytes, RequestKind};

use super::counts::{Counts, Forecast};
use super::service::{ServiceTime, ServiceTimes};
use super::{DeviceCosts, DeviceView, Residents};
use crate::extent::LogicalExtent;

/// A copy is spread over this many periods, in which its extent is taken to be as hot as it is expected to be.
const PERIODS: f64 = 4.0;
/// Places that each device keeps free, so that extents can change places.
const SPARE: u32 = 4;
/// A plan that only relieves the busiest device, and keeps all together busy for longer, has to make requests cheaper
/// by this share: smaller differences may be noise.
const TOLERANCE: f64 = 0.1;
/// The search for shares ends this near to the optimum.
const GAP: f64 = 1e-3;
/// Forecasts up to this many requests are alike, and so are those beyond it from one power of two to the next.
const RATE_MIN: f64 = 1e-3;
/// Most moves of a plan. What is left out is found again by the next one.
const MOVES_MAX: usize = 65_536;

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation<'a> {
    pub(super) devices: &'a [DeviceCosts],
    pub(super) service: &'a [ServiceTimes],
    pub(super) views: &'a [DeviceView],
    pub(super) counts: &'a Counts,
    pub(super) residents: &'a Residents,
    /// Bytes of an extent.
    pub(super) extent: Bytes,
}

/// A move of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlannedMove {
    pub(super) extent: LogicalExtent,
    pub(super) from: usize,
    pub(super) to: usize,
    /// Requests that are expected of the extent.
    heat: f64,
}

/// Extents that are alike: on one device, with about as many reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ClassKey {
    home: usize,
    rates: [u8; 2],
}

/// What all extents of a class need.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    extents: u32,
    requests: [f64; 2],
    bytes: [f64; 2],
}

/// How many extents of each class should move to each device.
type Quotas = BTreeMap<ClassKey, Vec<u32>>;

/// A plan in the making: one pass over all extents for their classes, another one for the extents that move.
#[derive(Debug)]
pub(super) struct Drafting {
    next: u32,
    classes: BTreeMap<ClassKey, Class>,
    /// Number of extents on each device.
    resident: Vec<u32>,
    /// After the first pass.
    quotas: Option<Quotas>,
    moves: Vec<PlannedMove>,
}

impl Drafting {
    pub(super) fn new(devices: usize) -> Self {
        Self { next: 0, classes: BTreeMap::new(), resident: vec![0; devices], quotas: None, moves: Vec::new() }
    }

    /// Goes over the next `most` extents. Returns the plan after the last one.
    pub(super) fn step(&mut self, situation: &Situation<'_>, most: u32) -> Option<MovePlan> {
        let all = situation.counts.len();
        let end = (self.next + most).min(all);
        for number in self.next..end {
            let extent = LogicalExtent(number);
            if let Some((key, forecast)) = class_of(extent, situation) {
                self.see(extent, key, &forecast);
            }
        }
        self.next = end;
        if end < all {
            return None;
        }
        if self.quotas.is_some() {
            return Some(MovePlan::new(std::mem::take(&mut self.moves), situation.devices.len()));
        }
        self.quotas = Some(quotas(&self.classes, &self.resident, situation).unwrap_or_default());
        self.next = 0;
        None
    }

    fn see(&mut self, extent: LogicalExtent, key: ClassKey, forecast: &Forecast) {
        let Some(quotas) = &mut self.quotas else {
            let class = self.classes.entry(key).or_default();
            class.extents += 1;
            for kind in 0..2 {
                class.requests[kind] += forecast.requests[kind];
                class.bytes[kind] += forecast.bytes[kind];
            }
            self.resident[key.home] += 1;
            return;
        };
        let Some(left) = quotas.get_mut(&key).filter(|_| self.moves.len() < MOVES_MAX) else { return };
        if let Some(to) = left.iter().position(|&left| left > 0) {
            left[to] -= 1;
            let heat = forecast.requests.iter().sum();
            self.moves.push(PlannedMove { extent, from: key.home, to, heat });
        }
    }
}

fn class_of(extent: LogicalExtent, situation: &Situation<'_>) -> Option<(ClassKey, Forecast)> {
    let home = usize::from(situation.residents.device_of(extent)?.0);
    let forecast = situation.counts.forecast(extent);
    let class = |rate: f64| if rate <= RATE_MIN { 0 } else { (rate / RATE_MIN).log2() as u8 + 1 };
    Some((ClassKey { home, rates: forecast.requests.map(class) }, forecast))
}

/// Finds how many extents of each class should move where, so that the requests of a period take least time. `None` if
/// nothing is known of any device, or nothing is worth a move.
fn quotas(classes: &BTreeMap<ClassKey, Class>, resident: &[u32], situation: &Situation<'_>) -> Option<Quotas> {
    let costs = Costs::of(situation)?;
    let Solution { shares, cost, .. } = costs.problem(classes, resident).solve(GAP)?;
    let homes: Vec<usize> = classes.keys().map(|key| key.home).collect();
    let before = costs.busy(classes, |class, device| f64::from(u8::from(homes[class] == device)));
    let after = costs.busy(classes, |class, device| shares[class][device]);
    let relieves = after.iter().sum::<f64>() >= before.iter().sum();
    if relieves && costs.total(&before) <= (1.0 + TOLERANCE) * cost {
        return None;
    }
    let quotas = classes.iter().zip(shares).map(|((key, class), shares)| {
        let extents = |share: f64| (share * f64::from(class.extents)).round() as u32;
        let moves = |(to, share): (usize, f64)| if to == key.home { 0 } else { extents(share) };
        (*key, shares.into_iter().enumerate().map(moves).collect())
    });
    Some(quotas.collect())
}

/// What requests cost. With `n` of them under way on average, one takes about as long as it would alone, and waits for
/// `n - 1` others where most have to wait: the sum of what keeps all devices busy, and `n - 1` times that of the
/// busiest one (an asymptotic bound of closed networks).
struct Costs<'a> {
    situation: &'a Situation<'a>,
    /// Of reads and writes on each device.
    times: Vec<[ServiceTime; 2]>,
    under_way: f64,
}

impl<'a> Costs<'a> {
    fn of(situation: &'a Situation<'a>) -> Option<Self> {
        let known = || situation.service.iter().map(ServiceTimes::known);
        // Nothing speaks against a device that is not known, nor for it.
        let any = known().flatten().next()?;
        let under_way = situation.devices.iter().map(DeviceCosts::queue).sum::<f64>().max(1.0);
        Some(Self { situation, times: known().map(|times| times.unwrap_or(any)).collect(), under_way })
    }

    /// The problem whose solution is where extents should be. What an extent keeps a device busy with is its requests
    /// and, if it has to move there, a part of its copy.
    fn problem(&self, classes: &BTreeMap<ClassKey, Class>, resident: &[u32]) -> Assignment {
        let views = self.situation.views;
        let mut problem = Assignment::new();
        let busy: Vec<usize> = views.iter().map(|_| problem.add_group(1.0, f64::INFINITY)).collect();
        let busiest = problem.add_group(self.under_way - 1.0, f64::INFINITY);
        for (device, view) in views.iter().enumerate() {
            let room = if view.is_usable() { view.free_extents.saturating_sub(SPARE) } else { 0 };
            let places = RowLimit::Constant(f64::from(resident[device] + room));
            problem.add_device(&[RowLimit::Group(busy[device], 0.0), RowLimit::Group(busiest, 0.0), places]);
        }
        for (&ClassKey { home, .. }, class) in classes {
            let load = |to: usize| {
                let copies = if to == home { 0.0 } else { f64::from(class.extents) * self.copy([home, to]) / PERIODS };
                let time = self.requests(class, to) + copies;
                (to, [time, time, f64::from(class.extents)])
            };
            let usable = (0..views.len()).filter(|&to| to == home || views[to].is_usable());
            let loads: Vec<_> = usable.map(load).collect();
            problem.add_class(&loads.iter().map(|(to, loads)| (*to, &loads[..])).collect::<Vec<_>>());
        }
        problem
    }

    /// What the requests of a class keep a device busy with, and the price of what they write there.
    fn requests(&self, class: &Class, device: usize) -> f64 {
        let times = &self.times[device];
        let of_kind = |kind: usize| class.requests[kind] * times[kind].request + class.bytes[kind] * times[kind].byte;
        of_kind(0) + of_kind(1) + self.situation.devices[device].price() * class.bytes[1]
    }

    fn copy(&self, [from, to]: [usize; 2]) -> f64 {
        let Situation { devices, extent, .. } = *self.situation;
        devices[from].own_of_copy(RequestKind::Read, extent)
            + devices[to].own_of_copy(RequestKind::Write { fua: true }, extent)
    }

    /// What requests keep each device busy with if each class has the share `share` of its number there.
    fn busy(&self, classes: &BTreeMap<ClassKey, Class>, share: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let on = |device: usize| {
            let of_class = |(number, class): (usize, &Class)| share(number, device) * self.requests(class, device);
            classes.values().enumerate().map(of_class).sum()
        };
        (0..self.times.len()).map(on).collect()
    }

    /// What requests cost that keep devices busy for so long.
    fn total(&self, busy: &[f64]) -> f64 {
        busy.iter().sum::<f64>() + (self.under_way - 1.0) * busy.iter().copied().fold(0.0, f64::max)
    }
}

/// Moves, the hottest extents first.
#[derive(Debug, Default)]
pub(super) struct MovePlan {
    /// `None` once taken.
    moves: Vec<Option<PlannedMove>>,
    next: usize,
    /// For each device, the places in `moves` of those that leave it.
    leavers: Vec<Vec<u32>>,
}

impl MovePlan {
    fn new(mut moves: Vec<PlannedMove>, devices: usize) -> Self {
        moves.sort_by(|one, other| other.heat.total_cmp(&one.heat));
        let mut leavers = vec![Vec::new(); devices];
        for (at, planned) in moves.iter().enumerate() {
            leavers[planned.from].push(at as u32);
        }
        Self { moves: moves.into_iter().map(Some).collect(), next: 0, leavers }
    }

    /// Returns the next move.
    pub(super) fn next(&mut self) -> Option<PlannedMove> {
        while self.moves.get(self.next)?.is_none() {
            self.next += 1;
        }
        self.moves[self.next]
    }

    /// Takes the next move.
    pub(super) fn take_next(&mut self) -> Option<PlannedMove> {
        let next = self.next()?;
        self.moves[self.next] = None;
        Some(next)
    }

    /// Takes the move of the coldest extent that leaves `device`.
    pub(super) fn take_leaver(&mut self, device: usize) -> Option<PlannedMove> {
        let leavers = self.leavers.get_mut(device)?;
        std::iter::from_fn(|| leavers.pop()).find_map(|at| self.moves[at as usize].take())
    }
}
