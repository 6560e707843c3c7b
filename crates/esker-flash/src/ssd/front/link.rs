//! The link between host and drive.

use std::collections::VecDeque;

use esker_core::{Bytes, Nanos, Request, RequestKind};
use esker_nand::ValueError;

use crate::{LinkSettings, SsdError};

/// Longer overheads are refused, so that sums of many stay far from the end of `u64` nanoseconds.
const OVERHEAD_MAX: Nanos = Nanos::from_secs(60);

/// One transfer at a time in each direction, first in, first out. The controller takes commands one after another. Each
/// request then spends the overhead, in parallel with others. After that, the data of a write are transferred to the
/// drive. The data of a read are transferred to the host once its last flash operation has ended.
#[derive(Debug)]
pub(in crate::ssd) struct Link {
    settings: LinkSettings,
    /// How long the controller takes for a command before it takes the next one.
    command: Nanos,
    /// When the controller has taken all commands so far.
    command_free: Nanos,
    /// When the direction to the drive is free.
    in_free: Nanos,
    /// When the direction to the host is free.
    out_free: Nanos,
    /// Requests without data on their way to the drive: arrival time and slot, as in the next two queues.
    commands: VecDeque<(Nanos, u32)>,
    /// Writes on their way to the drive.
    uploads: VecDeque<(Nanos, u32)>,
    /// Reads whose data are on their way to the host.
    downloads: VecDeque<(Nanos, u32)>,
    /// Busy time since measuring began, to the drive and to the host.
    busy: [Nanos; 2],
}

impl Link {
    pub(in crate::ssd) fn new(settings: &LinkSettings, command: Nanos) -> Result<Self, SsdError> {
        if settings.overhead > OVERHEAD_MAX {
            return Err(
                ValueError::TooLong { key: "link.overhead", found: settings.overhead, limit: OVERHEAD_MAX }.into()
            );
        }
        Ok(Self {
            settings: *settings,
            command,
            command_free: Nanos::ZERO,
            in_free: Nanos::ZERO,
            out_free: Nanos::ZERO,
            commands: VecDeque::new(),
            uploads: VecDeque::new(),
            downloads: VecDeque::new(),
            busy: [Nanos::ZERO; 2],
        })
    }

    /// Begins the transfer of a request to the drive.
    pub(in crate::ssd) fn receive(&mut self, now: Nanos, slot: u32, request: &Request) {
        self.command_free = self.command_free.max(now) + self.command;
        let ready = self.command_free + self.settings.overhead;
        if matches!(request.kind, RequestKind::Write { .. }) {
            let time = self.settings.rate.time(request.length);
            self.in_free = self.in_free.max(ready) + time;
            self.busy[0] += time;
            self.uploads.push_back((self.in_free, slot));
        } else {
            self.commands.push_back((ready, slot));
        }
    }

    /// Begins the transfer of a read's data to the host.
    pub(in crate::ssd) fn send(&mut self, now: Nanos, slot: u32, length: Bytes) {
        let time = self.settings.rate.time(length);
        self.out_free = self.out_free.max(now) + time;
        self.busy[1] += time;
        self.downloads.push_back((self.out_free, slot));
    }

    /// Returns the slot of a request that arrives in the drive at `now`.
    pub(in crate::ssd) fn pop_received(&mut self, now: Nanos) -> Option<u32> {
        pop_due(&mut self.commands, now).or_else(|| pop_due(&mut self.uploads, now))
    }

    /// Returns the slot of a read whose data arrive at the host at `now`.
    pub(in crate::ssd) fn pop_sent(&mut self, now: Nanos) -> Option<u32> {
        pop_due(&mut self.downloads, now)
    }

    pub(in crate::ssd) fn next_event(&self) -> Nanos {
        [&self.commands, &self.uploads, &self.downloads]
            .into_iter()
            .filter_map(|queue| queue.front())
            .fold(Nanos::NEVER, |next, (at, _)| next.min(*at))
    }

    /// Drops all transfers, which a power failure at `now` interrupts.
    pub(in crate::ssd) fn lose_power(&mut self, now: Nanos) {
        self.commands.clear();
        self.uploads.clear();
        self.downloads.clear();
        // Busy time is counted when a transfer begins. The rest of it never takes place.
        let rest = [self.in_free, self.out_free].map(|free| free.saturating_sub(now));
        for (busy, rest) in self.busy.iter_mut().zip(rest) {
            *busy = busy.saturating_sub(rest);
        }
        (self.in_free, self.out_free, self.command_free) = (now, now, now);
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
