//! The requests that wait for a store, because it has enough to do.

use std::collections::VecDeque;

use esker_core::{Nanos, Priority, WaitingLine};

use super::StoreIo;
use crate::backend::DeviceLimits;

/// Work in the background that was possible and not asked for is made up for this long.
const BURST: Nanos = Nanos::from_millis(100);

/// Requests that wait.
#[derive(Default)]
pub(super) struct StoreLine {
    limits: DeviceLimits,
    /// Requests in the background that the rate holds back.
    held: VecDeque<StoreIo>,
    /// When the first of them may go on.
    held_until: Nanos,
    /// Requests that the depth holds back.
    ready: WaitingLine<StoreIo>,
    now: Nanos,
}

impl StoreLine {
    pub(super) fn new(limits: DeviceLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.held.len() + self.ready.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns when a request may go on that the rate holds back.
    pub(super) fn next_event(&self) -> Nanos {
        if self.held.is_empty() { Nanos::NEVER } else { self.held_until }
    }

    /// Takes a request.
    pub(super) fn push(&mut self, now: Nanos, io: StoreIo) {
        self.now = self.now.max(now);
        let priority = io.request.priority;
        match self.limits.background {
            Some(_) if priority > Priority::USER => self.held.push_back(io),
            _ => self.ready.push(self.now, priority, io),
        }
    }

    /// Takes out the request that goes next to a back end that has `under_way` of them, if it takes one more.
    pub(super) fn pop(&mut self, now: Nanos, under_way: usize) -> Option<StoreIo> {
        self.now = self.now.max(now);
        while self.held_until <= self.now
            && let Some(io) = self.held.pop_front()
        {
            let rate = self.limits.background.expect("requests are held back by a rate");
            let begins = self.held_until.max(self.now.saturating_sub(BURST));
            self.held_until = begins + rate.time(io.request.length);
            self.ready.push(self.now, io.request.priority, io);
        }
        if under_way < self.limits.depth { self.ready.pop(self.now).map(|(_, io)| io) } else { None }
    }

    /// Takes out all requests.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = StoreIo> + '_ {
        self.held.drain(..).chain(self.ready.drain())
    }
}

#[cfg(test)]
mod tests {
    use esker_core::{ByteRate, Bytes, Lba, Request, Tag};
    use esker_tier::IoId;

    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    fn io(number: u32, priority: Priority) -> StoreIo {
        let request = Request { priority, ..Request::read(Lba(0), Bytes(1_000_000)) };
        StoreIo { io: IoId(Tag::new(number, 0)), request, data: None, at: None, since: Nanos::ZERO }
    }

    /// Takes out what may go now, up to `depth` at a time.
    fn take(line: &mut StoreLine, now: Nanos, under_way: usize) -> Vec<u32> {
        (under_way..).map_while(|under_way| line.pop(now, under_way)).map(|io| io.io.0.slot()).collect()
    }

    #[test]
    fn at_the_depth_users_go_first() {
        let mut line = StoreLine::new(DeviceLimits { depth: 2, background: None });
        for (number, priority) in [(1, Priority::BACKGROUND), (2, Priority::USER), (3, Priority::USER)] {
            line.push(MS, io(number, priority));
        }
        assert_eq!((take(&mut line, MS, 1), take(&mut line, MS, 2)), (vec![2], vec![]));
        assert_eq!((take(&mut line, MS, 0), line.is_empty()), (vec![3, 1], true));
    }

    #[test]
    fn the_background_keeps_to_its_rate_and_users_do_not_wait_for_it() {
        let background = Some(ByteRate(100_000_000));
        let mut line = StoreLine::new(DeviceLimits { depth: 100, background });
        let start = Nanos::from_secs(1);
        (0..60).for_each(|number| line.push(start, io(number, Priority::BACKGROUND)));
        line.push(start, io(60, Priority::USER));
        // A megabyte takes 10 ms; what was possible during the last 100 ms is made up for.
        let first = take(&mut line, start, 0);
        assert_eq!((first.len(), first[0]), (12, 60));
        assert_eq!(line.next_event(), start + Nanos::from_millis(10));
        let mut times = 0;
        while line.next_event() < Nanos::NEVER {
            let next = line.next_event();
            assert_eq!(take(&mut line, next, 0).len(), 1);
            times += 1;
        }
        assert_eq!((times, line.now), (60 - 11, start + Nanos::from_millis(490)));
    }
}
