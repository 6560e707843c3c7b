//! A fleet over time.

use esker_cluster::{
    Balancer, ClusterShape, ClusterView, FailureDomain, ServerId, ServerSpec, ServerState, ServerView, ShapeError,
    WearModel, build_balancer, build_wear_model,
};
use esker_core::registry::Choice;
use esker_core::{Hint, Nanos, Rng};
use esker_results::fleet::FleetRun;
use thiserror::Error;

use super::PAGE;
use super::clock::{Clock, Due, RandomFailures};
use super::copies::{Cause, CopiedBytes, CopyGrant, PlanBudget};
use super::drives::Drive;
use super::load::Load;
use super::measure::{Measures, erases, life_used};
use super::place::{Motion, Placement};
use super::settings::{EventKind, FleetSettings, GroupSettings, RunUntil};

/// Partitions for each server, unless the file says.
const PARTITIONS_BY_SERVER: u32 = 64;

/// Why a fleet cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FleetError {
    /// Slices do not fit on the servers as the ring has it.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The balancer or the wear model cannot be made.
    #[error(transparent)]
    Settings(#[from] esker_cluster::SettingsError),
    /// Servers have numbers of 16 bits, and none is given twice.
    #[error("more than 65,535 servers take part before the end of the run")]
    TooManyServers,
    /// The caller asked to stop.
    #[error("the simulation was stopped")]
    Stopped,
}

impl Hint for FleetError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Shape(ShapeError::NoRoom { .. }) => {
                "the ring fills servers unevenly: give servers more `capacity`, `data.virtual_nodes` a larger number, \
                 or store fewer `data.slices`"
            }
            Self::Shape(ShapeError::TooFewDomains { .. }) => {
                "lower `servers_per_domain` of groups or `data.replicas`, or add servers"
            }
            Self::TooManyServers => "make the run shorter, or fewer servers fail or join",
            Self::Shape(_) | Self::Settings(_) | Self::Stopped => return None,
        };
        Some(hint.to_string())
    }
}

/// A fleet under one balancer.
#[derive(Debug)]
pub struct Simulation<'a> {
    settings: &'a FleetSettings,
    balancer: Box<dyn Balancer>,
    model: Box<dyn WearModel>,
    name: String,
    load: Load,
    pub(super) place: Placement,
    pub(super) drives: Vec<Drive>,
    clock: Clock,
    failures: RandomFailures,
    pub(super) grant: CopyGrant,
    pub(super) copied: CopiedBytes,
    budget: PlanBudget,
    pub(super) measures: Measures,
    /// What the balancer is told; kept for the next epoch.
    views: Vec<ServerView>,
    merged: Vec<u64>,
    /// Servers so far of each group.
    members: Vec<u32>,
    epoch: u64,
}

impl<'a> Simulation<'a> {
    /// Places the slices of a fleet. `seed` decides which slices are popular, the life used, and which servers fail.
    pub fn new(settings: &'a FleetSettings, seed: u64, balancer: &Choice) -> Result<Self, FleetError> {
        let (data, epoch) = (&settings.data, settings.run.epoch);
        let (load, weights) = Load::new(&settings.load, data, epoch, seed);
        let mut members = vec![0; settings.group.len()];
        let (mut specs, mut drives, mut rng) = (Vec::new(), Vec::new(), Rng::derive(seed, "fleet life"));
        for (at, group) in settings.group.iter().enumerate() {
            for _ in 0..group.count {
                specs.push(spec(settings, at, &mut members));
                let [least, most] = group.life_used.map(|share| share.as_f64());
                let used = least + (most - least) * rng.unit();
                drives.push(Drive::new((at, group), data, &settings.load, (used, Nanos::ZERO)));
            }
        }
        let by_default = (specs.len() as u32 * PARTITIONS_BY_SERVER).min(1 << 24);
        let shape = ClusterShape {
            slices: data.slices,
            objects_per_slice: data.objects_per_slice,
            object: data.object,
            partitions: data.partitions.unwrap_or(by_default),
            replicas: data.replicas,
        };
        let place = Placement::new(shape, &specs, weights, settings.load.written_objects.as_f64())?;
        let place = place.with_erasure_code(data.erasure_code, epoch);
        let model = build_wear_model(&settings.wear)?;
        let mut measures = Measures::default();
        for (at, drive) in drives.iter_mut().enumerate() {
            measures.add_life(drive.life_left());
            let (changes, spread) = place.spread(at);
            drive.note_spread(changes, spread);
            drive.count_erases_before(place.servers()[at].used, &*model);
        }
        Ok(Self {
            settings,
            balancer: build_balancer(balancer)?,
            model,
            name: name_of(balancer),
            load,
            place,
            drives,
            clock: Clock::new(&settings.event),
            failures: RandomFailures::new(settings.failures, epoch, seed),
            grant: CopyGrant::new(&settings.copies, epoch, data.object),
            copied: CopiedBytes::default(),
            budget: PlanBudget::new(settings.copies.balancing_per_day, epoch),
            measures,
            views: Vec::new(),
            merged: Vec::new(),
            members,
            epoch: 0,
        })
    }

    /// Runs to the end. `goes_on` is told of the epochs that are done, and returns false to stop.
    pub fn run(mut self, mut goes_on: impl FnMut(u64) -> bool) -> Result<FleetRun, FleetError> {
        let (epochs, count) = (self.settings.run.epochs(), u64::from(self.settings.run.snapshots));
        self.measures.take_snapshot(Nanos::ZERO, &self.drives);
        while self.epoch < epochs {
            self.step()?;
            let ends = self.settings.run.until == RunUntil::FirstWornOut && self.measures.first_worn_out.is_some();
            let before = (self.epoch - 1) * count / epochs;
            if ends || self.epoch == epochs || self.epoch * count / epochs > before {
                self.measures.take_snapshot(self.now(), &self.drives);
            }
            if !goes_on(self.epoch) {
                return Err(FleetError::Stopped);
            }
            if ends {
                break;
            }
        }
        Ok(self.result())
    }

    fn now(&self) -> Nanos {
        self.settings.run.epoch * self.epoch
    }

    /// One epoch: what happens to servers, what is copied and written, and a plan at its end.
    pub(super) fn step(&mut self) -> Result<(), FleetError> {
        let begin = self.now();
        self.place.begin_epoch();
        self.change_members(begin)?;
        if self.load.begin_epoch(begin) {
            let load = &mut self.load;
            self.place.change_weights(|weights| load.turn_over(weights));
        }
        self.load.draw(self.place.weights());
        self.place.retry_placing();
        self.copy_and_write();
        self.epoch += 1;
        self.wear(begin);
        self.note_emptied();
        self.plan();
        self.place.change_codes(self.grant.granted());
        Ok(())
    }

    /// Rebuilds come first, then what is to be copied at once. What off-loading leaves is copied after hosts have
    /// written for the epoch, so that their writes move what they can.
    fn copy_and_write(&mut self) {
        let servers = self.drives.len();
        self.grant.begin_epoch();
        self.copied.clear(servers);
        self.merged.clear();
        self.merged.resize(servers, 0);
        let Self { grant, copied, place, load, .. } = self;
        place.copy(grant, copied, |motion| motion.cause == Cause::Rebuild);
        place.copy(grant, copied, |motion| motion.is_copied_at_once);
        place.write_to_motions(load.writes(), load.drawn(), &mut self.merged);
        place.copy(grant, copied, |motion| motion.cause == Cause::Member);
        place.copy(grant, copied, |motion| motion.cause != Cause::Code);
        place.copy(grant, copied, |_: &Motion| true);
        place.write_parity(grant, copied);
        let (writes, merged) = (&mut self.measures.writes, self.merged.iter().sum::<u64>());
        writes.rebuild_bytes += copied.rebuild;
        writes.member_bytes += copied.member;
        writes.balancing_bytes += copied.balance;
        writes.code_bytes += copied.code;
        writes.merged_bytes += merged;
        writes.most_copied_bytes = writes.most_copied_bytes.max(copied.all());
    }

    fn wear(&mut self, begin: Nanos) {
        let (epoch, growth) = (self.settings.run.epoch, self.load.writes().growth);
        let drawn = self.load.drawn().map(|pages| self.place.sum_by_server(pages));
        let mut all = 0.0;
        for (at, drive) in self.drives.iter_mut().enumerate() {
            if !self.place.serves(at) {
                drive.host_pages = 0.0;
                continue;
            }
            let pages = drawn.as_ref().map_or_else(|| self.place.load(at) * growth, |drawn| drawn[at]);
            all += pages;
            let copied = self.copied.to[at] + self.merged[at];
            let replicas = self.place.servers()[at].used;
            let (changes, spread) = self.place.spread(at);
            drive.note_spread(changes, spread);
            if let Some(moment) = drive.write(pages, copied, replicas, &*self.model) {
                let when = Nanos(begin.0 + (moment * epoch.0 as f64) as u64);
                self.measures.worn_out(when);
                if let Some(replacement) = self.settings.replacement.filter(|replacement| replacement.worn_out) {
                    self.clock.add(when + replacement.after, Due::Replacement(at as u16));
                }
            }
        }
        self.measures.add_host_pages(all, begin + epoch, epoch);
    }

    /// Servers that were drained leave once they are empty.
    fn note_emptied(&mut self) {
        let now = self.now();
        for (drive, server) in self.drives.iter_mut().zip(self.place.servers()) {
            if server.state == ServerState::Draining && server.used == 0 && drive.left.is_none() {
                drive.left = Some(now);
            }
        }
    }

    fn plan(&mut self) {
        let (shape, threshold) = (*self.place.shape(), self.balancer.hot_threshold());
        self.load.show(self.place.slices_and_weights(), shape.objects_per_slice, threshold);
        self.place.show_parity();
        self.fill_views();
        let codes = self.place.code_groups();
        let budget = self.budget.end_epoch();
        let view = ClusterView {
            servers: &self.views,
            slices: self.place.slices(),
            codes: &codes,
            objects_per_slice: shape.objects_per_slice,
            object: shape.object,
            page: PAGE,
            // A round may only begin when the last one is complete.
            budget: if self.place.is_settled() { budget } else { esker_core::Bytes::ZERO },
        };
        let plan = self.balancer.plan(&view, &*self.model);
        let (begun, refused) = self.place.begin_plan(&plan);
        self.measures.counts.moves += begun;
        self.measures.counts.moves_refused += refused;
        if begun > 0 {
            self.budget.spend(plan.copied());
        }
    }

    fn fill_views(&mut self) {
        let epoch = self.settings.run.epoch.as_secs_f64();
        self.views.clear();
        let servers = self.drives.iter().zip(self.place.servers());
        self.views.extend(servers.map(|(drive, server)| ServerView {
            domain: server.spec.domain,
            serves: drive.left.is_none(),
            takes_more: server.state == ServerState::Up,
            room: server.spec.room.saturating_sub(server.used),
            erases: drive.erases,
            life_left_pages: drive.life_left(),
            pages_most: match self.settings.group[drive.group].write_rate {
                Some(rate) => rate.0 as f64 * epoch / PAGE.0 as f64,
                None => f64::INFINITY,
            },
            erases_per_page: None,
            flash: drive.flash(server.used),
        }));
    }

    fn change_members(&mut self, begin: Nanos) -> Result<(), FleetError> {
        for due in self.clock.take(begin + self.settings.run.epoch, &self.settings.event) {
            match due {
                Due::Event(index) => self.happen(index, begin)?,
                Due::Replacement(old) => {
                    self.join(self.drives[usize::from(old)].group, begin)?;
                    self.measures.counts.replaced += 1;
                    self.place.drain(ServerId(old));
                }
            }
        }
        for at in 0..self.drives.len() {
            if self.drives[at].left.is_none() && self.failures.fails(at as u16, self.epoch) {
                self.fail(at, begin);
            }
        }
        Ok(())
    }

    fn happen(&mut self, index: usize, begin: Nanos) -> Result<(), FleetError> {
        let event = &self.settings.event[index];
        let group = self.settings.group.iter().position(|group| Some(&group.name) == event.group.as_ref());
        if event.kind == EventKind::Join {
            return (0..event.count).try_for_each(|_| self.join(group.unwrap_or(0), begin));
        }
        let up = |at: &usize| self.place.servers()[*at].state == ServerState::Up;
        let count = if event.server.is_some() { 1 } else { usize::from(event.count) };
        let is_meant = |at: &usize| match event.server {
            Some(server) => *at == usize::from(server) && self.drives[*at].left.is_none(),
            None => Some(self.drives[*at].group) == group && up(at),
        };
        let meant: Vec<usize> = (0..self.drives.len()).filter(is_meant).take(count).collect();
        for at in meant {
            match event.kind {
                EventKind::Drain => self.place.drain(ServerId(at as u16)),
                EventKind::Fail | EventKind::Join => self.fail(at, begin),
            }
        }
        Ok(())
    }

    fn fail(&mut self, at: usize, begin: Nanos) {
        self.place.fail(ServerId(at as u16));
        (self.drives[at].left, self.drives[at].failed) = (Some(begin), true);
        self.measures.counts.failed += 1;
        if let Some(replacement) = self.settings.replacement.filter(|replacement| replacement.failed) {
            self.clock.add(begin + replacement.after, Due::Replacement(at as u16));
        }
    }

    fn join(&mut self, group: usize, begin: Nanos) -> Result<(), FleetError> {
        if self.drives.len() > usize::from(u16::MAX) {
            return Err(FleetError::TooManyServers);
        }
        let settings: &GroupSettings = &self.settings.group[group];
        let drive = Drive::new((group, settings), &self.settings.data, &self.settings.load, (0.0, begin));
        self.measures.add_life(drive.life_left());
        self.measures.counts.joined += 1;
        self.drives.push(drive);
        self.place.join(spec(self.settings, group, &mut self.members));
        Ok(())
    }

    fn result(self) -> FleetRun {
        let (now, measures, lost) = (self.now(), self.measures, self.place.lost);
        let mut written = measures.writes;
        let extra = (written.balancing_bytes + written.merged_bytes) as f64;
        written.extra_share = extra / written.host_bytes.max(1.0);
        let mut counts = measures.counts;
        (counts.replicas_lost, counts.slices_lost, counts.objects_lost) = (lost.replicas, lost.slices, lost.objects);
        counts.homeless = self.place.homeless();
        (counts.coded, counts.became_coded, counts.became_copied) = self.place.coded();
        let bound = measures.bound(now, self.settings.run.epoch);
        let share = measures.first_worn_out.zip(bound).map(|(first, bound)| first.0 as f64 / (bound.0 as f64).max(1.0));
        let servers = self.drives.iter().zip(self.place.servers());
        FleetRun {
            balancer: self.name,
            epochs: self.epoch,
            first_worn_out_ns: measures.first_worn_out.map(|at| at.0),
            bound_ns: bound.map(|at| at.0),
            share_of_bound: share,
            life_used: life_used(&self.drives),
            erases: erases(&self.drives),
            written,
            counts,
            servers: servers.map(|(drive, server)| drive.result(&self.settings.group, server.used)).collect(),
            snapshots: measures.snapshots,
        }
    }
}

/// The balancer with the parameters that were set.
fn name_of(choice: &Choice) -> String {
    let parameters =
        choice.parameters.iter().map(|(name, value)| format!(" {name}={}", value.to_string().replace('`', "")));
    std::iter::once(choice.kind.clone()).chain(parameters).collect()
}

/// The next server of a group: its failure domain, room and points on the ring.
fn spec(settings: &FleetSettings, group: usize, members: &mut [u32]) -> ServerSpec {
    let (own, data) = (&settings.group[group], &settings.data);
    let smallest = settings.group.iter().map(|group| group.capacity.0).min().unwrap_or(1);
    let points = f64::from(data.virtual_nodes) * own.capacity.0 as f64 / smallest as f64;
    // Domains of a group are numbered by themselves: no two groups share one.
    let domain = FailureDomain(((group as u32) << 20) | (members[group] / u32::from(own.servers_per_domain)));
    members[group] += 1;
    ServerSpec { domain, room: own.room(data), virtual_nodes: (points.round() as u32).max(1) }
}
