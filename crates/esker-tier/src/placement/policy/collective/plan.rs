//! Which extents should move, and where.

use esker_assign::{Assignment, RowLimit, Solution};
use esker_core::{Bytes, RequestKind};

use super::classes::{ClassIndex, Classes};
use super::counts::{Counts, Forecast, PastSum};
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

/// What is expected of all extents of a class.
#[derive(Clone, Copy, Debug)]
struct ExpectedClass {
    class: ClassIndex,
    extents: u32,
    forecast: Forecast,
}

/// How many extents of each class should move to each device; nothing for a class of which none should.
type Quotas = Vec<Vec<u32>>;

/// A plan in the making: goes over all extents until as many of each class have been found as should move.
#[derive(Debug)]
pub(super) struct Choosing {
    next: u32,
    quotas: Quotas,
    /// Extents that are still to be found.
    left: usize,
    moves: Vec<PlannedMove>,
}

impl Choosing {
    /// Finds how many extents of each class should move. `None` if nothing is known of any device, or nothing is worth
    /// a move.
    pub(super) fn new(classes: &Classes, situation: &Situation<'_>) -> Option<Self> {
        let quotas = quotas(classes, situation)?;
        let all: usize = quotas.iter().flatten().map(|&extents| extents as usize).sum();
        (all > 0).then(|| Self { next: 0, quotas, left: all.min(MOVES_MAX), moves: Vec::new() })
    }

    /// Goes over the next `most` extents. Returns the plan once it is complete.
    pub(super) fn step(&mut self, situation: &Situation<'_>, most: u32) -> Option<MovePlan> {
        let all = situation.counts.len();
        let end = (self.next + most).min(all);
        for number in self.next..end {
            self.see(LogicalExtent(number), situation);
        }
        self.next = end;
        let is_complete = end == all || self.left == 0;
        is_complete.then(|| MovePlan::new(std::mem::take(&mut self.moves), situation.devices.len()))
    }

    fn see(&mut self, extent: LogicalExtent, situation: &Situation<'_>) {
        let Some(home) = situation.residents.device_of(extent) else { return };
        let past = situation.counts.past(extent);
        let Some(quota) = self.quotas.get_mut(ClassIndex::of(home.0, past).index()) else { return };
        let Some(to) = quota.iter().position(|&extents| extents > 0).filter(|_| self.left > 0) else { return };
        quota[to] -= 1;
        self.left -= 1;
        let heat = situation.counts.expected(past.iter().copied().map(f64::from).sum());
        self.moves.push(PlannedMove { extent, from: usize::from(home.0), to, heat });
    }
}

/// Finds how many extents of each class should move where, so that the requests of a period take least time.
fn quotas(classes: &Classes, situation: &Situation<'_>) -> Option<Quotas> {
    let costs = Costs::of(situation)?;
    let expected = |(class, past): (ClassIndex, &PastSum)| {
        let forecast = situation.counts.forecast(past);
        ExpectedClass { class, extents: past.extents, forecast }
    };
    let classes: Vec<ExpectedClass> = classes.present().map(expected).collect();
    let Solution { shares, cost, .. } = costs.problem(&classes).solve(GAP)?;
    let before = costs.busy(&classes, |number, device| f64::from(u8::from(classes[number].class.home() == device)));
    let after = costs.busy(&classes, |number, device| shares[number][device]);
    let relieves = after.iter().sum::<f64>() >= before.iter().sum();
    if relieves && costs.total(&before) <= (1.0 + TOLERANCE) * cost {
        return None;
    }
    let mut quotas = Quotas::default();
    for (class, shares) in classes.iter().zip(shares) {
        let extents = |share: f64| (share * f64::from(class.extents)).round() as u32;
        let moves = |(to, share): (usize, f64)| if to == class.class.home() { 0 } else { extents(share) };
        quotas.resize(class.class.index(), Vec::new());
        quotas.push(shares.into_iter().enumerate().map(moves).collect());
    }
    Some(quotas)
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
    fn problem(&self, classes: &[ExpectedClass]) -> Assignment {
        let views = self.situation.views;
        let mut resident = vec![0; views.len()];
        classes.iter().for_each(|class| resident[class.class.home()] += class.extents);
        let mut problem = Assignment::new();
        let busy: Vec<usize> = views.iter().map(|_| problem.add_group(1.0, f64::INFINITY)).collect();
        let busiest = problem.add_group(self.under_way - 1.0, f64::INFINITY);
        for (device, view) in views.iter().enumerate() {
            let room = if view.is_usable() { view.free_extents.saturating_sub(SPARE) } else { 0 };
            let places = RowLimit::Constant(f64::from(resident[device] + room));
            problem.add_device(&[RowLimit::Group(busy[device], 0.0), RowLimit::Group(busiest, 0.0), places]);
        }
        for class in classes {
            let home = class.class.home();
            let load = |to: usize| {
                let copies = if to == home { 0.0 } else { f64::from(class.extents) * self.copy([home, to]) / PERIODS };
                let time = self.requests(&class.forecast, to) + copies;
                (to, [time, time, f64::from(class.extents)])
            };
            let usable = (0..views.len()).filter(|&to| to == home || views[to].is_usable());
            let loads: Vec<_> = usable.map(load).collect();
            problem.add_class(&loads.iter().map(|(to, loads)| (*to, &loads[..])).collect::<Vec<_>>());
        }
        problem
    }

    /// What the requests of a class keep a device busy with, and the price of what they write there.
    fn requests(&self, Forecast { requests, bytes }: &Forecast, device: usize) -> f64 {
        let times = &self.times[device];
        let of_kind = |kind: usize| requests[kind] * times[kind].request + bytes[kind] * times[kind].byte;
        of_kind(0) + of_kind(1) + self.situation.devices[device].price() * bytes[1]
    }

    fn copy(&self, [from, to]: [usize; 2]) -> f64 {
        let Situation { devices, extent, .. } = *self.situation;
        devices[from].own_of_copy(RequestKind::Read, extent)
            + devices[to].own_of_copy(RequestKind::Write { fua: true }, extent)
    }

    /// What requests keep each device busy with if each class has the share `share` of its number there.
    fn busy(&self, classes: &[ExpectedClass], share: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let on = |device: usize| {
            let of_class = |(number, class): (usize, &ExpectedClass)| {
                share(number, device) * self.requests(&class.forecast, device)
            };
            classes.iter().enumerate().map(of_class).sum()
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
