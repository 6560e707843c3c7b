//! The choice at the end of a window: what each size costs, and which one is taken.

use esker_core::Nanos;

use super::model::{TRAINED, Traffic};
use super::{Allocator, DAY_S, PERCENT, Pace, Window};
use crate::engine::{ExpectedCost, WindowDecision};

/// The size stays if it is expected to cost no more than this part above the best one. Assumed.
const HARDLY: f64 = 0.01;

/// A cache is full if so large a part of the misses has another line leave. Assumed.
const FULL: f64 = 0.5;

/// Two windows tell how much the host waits if what an access takes differs by so large a part. Assumed.
const TELLING: f64 = 0.1;

impl Allocator {
    /// Chooses the over-provisioning with the least latency, of those that keep the lifetime. If none does, the one
    /// with the fewest erases.
    pub(super) fn decide(&mut self, now: Nanos, window: &Window, trains: bool) -> f64 {
        self.learn_pace(window);
        let allowed = self.allowed(now, window.took);
        let keeps = |cost: &ExpectedCost| allowed.is_none_or(|allowed| cost.erases_per_day <= allowed);
        let all = || PERCENT.map(|percent| self.expect(percent, window));
        let best = all().filter(keeps).min_by_key(|cost| cost.latency);
        let least_wear = || all().min_by(|one, other| one.erases_per_day.total_cmp(&other.erases_per_day));
        let chosen = best.or_else(least_wear).expect("there are sizes");
        // What is hardly better is no reason to change. But a cache that is not full yet does not show what it will
        // cost: of sizes as good that are full, and so have shown it, it takes the one that leaves most to cleaning.
        // Smaller ones that are not full either are no better known, and to shrink costs what has to be copied back.
        let is_as_good =
            |cost: &ExpectedCost| cost.latency.0 as f64 <= chosen.latency.0 as f64 * (1.0 + HARDLY) && keeps(cost);
        let is_full = |cost: &ExpectedCost| self.evicting.at(cost.over_provisioning) > FULL;
        let present = self.expect((self.now_left * 100.0).round() as u32, window);
        let chosen = match is_as_good(&present) {
            true if is_full(&present) => present,
            true => all().rfind(|cost| is_as_good(cost) && is_full(cost)).unwrap_or(present),
            // A cache that grows since it is about to be full grows by no more than it has to: what cleaning will find
            // in larger ones has not shown yet.
            false if !is_full(&chosen) => all().rfind(is_as_good).unwrap_or(chosen),
            false => chosen,
        };
        self.windows.push(WindowDecision {
            at: now,
            over_provisioning: chosen.over_provisioning,
            writes: window.writes,
            chosen,
            expected: TRAINED.iter().rev().map(|&percent| self.expect(percent, window)).collect(),
            trains,
            keeps_lifetime: best.is_some(),
        });
        self.before_left = std::mem::replace(&mut self.now_left, chosen.over_provisioning);
        chosen.over_provisioning
    }

    /// Learns how much the host waits, from two windows that differ in what an access took.
    fn learn_pace(&mut self, window: &Window) {
        let pace = self.pace_of(window);
        if let Some(before) = self.pace_before.replace(pace)
            && (pace.latency - before.latency).abs() > TELLING * before.latency
        {
            self.waits = ((pace.apart - before.apart) / (pace.latency - before.latency)).clamp(0.0, 1.0);
        }
    }

    /// Nanoseconds that an access takes with this over-provisioning, and what the flash has to do for it.
    fn cost(&self, over_provisioning: f64, window: &Window) -> (f64, Traffic) {
        let (miss_ratio, valid) = (self.miss_ratio(over_provisioning, window), self.valid.at(over_provisioning));
        let evicting = self.evicting.at(over_provisioning);
        let traffic = Traffic { writes: window.writes, miss_ratio, evicting, valid };
        (self.costs.latency(&traffic, self.copying_back), traffic)
    }

    /// What this over-provisioning lets expect if the next window is like this one.
    pub(super) fn expect(&self, percent: u32, window: &Window) -> ExpectedCost {
        let over_provisioning = f64::from(percent) / 100.0;
        let (latency, traffic) = self.cost(over_provisioning, window);
        let Pace { apart, latency: present } = self.pace_of(window);
        let longer = latency - present;
        // Where accesses come faster than one takes, several are under way at a time.
        let apart = apart + self.waits * if apart >= present { longer } else { longer * apart / present };
        let erases_per_day = self.costs.erases(&traffic) * DAY_S * 1e9 / apart;
        let Traffic { miss_ratio, valid, .. } = traffic;
        ExpectedCost { over_provisioning, miss_ratio, valid, latency: Nanos(latency as u64), erases_per_day }
    }

    fn pace_of(&self, window: &Window) -> Pace {
        Pace { apart: 1e9 / window.accesses_per_s, latency: self.cost(self.now_left, window).0 }
    }

    /// Erases in a day that the next window may take, if it is as long as this one: so that what was used too much or
    /// too little so far is made good by its end.
    fn allowed(&self, now: Nanos, window_s: f64) -> Option<f64> {
        let (budget, (began, wear)) = (self.erases_per_day?, self.first?);
        let until_s = now.saturating_sub(began).as_secs_f64() + window_s;
        let used = (self.wear.erases - wear.erases) as f64;
        Some(((budget * until_s / DAY_S - used) * DAY_S / window_s).max(0.0))
    }
}
