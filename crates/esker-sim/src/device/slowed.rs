//! A device whose clock may run slower or faster than that of the run, for [`Change::Slow`].

#[cfg(test)]
mod tests;

use esker_core::{
    BusyTime, Bytes, CannotOwn, Change, ChangeError, Completion, Control, Device, Lba, Nanos, Ownable, OwnedRoom,
    Ratio, Request, Retention, Tag, Telemetry, Unsupported,
};
use esker_results::{Composite, Report, Reporting};

use crate::measured::resource_name;

/// A device with a clock of its own. Until the first change it is the same as the device alone. Put around devices
/// without children: others take no time of their own.
///
/// The device's time is a whole number of nanoseconds, too. A request that comes while the device works may therefore
/// reach it a little later than it was sent, by less than the factor in nanoseconds. Into an idle device it comes
/// exactly.
pub(crate) struct Slowed {
    /// Its name in reports.
    name: String,
    /// The devices whose changes of speed apply to this one: itself and those above it.
    follows: Vec<String>,
    device: Box<dyn Reporting>,
    clock: Clock,
    /// Time of the device's next event, by the clock of the run.
    next: Nanos,
    under_way: usize,
    last_event: Nanos,
    measured_from: Nanos,
    /// Whether its speed has changed since measuring began.
    changed: bool,
    /// Busy times up to the last change, by the clock of the run...
    busy_before: Vec<BusyTime>,
    /// ... and by the device's own.
    own_busy_before: Vec<BusyTime>,
}

impl Slowed {
    /// `device`, which is called `name` in reports and changes its speed with any device of `follows`.
    pub(crate) fn new(name: &str, follows: Vec<String>, device: Box<dyn Reporting>) -> Self {
        let next = device.next_event();
        Self {
            name: name.to_string(),
            follows,
            device,
            clock: Clock::default(),
            next,
            under_way: 0,
            last_event: Nanos::ZERO,
            measured_from: Nanos::ZERO,
            changed: false,
            busy_before: Vec::new(),
            own_busy_before: Vec::new(),
        }
    }

    /// Returns the device's own time at `now`.
    fn own_time(&mut self, now: Nanos) -> Nanos {
        let event = self.device.next_event();
        if self.under_way == 0 && event == Nanos::NEVER {
            // Nothing depends on the fraction of a nanosecond that its clock shows.
            self.clock.restart(now, self.clock.factor());
        }
        self.clock.own(now).min(event)
    }

    fn refresh(&mut self) {
        self.next = self.clock.of_run(self.device.next_event());
    }

    fn set_factor(&mut self, now: Nanos, factor: Ratio) {
        let own = self.own_time(now);
        self.busy_before = self.busy();
        self.own_busy_before = self.device.telemetry().busy;
        self.clock.turn(now, own, factor);
        self.changed |= now > self.measured_from;
        self.refresh();
    }

    /// Busy times by the clock of the run. Work counts in full when the device counts it, at the speed of then.
    fn busy(&self) -> Vec<BusyTime> {
        let mut all = self.device.telemetry().busy;
        for busy in &mut all {
            let find = |list: &[BusyTime]| list.iter().find(|before| before.kind == busy.kind).copied();
            let (before, own_before) = (find(&self.busy_before), find(&self.own_busy_before));
            let of = |time: Nanos, select: fn(&BusyTime) -> Nanos| {
                let past = own_before.as_ref().map_or(Nanos::ZERO, select);
                let since = scaled_up(time.saturating_sub(past), self.clock.factor());
                before.as_ref().map_or(Nanos::ZERO, select) + since
            };
            (busy.busy, busy.busiest) = (of(busy.busy, |one| one.busy), of(busy.busiest, |one| one.busiest));
        }
        all
    }
}

impl Device for Slowed {
    fn capacity(&self) -> Bytes {
        self.device.capacity()
    }

    fn free_slots(&self) -> usize {
        self.device.free_slots()
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(now >= self.last_event && now <= self.next, "an event was skipped");
        let own = self.own_time(now);
        self.last_event = now;
        self.device.submit(own, tag, request);
        self.under_way += 1;
        self.refresh();
    }

    fn next_event(&self) -> Nanos {
        self.next
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert!(now == self.next, "an event was skipped");
        self.last_event = now;
        let earlier = done.len();
        self.device.advance(self.device.next_event(), done);
        for completion in &mut done[earlier..] {
            completion.service_start = self.clock.of_run(completion.service_start);
            completion.at = now;
        }
        self.under_way -= done.len() - earlier;
        self.refresh();
    }

    fn expect(&self, request: &Request) {
        self.device.expect(request);
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        let own = self.own_time(now);
        self.device.control(own, command)?;
        if command == Control::StartMeasuring {
            (self.measured_from, self.changed) = (now, false);
            (self.busy_before, self.own_busy_before) = (Vec::new(), Vec::new());
        }
        self.refresh();
        Ok(())
    }

    fn change(&mut self, now: Nanos, device: &str, change: Change) -> Result<bool, ChangeError> {
        match change {
            Change::Slow { factor } if self.follows.iter().any(|name| name == device) => {
                self.set_factor(now, factor);
                Ok(true)
            }
            _ => {
                let own = self.own_time(now);
                let made = self.device.change(own, device, change)?;
                self.refresh();
                Ok(made)
            }
        }
    }

    fn telemetry(&self) -> Telemetry {
        Telemetry { busy: self.busy(), ..self.device.telemetry() }
    }

    fn ownable(&mut self) -> Option<&mut dyn Ownable> {
        if self.device.ownable().is_some() { Some(self) } else { None }
    }
}

impl Slowed {
    fn owned(&mut self) -> &mut dyn Ownable {
        self.device.ownable().expect("only such a device is asked")
    }
}

impl Ownable for Slowed {
    fn own(&mut self, drops: bool) -> Result<OwnedRoom, CannotOwn> {
        let room = self.owned().own(drops);
        self.refresh();
        room
    }

    fn retain(&mut self, start: Lba, length: Bytes, retention: Retention) {
        self.owned().retain(start, length, retention);
    }

    fn take_dropped(&mut self) -> Option<(Lba, Bytes)> {
        self.owned().take_dropped()
    }

    fn take_room(&mut self) -> Option<OwnedRoom> {
        self.owned().take_room()
    }
}

impl Reporting for Slowed {
    fn report(&self, into: &mut Report) {
        let end = into.end(self.last_event);
        let own_end = self.clock.own(end).min(self.device.next_event());
        let mut own = Report::until(own_end, &*self.device);
        let elapsed = end.saturating_sub(self.measured_from).0 as f64;
        if self.changed && elapsed > 0.0 {
            // The device divides by the time of its own clock. At one speed its shares are right.
            let report = own.devices.get_mut(&self.name).expect("a device reports about itself");
            for busy in self.busy() {
                let name = resource_name(busy.kind);
                // Work counts in full at the speed at which it began, and may have ended at a higher one.
                let share = |busy: f64| (busy / elapsed).min(1.0);
                let mean = share(busy.busy.0 as f64 / f64::from(busy.count.max(1)));
                report.utilisation.entry(name.to_string()).and_modify(|share| *share = mean);
                let busiest = share(busy.busiest.0 as f64);
                report.utilisation_busiest.entry(name.to_string()).and_modify(|share| *share = busiest);
            }
        }
        own.devices.into_iter().for_each(|(name, report)| into.add(&name, report));
    }

    fn composite(&self) -> Option<&dyn Composite> {
        self.device.composite()
    }
}

/// What a device's own clock shows at each moment of the run.
#[derive(Clone, Debug)]
struct Clock {
    /// In order of time. Earlier ones are kept for requests that began then.
    stretches: Vec<Stretch>,
}

/// A time of constant speed.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Its beginning, by the clock of the run.
    begin: Nanos,
    /// Its beginning, by the device's own.
    own_begin: Nanos,
    factor: Ratio,
}

impl Default for Clock {
    fn default() -> Self {
        Self { stretches: vec![Stretch { begin: Nanos::ZERO, own_begin: Nanos::ZERO, factor: Ratio::ONE }] }
    }
}

impl Clock {
    fn last(&self) -> &Stretch {
        self.stretches.last().expect("there is always one")
    }

    fn factor(&self) -> Ratio {
        self.last().factor
    }

    /// The device's own time at `now`, rounded up: no request begins before it was sent.
    fn own(&self, now: Nanos) -> Nanos {
        let within = self.stretches.iter().rev().find(|stretch| stretch.begin <= now);
        let Stretch { begin, own_begin, factor } = *within.unwrap_or(&self.stretches[0]);
        if now < begin {
            // The device has been idle since then.
            return own_begin.saturating_sub(scaled_down(begin - now, factor));
        }
        // Above this time, the device's next event is too late for any run, which ends it with an error.
        (own_begin + scaled_down(now - begin, factor)).min(Nanos(Nanos::LAST.0 + 1))
    }

    /// The time of the run at which the device's clock shows `own`, rounded up.
    fn of_run(&self, own: Nanos) -> Nanos {
        if own == Nanos::NEVER {
            return own;
        }
        let within = self.stretches.iter().rev().find(|stretch| stretch.own_begin <= own);
        let Stretch { begin, own_begin, factor } = *within.unwrap_or(&self.stretches[0]);
        begin + scaled_up(own.saturating_sub(own_begin), factor)
    }

    /// From `now` on, where the clock shows `own`, it has another speed.
    fn turn(&mut self, now: Nanos, own: Nanos, factor: Ratio) {
        self.stretches.push(Stretch { begin: now, own_begin: own, factor });
    }

    /// Forgets everything before `now`.
    fn restart(&mut self, now: Nanos, factor: Ratio) {
        let own_begin = self.own(now);
        self.stretches.clear();
        self.stretches.push(Stretch { begin: now, own_begin, factor });
    }
}

const WHOLE: u128 = Ratio::ONE.as_parts_per_billion() as u128;

/// `time * factor`, rounded up.
fn scaled_up(time: Nanos, factor: Ratio) -> Nanos {
    nanos((u128::from(time.0) * u128::from(factor.as_parts_per_billion())).div_ceil(WHOLE))
}

/// `time / factor`, rounded up.
fn scaled_down(time: Nanos, factor: Ratio) -> Nanos {
    nanos((u128::from(time.0) * WHOLE).div_ceil(u128::from(factor.as_parts_per_billion())))
}

/// What is too large for a time becomes one that is later than any run.
fn nanos(count: u128) -> Nanos {
    Nanos(u64::try_from(count).unwrap_or(u64::MAX).min(Nanos::NEVER.0 - 1))
}
