//! The last requests of a drive, and what they tell about the next.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use esker_core::{Bytes, Nanos, Request, RequestKind};

/// What equation 5.3 knows of a request when it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestTerms {
    /// Mean time that the drive took for the last requests that it has served, without waiting, in ms (S_avg); 0 before
    /// the first.
    pub service_ms: f64,
    /// Share of reads among the requests of the window. The paper's predictor is called a ratio of reads and writes;
    /// a share stays finite where there are no writes.
    pub read_share: f64,
    /// Share of requests of the window that began where the request before them ended.
    pub sequential_share: f64,
    /// Mean time between the arrivals of the window, in ms.
    pub gap_ms: f64,
    /// Size of the request, in sectors of 512 bytes.
    pub size_sectors: f64,
}

impl RequestTerms {
    /// The names of the terms in the order of [`RequestTerms::row`], the constant first.
    pub const NAMES: [&str; 6] = ["constant", "service time", "reads", "sequential", "gap", "size"];

    /// Returns the terms for a regression, with 1 for its constant.
    pub fn row(&self) -> [f64; 6] {
        [1.0, self.service_ms, self.read_share, self.sequential_share, self.gap_ms, self.size_sectors]
    }
}

/// One of the last requests.
#[derive(Clone, Copy, Debug)]
struct PastRequest {
    gap: Nanos,
    is_read: bool,
    is_sequential: bool,
}

/// A sliding window over the requests that a drive gets, the newest one included. Sums are whole numbers, so that they
/// do not drift however long the window slides.
#[derive(Clone, Debug)]
pub struct RequestWindow {
    length: usize,
    requests: VecDeque<PastRequest>,
    reads: u64,
    sequential: u64,
    gaps: u64,
    /// Times that the drive took for the last requests that it has served.
    services: VecDeque<Nanos>,
    service_sum: u64,
    last: Option<(Nanos, Bytes)>,
}

impl RequestWindow {
    /// A window of the last `length` requests. The paper does not give a length.
    pub fn new(length: NonZeroUsize) -> Self {
        let length = length.get();
        Self {
            length,
            requests: VecDeque::with_capacity(length),
            reads: 0,
            sequential: 0,
            gaps: 0,
            services: VecDeque::with_capacity(length),
            service_sum: 0,
            last: None,
        }
    }

    /// Returns the terms that `request` would have if it came at `at`.
    pub fn terms(&self, at: Nanos, request: &Request) -> RequestTerms {
        let new = self.next(at, request);
        let oldest = self.requests.front().filter(|_| self.requests.len() == self.length);
        let count = self.requests.len() - usize::from(oldest.is_some()) + 1;
        let sum = |of: &dyn Fn(&PastRequest) -> u64, before: u64| {
            (before - oldest.map_or(0, of) + of(&new)) as f64 / count as f64
        };
        RequestTerms {
            service_ms: self.service_sum as f64 / self.services.len().max(1) as f64 / 1e6,
            read_share: sum(&|of| u64::from(of.is_read), self.reads),
            sequential_share: sum(&|of| u64::from(of.is_sequential), self.sequential),
            gap_ms: sum(&|of| of.gap.0, self.gaps) / 1e6,
            size_sectors: request.length.0 as f64 / Bytes::SECTOR.0 as f64,
        }
    }

    fn next(&self, at: Nanos, request: &Request) -> PastRequest {
        let (gap, end) = self.last.map_or((Nanos::ZERO, None), |(last, end)| (at.saturating_sub(last), Some(end)));
        PastRequest {
            gap,
            is_read: request.kind == RequestKind::Read,
            is_sequential: end == Some(Bytes(request.start.byte_offset())),
        }
    }

    /// Takes a request that arrives at `at`, and returns its terms.
    pub fn arrived(&mut self, at: Nanos, request: &Request) -> RequestTerms {
        let (terms, new) = (self.terms(at, request), self.next(at, request));
        if self.requests.len() == self.length
            && let Some(oldest) = self.requests.pop_front()
        {
            self.reads -= u64::from(oldest.is_read);
            self.sequential -= u64::from(oldest.is_sequential);
            self.gaps -= oldest.gap.0;
        }
        self.reads += u64::from(new.is_read);
        self.sequential += u64::from(new.is_sequential);
        self.gaps += new.gap.0;
        self.requests.push_back(new);
        self.last = Some((at, Bytes(request.end_byte())));
        terms
    }

    /// Takes the time that the drive took for a request that has ended, without waiting.
    pub fn served(&mut self, service: Nanos) {
        if self.services.len() == self.length
            && let Some(oldest) = self.services.pop_front()
        {
            self.service_sum -= oldest.0;
        }
        self.service_sum += service.0;
        self.services.push_back(service);
    }
}

#[cfg(test)]
mod tests {
    use esker_core::{Lba, Rng};

    use super::*;

    /// Every term, counted anew from the whole past for each request.
    #[test]
    fn the_terms_are_those_of_the_last_requests() {
        let length = 5;
        let mut window = RequestWindow::new(NonZeroUsize::new(length).unwrap());
        let mut rng = Rng::new(1);
        let (mut past, mut services): (Vec<(u64, Request)>, Vec<u64>) = (Vec::new(), Vec::new());
        let mut at = 0;
        for _ in 0..200 {
            at += rng.below(3_000_000);
            let (start, sectors) = (Lba(8 * rng.below(4)), Bytes(512 * 8 * (1 + rng.below(2))));
            let request = if rng.chance(1, 2) { Request::read(start, sectors) } else { Request::write(start, sectors) };
            past.push((at, request));
            let terms = window.arrived(Nanos(at), &request);
            let of = |is: &dyn Fn(usize) -> f64| {
                let first = past.len().saturating_sub(length);
                (first..past.len()).map(is).sum::<f64>() / (past.len() - first) as f64
            };
            let share = |is: bool| f64::from(u8::from(is));
            let reads = of(&|index| share(past[index].1.kind == RequestKind::Read));
            let sequential =
                of(&|index| share(index > 0 && past[index - 1].1.end_byte() == past[index].1.start.byte_offset()));
            let gaps = of(&|index| if index == 0 { 0.0 } else { (past[index].0 - past[index - 1].0) as f64 / 1e6 });
            let last = &services[services.len().saturating_sub(length)..];
            let service = last.iter().sum::<u64>() as f64 / last.len().max(1) as f64 / 1e6;
            let row = [1.0, service, reads, sequential, gaps, sectors.0 as f64 / 512.0];
            for ((found, expected), name) in terms.row().iter().zip(row).zip(RequestTerms::NAMES) {
                assert!((found - expected).abs() < 1e-9, "{name}: {found}, not {expected}");
            }
            if rng.chance(2, 3) {
                let service = rng.below(1_000_000);
                services.push(service);
                window.served(Nanos(service));
            }
        }
        assert!(services.len() > 2 * length);
    }
}
