//! What every composite device (array, hybrid) needs for its children: their next events, requests that wait for a free
//! slot, and their telemetry added up.

use crate::{
    BusyTime, Change, ChangeError, Completion, Control, Device, Nanos, Ownable, Ratio, Request, TagSlab, Telemetry,
    Timetable, Unsupported, WaitingLine,
};

/// The children of a composite device. `K` is the parent's key for a child request: it comes back with the completion.
///
/// A request that finds its child full waits in a [`WaitingLine`]: user before background, then first in, first out.
/// The waiting lines stay short, because the parent bounds its own requests and makes a bounded number of child
/// requests from each. They also drain: a child always frees a slot after some time without help from its parent.
#[derive(Debug)]
pub struct Children<D: ?Sized, K> {
    list: Vec<State<D, K>>,
    timetable: Timetable,
    /// Completions of one child at one instant; kept so that it is allocated only once.
    done: Vec<Completion>,
}

#[derive(Debug)]
struct State<D: ?Sized, K> {
    device: Box<D>,
    under_way: TagSlab<K>,
    waiting: WaitingLine<(K, Request)>,
    /// Requests sent since measuring started.
    sent: u64,
}

impl<D: Device + ?Sized, K: Copy> Children<D, K> {
    /// Takes ownership of the devices, in their order.
    pub fn new(devices: Vec<Box<D>>) -> Self {
        let mut timetable = Timetable::new(devices.len());
        for (index, device) in devices.iter().enumerate() {
            timetable.set(index, device.next_event());
        }
        let state = |device| State { device, under_way: TagSlab::default(), waiting: WaitingLine::default(), sent: 0 };
        Self { list: devices.into_iter().map(state).collect(), timetable, done: Vec::new() }
    }

    /// The device of child `child`.
    pub fn device(&self, child: usize) -> &D {
        &self.list[child].device
    }

    /// All devices, each with the number of requests sent to it since measuring started.
    pub fn iter(&self) -> impl Iterator<Item = (&D, u64)> {
        self.list.iter().map(|state| (&*state.device, state.sent))
    }

    /// How many more requests the children take in total.
    pub fn slots(&self) -> usize {
        self.list.iter().fold(0, |sum: usize, state| sum.saturating_add(state.device.free_slots()))
    }

    /// Hands `request` to `child`, now or as soon as it has a free slot.
    #[inline]
    pub fn submit(&mut self, now: Nanos, child: usize, key: K, request: Request) {
        let state = &mut self.list[child];
        state.sent += 1;
        if state.waiting.is_empty() && state.device.free_slots() > 0 {
            let tag = state.under_way.insert(key);
            state.device.submit(now, tag, request);
            self.timetable.set(child, state.device.next_event());
        } else {
            state.waiting.push(now, request.priority, (key, request));
        }
    }

    /// Time of the earliest event of any child.
    #[inline]
    pub fn next_event(&self) -> Nanos {
        self.timetable.next()
    }

    /// One step of the first child that is due, at `now == next_event()`. Appends the requests that ended to `ended`,
    /// and returns the index of the child.
    #[inline]
    pub fn advance(&mut self, now: Nanos, ended: &mut Vec<(K, Completion)>) -> usize {
        debug_assert!(self.timetable.next() == now, "an event of a child was skipped");
        let child = self.timetable.first().expect("a child is due");
        let state = &mut self.list[child];
        state.device.advance(now, &mut self.done);
        for completion in self.done.drain(..) {
            ended.push((state.under_way.remove(completion.tag), completion));
        }
        while !state.waiting.is_empty() && state.device.free_slots() > 0 {
            let (_, (key, request)) = state.waiting.pop(now).expect("it is not empty");
            let tag = state.under_way.insert(key);
            state.device.submit(now, tag, request);
        }
        self.timetable.set(child, state.device.next_event());
        child
    }

    /// Child `child` as a device that has an owner.
    ///
    /// # Panics
    /// If it cannot have one.
    pub fn owned(&mut self, child: usize) -> &mut dyn Ownable {
        self.list[child].device.ownable().expect("it was asked for when it got its owner")
    }

    /// Passes a command on to all children; stops at the first one that does not support it. A pause of wear levelling
    /// goes to all of them, and one that supports it is enough: the others level nothing.
    pub fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        let each = 0..self.list.len();
        if !matches!(command, Control::PauseWearLevelling(_)) {
            return each.into_iter().try_for_each(|child| self.control_one(now, child, command));
        }
        let answers = each.map(|child| self.control_one(now, child, command));
        // Two answers: either is kept only if there is no success.
        answers.reduce(|one, other| if one.is_ok() { one } else { other }).unwrap_or(Ok(()))
    }

    /// Passes a command on to child `child`.
    pub fn control_one(&mut self, now: Nanos, child: usize, command: Control) -> Result<(), Unsupported> {
        let state = &mut self.list[child];
        if command == Control::StartMeasuring {
            state.sent = 0;
        }
        let answer = state.device.control(now, command);
        self.timetable.set(child, state.device.next_event());
        answer
    }

    /// Passes a change of `device` on to all children; returns false if it was for none of them.
    #[cold]
    pub fn change(&mut self, now: Nanos, device: &str, change: Change) -> Result<bool, ChangeError> {
        let mut made = false;
        for (index, state) in self.list.iter_mut().enumerate() {
            made |= state.device.change(now, device, change)?;
            self.timetable.set(index, state.device.next_event());
        }
        Ok(made)
    }

    /// Telemetry of all children together: busy times and counters are sums, the state is the worst one, and the used
    /// life is the mean weighted by capacity.
    pub fn telemetry(&self) -> Telemetry {
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
            all.counts_erases |= one.counts_erases;
            life += u128::from(one.life_used.as_parts_per_billion()) * u128::from(state.device.capacity().0);
            capacity += u128::from(state.device.capacity().0);
            one.busy.iter().for_each(|busy| add_busy(&mut all.busy, busy));
        }
        if let Some(mean) = life.checked_div(capacity) {
            all.life_used = Ratio::parts_per_billion(mean as u64);
        }
        all
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Tag};

    /// A device without requests, which may be able to pause wear levelling.
    #[derive(Default)]
    struct Commanded {
        levels: bool,
        heard: Vec<Control>,
    }

    impl Device for Commanded {
        fn capacity(&self) -> Bytes {
            Bytes::ZERO
        }
        fn free_slots(&self) -> usize {
            0
        }
        fn submit(&mut self, _: Nanos, _: Tag, _: Request) {}
        fn next_event(&self) -> Nanos {
            Nanos::NEVER
        }
        fn advance(&mut self, _: Nanos, _: &mut Vec<Completion>) {}
        fn control(&mut self, _: Nanos, command: Control) -> Result<(), Unsupported> {
            self.heard.push(command);
            if self.levels { Ok(()) } else { Err(Unsupported("wear-levelling")) }
        }
        fn telemetry(&self) -> Telemetry {
            Telemetry::default()
        }
    }

    fn answer(levels: &[bool], command: Control) -> (bool, usize) {
        let device = |&levels: &bool| Box::new(Commanded { levels, heard: Vec::new() });
        let mut children: Children<_, ()> = Children::new(levels.iter().map(device).collect());
        let answer = children.control(Nanos::ZERO, command);
        (answer.is_ok(), children.iter().map(|(device, _)| device.heard.len()).sum())
    }

    #[test]
    fn a_pause_of_levelling_goes_to_all_children_and_one_that_supports_it_is_enough() {
        let pause = Control::PauseWearLevelling(true);
        assert_eq!(answer(&[false, true, false], pause), (true, 3));
        assert_eq!(answer(&[true, false], pause), (true, 2));
        assert_eq!(answer(&[false, false], pause), (false, 2));
        // Other commands stop at the first child that does not know them.
        assert_eq!(answer(&[true, false, true], Control::StartMeasuring), (false, 2));
        assert_eq!(answer(&[true, true], Control::StartMeasuring), (true, 2));
    }
}
