//! How worn a device is, more finely than it says itself.

use esker_core::{Bytes, DriveWear, Ratio};

/// Times a drive can be written as a whole, if it does not let this be known: a usual rating of consumer drives, 600 TB
/// for each TB.
const WRITES_ASSUMED: f64 = 600.0;

/// Bytes that wear a drive by one per cent, by what it says of its life so far. One that has used less than a percent,
/// or does not count what it was written, may be written [`WRITES_ASSUMED`] times. The store holds `capacity`.
fn bytes_per_percent(wear: &DriveWear, capacity: Bytes) -> f64 {
    let rated = WRITES_ASSUMED / 100.0 * wear.capacity.unwrap_or(capacity).0 as f64;
    match (wear.used_percent, wear.written) {
        // The fraction of a percent is not said: half of one.
        (1.., Some(written @ Bytes(1..))) => written.0 as f64 / (wear.used_percent as f64 + 0.5),
        (0, Some(written)) => rated.max(written.0 as f64),
        (1.., _) | (0, None) => rated,
    }
}

/// How worn a device is, from what it says in whole per cents and from the bytes that are written in between. By whole
/// per cents alone, a budget would be overspent for weeks after each of them.
///
/// What it tells never falls. Once the device has counted two steps, it rises as the real wear does, because the bytes
/// between two steps are known; it stays off by less than a percent, because nobody knows how much of the first one was
/// used before. Until then, what the device was written in its life so far tells the bytes of a percent, and it is off
/// by less than two.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WearMeter {
    /// What the device said last; `None` before it has said anything.
    said: Option<u64>,
    /// Per cent used when the device said so for the first time.
    at_step: f64,
    /// Bytes written since then.
    written: u64,
    /// Bytes that wear it by one per cent.
    bytes_per_percent: f64,
    /// Whether a step was seen, so that the next one measures what a percent takes.
    is_stepping: bool,
}

impl WearMeter {
    /// Counts bytes that are written to the device.
    pub(super) fn write(&mut self, length: Bytes) {
        self.written = self.written.saturating_add(length.0);
    }

    /// Takes what the device says; its store holds `capacity`.
    pub(super) fn learn(&mut self, wear: &DriveWear, capacity: Bytes) {
        let said = wear.used_percent;
        match self.said {
            Some(before) if before == said => return,
            Some(before) if before < said => {
                let steps = (said - before) as f64;
                let written = self.written as f64 / steps;
                (self.at_step, self.bytes_per_percent) = match self.is_stepping {
                    true if self.written > 0 => (self.at_step + steps, written),
                    true => (self.at_step + steps, self.bytes_per_percent),
                    // A part of a percent: a whole one takes at least as much.
                    false => (self.used() + steps - 1.0, self.bytes_per_percent.max(written)),
                };
                self.is_stepping = true;
            }
            // Another drive in its place, or one that was mended.
            Some(_) => (self.at_step, self.is_stepping) = (self.used(), false),
            None => {
                self.at_step = said as f64;
                self.bytes_per_percent = bytes_per_percent(wear, capacity);
            }
        }
        (self.said, self.written) = (Some(said), 0);
    }

    /// Per cent used.
    fn used(&self) -> f64 {
        self.at_step + (self.written as f64 / self.bytes_per_percent.max(1.0)).min(1.0)
    }

    /// Returns the share of its rated life that the device has used; zero if it says nothing.
    pub(super) fn life_used(&self) -> Ratio {
        match self.said {
            Some(_) => Ratio::parts_per_billion((self.used() * 1e7) as u64),
            None => Ratio::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use esker_core::{Nanos, Telemetry};
    use esker_tier::LifeBudget;
    use proptest::prelude::*;

    use super::*;

    const HOUR: Nanos = Nanos::from_secs(3600);

    /// A drive of 1 TB, and bytes that wear it by one per cent.
    struct Drive {
        used: f64,
        bytes_per_percent: f64,
        written: f64,
        counts: bool,
    }

    impl Drive {
        /// Writes `bytes`, each of which wears it as much as `amplification` others.
        fn write(&mut self, bytes: f64, amplification: f64) {
            self.written += bytes;
            self.used += bytes * amplification / self.bytes_per_percent;
        }

        fn says(&self) -> DriveWear {
            let written = self.counts.then_some(Bytes(self.written as u64));
            DriveWear { used_percent: self.used as u64, written, capacity: Some(Bytes(1_000_000_000_000)) }
        }
    }

    /// What the policy hears of a drive's wear, in per cent: by the meter, and by the drive alone.
    fn heard(meter: &WearMeter, drive: &Drive) -> [f64; 2] {
        [meter.life_used().as_f64() * 100.0, drive.used.floor()]
    }

    /// The largest error of what is heard of wear since the first look, the largest once the drive has counted
    /// two steps, and by how much the error goes up and down from then on. Looks at each `every`th of 600 writes.
    fn errors(mut drive: Drive, writes: &[(f64, f64)], every: usize) -> [[f64; 3]; 2] {
        let mut meter = WearMeter::default();
        meter.learn(&drive.says(), Bytes::gib(100));
        let (first, real) = (heard(&meter, &drive), drive.used);
        let whole = drive.used.floor();
        let mut spread = [[(f64::MAX, f64::MIN); 2]; 2];
        let mut last = first[0];
        for (turn, &(percent, amplification)) in writes.iter().cycle().take(600).enumerate() {
            let bytes = percent * drive.bytes_per_percent;
            drive.write(bytes, amplification);
            meter.write(Bytes(bytes as u64));
            if turn.is_multiple_of(every) {
                meter.learn(&drive.says(), Bytes::gib(100));
            }
            let now = heard(&meter, &drive);
            assert!(now[0] >= last, "wear falls from {last} to {}", now[0]);
            last = now[0];
            for (hears, later) in spread.iter_mut().enumerate() {
                let error = (now[hears] - first[hears]) - (drive.used - real);
                later[0] = (later[0].0.min(error), later[0].1.max(error));
                if drive.used > whole + 2.2 {
                    later[1] = (later[1].0.min(error), later[1].1.max(error));
                }
            }
        }
        spread.map(|[all, later]| [all.1.max(-all.0), later.1.max(-later.0), later.1 - later.0])
    }

    proptest! {
        /// Half a per cent comes from writes that wear the drive more or less than the last ones did, and from late
        /// looks.
        #[test]
        fn a_drive_that_says_whole_percents_is_known_more_finely(
            used in 0.0..90.0,
            bytes_per_percent in 1e11..1e14,
            life_so_far in 0.25..4.0,
            counts: bool,
            writes in prop::collection::vec((0.0..0.05, 0.8..1.25), 50..100),
            every in 1usize..3,
        ) {
            let written = used * bytes_per_percent * life_so_far;
            let drive = Drive { used, bytes_per_percent, written, counts };
            let [metered, _] = errors(drive, &writes, every);
            prop_assert!(metered[0] < 2.0, "off by {} at first", metered[0]);
            prop_assert!(metered[1] < 1.5, "off by {}", metered[1]);
            prop_assert!(metered[2] < 0.5, "goes up and down by {}", metered[2]);
        }
    }

    #[test]
    fn the_property_tells_whole_percents_from_the_meter() {
        let drive = Drive { used: 3.2, bytes_per_percent: 6e12, written: 2e13, counts: true };
        let [metered, raw] = errors(drive, &[(0.03, 1.0)], 1);
        assert!(metered[2] < 0.1 && raw[2] > 0.9, "{metered:?} {raw:?}");
    }

    /// Holds a life of five years for two of them, on a drive that is written twice what it allows whenever nothing
    /// holds writes back. Returns the most that was used beyond what was allowed, in per cent, and the longest time for
    /// which writes were held back at a stretch once the drive had counted two steps, in hours.
    fn holds(by_meter: bool) -> (f64, u64) {
        let years = |years| Nanos(HOUR.0 * 24 * 365 * years);
        let (mut budget, mut meter) = (LifeBudget::new(years(5)).unwrap(), WearMeter::default());
        let mut drive = Drive { used: 12.7, bytes_per_percent: 6e12, written: 9e13, counts: true };
        let (from, per_hour) = (drive.used, 100.0 / (5.0 * 365.0 * 24.0));
        let (mut beyond, mut held, mut longest) = (0.0f64, 0, 0);
        for hour in 0..years(2).0 / HOUR.0 {
            meter.learn(&drive.says(), Bytes::gib(100));
            let used = heard(&meter, &drive)[usize::from(!by_meter)];
            let life_used = Ratio::parts_per_billion((used * 1e7) as u64);
            budget.look(Nanos(hour * HOUR.0), &Telemetry { life_used, ..Telemetry::default() });
            beyond = beyond.max(drive.used - from - per_hour * hour as f64);
            held = if budget.is_overspent() { held + 1 } else { 0 };
            if drive.used > from + 2.0 {
                longest = longest.max(held);
            }
            if held == 0 {
                let bytes = 2.0 * per_hour * drive.bytes_per_percent;
                drive.write(bytes, 1.0);
                meter.write(Bytes(bytes as u64));
            }
        }
        (beyond, longest)
    }

    #[test]
    fn a_life_is_held_without_weeks_of_holding_back() {
        let (beyond, longest) = holds(true);
        assert!(beyond < 1.0 && longest < 24, "{beyond} % beyond, {longest} h held back");
        let (_, longest) = holds(false);
        assert!(longest > 7 * 24, "{longest} h held back by whole per cents");
    }
}
