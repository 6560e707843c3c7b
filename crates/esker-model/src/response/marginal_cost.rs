//! What a request costs all requests to a drive together.

use std::collections::VecDeque;

use esker_core::{Bytes, Nanos, Request, RequestKind};

use super::recursive::RecursiveLeastSquares;

/// What a past request still counts after one more, in all regressions.
pub(super) const MEMORY: f64 = 0.999;
/// A request that takes more than this many times as long as others like it has waited for a cleaning.
const SLOW: f64 = 4.0;
/// Requests that are taken as they come, before any can be called slow.
pub(super) const FIRST: u32 = 64;
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
}

/// What a drive has to do before it begins a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitAhead {
    /// How long this takes, in ms.
    pub(super) ms: f64,
    /// Sectors written since the last cleaning, without those below.
    pub(super) since: u64,
    /// Sectors of the writes that it has to do.
    pub(super) sectors: u64,
}

/// What the end of a request says of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It was as fast as others like it.
    Fast,
    /// The drive is slower as a whole: what was taken for cleanings was not.
    Slower,
    /// A write of `sectors` has waited for a cleaning. `before` sectors had been written since the last one.
    Cleaned { before: u64, sectors: u64 },
    /// A read was slow.
    SlowRead,
}

/// Tells by how much the response times of all requests to one drive together grow with one more. It sees requests from
/// outside, and knows nothing of what is in the drive.
///
/// A write that takes several times as long as others of its size has waited for a cleaning, and each cleaning frees
/// room for about as many sectors.
#[derive(Clone, Debug)]
pub struct MarginalCost {
    /// Time for a request that does not wait for a cleaning: a constant, one more for a read, for each sector read, for
    /// each sector written.
    service: RecursiveLeastSquares<4>,
    /// Mean time of a cleaning, in ms.
    cleaning_ms: f64,
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

impl Default for MarginalCost {
    fn default() -> Self {
        Self::new()
    }
}

impl MarginalCost {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self {
            service: RecursiveLeastSquares::new(MEMORY),
            cleaning_ms: 0.0,
            mean_gap: 0.0,
            since: 0,
            under_way: VecDeque::new(),
            last_end: Nanos::ZERO,
            seen: 0,
            slow_in_a_row: [0; 2],
        }
    }

    /// Returns by how much the response times of all requests together grow if `request` is sent at `now`, in ms: the
    /// wait for requests under way, the time for the request itself, and for each write its share of the next cleaning,
    /// in proportion to its size. To choose a drive by what the next write will meet would be a trap: once a cleaning
    /// is due, every write would go elsewhere, the cleaning would stay due, and the drive would stay unused.
    pub fn of(&self, now: Nanos, request: &Request) -> f64 {
        let WaitAhead { ms: wait, .. } = self.wait(now);
        let expected = self.expected_ms(request.kind, request.length);
        let sectors = written_sectors(request.kind, request.length) as f64;
        // Where no cleaning has come for longer than that, they have become rarer.
        let gap = self.mean_gap.max(self.since as f64);
        let cleaning = if self.cleaning_ms > 0.0 { self.cleaning_ms * sectors / gap } else { 0.0 };
        wait + expected + cleaning
    }

    /// Takes a request that is sent to the drive at `now`.
    pub fn sent(&mut self, now: Nanos, request: &Request) {
        let (kind, length) = (request.kind, request.length);
        let expected_ms = self.expected_ms(kind, length);
        self.under_way.push_back(RequestUnderWay { sent: now, kind, length, expected_ms });
    }

    /// Takes the end, at `at`, of the request that was sent at `sent`. One that is not known teaches nothing.
    pub fn ended(&mut self, sent: Nanos, at: Nanos, kind: RequestKind, length: Bytes) {
        if let Some(index) = self.index_of(sent, kind, length) {
            self.ended_at(index, at);
        }
    }

    /// Returns which of the requests under way this is.
    pub(super) fn index_of(&self, sent: Nanos, kind: RequestKind, length: Bytes) -> Option<usize> {
        self.under_way.iter().position(|of| (of.sent, of.kind, of.length) == (sent, kind, length))
    }

    /// Takes the end of a request under way.
    pub(super) fn ended_at(&mut self, index: usize, at: Nanos) -> Finding {
        let of = self.under_way.remove(index).expect("it is under way");
        let RequestUnderWay { sent, kind, length, expected_ms } = of;
        let service_ms = ms(at.saturating_sub(sent.max(self.last_end)));
        self.last_end = self.last_end.max(at);
        self.seen = self.seen.saturating_add(1);
        let sectors = written_sectors(kind, length);
        let before = self.since;
        self.since += sectors;
        let is_slow = self.seen > FIRST && service_ms > SLOW * expected_ms;
        let in_a_row = &mut self.slow_in_a_row[usize::from(kind.is_write())];
        *in_a_row = if is_slow { *in_a_row + 1 } else { 0 };
        let is_slower = *in_a_row > SLOW_IN_A_ROW;
        if !is_slow || is_slower {
            self.service.learn(&service_terms(kind, length), service_ms);
            return if is_slower { Finding::Slower } else { Finding::Fast };
        }
        if sectors == 0 {
            return Finding::SlowRead;
        }
        average(&mut self.cleaning_ms, service_ms - expected_ms);
        average(&mut self.mean_gap, self.since as f64);
        self.since = 0;
        Finding::Cleaned { before, sectors }
    }

    /// Requests that have ended.
    pub(super) const fn seen(&self) -> u32 {
        self.seen
    }

    /// Mean time of a cleaning, in ms.
    pub(super) const fn cleaning_ms(&self) -> f64 {
        self.cleaning_ms
    }

    /// Returns what the drive has to do before the next request.
    pub(super) fn wait(&self, now: Nanos) -> WaitAhead {
        let mut wait = WaitAhead { ms: 0.0, since: self.since, sectors: 0 };
        for of in &self.under_way {
            wait.ms += of.expected_ms;
            wait.sectors += written_sectors(of.kind, of.length);
        }
        if let Some(first) = self.under_way.front() {
            let elapsed = ms(now.saturating_sub(first.sent.max(self.last_end)));
            if elapsed > SLOW * first.expected_ms {
                // The drive is cleaning.
                wait.ms += (self.cleaning_ms - elapsed).max(-first.expected_ms);
                wait.sectors -= written_sectors(first.kind, first.length);
                wait.since = 0;
            } else {
                wait.ms -= elapsed.min(first.expected_ms);
            }
        }
        wait
    }

    /// The time that the drive takes for a request without a cleaning, in ms.
    pub(super) fn expected_ms(&self, kind: RequestKind, length: Bytes) -> f64 {
        self.service.predict(&service_terms(kind, length)).max(0.0)
    }
}

/// Brings a sample into a moving average, which is 0 before the first.
fn average(mean: &mut f64, sample: f64) {
    *mean += (sample - *mean) * if *mean == 0.0 { 1.0 } else { NEWEST };
}

pub(super) fn ms(time: Nanos) -> f64 {
    time.0 as f64 / 1e6
}

fn sectors(length: Bytes) -> u64 {
    length.0 / Bytes::SECTOR.0
}

pub(super) fn written_sectors(kind: RequestKind, length: Bytes) -> u64 {
    if kind.is_write() { sectors(length) } else { 0 }
}

fn service_terms(kind: RequestKind, length: Bytes) -> [f64; 4] {
    let sectors = sectors(length) as f64;
    if kind == RequestKind::Read { [1.0, 1.0, sectors, 0.0] } else { [1.0, 0.0, 0.0, sectors] }
}
