//! The way between host and drive.

use std::collections::VecDeque;

use esker_core::{Bytes, Nanos, Request, RequestKind};
use esker_nand::ValueError;

use crate::{LinkSettings, SsdError};

/// Longer overheads are refused, so that sums of many stay far from the end of `u64` nanoseconds.
const OVERHEAD_MAX: Nanos = Nanos::from_secs(60);

/// One transfer at a time in each direction, first in, first out. Each request spends the overhead first, all at the same
/// time; then a write's data come in. A read's data go out when its last flash operation has ended.
#[derive(Debug)]
pub(in crate::ssd) struct Link {
    settings: LinkSettings,
    in_free: Nanos,
    out_free: Nanos,
    /// Requests without data that come in.
    commands: VecDeque<(Nanos, u32)>,
    /// Writes.
    uploads: VecDeque<(Nanos, u32)>,
    /// Reads on their way out.
    downloads: VecDeque<(Nanos, u32)>,
    /// Busy time since measuring began, in and out.
    busy: [Nanos; 2],
}

impl Link {
    pub(in crate::ssd) fn new(settings: &LinkSettings) -> Result<Self, SsdError> {
        if settings.overhead > OVERHEAD_MAX {
            return Err(
                ValueError::TooLong { key: "link.overhead", found: settings.overhead, limit: OVERHEAD_MAX }.into()
            );
        }
        Ok(Self {
            settings: *settings,
            in_free: Nanos::ZERO,
            out_free: Nanos::ZERO,
            commands: VecDeque::new(),
            uploads: VecDeque::new(),
            downloads: VecDeque::new(),
            busy: [Nanos::ZERO; 2],
        })
    }

    pub(in crate::ssd) fn receive(&mut self, now: Nanos, slot: u32, request: &Request) {
        let ready = now + self.settings.overhead;
        if matches!(request.kind, RequestKind::Write { .. }) {
            let time = self.settings.rate.time(request.length);
            self.in_free = self.in_free.max(ready) + time;
            self.busy[0] += time;
            self.uploads.push_back((self.in_free, slot));
        } else {
            self.commands.push_back((ready, slot));
        }
    }

    pub(in crate::ssd) fn send(&mut self, now: Nanos, slot: u32, length: Bytes) {
        let time = self.settings.rate.time(length);
        self.out_free = self.out_free.max(now) + time;
        self.busy[1] += time;
        self.downloads.push_back((self.out_free, slot));
    }

    /// A request that is in the drive at `now`.
    pub(in crate::ssd) fn received(&mut self, now: Nanos) -> Option<u32> {
        pop_due(&mut self.commands, now).or_else(|| pop_due(&mut self.uploads, now))
    }

    /// A read whose data are out at `now`.
    pub(in crate::ssd) fn sent(&mut self, now: Nanos) -> Option<u32> {
        pop_due(&mut self.downloads, now)
    }

    pub(in crate::ssd) fn next_event(&self) -> Nanos {
        [&self.commands, &self.uploads, &self.downloads]
            .into_iter()
            .filter_map(|queue| queue.front())
            .fold(Nanos::NEVER, |next, (at, _)| next.min(*at))
    }

    /// Power fails at `now`: what is on its way is lost.
    pub(in crate::ssd) fn lose_power(&mut self, now: Nanos) {
        self.commands.clear();
        self.uploads.clear();
        self.downloads.clear();
        // Of what was taken for busy, the rest was not.
        let rest = [self.in_free, self.out_free].map(|free| free.saturating_sub(now));
        for (busy, rest) in self.busy.iter_mut().zip(rest) {
            *busy = busy.saturating_sub(rest);
        }
        (self.in_free, self.out_free) = (now, now);
    }

    pub(in crate::ssd) fn busy(&self) -> [Nanos; 2] {
        self.busy
    }

    pub(in crate::ssd) fn reset_busy(&mut self) {
        self.busy = [Nanos::ZERO; 2];
    }
}

fn pop_due(queue: &mut VecDeque<(Nanos, u32)>, now: Nanos) -> Option<u32> {
    queue.front().filter(|(at, _)| *at == now)?;
    queue.pop_front().map(|(_, slot)| slot)
}
