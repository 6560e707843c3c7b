//! Decides for all extents together, from time to time, where each serves best.

mod classes;
mod counts;
mod plan;
mod service;
#[cfg(test)]
mod tests;

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos, Request};

use super::costs::{DeviceCosts, EXTENTS_MAX, arrived, moves_max, worn};
use super::first_places::{CostSettings, FirstPlaces, cheaper_place};
use super::life_budget::{LIFE_PERIOD, LifeBudget};
use super::usage::Residents;
use super::{
    Completed, DeviceView, Event, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError, Rewrite, WishedMove,
    Wishes, schema_of,
};
use crate::engine::LifeSpent;
use crate::extent::{DeviceIndex, LogicalExtent};
use classes::{ClassIndex, Classes};
use counts::Counts;
use plan::{Choosing, MovePlan, Situation};
use service::ServiceTimes;

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "collective",
    summary: "Decides for all extents together, again and again, where each serves best: a linear programme",
    source: "Ours: the collective optimisation that Wu 2011, section II, leaves to future work",
    parameters: ParameterSource::Schema(schema_of::<CostSettings>),
    capabilities: &[],
    build,
};

/// How many extents are gone over with each request while a plan is made.
const STEP: u32 = 1_024;
/// A write that replaces its extent goes elsewhere if that costs this share less.
const CHEAPER: f64 = 0.5;

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let (first, life) = policy.options::<CostSettings>()?.check(policy.devices)?;
    let mut built = Collective { first, life, ..Collective::default() };
    built.devices_joined(policy.devices);
    Ok(Box::new(built))
}

/// How far the next plan is.
#[derive(Debug, Default)]
enum Stage {
    /// Requests are counted.
    #[default]
    Counting,
    /// The period of extents from this one on has still to end; those before it are in classes.
    Sorting(u32, Classes),
    /// Extents that move are chosen from the classes.
    Choosing(Choosing),
}

/// Counts the requests to each extent, and makes a plan again and again: extents that are alike are a class, and a
/// linear programme finds which share of each class should be on which device, so that the host's requests take least
/// time together. Extents move by the plan, the hottest first, until there is the next plan.
///
/// It takes sixteen bytes for each extent, an eighth more where the table has just grown, and two for its device. A
/// request goes over [`STEP`] extents at most.
#[derive(Debug, Default)]
struct Collective {
    devices: Vec<DeviceCosts>,
    service: Vec<ServiceTimes>,
    counts: Counts,
    residents: Residents,
    stage: Stage,
    plan: MovePlan,
    moving: Vec<LogicalExtent>,
    /// Bytes of an extent; zero before that is known.
    extent: u64,
    /// How long each device should last.
    life: Option<LifeBudget>,
    first: FirstPlaces,
}

impl Collective {
    /// Takes a request of the host to some extents.
    fn requested(&mut self, request: &Request, (first, extents): (LogicalExtent, u32), views: &[DeviceView]) {
        arrived(&mut self.devices, views);
        let length = Bytes(request.length.0 / u64::from(extents));
        for number in first.0..first.0 + extents.min(EXTENTS_MAX) {
            self.counts.count(LogicalExtent(number), request.kind, length);
        }
        self.counts.requested();
        self.think(views);
    }

    /// Comes a step nearer to the next plan.
    fn think(&mut self, views: &[DeviceView]) {
        self.stage = match std::mem::take(&mut self.stage) {
            Stage::Counting if !self.counts.is_period_over() => Stage::Counting,
            Stage::Counting => Stage::Sorting(0, Classes::default()),
            Stage::Sorting(next, classes) => self.sort(next, classes, views),
            Stage::Choosing(mut choosing) => match choosing.step(&self.situation(views), STEP) {
                Some(plan) => self.follow(plan),
                None => Stage::Choosing(choosing),
            },
        };
    }

    /// Ends the period of the extents from `next` on, and sorts them. After the last one, finds how many of each class
    /// should move.
    fn sort(&mut self, next: u32, mut classes: Classes, views: &[DeviceView]) -> Stage {
        let residents = &self.residents;
        let further = self.counts.fold(next, STEP, |extent, past| {
            if let Some(DeviceIndex(home)) = residents.device_of(extent) {
                classes.add(ClassIndex::of(home, past.requests), past);
            }
        });
        match further {
            Some(further) => Stage::Sorting(further, classes),
            None => Choosing::new(&classes, &self.situation(views))
                .map_or_else(|| self.follow(MovePlan::default()), Stage::Choosing),
        }
    }

    fn follow(&mut self, plan: MovePlan) -> Stage {
        self.plan = plan;
        Stage::Counting
    }

    fn situation<'a>(&'a self, views: &'a [DeviceView]) -> Situation<'a> {
        Situation {
            devices: &self.devices,
            service: &self.service,
            views,
            counts: &self.counts,
            residents: &self.residents,
            extent: Bytes(self.extent),
        }
    }

    /// Begins a move of the plan. Where there is no room, the coldest extent that should leave makes it.
    fn go_on(&mut self, views: &[DeviceView], wishes: &mut Wishes) {
        while let Some(next) = self.plan.next() {
            let has_room = |device: usize| views[device].has_room();
            if self.moving.len() >= moves_max(&views[next.from]) {
                return;
            }
            let chosen = match has_room(next.to) {
                true => self.plan.take_next(),
                false => self.plan.take_leaver(next.to).filter(|leaver| has_room(leaver.to)),
            };
            let Some(chosen) = chosen else {
                wishes.without_room += 1;
                self.plan.take_next();
                continue;
            };
            let is_there = self.residents.device_of(chosen.extent) == Some(DeviceIndex(chosen.from as u16));
            if is_there && !self.moving.contains(&chosen.extent) {
                self.moving.push(chosen.extent);
                wishes.moves.push(WishedMove::among_requests(chosen.extent, DeviceIndex(chosen.to as u16)));
                return;
            }
        }
    }
}

impl Placement for Collective {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        self.first.place(new, &self.devices, devices)
    }

    fn placed(&mut self, extent: LogicalExtent, start: Bytes, device: Option<DeviceIndex>) {
        if let Some(length) = start.0.checked_div(u64::from(extent.0)) {
            self.extent = length;
        }
        let before = self.residents.placed(extent, device);
        if device.is_none() || before.is_none() {
            self.counts.forget(extent);
        }
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Request { request, first, extents } if request.kind.has_data() && extents > 0 => {
                self.requested(request, (first, extents), devices);
                self.go_on(devices, wishes);
            }
            Event::Completed(done @ Completed { ok: true, .. }) if done.kind.has_data() => {
                self.devices[usize::from(done.device.0)].ended(&done);
                self.service[usize::from(done.device.0)].ended(&done);
            }
            Event::Moved { extent, .. } => {
                self.moving.retain(|&moving| moving != extent);
                self.go_on(devices, wishes);
            }
            Event::Device { device, telemetry } => worn(&mut self.devices, now, device, telemetry),
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    /// A write that replaces everything moves its extent without a copy.
    fn redirect(&mut self, write: &Rewrite<'_>, views: &[DeviceView]) -> Option<DeviceIndex> {
        let (to, [here, there]) = cheaper_place(write, &self.devices, views)?;
        (here - there > CHEAPER * here).then_some(DeviceIndex(to as u16))
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
        self.service.resize(devices, ServiceTimes::default());
        self.first.devices_joined(devices);
        // A plan that is made or followed knows fewer devices.
        self.plan = MovePlan::default();
        if let Stage::Choosing(_) = self.stage {
            self.stage = Stage::Counting;
        }
    }
}
