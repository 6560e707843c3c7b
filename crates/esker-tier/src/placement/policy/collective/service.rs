//! How long requests keep a device busy, by their length.

use esker_core::{Nanos, RequestKind};

use super::Completed;

/// Number of samples of which a line is made; later samples count more.
const SAMPLES: f64 = 2_048.0;
/// Lengths that differ less, as the square of their share, do not tell what a byte takes.
const ALIKE: f64 = 1e-6;

/// How long a request takes: a time of its own, and more for each byte. In nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ServiceTime {
    pub(super) request: f64,
    pub(super) byte: f64,
}

/// A straight line through samples.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Line {
    fn add(&mut self, x: f64, y: f64) {
        let keep = 1.0 - 1.0 / SAMPLES;
        self.n = self.n * keep + 1.0;
        self.x = self.x * keep + x;
        self.y = self.y * keep + y;
        self.xx = self.xx * keep + x * x;
        self.xy = self.xy * keep + x * y;
    }

    /// The line nearest to the samples that does not fall and is nowhere below 0.
    fn fit(&self) -> Option<ServiceTime> {
        if self.n == 0.0 {
            return None;
        }
        let (mean_x, mean_y) = (self.x / self.n, self.y / self.n);
        let variance = self.xx / self.n - mean_x * mean_x;
        if variance <= ALIKE * mean_x * mean_x {
            return Some(ServiceTime { request: mean_y, byte: 0.0 });
        }
        let byte = ((self.xy / self.n - mean_x * mean_y) / variance).max(0.0);
        let request = mean_y - byte * mean_x;
        Some(match request < 0.0 {
            true => ServiceTime { request: 0.0, byte: self.xy / self.xx },
            false => ServiceTime { request, byte },
        })
    }
}

/// The times of one device.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServiceTimes {
    /// Reads and writes of the host.
    lines: [Line; 2],
    last_end: Nanos,
}

impl ServiceTimes {
    /// Takes the end of a request or of a part of a copy. With several under way at a time, a request has kept the
    /// device busy since the end before its own.
    pub(super) fn ended(&mut self, done: &Completed) {
        let since_last_end = done.at.saturating_sub(self.last_end);
        self.last_end = self.last_end.max(done.at);
        if done.for_host {
            let busy = done.at.saturating_sub(done.sent).min(since_last_end);
            self.lines[usize::from(done.kind != RequestKind::Read)].add(done.length.0 as f64, busy.0 as f64);
        }
    }

    /// Returns the times of reads and of writes; `None` before the first one.
    pub(super) fn known(&self) -> Option<[ServiceTime; 2]> {
        let [reads, writes] = self.lines.map(|line| line.fit());
        Some([reads.or(writes)?, writes.or(reads)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(samples: &[(f64, f64)]) -> ServiceTime {
        let mut line = Line::default();
        samples.iter().for_each(|&(x, y)| line.add(x, y));
        line.fit().unwrap()
    }

    #[test]
    fn a_line_neither_falls_nor_is_below_0() {
        let near = |found: ServiceTime, request: f64, byte: f64| {
            // The first samples count a little less.
            assert!((found.request - request).abs() < 1.0 && (found.byte - byte).abs() < 1e-3, "{found:?}");
        };
        near(line(&[(1e3, 3e3), (2e3, 5e3), (4e3, 9e3)]), 1e3, 2.0);
        // One length alone does not say what a byte takes.
        near(line(&[(4e3, 8e3), (4e3, 8e3)]), 8e3, 0.0);
        near(line(&[(1e3, 5e3), (2e3, 3e3)]), 4e3, 0.0);
        // 2,000 ns for 1,000 bytes and 8,000 ns for 2,000: through 0, (2 + 16) / (1 + 4) ns a byte.
        near(line(&[(1e3, 2e3), (2e3, 8e3)]), 0.0, 3.6);
        assert_eq!(Line::default().fit(), None);
    }

    #[test]
    fn new_samples_count_more() {
        let mut line = Line::default();
        (0..10_000).for_each(|_| line.add(1.0, 100.0));
        (0..10_000).for_each(|_| line.add(1.0, 200.0));
        // What is older than 10,000 samples counts (1 - 1/2048)^10,000 = 0.75 %.
        let found = line.fit().unwrap().request;
        assert!((found - 199.25).abs() < 0.1, "{found}");
    }
}
