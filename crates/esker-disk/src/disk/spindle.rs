//! The platters: whether they turn, and how long the disk has been in each power mode.

use std::collections::VecDeque;
use std::ops::Range;

use esker_core::{Energy, Nanos, Power};
use esker_results::DiskPowerReport;

use crate::{Access, PowerSettings};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Seek,
    Active,
    Idle,
    SpinDown,
    Standby,
    SpinUp,
}

const MODES: usize = 6;

/// Follows the power modes without events of its own. What happens while no command arrives is computed when the next
/// command needs the platters, or when a report is made.
#[derive(Clone, Debug)]
pub(super) struct Spindle {
    power: PowerSettings,
    /// When the last command arrived or the last access ended, whichever is later, while the platters turned.
    calm_since: Nanos,
    /// The modes that are known for the time from `counted_to` on, each with its end. After these, the disk is left
    /// alone.
    known: VecDeque<(Mode, Nanos)>,
    counted_to: Nanos,
    /// Time in each mode since measuring started.
    spent: [Nanos; MODES],
    spin_ups: u64,
}

impl Spindle {
    pub(super) fn new(power: PowerSettings) -> Self {
        Self {
            power,
            calm_since: Nanos::ZERO,
            known: VecDeque::new(),
            counted_to: Nanos::ZERO,
            spent: [Nanos::ZERO; MODES],
            spin_ups: 0,
        }
    }

    /// Returns when the platters stop if nothing happens until then.
    fn stops_at(&self) -> Nanos {
        self.power.spin_down_after.map_or(Nanos::NEVER, |after| self.calm_since + after)
    }

    /// Returns true if the platters turn at full speed.
    pub(super) fn turns(&self, now: Nanos) -> bool {
        now < self.stops_at()
    }

    /// Records that a command has arrived.
    pub(super) fn command_came(&mut self, now: Nanos) {
        if self.turns(now) {
            self.calm_since = self.calm_since.max(now);
        }
    }

    /// Records an access that could begin at `now` if the platters turned. Returns when it does begin.
    pub(super) fn ready(&mut self, now: Nanos) -> Nanos {
        self.count_to(now);
        let stop = self.stops_at();
        if now < stop {
            return now;
        }
        let still = stop + self.power.spin_down_time;
        let wakes = still.max(now);
        let ready = wakes + self.power.spin_up_time;
        self.known.extend([(Mode::Idle, stop), (Mode::SpinDown, still), (Mode::Standby, wakes), (Mode::SpinUp, ready)]);
        self.calm_since = ready;
        self.spin_ups += 1;
        ready
    }

    /// Records at `now` an access that begins at `begin`.
    pub(super) fn access(&mut self, now: Nanos, begin: Nanos, access: &Access) {
        self.count_to(now);
        let moved = begin + access.seek;
        self.calm_since = begin + access.total();
        self.known.extend([(Mode::Idle, begin), (Mode::Seek, moved), (Mode::Active, self.calm_since)]);
    }

    /// Records when the disk has read ahead, if it has.
    pub(super) fn read_ahead(&mut self, read: Option<Range<Nanos>>) {
        let Some(Range { start, end }) = read.filter(|read| !read.is_empty()) else { return };
        // The time that has passed is counted at once, so that a long stream leaves nothing to remember.
        self.count_to(start);
        self.known.extend([(Mode::Idle, start), (Mode::Active, end)]);
        self.calm_since = self.calm_since.max(end);
    }

    /// Counts the time up to `now`.
    fn count_to(&mut self, now: Nanos) {
        while let Some(&(mode, end)) = self.known.front() {
            self.count(mode, end.min(now));
            if end > now {
                return;
            }
            self.known.pop_front();
        }
        let stop = self.stops_at();
        let still = Nanos(stop.0.saturating_add(self.power.spin_down_time.0));
        for (mode, end) in [(Mode::Idle, stop), (Mode::SpinDown, still), (Mode::Standby, Nanos::NEVER)] {
            self.count(mode, end.min(now));
        }
    }

    fn count(&mut self, mode: Mode, end: Nanos) {
        self.spent[mode as usize] += end.saturating_sub(self.counted_to);
        self.counted_to = self.counted_to.max(end);
    }

    /// Sets the counters to zero.
    pub(super) fn start_measuring(&mut self, now: Nanos) {
        self.count_to(now);
        self.spent = [Nanos::ZERO; MODES];
        self.spin_ups = 0;
    }

    /// Reports times and energy up to `now`.
    pub(super) fn report(&self, now: Nanos) -> DiskPowerReport {
        let mut counted = self.clone();
        counted.count_to(now);
        let seconds = |mode: Mode| counted.spent[mode as usize].as_secs_f64();
        let drawn = |mode, power: Power| seconds(mode) * power.0 as f64 / 1e6;
        // If measuring began or ended during a change of speed, its energy counts in proportion to its time.
        let spun = |mode, energy: Energy, time: Nanos| match time {
            Nanos::ZERO => 0.0,
            time => seconds(mode) / time.as_secs_f64() * energy.0 as f64 / 1e12,
        };
        let power = &self.power;
        DiskPowerReport {
            energy_j: drawn(Mode::Seek, power.seek.unwrap_or(power.active))
                + drawn(Mode::Active, power.active)
                + drawn(Mode::Idle, power.idle)
                + drawn(Mode::Standby, power.standby)
                + spun(Mode::SpinDown, power.spin_down_energy, power.spin_down_time)
                + spun(Mode::SpinUp, power.spin_up_energy, power.spin_up_time),
            seek_s: seconds(Mode::Seek),
            active_s: seconds(Mode::Active),
            idle_s: seconds(Mode::Idle),
            spin_down_s: seconds(Mode::SpinDown),
            standby_s: seconds(Mode::Standby),
            spin_up_s: seconds(Mode::SpinUp),
            spin_ups: self.spin_ups,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_stream_leaves_nothing_to_remember() {
        let access = Access { cylinders: 0, seek: Nanos(1), rotation: Nanos(2), transfer: Nanos(3), sector: Nanos(3) };
        let power = PowerSettings { spin_down_after: Some(Nanos::from_secs(5)), ..PowerSettings::default() };
        let mut spindle = Spindle::new(power);
        for step in 0..10_000 {
            let now = Nanos(step * 100);
            spindle.command_came(now);
            // Reads ahead for 40 ns; every other time a command takes over from there.
            spindle.read_ahead(Some(now..now + Nanos(40)));
            if step % 2 == 0 {
                spindle.access(now + Nanos(50), now + Nanos(50), &access);
            }
        }
        assert!(spindle.known.len() < 8, "{}", spindle.known.len());
        let report = spindle.report(Nanos(1_000_000));
        let found = [report.seek_s, report.active_s, report.idle_s].map(|seconds| (seconds * 1e9).round());
        assert_eq!(found, [5_000.0, 400_000.0 + 25_000.0, 1_000_000.0 - 430_000.0]);
    }
}
