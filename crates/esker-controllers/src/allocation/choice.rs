//! The choice at the end of a window: what each size would cost, and which one is taken.

use esker_core::Nanos;
use esker_results::{CacheWindow, CacheWindowCost};

use super::model::{TRAINED, Traffic};
use super::{Allocator, DAY_S, PERCENT, Pace, Window};

/// The size stays the same if its expected latency exceeds the least one by no more than this share. Assumed.
const HARDLY: f64 = 0.01;

/// A cache counts as full if more than this share of its misses evict a line. Assumed.
const FULL: f64 = 0.5;

/// Two windows show how much the host waits if their latencies differ by more than this share. Assumed.
const TELLING: f64 = 0.1;

impl Allocator {
    /// Chooses the over-provisioning with the least latency among those that keep the lifetime. If none does, it takes
    /// the one with the fewest erases.
    pub(super) fn decide(&mut self, now: Nanos, window: &Window, trains: bool) -> f64 {
        self.learn_pace(window);
        let allowed = self.allowed(now, window.took);
        let keeps = |cost: &CacheWindowCost| allowed.is_none_or(|allowed| cost.erases_per_day <= allowed);
        let all = || PERCENT.map(|percent| self.expect(percent, window));
        let best = all().filter(keeps).min_by(|one, other| one.latency_us.total_cmp(&other.latency_us));
        let least_wear = || all().min_by(|one, other| one.erases_per_day.total_cmp(&other.erases_per_day));
        let chosen = best.or_else(least_wear).expect("there are sizes");
        // A small gain is no reason to change. But a cache that is not full yet does not show its final cost. So among
        // the sizes that are about as good and full, and whose cost is therefore known, it takes the one that leaves
        // the most to cleaning. Smaller sizes that are not full are no better known, and shrinking costs the copying
        // back of dirty lines.
        let is_as_good = |cost: &CacheWindowCost| cost.latency_us <= chosen.latency_us * (1.0 + HARDLY) && keeps(cost);
        let is_full = |cost: &CacheWindowCost| self.evicting.at(cost.left_to_cleaning) > FULL;
        let present = self.expect((self.now_left * 100.0).round() as u32, window);
        let chosen = match is_as_good(&present) {
            true if is_full(&present) => present,
            true => all().rfind(|cost| is_as_good(cost) && is_full(cost)).unwrap_or(present),
            // A cache that grows before it is full grows no more than it has to: what cleaning will find with larger
            // sizes has not shown yet.
            false if !is_full(&chosen) => all().rfind(is_as_good).unwrap_or(chosen),
            false => chosen,
        };
        self.windows.push(CacheWindow {
            ends_s: now.as_secs_f64(),
            left_to_cleaning: chosen.left_to_cleaning,
            write_share: window.writes,
            chosen,
            expected: TRAINED.iter().rev().map(|&percent| self.expect(percent, window)).collect(),
            trains,
            keeps_lifetime: best.is_some(),
        });
        self.before_left = std::mem::replace(&mut self.now_left, chosen.left_to_cleaning);
        chosen.left_to_cleaning
    }

    /// Learns how much the host waits for requests, from two windows with different latencies.
    fn learn_pace(&mut self, window: &Window) {
        let pace = self.pace_of(window);
        if let Some(before) = self.pace_before.replace(pace)
            && (pace.latency - before.latency).abs() > TELLING * before.latency
        {
            self.waits = ((pace.apart - before.apart) / (pace.latency - before.latency)).clamp(0.0, 1.0);
        }
    }

    /// Returns the expected latency of an access with this over-provisioning, in nanoseconds, and the traffic behind
    /// it.
    fn cost(&self, over_provisioning: f64, window: &Window) -> (f64, Traffic) {
        let (miss_ratio, valid) = (self.miss_ratio(over_provisioning, window), self.valid.at(over_provisioning));
        let evicting = self.evicting.at(over_provisioning);
        let traffic = Traffic { writes: window.writes, miss_ratio, evicting, valid };
        (self.costs.latency(&traffic, self.copying_back), traffic)
    }

    /// Returns the expected cost of this over-provisioning if the next window is like `window`.
    pub(super) fn expect(&self, percent: u32, window: &Window) -> CacheWindowCost {
        let over_provisioning = f64::from(percent) / 100.0;
        let (latency, traffic) = self.cost(over_provisioning, window);
        let Pace { apart, latency: present } = self.pace_of(window);
        let longer = latency - present;
        // If accesses come faster than one of them takes, several are under way at a time.
        let apart = apart + self.waits * if apart >= present { longer } else { longer * apart / present };
        let erases_per_day = self.costs.erases(&traffic) * DAY_S * 1e9 / apart;
        let Traffic { miss_ratio, valid, .. } = traffic;
        CacheWindowCost {
            left_to_cleaning: over_provisioning,
            miss_ratio,
            valid_share: valid,
            latency_us: Nanos(latency as u64).0 as f64 / 1e3,
            erases_per_day,
        }
    }

    fn pace_of(&self, window: &Window) -> Pace {
        Pace { apart: 1e9 / window.accesses_per_s, latency: self.cost(self.now_left, window).0 }
    }

    /// Returns the erases per day that the next window may use, if it lasts as long as this one, so that by its end the
    /// budget is neither exceeded nor left over.
    fn allowed(&self, now: Nanos, window_s: f64) -> Option<f64> {
        let (budget, (began, wear)) = (self.erases_per_day?, self.first?);
        let until_s = now.saturating_sub(began).as_secs_f64() + window_s;
        let used = (self.wear.erases - wear.erases) as f64;
        Some(((budget * until_s / DAY_S - used) * DAY_S / window_s).max(0.0))
    }
}
