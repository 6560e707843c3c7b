//! A host, an engine, its devices and its journal. Effects are performed in any order.

use std::collections::VecDeque;
use std::fmt::{self, Debug};
use std::ops::{Deref, DerefMut};

use esker_core::{Bytes, DeviceError, FaultPlan, Lba, MachineLoop, Nanos, Request, Rng};

use super::host::Host;
use super::journal::Journal;
use super::{Device, Rules, Store};
use crate::engine::{Checkpoint, DataRef, Effect, Engine, Input};
use crate::extent::DeviceIndex;

/// Timers in a row without any other effect after which nothing more is expected of an engine.
const IDLE_TIMERS: u32 = 3;

/// An engine and everything around it.
pub struct World<R: Rules> {
    machine: MachineLoop<R::Engine>,
    around: Around<R>,
    /// A checkpoint that is being taken in steps.
    checkpoint: Option<Checkpoint>,
}

/// Everything around an engine.
pub struct Around<R> {
    pub rules: R,
    pub host: Host,
    pub devices: Vec<Device>,
    pub journal: Journal,
    /// Effects that have yet to be performed.
    pub effects: Vec<Effect>,
    /// Inputs that the engine has yet to take.
    pub inputs: VecDeque<Input>,
    /// The time, which no two requests of the host share.
    pub step: u64,
    pub rng: Rng,
}

impl<R: Rules> World<R> {
    /// A new engine over `stores`, whose host finds zeroes everywhere.
    pub fn of(rules: R, stores: impl IntoIterator<Item = Store>, seed: u64) -> Self {
        let engine = rules.prepare(rules.restore(&Checkpoint::default(), &[]));
        let sectors = (engine.capacity().0 / 512) as usize;
        let devices = stores.into_iter().zip(seed..).map(|(store, seed)| Device::new(store, seed)).collect();
        let around = Around {
            rules,
            host: Host::new(sectors, seed.is_multiple_of(2)),
            devices,
            journal: Journal::default(),
            effects: Vec::new(),
            inputs: VecDeque::new(),
            step: 0,
            rng: Rng::new(seed),
        };
        Self { machine: MachineLoop::new(Box::new(engine), Nanos(0)), around, checkpoint: None }
    }

    pub fn engine(&self) -> &R::Engine {
        self.machine.machine()
    }

    /// The engine. What has effects goes through [`Self::act`].
    pub fn engine_mut(&mut self) -> &mut R::Engine {
        self.machine.machine_mut()
    }

    pub fn tell(&mut self, input: Input) {
        self.machine.tell(self.around.now(), input, &mut self.around);
    }

    /// Lets `act` change the engine, and takes the effects that it appends.
    pub fn act<T>(&mut self, act: impl FnOnce(&mut R::Engine, &mut Vec<Effect>) -> T) -> T {
        let result = self.machine.act(self.around.now(), &mut self.around, act);
        self.engine().check();
        result
    }

    /// Hands a request to the engine, unless its sectors are in use and the host does not overlap requests.
    pub fn submit(&mut self, request: Request) {
        if self.around.host.waits(&request) {
            return;
        }
        self.around.step += 1;
        let tag = self.around.host.send(request, self.around.step);
        self.tell(Input::Host { tag, request });
    }

    /// Performs one effect, or lets the timer come, as chance decides. Returns false if there was none.
    pub fn perform_one(&mut self) -> bool {
        let timer = u64::from(self.machine.timer().is_some());
        let waiting = self.around.waiting();
        if waiting + timer == 0 {
            return false;
        }
        match self.around.rng.below(waiting + timer) {
            index if index < waiting => self.perform_effect(index as usize),
            _ => self.wake(),
        }
        true
    }

    /// Performs the effect at `index`, or reports the end of a request if there are no more effects.
    fn perform_effect(&mut self, index: usize) {
        self.around.step += 1;
        match index.checked_sub(self.around.effects.len()) {
            None => self.around.perform(index),
            Some(index) => self.around.report(index),
        }
        self.machine.settle(self.around.now(), &mut self.around);
        self.engine().check();
    }

    /// Lets time pass until the timer is due.
    fn wake(&mut self) {
        let Some(due) = self.machine.timer() else { return };
        self.around.step = (self.around.step + 1).max(due.0);
        while self.machine.timer() == Some(due) {
            self.machine.advance(self.around.now(), None, &mut self.around);
        }
        self.engine().check();
    }

    /// Performs effects until there are none, and timers until several of them have caused none.
    pub fn drain(&mut self) {
        let mut idle_timers = 0;
        while idle_timers < IDLE_TIMERS {
            let waiting = self.around.waiting();
            if waiting > 0 {
                let index = self.around.rng.below(waiting) as usize;
                self.perform_effect(index);
                idle_timers = 0;
            } else if self.machine.timer().is_some() {
                self.wake();
                idle_timers += 1;
            } else {
                break;
            }
        }
        R::check_at_rest(&mut self.around);
        assert!(self.around.host.is_idle(), "requests without an answer");
    }

    /// Reads every sector, once everything has ended. `None` for a sector that cannot be read.
    pub fn read_everything(&mut self) -> Vec<Option<u64>> {
        self.drain();
        self.around.host.forget_seen();
        for sector in 0..self.around.host.history.len() as u64 {
            self.submit(Request::read(Lba(sector), Bytes(512)));
        }
        self.drain();
        self.around.host.seen().to_vec()
    }

    /// Begins a checkpoint, or adds up to `most` extents or lines to it. A complete one has to equal the map that the
    /// records up to it make.
    pub fn step_checkpoint(&mut self, most: u32) -> Result<(), String> {
        // After a failure of the journal, no checkpoint can be relied on.
        if self.around.journal.failed {
            return Ok(());
        }
        let Some(mut checkpoint) = self.checkpoint.take() else {
            let through = self.engine_mut().begin_checkpoint();
            self.checkpoint = Some(Checkpoint { through, records: Vec::new() });
            return Ok(());
        };
        if !self.engine_mut().continue_checkpoint(most, &mut |record| checkpoint.records.push(record)) {
            self.checkpoint = Some(checkpoint);
            return Ok(());
        }
        let Journal { base, .. } = &self.journal;
        let mut replayed = self.rules.restore(base, self.journal.issued_through(checkpoint.through));
        let expected = Checkpoint::of(&mut replayed);
        if checkpoint == expected { Ok(()) } else { Err(format!("{checkpoint:?} instead of {expected:?}")) }
    }

    /// Loses power, and restores the engine from the data and records that survive. The first half of the records is
    /// applied through a checkpoint.
    pub fn crash(self) -> Self {
        let mut around = self.around;
        let records = around.journal.survivors(&mut around.rng);
        let (first, second) = records.split_at(records.len() / 2);
        let base = Checkpoint::of(&mut around.rules.restore(&around.journal.base, first));
        let mut engine = around.rules.restore(&base, second);
        let base = Checkpoint::of(&mut engine);
        assert_eq!(base, Checkpoint::of(&mut around.rules.restore(&around.journal.base, &records)));
        let engine = around.rules.prepare(engine);
        engine.check();
        around.devices.iter_mut().for_each(|device| device.lose_power(&mut around.rng));
        around.journal = Journal::after(base, around.journal.failures);
        around.host.lose_power();
        (around.effects, around.inputs) = (Vec::new(), VecDeque::new());
        let machine = MachineLoop::new(Box::new(engine), around.now());
        let mut world = Self { machine, around, checkpoint: None };
        R::restarted(&mut world);
        world
    }

    /// Reads everything after a crash, while nothing fails: each sector has one of the values that it may have, and
    /// has to keep that value. The error names a sector that is wrong.
    pub fn check_survivors(&mut self) -> Result<(), String> {
        let plans = self.around.take_plans();
        let history = self.around.host.forget_history();
        for (sector, value) in self.read_everything().into_iter().enumerate() {
            let value = value.expect("nothing fails");
            if !history[sector].may_survive(value) {
                return Err(format!("sector {sector}: {value}, not in {:?}", history[sector]));
            }
            self.around.host.is_now(sector, value);
        }
        self.around.set_plans(&plans.0, plans.1);
        Ok(())
    }
}

impl<R: Rules> Around<R> {
    pub fn now(&self) -> Nanos {
        Nanos(self.step)
    }

    pub fn device(&self, device: DeviceIndex) -> &Device {
        &self.devices[usize::from(device.0)]
    }

    /// Has devices fail as `plans` say; the last of them counts for all that follow. One in `journal` attempts to make
    /// records durable fails; none if 0.
    pub fn set_plans(&mut self, plans: &[FaultPlan], journal: u64) {
        let plans = plans.iter().chain(std::iter::repeat(plans.last().expect("a plan")));
        self.devices.iter_mut().zip(plans).for_each(|(device, plan)| device.set_plan(*plan));
        self.journal.failures = journal;
    }

    /// Ends all failures, and returns how often there were some.
    fn take_plans(&mut self) -> (Vec<FaultPlan>, u64) {
        let plans = self.devices.iter().map(|device| device.plan).collect();
        let journal = self.journal.failures;
        self.set_plans(&[FaultPlan::default()], 0);
        (plans, journal)
    }

    /// Returns true if unflushed data may be lost, or the journal takes no more records.
    pub fn has_lost_data(&self) -> bool {
        self.journal.failed || self.devices.iter().any(|device| device.store.failed)
    }

    /// Returns true if a write, a trim or a flush has failed on any device.
    pub fn has_failed_writes(&self) -> bool {
        self.devices.iter().any(|device| device.writes_failed)
    }

    /// Number of effects to perform, and of devices with ends to report.
    fn waiting(&self) -> u64 {
        let ends = self.devices.iter().filter(|device| !device.ends.is_empty());
        (self.effects.len() + ends.count()) as u64
    }

    /// Reports an end of the device at `index` among those that have some.
    fn report(&mut self, index: usize) {
        let mut devices = self.devices.iter_mut().filter(|device| !device.ends.is_empty());
        let device = devices.nth(index).expect("it has ends to report");
        self.inputs.push_back(device.report(&mut self.rng));
    }

    /// Performs the effect at `index`, if it can be performed now.
    fn perform(&mut self, index: usize) {
        match self.effects[index].clone() {
            Effect::Io { io, device, request, data, .. } => {
                self.effects.swap_remove(index);
                let result = self.perform_io(device, &request, data);
                let end = Input::Done { io, at: self.now(), result };
                self.devices[usize::from(device.0)].performed(request.kind, end);
            }
            Effect::Record { number, record } => {
                self.effects.swap_remove(index);
                self.journal.append(number, record);
            }
            Effect::Harden { .. } if self.journal.failed || self.journal_fails() => {
                self.effects.swap_remove(index);
                if !std::mem::replace(&mut self.journal.failed, true) {
                    self.inputs.push_back(Input::JournalFailed);
                }
            }
            // A hardening waits for records that have not reached the journal yet.
            Effect::Harden { through } if self.journal.has_all(through) => {
                self.effects.swap_remove(index);
                self.journal.hardened = self.journal.hardened.max(through);
                self.inputs.push_back(Input::Durable { through });
            }
            Effect::Harden { .. } => {}
            effect => panic!("performed at once: {effect:?}"),
        }
    }

    fn perform_io(&mut self, device: DeviceIndex, request: &Request, data: Option<DataRef>) -> Result<(), DeviceError> {
        if let Some(error) = R::refuse(self, device, request, data) {
            return Err(error);
        }
        self.devices[usize::from(device.0)].perform(request, data, &mut self.host.buffers, &mut self.rng)?;
        R::performed(self, device, request);
        Ok(())
    }

    fn journal_fails(&mut self) -> bool {
        self.journal.failures > 0 && self.rng.chance(1, self.journal.failures)
    }
}

impl<R: Rules> esker_core::World<R::Engine> for Around<R> {
    /// Answers and steps on buffers happen at once; other effects wait for their turn.
    fn perform(&mut self, _: Nanos, effect: &Effect, engine: &R::Engine) {
        match *effect {
            Effect::Io { device, request, .. } => R::check_io(self, engine, device, &request),
            Effect::Record { number, record } => {
                self.journal.issue(number, record);
                R::check_record(self, engine, record);
            }
            Effect::Harden { .. } => {}
            Effect::Buffer(step) => return self.host.buffers.step(step),
            Effect::Reply { tag, result } => {
                let may_be_old = self.has_lost_data();
                let (request, sent) = self.host.answered(tag, result, self.step, may_be_old);
                let is_allowed = result.err().is_none_or(|error| R::may_fail(self, &request, sent, error));
                return assert!(is_allowed, "{request:?}: {result:?}");
            }
            _ => return R::perform(self, effect, engine),
        }
        self.effects.push(effect.clone());
    }

    fn next_input(&mut self, now: Nanos) -> Option<(Nanos, Input)> {
        Some((now, self.inputs.pop_front()?))
    }
}

impl<R: Rules + Debug> Debug for World<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Around { rules, step, .. } = &self.around;
        f.debug_struct("World").field("rules", rules).field("engine", self.engine()).field("step", step).finish()
    }
}

impl<R: Rules> Deref for World<R> {
    type Target = Around<R>;
    fn deref(&self) -> &Around<R> {
        &self.around
    }
}

impl<R: Rules> DerefMut for World<R> {
    fn deref_mut(&mut self) -> &mut Around<R> {
        &mut self.around
    }
}
