//! A device behind a network, which every request crosses twice.

use std::collections::VecDeque;

use esker_core::{
    Bytes, Change, ChangeError, Completion, Control, Device, Nanos, Request, Tag, Telemetry, Unsupported,
};
use esker_results::{Composite, Report, Reporting};

/// A device whose answers take a constant time to arrive: the way there and back. Until then they count as under way.
pub(super) struct Networked {
    device: Box<dyn Reporting>,
    round_trip: Nanos,
    /// Requests that the device has answered, in the order of their arrival.
    arriving: VecDeque<Completion>,
    done: Vec<Completion>,
}

impl Networked {
    /// `device`, whose answers take `round_trip` longer.
    pub(super) fn new(device: Box<dyn Reporting>, round_trip: Nanos) -> Self {
        Self { device, round_trip, arriving: VecDeque::new(), done: Vec::new() }
    }

    fn arrives_at(&self) -> Nanos {
        self.arriving.front().map_or(Nanos::NEVER, |first| first.at)
    }
}

impl Device for Networked {
    fn capacity(&self) -> Bytes {
        self.device.capacity()
    }

    fn free_slots(&self) -> usize {
        self.device.free_slots().saturating_sub(self.arriving.len())
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        self.device.submit(now, tag, request);
    }

    fn next_event(&self) -> Nanos {
        self.device.next_event().min(self.arrives_at())
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        if self.arrives_at() == now {
            return done.extend(self.arriving.pop_front());
        }
        self.device.advance(now, &mut self.done);
        let round_trip = self.round_trip;
        let later = |completion: Completion| Completion { at: completion.at + round_trip, ..completion };
        self.arriving.extend(self.done.drain(..).map(later));
    }

    fn expect(&self, request: &Request) {
        self.device.expect(request);
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        self.device.control(now, command)
    }

    fn change(&mut self, now: Nanos, device: &str, change: Change) -> Result<bool, ChangeError> {
        self.device.change(now, device, change)
    }

    fn telemetry(&self) -> Telemetry {
        let telemetry = self.device.telemetry();
        Telemetry { queued: telemetry.queued + self.arriving.len(), ..telemetry }
    }
}

impl Reporting for Networked {
    fn report(&self, into: &mut Report) {
        self.device.report(into);
    }

    fn composite(&self) -> Option<&dyn Composite> {
        self.device.composite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Constant, ConstantSettings};
    use esker_core::Lba;

    #[test]
    fn each_request_takes_the_round_trip_longer_and_keeps_its_slot() {
        let settings: ConstantSettings = serde_json::from_value(
            serde_json::json!({ "service_time": "100us", "capacity": "1MiB", "queue_depth": 2 }),
        )
        .unwrap();
        let alone = Constant::new("disk", &settings);
        let mut device = Networked::new(Box::new(alone), Nanos(30_000));
        device.submit(Nanos(0), Tag::new(0, 0), Request::read(Lba(0), Bytes(4096)));
        device.submit(Nanos(0), Tag::new(1, 0), Request::read(Lba(8), Bytes(4096)));
        let (mut done, mut free) = (Vec::new(), Vec::new());
        while device.next_event() != Nanos::NEVER {
            let now = device.next_event();
            device.advance(now, &mut done);
            free.push(device.free_slots());
        }
        let ends: Vec<u64> = done.iter().map(|completion| completion.at.0).collect();
        assert_eq!(ends, [130_000, 230_000]);
        assert_eq!(free, [0, 1, 1, 2], "a slot is free once the answer is there");
    }
}
