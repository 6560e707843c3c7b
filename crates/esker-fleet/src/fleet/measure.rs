//! What is noted of a fleet.

use esker_core::Nanos;
use esker_results::fleet::{FleetCounts, FleetSnapshot, FleetSpread, FleetWrites};

use super::drives::Drive;
use super::millionths;

/// Counts and times of a run.
#[derive(Debug, Default)]
pub(super) struct Measures {
    pub(super) counts: FleetCounts,
    pub(super) writes: FleetWrites,
    pub(super) first_worn_out: Option<Nanos>,
    pub(super) snapshots: Vec<FleetSnapshot>,
    /// Pages that hosts have written, and those of the last epoch.
    host_pages: f64,
    last_pages: f64,
    /// Pages that all servers could be written that ever took part.
    life: f64,
    bound: Option<Nanos>,
}

impl Measures {
    /// A server joins that can still be written `pages`.
    pub(super) fn add_life(&mut self, pages: f64) {
        self.life += pages.max(0.0);
    }

    /// An epoch of host writes that ends at `end`.
    pub(super) fn add_host_pages(&mut self, pages: f64, end: Nanos, epoch: Nanos) {
        self.host_pages += pages;
        self.last_pages = pages;
        if self.bound.is_none() && self.host_pages >= self.life && pages > 0.0 {
            let over = (self.host_pages - self.life) / pages * epoch.0 as f64;
            self.bound = Some(Nanos(end.0.saturating_sub(over as u64)));
        }
        self.writes.host_bytes = (self.host_pages * super::PAGE.0 as f64).round();
    }

    /// When all life is written away. Beyond the end of the run, writes go on as in its last epoch.
    pub(super) fn bound(&self, end: Nanos, epoch: Nanos) -> Option<Nanos> {
        let ahead = (self.life - self.host_pages) / self.last_pages * epoch.0 as f64;
        let beyond = || ahead.is_finite().then_some(end.0 as f64 + ahead).filter(|at| *at < Nanos::LAST.0 as f64);
        self.bound.or_else(|| beyond().map(|at| Nanos(at as u64)))
    }

    pub(super) fn worn_out(&mut self, at: Nanos) {
        self.counts.worn_out += 1;
        self.first_worn_out = Some(self.first_worn_out.map_or(at, |first| first.min(at)));
    }

    pub(super) fn take_snapshot(&mut self, at: Nanos, drives: &[Drive]) {
        self.snapshots.push(FleetSnapshot {
            at_ns: at.0,
            life_used: life_used(drives),
            life_used_by_server: drives.iter().map(|drive| millionths(drive.life_used())).collect(),
        });
    }
}

fn over_serving(drives: &[Drive], of: impl Fn(&Drive) -> f64) -> FleetSpread {
    FleetSpread::of(drives.iter().filter(|drive| drive.left.is_none()).map(of).collect())
}

/// Rated life used, over servers that serve.
pub(super) fn life_used(drives: &[Drive]) -> FleetSpread {
    over_serving(drives, Drive::life_used)
}

/// Erases, over servers that serve.
pub(super) fn erases(drives: &[Drive]) -> FleetSpread {
    over_serving(drives, |drive| drive.erases)
}
