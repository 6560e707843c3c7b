//! Epochs: what is learnt of servers and slices, when the balancer is asked, and when the rest of moving slices is
//! copied.

use esker_core::{Bytes, Nanos, Ratio, Telemetry};
use esker_results::ClusterEpoch;
use esker_tier::{DeviceIndex, Effect};

use super::{ClusterEngine, ClusterError, ClusterSettings};
use crate::balance::{Balancer, ClusterView, CodeGroups, ServerView, SliceView, WearSum, build_balancer};
use crate::id::{ObjectId, ServerId, SliceId, SliceReplica};
use crate::map::ReplicaPlace;
use crate::popularity::Popularity;
use crate::route::RouterInput;
use crate::servers::ServerState;
use crate::shape::{ClusterShape, REPLICAS_MAX};
use crate::wear::{FlashLoad, WearModel, WriteSpread, build_wear_model};

/// Parts of an epoch after which copies are granted anew.
const TICKS: u64 = 20;
const TICK_MOST: Nanos = Nanos::from_secs(1);
/// Epochs without a request after which nothing is popular any more.
const FORGOTTEN_AFTER: u64 = 64;

/// What is known of the present epoch, and who decides at its end.
#[derive(Debug)]
pub(super) struct Epochs {
    balancer: Box<dyn Balancer>,
    model: Box<dyn WearModel>,
    popularity: Popularity,
    page: Bytes,
    /// Pages that the host wrote to each slice in this epoch.
    slice_pages: Vec<f32>,
    pub(super) servers: Vec<ServerEpoch>,
    ends_at: Nanos,
    /// When the timer is due; `NEVER` if there is none.
    wake_at: Nanos,
    /// Until when copies were granted.
    granted_until: Nanos,
    /// When the rest of the slices in motion may be copied.
    copies_from: Nanos,
    /// Whether servers have joined or are drained, so that copies do not wait.
    pub(super) members_change: bool,
    /// Whether the host has sent anything since the timer came.
    is_active: bool,
    pub(super) timeline: Vec<ClusterEpoch>,
}

/// What is known of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerEpoch {
    /// Pages that were written in this epoch.
    pages: f64,
    /// Pages that were ever written.
    pages_ever: f64,
    /// Whether the device counts its erases. It may have erased nothing yet.
    counts: bool,
    /// Erases by the device's own count, now and at the end of the last epoch; zero if it tells none.
    counted: u64,
    counted_before: u64,
    /// Erases that it counted and pages that it was written while it cleaned; older epochs count half as much each.
    cleaned: (f64, f64),
    /// Erases by the wear model.
    modelled: f64,
    /// The share of its life that the device says is used.
    life_used: Option<Ratio>,
}

impl ServerEpoch {
    /// Erases for a page, by its own count. Epochs count from the second on in which it cleans: a drive that is not yet
    /// full erases less.
    pub(super) fn erases_per_page(&self) -> Option<f64> {
        let (erases, pages) = self.cleaned;
        (self.counts && erases > 0.0 && pages > 0.0).then(|| erases / pages)
    }

    /// Notes that an epoch is over.
    fn end_epoch(&mut self) {
        if self.counted_before > 0 {
            let (erases, pages) = self.cleaned;
            let counted = self.counted.saturating_sub(self.counted_before) as f64;
            self.cleaned = (erases / 2.0 + counted, pages / 2.0 + self.pages);
        }
    }

    /// Erases since measuring started or, if the device counts, since it was new.
    pub(super) fn erases(&self) -> f64 {
        if self.counts { self.counted as f64 } else { self.modelled }
    }
}

impl Epochs {
    pub(super) fn new(settings: &ClusterSettings, shape: ClusterShape) -> Result<Self, ClusterError> {
        Ok(Self {
            balancer: build_balancer(&settings.balancer)?,
            model: build_wear_model(&settings.wear)?,
            popularity: Popularity::new(shape),
            page: settings.flash.page,
            slice_pages: vec![0.0; shape.slices as usize],
            servers: vec![ServerEpoch::default(); settings.servers.len()],
            ends_at: settings.pace.epoch,
            wake_at: Nanos::NEVER,
            granted_until: Nanos::ZERO,
            copies_from: Nanos::ZERO,
            members_change: false,
            is_active: false,
            timeline: Vec::new(),
        })
    }

    /// The host writes to an object.
    pub(super) fn written(&mut self, slice: SliceId, object: ObjectId, length: Bytes) {
        self.popularity.written(object);
        self.slice_pages[slice.index()] += length.0.div_ceil(self.page.0) as f32;
    }

    /// A server is written to.
    pub(super) fn server_written(&mut self, server: ServerId, length: Bytes) {
        let pages = length.0.div_ceil(self.page.0) as f64;
        let known = &mut self.servers[server.index()];
        known.pages += pages;
        known.pages_ever += pages;
    }

    /// A device has told of its wear.
    pub(super) fn heard(&mut self, device: DeviceIndex, telemetry: &Telemetry) {
        let known = &mut self.servers[usize::from(device.0)];
        known.counted = telemetry.erases;
        known.life_used = telemetry.knows_wear().then_some(telemetry.life_used).or(known.life_used);
        known.counts |= telemetry.counts_erases;
    }

    pub(super) fn members_change(&mut self) {
        self.members_change = true;
    }

    /// Takes over the pages and erases of each server that records have.
    pub(super) fn restore_wear(&mut self, worn: &[[u64; 2]]) {
        for (server, &[pages, erases]) in self.servers.iter_mut().zip(worn) {
            (server.pages_ever, server.modelled) = (pages as f64, erases as f64);
        }
    }

    /// Pages and erases of a server, as records have them.
    pub(super) fn worn(&self, server: ServerId) -> [u64; 2] {
        let known = &self.servers[server.index()];
        [known.pages_ever as u64, known.modelled as u64]
    }
}

impl super::ClusterPace {
    /// How often devices are asked for their wear.
    pub(super) fn look_period(&self) -> Nanos {
        Nanos((self.epoch.0 / TICKS).max(1))
    }
}

impl ClusterEngine {
    fn tick(&self) -> Nanos {
        Nanos((self.settings.pace.epoch.0 / TICKS).clamp(1, TICK_MOST.0))
    }

    /// Sees to it that the timer comes while there is something to do.
    pub(super) fn wake_later(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        if self.is_frozen {
            return;
        }
        self.epochs.is_active = true;
        if self.epochs.wake_at == Nanos::NEVER {
            // An epoch ends just after the moment at which it is over, so that devices are looked at before it.
            let end = self.epochs.ends_at + Nanos(1);
            let next = now + self.tick();
            self.epochs.wake_at = if now < end { next.min(end) } else { next };
            self.epochs.granted_until = now;
            effects.push(Effect::WakeAt(self.epochs.wake_at));
        }
    }

    /// Sees to it that the timer comes while slices move or a server is drained, even if the host is idle.
    pub(super) fn wake_if_moving(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        if self.router.map().moving_count() > 0 || !self.draining.is_empty() {
            self.wake_later(now, effects);
        }
    }

    pub(super) fn woken(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        if now < self.epochs.wake_at {
            if self.epochs.wake_at != Nanos::NEVER {
                effects.push(Effect::WakeAt(self.epochs.wake_at));
            }
            return;
        }
        self.epochs.wake_at = Nanos::NEVER;
        if now > self.epochs.ends_at {
            self.end_epoch(now);
            self.record_wear(effects);
        }
        self.tend_moves(effects);
        self.grant_copies(now);
        let becomes_clean = self.clean_slices(effects);
        let is_active = std::mem::take(&mut self.epochs.is_active) || becomes_clean;
        if is_active || self.router.map().moving_count() > 0 || !self.draining.is_empty() {
            self.wake_later(now, effects);
            self.epochs.is_active = false;
        }
    }

    /// Grants what may be copied since the last time.
    fn grant_copies(&mut self, now: Nanos) {
        // After a long sleep not all is copied at once.
        let passed = now.0.saturating_sub(self.epochs.granted_until.0).min(2 * self.tick().0);
        self.epochs.granted_until = now;
        let map = self.router.map();
        if map.moving_count() == 0 {
            self.epochs.members_change = false;
            return;
        }
        let first = SliceReplica { slice: SliceId(0), replica: 0 };
        let is_rebuilding = || {
            let place = |replica| map.place(replica);
            map.moving_from(first)
                .any(|replica| matches!(place(replica), ReplicaPlace::Offloading { source: None, .. }))
        };
        if now >= self.epochs.copies_from || self.epochs.members_change || is_rebuilding() {
            let rate = u128::from(self.settings.pace.copied_bytes_per_second.0);
            let bytes = Bytes((rate * u128::from(passed) / 1_000_000_000) as u64);
            let bytes = self.allowed_copies(now, bytes, self.epochs.members_change);
            self.inputs.push_back(RouterInput::CopyBudget(bytes));
        }
    }

    fn end_epoch(&mut self, now: Nanos) {
        let pace = self.settings.pace;
        let epochs = (now.0 - self.epochs.ends_at.0) / pace.epoch.0 + 1;
        let began = Nanos(self.epochs.ends_at.0 + (epochs - 1) * pace.epoch.0);
        self.epochs.ends_at = began + pace.epoch;
        self.epochs.copies_from = began + Nanos(pace.copies_after.of(pace.epoch.0));
        self.inputs.push_back(RouterInput::EpochEnds);
        self.count_erases();
        self.epochs.servers.iter_mut().for_each(ServerEpoch::end_epoch);
        if self.router.is_settled() && !self.background.is_paused() {
            let plan = self.plan();
            if plan.copy_at_once {
                self.epochs.copies_from = now;
            }
            if !plan.moves.is_empty() {
                self.counts.rounds += 1;
                self.inputs.push_back(RouterInput::Plan(plan));
            }
        }
        self.note_epoch(now);
        for _ in 0..epochs.min(FORGOTTEN_AFTER) {
            self.epochs.popularity.begin_epoch();
        }
        self.epochs.slice_pages.fill(0.0);
        for server in &mut self.epochs.servers {
            (server.pages, server.counted_before) = (0.0, server.counted);
        }
    }

    /// Counts the erases of servers that do not count them.
    fn count_erases(&mut self) {
        for server in 0..self.stores.len() {
            let load = self.flash_load(server);
            if load.counted.is_none() {
                self.epochs.servers[server].modelled += self.epochs.model.erases(&load).unwrap_or(0.0);
            }
        }
    }

    fn flash_load(&self, server: usize) -> FlashLoad {
        let (known, flash) = (&self.epochs.servers[server], &self.settings.flash);
        let capacity = self.settings.servers.get(server).map_or(0, |server| server.capacity.0).max(1);
        FlashLoad {
            pages_per_block: flash.pages_per_block,
            pages: known.pages,
            utilisation: (self.stores[server].written_bytes().0 as f64 / capacity as f64).min(1.0),
            spread: WriteSpread::EVEN,
            run_pages: 0.0,
            runs_overlap: false,
            counted: known.counts.then(|| known.counted.saturating_sub(known.counted_before) as f64),
        }
    }

    fn plan(&mut self) -> crate::plan::Plan {
        let (servers, slices) = (self.server_views(), self.slice_views());
        let (pace, shape) = (&self.settings.pace, self.router.map().shape());
        let seconds = pace.copies_after.complement().of(pace.epoch.0) as f64 / 1e9;
        let view = ClusterView {
            servers: &servers,
            slices: &slices,
            codes: &CodeGroups::default(),
            objects_per_slice: shape.objects_per_slice,
            object: shape.object,
            page: self.settings.flash.page,
            budget: Bytes((pace.copied_bytes_per_second.0 as f64 * seconds) as u64),
        };
        self.epochs.balancer.plan(&view, self.epochs.model.as_ref())
    }

    fn server_views(&self) -> Vec<ServerView> {
        let flash = &self.settings.flash;
        let view = |(id, server): (ServerId, &crate::servers::Server)| {
            let known = &self.epochs.servers[id.index()];
            let capacity = self.settings.servers[id.index()].capacity;
            let rated = (capacity.0 / flash.page.0) as f64 * f64::from(flash.rated_fills);
            let life_left_pages = match known.life_used {
                None => (rated - known.pages_ever).max(0.0),
                Some(used) => rated * (1.0 - used.as_f64()).max(0.0),
            };
            ServerView {
                domain: server.spec.domain,
                serves: server.state != ServerState::Failed,
                takes_more: self.router.servers().takes_more(id) && !self.health.has_failed(DeviceIndex(id.0)),
                room: server.spec.room.saturating_sub(server.used),
                erases: known.erases(),
                life_left_pages,
                pages_most: f64::INFINITY,
                erases_per_page: known.erases_per_page(),
                flash: self.flash_load(id.index()),
            }
        };
        self.router.servers().iter().map(view).collect()
    }

    fn slice_views(&self) -> Vec<SliceView> {
        let map = self.router.map();
        let popular = self.epochs.popularity.slices(self.epochs.balancer.hot_threshold());
        let view = |(slice, popularity): (u32, crate::popularity::SlicePopularity)| {
            let (mut homes, mut in_motion) = ([ServerId(0); REPLICAS_MAX as usize], false);
            for replica in map.replicas_of(SliceId(slice)) {
                let (home, moves) = match map.place(replica) {
                    ReplicaPlace::Complete(home) => (home, false),
                    ReplicaPlace::Offloading { source, destination } => {
                        (source.or(destination).unwrap_or(ServerId(0)), true)
                    }
                };
                homes[usize::from(replica.replica)] = home;
                in_motion |= moves;
            }
            let pages = self.epochs.slice_pages[slice as usize];
            let (popularity, hot) = (popularity.popularity, popularity.hot);
            SliceView { homes, popularity, pages, hot, replicas: map.shape().replicas, in_motion }
        };
        (0..).zip(popular).map(view).collect()
    }

    fn note_epoch(&mut self, now: Nanos) {
        let erases = self.epochs.servers.iter().map(ServerEpoch::erases);
        let sum = WearSum::of(erases.clone());
        self.epochs.timeline.push(ClusterEpoch {
            at_s: now.as_secs_f64(),
            erases_mean: sum.mean(),
            erases_sd: sum.deviation(),
            erases_max: erases.fold(0.0, f64::max),
        });
    }
}
