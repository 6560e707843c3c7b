//! Predictions by what a drive is doing: requests that wait, the time for the request itself, and the next cleaning.

use std::collections::VecDeque;

use esker_core::{Bytes, Nanos, Request, RequestKind};

use super::gaps::CleaningGaps;
use super::marginal_cost::{FIRST, Finding, MEMORY, MarginalCost, WaitAhead, ms, written_sectors};
use super::recursive::RecursiveLeastSquares;

/// Predicts the response times of one drive without knowing what is in it.
///
/// Linear terms of the last requests (equation 5.3) cannot tell a drive that will clean at the next write from one that
/// has just cleaned, and they do not see the requests that the drive has not answered. Both can be known from outside.
/// This predictor counts the sectors written since the last slow write, and compares them with what was written between
/// earlier ones. It adds up the wait for requests under way, the time for the request itself, and the cost of a
/// cleaning times its chance. Recursive least squares correct the weight of each part.
#[derive(Clone, Debug)]
pub struct CleaningClock {
    /// What is under way, how long requests take, and cleanings.
    costs: MarginalCost,
    /// The weights of the parts, for reads and for writes: they wait for different things.
    responses: [RecursiveLeastSquares<4>; 2],
    gaps: CleaningGaps,
    /// What the response time of each request under way was predicted from; `None` before the time for a request was
    /// known.
    parts: VecDeque<Option<[f64; 4]>>,
}

impl Default for CleaningClock {
    fn default() -> Self {
        Self::new()
    }
}

impl CleaningClock {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self { costs: MarginalCost::new(), responses: responses(), gaps: CleaningGaps::new(), parts: VecDeque::new() }
    }

    /// Returns the response time to expect of `request` if it is sent at `now`, in ms.
    pub fn predict(&self, now: Nanos, request: &Request) -> f64 {
        let parts = self.parts(now, request.kind, request.length);
        self.responses[usize::from(request.kind.is_write())].predict(&parts).max(0.0)
    }

    /// Takes a request that is sent to the drive at `now`.
    pub fn sent(&mut self, now: Nanos, request: &Request) {
        let parts = (self.costs.seen() >= FIRST).then(|| self.parts(now, request.kind, request.length));
        self.parts.push_back(parts);
        self.costs.sent(now, request);
    }

    /// Takes the end, at `at`, of the request that was sent at `sent`. One that is not known teaches nothing.
    pub fn ended(&mut self, sent: Nanos, at: Nanos, kind: RequestKind, length: Bytes) {
        let Some(index) = self.costs.index_of(sent, kind, length) else { return };
        if let Some(parts) = self.parts.remove(index).flatten() {
            self.responses[usize::from(kind.is_write())].learn(&parts, ms(at.saturating_sub(sent)));
        }
        match self.costs.ended_at(index, at) {
            // What was taken for cleanings was not, and it says nothing of the weights.
            Finding::Slower => (self.gaps, self.responses) = (CleaningGaps::new(), responses()),
            Finding::Cleaned { before, sectors } => self.gaps.add(before, sectors),
            Finding::Fast | Finding::SlowRead => {}
        }
    }

    /// Returns what a prediction consists of: a constant, the wait for requests under way, the time for the request
    /// itself, and a cleaning.
    fn parts(&self, now: Nanos, kind: RequestKind, length: Bytes) -> [f64; 4] {
        let WaitAhead { ms, since, sectors } = self.costs.wait(now);
        let cleaning = self.costs.cleaning_ms() * self.gaps.chance(since, sectors + written_sectors(kind, length));
        [1.0, ms, self.costs.expected_ms(kind, length), cleaning]
    }
}

/// All parts count as they are.
fn responses() -> [RecursiveLeastSquares<4>; 2] {
    let as_they_are = RecursiveLeastSquares::starting_with([0.0, 1.0, 1.0, 1.0], MEMORY);
    [as_they_are.clone(), as_they_are]
}

#[cfg(test)]
mod tests {
    use esker_core::{Lba, Rng};

    use super::*;

    const PAGE: u64 = 4096;

    /// A drive that takes one request at a time: 100 us for a page, and 5 ms to clean before the write that would be
    /// page `pages_between` since the last cleaning.
    struct MadeUpDrive {
        pages_between: u64,
        since: u64,
        free_at: u64,
        /// How many times slower it is.
        slower: u64,
    }

    impl MadeUpDrive {
        /// Returns when it answers a request that comes at `now`, and whether it cleans for it.
        fn answers(&mut self, now: u64, request: &Request) -> (u64, bool) {
            let pages = request.length.0 / PAGE;
            let mut takes = 100_000 * pages;
            let is_write = request.kind.is_write();
            self.since += if is_write { pages } else { 0 };
            let cleans = self.since >= self.pages_between;
            if cleans {
                self.since = 0;
                takes += 5_000_000;
            }
            self.free_at = self.free_at.max(now) + takes * self.slower;
            (self.free_at, cleans)
        }
    }

    /// What a clock said of a request, what it took, both in ms, and whether the drive cleaned for it.
    type Said = (f64, f64, bool);

    /// Sends `count` requests to `drive`, as many under way at a time as `burst`, and lets `clock` predict each.
    fn send(drive: &mut MadeUpDrive, clock: &mut CleaningClock, rng: &mut Rng, count: u64, burst: u64) -> Vec<Said> {
        let mut said = Vec::new();
        for _ in 0..count / burst {
            let begin = drive.free_at + 3_000_000;
            let mut ends = Vec::new();
            for at in 0..burst {
                let length = Bytes(PAGE * (1 + rng.below(4)));
                let is_read = rng.chance(1, 4);
                let request = if is_read { Request::read(Lba(0), length) } else { Request::write(Lba(0), length) };
                let now = begin + at * 1_000;
                let expected = clock.predict(Nanos(now), &request);
                clock.sent(Nanos(now), &request);
                let (end, cleans) = drive.answers(now, &request);
                said.push((expected, (end - now) as f64 / 1e6, cleans));
                ends.push((now, end, request));
            }
            for (sent, end, request) in ends {
                clock.ended(Nanos(sent), Nanos(end), request.kind, request.length);
            }
        }
        said
    }

    fn mean_error(said: &[Said]) -> f64 {
        said.iter().map(|(expected, took, _)| (expected - took).abs()).sum::<f64>() / said.len() as f64
    }

    fn drive(pages_between: u64) -> MadeUpDrive {
        MadeUpDrive { pages_between, since: 0, free_at: 0, slower: 1 }
    }

    #[test]
    fn waits_and_services_without_cleaning_are_exact() {
        for burst in [1, 4, 16] {
            let (mut drive, mut clock, mut rng) = (drive(u64::MAX), CleaningClock::new(), Rng::new(1));
            send(&mut drive, &mut clock, &mut rng, 4_000, burst);
            let said = send(&mut drive, &mut clock, &mut rng, 400, burst);
            assert!(mean_error(&said) < 1e-3, "{burst} at a time: {} ms", mean_error(&said));
        }
    }

    /// Cleanings come every 50 to 53 pages, since writes have up to four. Requests that have just been cleaned for are
    /// fast for sure, and those at the end of a gap are slow for sure.
    #[test]
    fn the_write_for_which_a_drive_cleans_is_known_before() {
        let (mut drive, mut clock, mut rng) = (drive(50), CleaningClock::new(), Rng::new(2));
        send(&mut drive, &mut clock, &mut rng, 8_000, 1);
        let said = send(&mut drive, &mut clock, &mut rng, 8_000, 1);
        let cleanings = said.iter().filter(|(_, _, cleans)| *cleans).count();
        assert!((200..400).contains(&cleanings), "{cleanings}");
        // A guess of "never" finds none of them, and "always" is wrong for all others.
        let found = said.iter().filter(|(expected, _, cleans)| *cleans && *expected > 2.5).count();
        let wrong = said.iter().filter(|(expected, _, cleans)| !cleans && *expected > 2.5).count();
        assert!(found * 10 >= cleanings * 8, "{found} of {cleanings}");
        assert!(wrong * 4 <= cleanings, "{wrong} beside {cleanings}");
    }

    #[test]
    fn a_drive_that_becomes_slower_as_a_whole_is_not_taken_to_clean_forever() {
        let (mut drive, mut clock, mut rng) = (drive(u64::MAX), CleaningClock::new(), Rng::new(3));
        send(&mut drive, &mut clock, &mut rng, 2_000, 1);
        drive.slower = 10;
        send(&mut drive, &mut clock, &mut rng, 8_000, 1);
        let said = send(&mut drive, &mut clock, &mut rng, 400, 1);
        assert!(mean_error(&said) < 0.05, "{} ms of 1 to 4", mean_error(&said));
        let marginal = clock.costs.of(Nanos(drive.free_at + 1), &Request::write(Lba(0), Bytes(PAGE)));
        assert!((marginal - 1.0).abs() < 0.05, "{marginal} ms of 1");
    }

    /// A page takes 0.1 ms, and cleanings of 5 ms come every 50 to 53 pages. When the drive does not clean any more, a
    /// page costs less and less.
    #[test]
    fn each_write_pays_its_share_of_a_cleaning() {
        let (mut drive, mut clock, mut rng) = (drive(50), CleaningClock::new(), Rng::new(5));
        send(&mut drive, &mut clock, &mut rng, 8_000, 1);
        let marginal = |clock: &CleaningClock, drive: &MadeUpDrive, pages: u64| {
            clock.costs.of(Nanos(drive.free_at + 1), &Request::write(Lba(0), Bytes(pages * PAGE)))
        };
        for pages in [1, 4] {
            let (found, expected) = (marginal(&clock, &drive, pages), pages as f64 * (0.1 + 5.0 / 51.5));
            assert!((found / expected - 1.0).abs() < 0.05, "{found} ms, not {expected}");
        }
        drive.pages_between = u64::MAX;
        send(&mut drive, &mut clock, &mut rng, 8_000, 1);
        let later = marginal(&clock, &drive, 1);
        assert!((later - 0.1).abs() < 0.002, "{later} ms");
    }

    #[test]
    fn an_end_of_what_was_not_sent_teaches_nothing() {
        let (mut drive, mut clock, mut rng) = (drive(u64::MAX), CleaningClock::new(), Rng::new(4));
        send(&mut drive, &mut clock, &mut rng, 2_000, 1);
        let request = Request::write(Lba(0), Bytes(PAGE));
        let before = clock.predict(Nanos(drive.free_at + 1), &request);
        clock.ended(Nanos(7), Nanos(drive.free_at), request.kind, request.length);
        assert_eq!(clock.predict(Nanos(drive.free_at + 1), &request), before);
    }
}
