//! What every composite device does with its children: keep their next events, let requests wait for a free slot, and
//! add up what they say.

use esker_results::Reporting;
use std::collections::VecDeque;

use esker_core::{
    BusyTime, Completion, Control, Device, Nanos, Ratio, Request, TagSlab, Telemetry, Timetable, Unsupported,
};
use esker_results::Report;

use super::Child;

/// The children of a composite device. `K` says what a child's request is for.
///
/// A request that a child cannot take waits, first in first out. The parent bounds its own requests and makes a bounded
/// number of child requests from each, so the waiting lists are bounded too; a child always frees a slot some time
/// without help from its parent, so nothing waits for itself.
pub(crate) struct Children<K> {
    list: Vec<State<K>>,
    timetable: Timetable,
    /// Completions of one child at one instant; kept to save the allocation.
    done: Vec<Completion>,
}

struct State<K> {
    name: String,
    device: Box<dyn Reporting>,
    under_way: TagSlab<K>,
    waiting: VecDeque<(K, Request)>,
    /// Requests sent since measuring started.
    sent: u64,
}

impl<K: Copy> Children<K> {
    pub(crate) fn new(children: Vec<Child>) -> Self {
        let mut timetable = Timetable::new(children.len());
        for (index, child) in children.iter().enumerate() {
            timetable.set(index, child.device.next_event());
        }
        let state = |child: Child| State {
            name: child.name,
            device: child.device,
            under_way: TagSlab::default(),
            waiting: VecDeque::new(),
            sent: 0,
        };
        Self { list: children.into_iter().map(state).collect(), timetable, done: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn device(&self, child: usize) -> &dyn Device {
        &*self.list[child].device
    }

    /// Hands `request` to `child`, now or as soon as it has a free slot.
    #[inline]
    pub(crate) fn submit(&mut self, now: Nanos, child: usize, key: K, request: Request) {
        let state = &mut self.list[child];
        state.sent += 1;
        if state.waiting.is_empty() && state.device.free_slots() > 0 {
            let tag = state.under_way.insert(key);
            state.device.submit(now, tag, request);
            self.timetable.set(child, state.device.next_event());
        } else {
            state.waiting.push_back((key, request));
        }
    }

    #[inline]
    pub(crate) fn next_event(&self) -> Nanos {
        self.timetable.next()
    }

    /// One step of the first child that is due, `now == next_event()`. Appends what ended.
    #[inline]
    pub(crate) fn advance(&mut self, now: Nanos, ended: &mut Vec<(K, Completion)>) {
        debug_assert!(self.timetable.next() == now, "an event of a child was skipped");
        let child = self.timetable.first().expect("a child is due");
        let state = &mut self.list[child];
        state.device.advance(now, &mut self.done);
        for completion in self.done.drain(..) {
            ended.push((state.under_way.remove(completion.tag), completion));
        }
        while !state.waiting.is_empty() && state.device.free_slots() > 0 {
            let (key, request) = state.waiting.pop_front().expect("it is not empty");
            let tag = state.under_way.insert(key);
            state.device.submit(now, tag, request);
        }
        self.timetable.set(child, state.device.next_event());
    }

    /// Passes a command on to all; the first that does not support it ends that.
    pub(crate) fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        for (index, state) in self.list.iter_mut().enumerate() {
            if command == Control::StartMeasuring {
                state.sent = 0;
            }
            state.device.control(now, command)?;
            self.timetable.set(index, state.device.next_event());
        }
        Ok(())
    }

    /// Busy times and counters added up, the worst state, the mean of the used lives weighted by capacity.
    pub(crate) fn telemetry(&self) -> Telemetry {
        let mut all = Telemetry::default();
        let (mut life, mut capacity) = (0u128, 0u128);
        for state in &self.list {
            let one = state.device.telemetry();
            all.state = all.state.max(one.state);
            all.queued += one.queued + state.waiting.len();
            all.free_space = match (all.free_space, one.free_space) {
                (Some(all), Some(one)) => Some(all + one),
                (all, one) => all.or(one),
            };
            all.erases += one.erases;
            life += u128::from(one.life_used.as_parts_per_billion()) * u128::from(state.device.capacity().0);
            capacity += u128::from(state.device.capacity().0);
            one.busy.iter().for_each(|busy| add_busy(&mut all.busy, busy));
        }
        if let Some(mean) = life.checked_div(capacity) {
            all.life_used = Ratio::parts_per_billion(mean as u64);
        }
        all
    }

    /// Lets every child report itself, and returns name and number of requests of each.
    pub(crate) fn report(&self, into: &mut Report) -> Vec<(String, u64)> {
        self.list.iter().for_each(|state| state.device.report(into));
        self.list.iter().map(|state| (state.name.clone(), state.sent)).collect()
    }
}

fn add_busy(all: &mut Vec<BusyTime>, one: &BusyTime) {
    match all.iter_mut().find(|busy| busy.kind == one.kind) {
        Some(busy) => {
            busy.count += one.count;
            busy.busy += one.busy;
            busy.busiest = busy.busiest.max(one.busiest);
        }
        None => all.push(*one),
    }
}
