//! The drives of servers: rated life, and what is left of it.

use esker_cluster::{FlashLoad, WearModel, WriteSpread};
use esker_core::{Bytes, Nanos};
use esker_results::fleet::FleetServer;

use super::PAGE;
use super::settings::{DataSettings, GroupSettings, LoadSettings};

/// A server's flash.
#[derive(Clone, Debug)]
pub(super) struct Drive {
    /// The number of its group.
    pub(super) group: usize,
    pub(super) joined: Nanos,
    pub(super) left: Option<Nanos>,
    pub(super) failed: bool,
    /// Pages that it can be written while it is new.
    rated: f64,
    /// Pages that it was written.
    written: f64,
    written_before: f64,
    pub(super) erases: f64,
    /// Pages of its flash that were never written: until they are, nothing is erased.
    never_used: f64,
    /// Pages of the host in this epoch.
    pub(super) host_pages: f64,
    pub(super) is_worn_out: bool,
    pages_per_block: u32,
    run_pages: f64,
    runs_overlap: bool,
    /// The share of its flash that a replica takes.
    utilisation_by_replica: f64,
    /// Erases for a page, and for which replicas and which state of their writes that is.
    erases_by_page: Option<((u32, u32), f64)>,
    /// How unevenly its pages are written, and how often that has changed.
    spread: (u32, WriteSpread),
}

impl Drive {
    /// A drive of a group, of which a share of its life is used.
    pub(super) fn new(
        (group, settings): (usize, &GroupSettings),
        data: &DataSettings,
        load: &LoadSettings,
        (used, joined): (f64, Nanos),
    ) -> Self {
        let rated = settings.rated() / PAGE.0 as f64;
        let write = load.write.unwrap_or(data.object).min(data.object);
        let flash = settings.capacity.0 as f64 * (1.0 + settings.over_provisioning.as_f64());
        Self {
            group,
            joined,
            left: None,
            failed: false,
            rated,
            written: rated * used,
            written_before: rated * used,
            erases: 0.0,
            never_used: if used > 0.0 { 0.0 } else { flash / PAGE.0 as f64 },
            host_pages: 0.0,
            is_worn_out: false,
            pages_per_block: settings.pages_per_block,
            run_pages: (write.0 as f64 / PAGE.0 as f64 / f64::from(settings.dies)).max(1.0),
            runs_overlap: write < data.object,
            utilisation_by_replica: data.slice().0 as f64 / flash,
            erases_by_page: None,
            spread: (u32::MAX, WriteSpread::EVEN),
        }
    }

    /// It holds replicas from the beginning. What it was written before had the wear of now.
    pub(super) fn count_erases_before(&mut self, replicas: u32, model: &dyn WearModel) {
        self.never_used = (self.never_used * (1.0 - f64::from(replicas) * self.utilisation_by_replica)).max(0.0);
        self.erases = self.written * self.rate(replicas, model);
    }

    /// Takes an epoch of writes: pages by hosts, and bytes that were copied. Returns the moment in the epoch at which
    /// its rated life was used up, from 0 to 1, if it was in this one.
    pub(super) fn write(&mut self, host: f64, copied: u64, replicas: u32, model: &dyn WearModel) -> Option<f64> {
        let pages = host + copied as f64 / PAGE.0 as f64;
        let before = self.life_left();
        self.host_pages = host;
        self.written += pages;
        // Without cleaning, each page that is written takes one of flash.
        let fresh = pages.min(self.never_used);
        self.never_used -= fresh;
        self.erases += (pages - fresh) * self.rate(replicas, model);
        if self.is_worn_out || self.life_left() > 0.0 {
            return None;
        }
        self.is_worn_out = true;
        Some(if pages > 0.0 { (before / pages).clamp(0.0, 1.0) } else { 0.0 })
    }

    /// Notes how unevenly its pages are written; `changes` tells whether that has changed.
    pub(super) fn note_spread(&mut self, changes: u32, spread: impl FnOnce() -> WriteSpread) {
        if self.spread.0 != changes {
            self.spread = (changes, spread());
        }
    }

    /// Erases for a page, which change with the replicas on the drive and with what is written to them.
    fn rate(&mut self, replicas: u32, model: &dyn WearModel) -> f64 {
        let state = (replicas, self.spread.0);
        match self.erases_by_page {
            Some((known, rate)) if known == state => rate,
            _ => {
                let rate = model.erases_per_page(&self.flash(replicas)).filter(|rate| rate.is_finite());
                let rate = rate.unwrap_or(0.0);
                self.erases_by_page = Some((state, rate));
                rate
            }
        }
    }

    pub(super) fn flash(&self, replicas: u32) -> FlashLoad {
        FlashLoad {
            pages_per_block: self.pages_per_block,
            pages: self.host_pages,
            utilisation: (f64::from(replicas) * self.utilisation_by_replica).min(1.0),
            spread: self.spread.1,
            run_pages: self.run_pages,
            runs_overlap: self.runs_overlap,
            counted: None,
        }
    }

    /// Pages that it can still be written; below zero once it is worn out.
    pub(super) fn life_left(&self) -> f64 {
        self.rated - self.written
    }

    /// The share of its rated life that is used.
    pub(super) fn life_used(&self) -> f64 {
        self.written / self.rated
    }

    pub(super) fn result(&self, groups: &[GroupSettings], replicas: u32) -> FleetServer {
        FleetServer {
            group: groups[self.group].name.clone(),
            joined_ns: self.joined.0,
            left_ns: self.left.map(|at| at.0),
            failed: self.failed,
            rated_bytes: Bytes((self.rated * PAGE.0 as f64).round() as u64).0,
            life_used_before: super::millionths(self.written_before / self.rated),
            replicas: u64::from(replicas),
        }
    }
}
