//! Predictions by what a drive is doing: requests that wait, the time for the request itself, and the next cleaning.

use std::collections::VecDeque;

use esker_core::{Bytes, Nanos, Request, RequestKind};

use super::gaps::CleaningGaps;
use super::recursive::RecursiveLeastSquares;

/// What a past request still counts after one more, in both regressions.
const MEMORY: f64 = 0.999;
/// A request that takes more than this many times as long as others like it has waited for a cleaning.
const SLOW: f64 = 4.0;
/// Requests that are taken as they come, before any can be called slow.
const FIRST: u32 = 64;
/// Slow requests in a row after which the drive is taken to be slower as a whole.
const SLOW_IN_A_ROW: u32 = 64;
/// Weight of a new sample in the mean cost of a cleaning, and in the mean gap.
const NEWEST: f64 = 0.05;

/// A request that the drive has not answered yet.
#[derive(Clone, Copy, Debug)]
struct RequestUnderWay {
    sent: Nanos,
    kind: RequestKind,
    length: Bytes,
    /// The time that the drive should take for it without a cleaning, in ms.
    expected_ms: f64,
    /// What its response time was predicted from; `None` before the time for a request was known.
    parts: Option<[f64; 4]>,
}

/// What a drive has to do before it begins a request.
#[derive(Clone, Copy, Debug)]
struct WaitAhead {
    /// How long this takes, in ms.
    ms: f64,
    /// Sectors written since the last cleaning, without those below.
    since: u64,
    /// Sectors of the writes that it has to do.
    sectors: u64,
}

/// Predicts the response times of one drive without knowing what is in it.
///
/// Linear terms of the last requests (equation 5.3) cannot tell a drive that will clean at the next write from one that
/// has just cleaned, and they do not see the requests that the drive has not answered. Both can be known from outside.
/// A write that takes several times as long as others of its size has waited for a cleaning, and each cleaning frees
/// room for about as many sectors. So this predictor counts the sectors written since the last slow write, and compares
/// them with what was written between earlier ones. It adds up the wait for requests under way, the time for the
/// request itself, and the cost of a cleaning times its chance. Recursive least squares correct the weight of each
/// part.
#[derive(Clone, Debug)]
pub struct CleaningClock {
    /// Time for a request that does not wait for a cleaning: a constant, one more for a read, for each sector read, for
    /// each sector written.
    service: RecursiveLeastSquares<4>,
    /// The weights of the parts, for reads and for writes: they wait for different things.
    responses: [RecursiveLeastSquares<4>; 2],
    gaps: CleaningGaps,
    /// Mean time of a cleaning, in ms.
    cost_ms: f64,
    /// Mean number of sectors written between two cleanings; 0 before the second.
    mean_gap: f64,
    /// Sectors of the writes that have ended since the last slow one.
    since: u64,
    under_way: VecDeque<RequestUnderWay>,
    /// When the last request ended.
    last_end: Nanos,
    seen: u32,
    /// Of reads and of writes.
    slow_in_a_row: [u32; 2],
}

impl Default for CleaningClock {
    fn default() -> Self {
        Self::new()
    }
}

impl CleaningClock {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self {
            service: RecursiveLeastSquares::new(MEMORY),
            responses: responses(),
            gaps: CleaningGaps::new(),
            cost_ms: 0.0,
            mean_gap: 0.0,
            since: 0,
            under_way: VecDeque::new(),
            last_end: Nanos::ZERO,
            seen: 0,
            slow_in_a_row: [0; 2],
        }
    }

    /// Returns the response time to expect of `request` if it is sent at `now`, in ms.
    pub fn predict(&self, now: Nanos, request: &Request) -> f64 {
        let parts = self.parts(now, request.kind, request.length);
        self.responses[usize::from(request.kind.is_write())].predict(&parts).max(0.0)
    }

    /// Returns by how much the response times of all requests together grow if `request` is sent at `now`, in ms: as
    /// [`CleaningClock::predict`], but each write pays its share of the next cleaning, in proportion to its size. To
    /// choose a drive by what the next write will meet would be a trap: once a cleaning is due, every write would go
    /// elsewhere, the cleaning would stay due, and the drive would stay unused.
    pub fn marginal(&self, now: Nanos, request: &Request) -> f64 {
        let WaitAhead { ms: wait, .. } = self.wait(now);
        let expected = self.expected_ms(request.kind, request.length);
        let sectors = written_sectors(request.kind, request.length) as f64;
        // Where no cleaning has come for longer than that, they have become rarer.
        let gap = self.mean_gap.max(self.since as f64);
        let cleaning = if self.cost_ms > 0.0 { self.cost_ms * sectors / gap } else { 0.0 };
        wait + expected + cleaning
    }

    /// Takes a request that is sent to the drive at `now`.
    pub fn sent(&mut self, now: Nanos, request: &Request) {
        let (kind, length) = (request.kind, request.length);
        let parts = (self.seen >= FIRST).then(|| self.parts(now, kind, length));
        let expected_ms = self.expected_ms(kind, length);
        self.under_way.push_back(RequestUnderWay { sent: now, kind, length, expected_ms, parts });
    }

    /// Takes the end, at `at`, of the request that was sent at `sent`. One that is not known teaches nothing.
    pub fn ended(&mut self, sent: Nanos, at: Nanos, kind: RequestKind, length: Bytes) {
        let same = |of: &RequestUnderWay| (of.sent, of.kind, of.length) == (sent, kind, length);
        let Some(of) = self.under_way.iter().position(same).and_then(|index| self.under_way.remove(index)) else {
            return;
        };
        let service_ms = ms(at.saturating_sub(sent.max(self.last_end)));
        self.last_end = self.last_end.max(at);
        self.seen = self.seen.saturating_add(1);
        if let Some(parts) = &of.parts {
            self.responses[usize::from(kind.is_write())].learn(parts, ms(at.saturating_sub(sent)));
        }
        let sectors = written_sectors(kind, length);
        let before = self.since;
        self.since += sectors;
        let is_slow = self.seen > FIRST && service_ms > SLOW * of.expected_ms;
        let in_a_row = &mut self.slow_in_a_row[usize::from(kind.is_write())];
        *in_a_row = if is_slow { *in_a_row + 1 } else { 0 };
        let is_slower = *in_a_row > SLOW_IN_A_ROW;
        if is_slower {
            // What was taken for cleanings was not, and it says nothing of the weights.
            (self.gaps, self.responses) = (CleaningGaps::new(), responses());
        }
        if !is_slow || is_slower {
            self.service.learn(&service_terms(kind, length), service_ms);
        } else if sectors > 0 {
            let cost_ms = service_ms - of.expected_ms;
            average(&mut self.cost_ms, cost_ms);
            average(&mut self.mean_gap, self.since as f64);
            self.gaps.add(before, sectors);
            self.since = 0;
        }
    }

    /// Returns what a prediction consists of: a constant, the wait for requests under way, the time for the request
    /// itself, and a cleaning.
    fn parts(&self, now: Nanos, kind: RequestKind, length: Bytes) -> [f64; 4] {
        let WaitAhead { ms, since, sectors } = self.wait(now);
        let cleaning = self.cost_ms * self.gaps.chance(since, sectors + written_sectors(kind, length));
        [1.0, ms, self.expected_ms(kind, length), cleaning]
    }

    /// Returns what the drive has to do before the next request.
    fn wait(&self, now: Nanos) -> WaitAhead {
        let mut wait = WaitAhead { ms: 0.0, since: self.since, sectors: 0 };
        for of in &self.under_way {
            wait.ms += of.expected_ms;
            wait.sectors += written_sectors(of.kind, of.length);
        }
        if let Some(first) = self.under_way.front() {
            let elapsed = ms(now.saturating_sub(first.sent.max(self.last_end)));
            if elapsed > SLOW * first.expected_ms {
                // The drive is cleaning.
                wait.ms += (self.cost_ms - elapsed).max(-first.expected_ms);
                wait.sectors -= written_sectors(first.kind, first.length);
                wait.since = 0;
            } else {
                wait.ms -= elapsed.min(first.expected_ms);
            }
        }
        wait
    }

    fn expected_ms(&self, kind: RequestKind, length: Bytes) -> f64 {
        self.service.predict(&service_terms(kind, length)).max(0.0)
    }
}

/// Brings a sample into a moving average, which is 0 before the first.
fn average(mean: &mut f64, sample: f64) {
    *mean += (sample - *mean) * if *mean == 0.0 { 1.0 } else { NEWEST };
}

/// All parts count as they are.
fn responses() -> [RecursiveLeastSquares<4>; 2] {
    let as_they_are = RecursiveLeastSquares::starting_with([0.0, 1.0, 1.0, 1.0], MEMORY);
    [as_they_are.clone(), as_they_are]
}

fn ms(time: Nanos) -> f64 {
    time.0 as f64 / 1e6
}

fn sectors(length: Bytes) -> u64 {
    length.0 / Bytes::SECTOR.0
}

fn written_sectors(kind: RequestKind, length: Bytes) -> u64 {
    if kind.is_write() { sectors(length) } else { 0 }
}

fn service_terms(kind: RequestKind, length: Bytes) -> [f64; 4] {
    let sectors = sectors(length) as f64;
    if kind == RequestKind::Read { [1.0, 1.0, sectors, 0.0] } else { [1.0, 0.0, 0.0, sectors] }
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
        let marginal = clock.marginal(Nanos(drive.free_at + 1), &Request::write(Lba(0), Bytes(PAGE)));
        assert!((marginal - 1.0).abs() < 0.05, "{marginal} ms of 1");
    }

    /// A page takes 0.1 ms, and cleanings of 5 ms come every 50 to 53 pages. When the drive does not clean any more, a
    /// page costs less and less.
    #[test]
    fn each_write_pays_its_share_of_a_cleaning() {
        let (mut drive, mut clock, mut rng) = (drive(50), CleaningClock::new(), Rng::new(5));
        send(&mut drive, &mut clock, &mut rng, 8_000, 1);
        let marginal = |clock: &CleaningClock, drive: &MadeUpDrive, pages: u64| {
            clock.marginal(Nanos(drive.free_at + 1), &Request::write(Lba(0), Bytes(pages * PAGE)))
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
