//! How far work has got, how long it may still take, and when to report that. Time is an argument that starts at zero.

use std::time::Duration;

use esker_core::words;

/// The unit in which work is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    /// A share of the work, in per cent.
    Share,
    /// Things that are counted, by the name that several of them have.
    Things(&'static str),
}

/// Work under way.
#[derive(Debug)]
pub(super) struct Meter {
    unit: Unit,
    message: String,
    done: u64,
    total: u64,
    begin: Duration,
    /// When the work last made progress.
    moved: Duration,
}

/// Before this time an estimate would only be a guess.
const EARLIEST: Duration = Duration::from_secs(2);

impl Meter {
    pub(super) fn new(unit: Unit, now: Duration) -> Self {
        Self { unit, message: "working".into(), done: 0, total: 0, begin: now, moved: now }
    }

    pub(super) fn set_message(&mut self, message: &str) {
        self.message = message.to_string();
    }

    pub(super) fn set(&mut self, done: u64, total: u64, now: Duration) {
        if done != self.done {
            self.moved = now;
        }
        (self.done, self.total) = (done, total);
    }

    /// Time left if the work goes on at the same rate. `None` if that cannot be known: at the start, when everything
    /// expected is done, and when the work has stood still for longer than the estimate (then something else takes the
    /// time).
    pub(super) fn time_left(&self, now: Duration) -> Option<Duration> {
        let elapsed = now.saturating_sub(self.begin);
        if self.done == 0 || self.done >= self.total || elapsed < EARLIEST {
            return None;
        }
        let left = elapsed.as_secs_f64() * (self.total - self.done) as f64 / self.done as f64;
        let stood = now.saturating_sub(self.moved);
        (left >= 1.0 && stood.as_secs_f64() <= left).then(|| Duration::from_secs_f64(left.min(1e9)))
    }

    /// The whole report on one line.
    pub(super) fn line(&self, now: Duration) -> String {
        let mut line = format!("{}: ", self.message);
        let bytes = |count: u64| words::bytes(count as f64);
        if self.total == 0 && self.unit == Unit::Bytes {
            line += &format!("{}, ", bytes(self.done));
        }
        if self.total > 0 {
            let share = words::percent(self.done as f64 / self.total as f64);
            line += &match self.unit {
                Unit::Bytes => format!("{} of {} ({share}), ", bytes(self.done), bytes(self.total)),
                Unit::Share => format!("{share}, "),
                Unit::Things(name) => {
                    format!("{} of {} {name} ({share}), ", words::count(self.done), words::count(self.total))
                }
            };
        }
        line += &format!("{} so far", rough(now.saturating_sub(self.begin)));
        if let Some(left) = self.time_left(now) {
            line += &format!(", about {} left", rough(left));
        }
        line
    }
}

/// "40 s", "3 min", "2 h 10 min".
pub(super) fn rough(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60) {
        (0, 0 | 1) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {} min", minutes % 60),
    }
}

/// When lines are due: after ten seconds, then whenever the time has doubled, and at least every five minutes.
#[derive(Debug)]
pub(super) struct Schedule {
    due: Duration,
}

const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(300);

impl Schedule {
    pub(super) const fn new() -> Self {
        Self { due: FIRST }
    }

    /// Time until the next line is due.
    pub(super) fn wait(&self, now: Duration) -> Duration {
        self.due.saturating_sub(now)
    }

    /// Returns true if a line is due now, and schedules the next one.
    pub(super) fn is_due(&mut self, now: Duration) -> bool {
        let due = now >= self.due;
        if due {
            self.due = now + now.clamp(FIRST, LONGEST);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn lines_come_at_growing_intervals() {
        let mut schedule = Schedule::new();
        let said: Vec<u64> = (0..2_000).filter(|&second| schedule.is_due(at(second))).collect();
        assert_eq!(said, [10, 20, 40, 80, 160, 320, 620, 920, 1_220, 1_520, 1_820]);
        assert_eq!(schedule.wait(at(2_000)), at(120));
    }

    #[test]
    fn the_time_left_is_known_or_not_shown() {
        let mut meter = Meter::new(Unit::Share, at(5));
        assert_eq!(meter.time_left(at(30)), None, "nothing is done");
        meter.set(1, 100, at(6));
        assert_eq!(meter.time_left(at(6)), None, "too early");
        meter.set(25, 100, at(35));
        assert_eq!(meter.time_left(at(35)), Some(at(90)));
        assert_eq!(meter.time_left(at(65)), Some(at(180)), "it waits, so it will take longer");
        // Nearly everything is done, and yet it takes minutes.
        meter.set(999, 1_000, at(100));
        for second in 100..700 {
            assert_eq!(meter.time_left(at(second)), None, "after {second} s");
        }
        meter.set(100, 100, at(100));
        assert_eq!(meter.time_left(at(300)), None, "all is done that was expected");
    }

    #[test]
    fn a_line_says_what_how_far_and_how_long() {
        let mut meter = Meter::new(Unit::Things("requests"), at(0));
        meter.set_message("simulating");
        assert_eq!(meter.line(at(10)), "simulating: 10 s so far");
        meter.set(1_500, 4_500, at(150));
        assert_eq!(meter.line(at(150)), "simulating: 1 500 of 4 500 requests (33 %), 2 min so far, about 5 min left");
        let mut meter = Meter::new(Unit::Bytes, at(0));
        meter.set_message("db.csv");
        meter.set(1 << 20, 4 << 20, at(10));
        assert_eq!(meter.line(at(10)), "db.csv: 1 MiB of 4 MiB (25 %), 10 s so far, about 30 s left");
        meter.set(1 << 20, 0, at(10));
        assert_eq!(meter.line(at(10)), "db.csv: 1 MiB, 10 s so far", "standard input has no size");
        let mut meter = Meter::new(Unit::Things("writes"), at(0));
        meter.set_message("filling");
        meter.set(1, 4, at(10));
        assert_eq!(meter.line(at(10)), "filling: 1 of 4 writes (25 %), 10 s so far, about 30 s left");
        assert_eq!(rough(at(7_800)), "2 h 10 min");
    }
}
