//! State machines that read no clock and do no I/O, and the loop that runs one of them. The loop is the same over
//! simulated devices, over real stores, and in tests: they differ in the [`World`] that performs effects.

mod faults;

use crate::Nanos;

pub use faults::{FaultPlan, Faults};

/// A state machine. It learns what has happened from inputs, and asks for something to be done by effects.
pub trait Machine {
    /// What may happen to it.
    type Input: MachineInput;
    /// What it may ask for.
    type Effect: MachineEffect;

    /// Takes one input and appends the effects that follow from it to `effects`. `now` never goes back.
    fn on(&mut self, now: Nanos, input: Self::Input, effects: &mut Vec<Self::Effect>);

    /// Returns how often the machine wants to hear about the state of its world ([`World::look`]); `None` for never.
    fn look_period(&self) -> Option<Nanos> {
        None
    }
}

/// An input of a machine.
pub trait MachineInput {
    /// The time has come for which the machine had set a timer.
    fn timer() -> Self;
}

/// An effect of a machine.
pub trait MachineEffect {
    /// Returns the time for which this effect sets a timer; `None` for all other effects.
    fn timer_at(&self) -> Option<Nanos>;
}

/// What surrounds a machine: devices, a journal, a host, other machines.
pub trait World<M: Machine + ?Sized> {
    /// Performs an effect of `machine`, or begins to. Timers are left to the loop.
    fn perform(&mut self, now: Nanos, effect: &M::Effect, machine: &M);

    /// Takes the next input that the machine has to hear before anything else happens.
    fn urgent_input(&mut self) -> Option<M::Input> {
        None
    }

    /// Takes the next input that is due at `now`, with its time, which may be later than `now` if the world has its own
    /// clock.
    fn next_input(&mut self, now: Nanos) -> Option<(Nanos, M::Input)>;

    /// Looks at the state of the world, and appends the inputs that tell the machine about it.
    fn look(&mut self, now: Nanos, inputs: &mut Vec<M::Input>) {
        let _ = (now, inputs);
    }
}

/// Called with the time of each effect, before it is performed.
pub type EffectLog<E> = Box<dyn FnMut(Nanos, &E) + Send>;

/// Runs a machine: hands it inputs, has the world perform its effects, and keeps its timer.
pub struct MachineLoop<M: Machine + ?Sized> {
    machine: Box<M>,
    /// Effects of the input that is being handled.
    effects: Vec<M::Effect>,
    /// Time of the timer that is due first. Effects that set a later one are repeated by the machine.
    timer_at: Nanos,
    look_at: Nanos,
    looked: Vec<M::Input>,
    log: Option<EffectLog<M::Effect>>,
}

impl<M: Machine + ?Sized> MachineLoop<M> {
    /// Creates the loop of `machine`, which begins at `now`.
    pub fn new(machine: Box<M>, now: Nanos) -> Self {
        let look_at = machine.look_period().map_or(Nanos::NEVER, |period| now + period);
        Self { machine, effects: Vec::new(), timer_at: Nanos::NEVER, look_at, looked: Vec::new(), log: None }
    }

    /// Calls `log` for every effect, in the order in which they are performed.
    pub fn set_log(&mut self, log: EffectLog<M::Effect>) {
        self.log = Some(log);
    }

    /// Returns true if effects are logged.
    pub fn is_logged(&self) -> bool {
        self.log.is_some()
    }

    /// The machine.
    #[inline]
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The machine. What has effects goes through [`Self::act`].
    #[inline]
    pub fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// Returns when the loop has to do something next: a timer, or a look at the world.
    #[inline]
    pub fn next_event(&self) -> Nanos {
        self.timer_at.min(self.look_at)
    }

    /// Returns when the machine's timer is due, if it has set one.
    #[inline]
    pub fn timer(&self) -> Option<Nanos> {
        (self.timer_at != Nanos::NEVER).then_some(self.timer_at)
    }

    /// Has the machine hear about the world at `at`, if it would not have earlier.
    pub fn look_by(&mut self, at: Nanos) {
        self.look_at = self.look_at.min(at);
    }

    /// Hands `input` to the machine and has its effects performed.
    #[inline]
    pub fn tell<W: World<M>>(&mut self, now: Nanos, input: M::Input, world: &mut W) {
        self.machine.on(now, input, &mut self.effects);
        self.perform(now, world);
    }

    /// Lets `act` change the machine, and has the effects performed that it appends. The machine may then want to look
    /// at the world that it did not look at before.
    pub fn act<T, W: World<M>>(
        &mut self,
        now: Nanos,
        world: &mut W,
        act: impl FnOnce(&mut M, &mut Vec<M::Effect>) -> T,
    ) -> T {
        let result = act(&mut self.machine, &mut self.effects);
        if let Some(period) = self.machine.look_period() {
            self.look_by(now + period);
        }
        self.perform(now, world);
        result
    }

    /// Hands over all inputs that the world has by `now`, and returns the time of the last of them.
    #[inline]
    pub fn settle<W: World<M>>(&mut self, mut now: Nanos, world: &mut W) -> Nanos {
        while let Some((at, input)) = world.next_input(now) {
            now = now.max(at);
            self.tell(now, input, world);
        }
        now
    }

    /// Does what was due first, at [`Self::next_event`] or a little later: the timer, or else a look at the world. For
    /// a machine that never wants to look, the next look is `or_after` from now.
    pub fn advance<W: World<M>>(&mut self, now: Nanos, or_after: Option<Nanos>, world: &mut W) {
        if self.timer_at <= self.look_at {
            self.timer_at = Nanos::NEVER;
            return self.tell(now, M::Input::timer(), world);
        }
        self.look_at = self.machine.look_period().or(or_after).map_or(Nanos::NEVER, |period| now + period);
        let mut looked = std::mem::take(&mut self.looked);
        world.look(now, &mut looked);
        looked.drain(..).for_each(|input| self.tell(now, input, world));
        self.looked = looked;
    }

    /// Hands over what the machine has to hear before anything else happens, after the world did something on its own.
    #[inline]
    pub fn tell_urgent<W: World<M>>(&mut self, now: Nanos, world: &mut W) {
        if let Some(input) = world.urgent_input() {
            self.tell(now, input, world);
        }
    }

    #[inline]
    fn perform<W: World<M>>(&mut self, now: Nanos, world: &mut W) {
        loop {
            // Effects are large: they are read where they are.
            for effect in &self.effects {
                if let Some(log) = &mut self.log {
                    log(now, effect);
                }
                match effect.timer_at() {
                    Some(at) => self.timer_at = self.timer_at.min(at),
                    None => world.perform(now, effect, &self.machine),
                }
            }
            self.effects.clear();
            let Some(input) = world.urgent_input() else { return };
            self.machine.on(now, input, &mut self.effects);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[derive(Debug, PartialEq)]
    enum In {
        Start,
        Timer,
        Told(u32),
        Urgent,
        Looked,
    }
    enum Out {
        Timer(u64),
        Ask(u32),
        Disturb,
    }
    impl MachineInput for In {
        fn timer() -> Self {
            Self::Timer
        }
    }
    impl MachineEffect for Out {
        fn timer_at(&self) -> Option<Nanos> {
            if let Self::Timer(at) = self { Some(Nanos(*at)) } else { None }
        }
    }

    /// Keeps what it has heard; asks for more when it starts.
    #[derive(Default)]
    struct Listener {
        heard: Vec<(u64, In)>,
        look_period: Option<Nanos>,
    }
    impl Machine for Listener {
        type Input = In;
        type Effect = Out;
        fn on(&mut self, now: Nanos, input: In, effects: &mut Vec<Out>) {
            if input == In::Start {
                effects.extend([Out::Timer(50), Out::Ask(1), Out::Timer(30), Out::Disturb, Out::Ask(2)]);
            }
            self.heard.push((now.0, input));
        }
        fn look_period(&self) -> Option<Nanos> {
            self.look_period
        }
    }

    /// Answers ten nanoseconds later.
    #[derive(Default)]
    struct Echo {
        answers: VecDeque<u32>,
        disturbs: bool,
    }
    impl World<Listener> for Echo {
        fn perform(&mut self, _: Nanos, effect: &Out, _: &Listener) {
            match effect {
                Out::Ask(number) => self.answers.push_back(*number),
                Out::Disturb => self.disturbs = true,
                Out::Timer(_) => panic!("timers are left to the loop"),
            }
        }
        fn urgent_input(&mut self) -> Option<In> {
            std::mem::take(&mut self.disturbs).then_some(In::Urgent)
        }
        fn next_input(&mut self, now: Nanos) -> Option<(Nanos, In)> {
            Some((now + Nanos(10), In::Told(self.answers.pop_front()?)))
        }
        fn look(&mut self, _: Nanos, inputs: &mut Vec<In>) {
            inputs.push(In::Looked);
        }
    }

    #[test]
    fn a_machine_hears_urgent_inputs_first_and_its_earliest_timer_once() {
        let listener = Listener { look_period: Some(Nanos(40)), ..Listener::default() };
        let (mut world, mut machine) = (Echo::default(), MachineLoop::new(Box::new(listener), Nanos(0)));
        machine.tell(Nanos(0), In::Start, &mut world);
        assert_eq!(machine.settle(Nanos(0), &mut world), Nanos(20));
        while machine.next_event() < Nanos(100) {
            machine.advance(machine.next_event(), None, &mut world);
        }
        let told = [(10, In::Told(1)), (20, In::Told(2))];
        let heard = [(0, In::Start), (0, In::Urgent)].into_iter().chain(told);
        let heard = heard.chain([(30, In::Timer), (40, In::Looked), (80, In::Looked)]);
        assert_eq!(machine.machine().heard, heard.collect::<Vec<_>>());
    }

    #[test]
    fn a_machine_that_is_changed_may_begin_to_look_and_end_it() {
        let (mut world, mut machine) = (Echo::default(), MachineLoop::new(Box::<Listener>::default(), Nanos(0)));
        assert_eq!(machine.next_event(), Nanos::NEVER);
        machine.act(Nanos(5), &mut world, |listener, _| listener.look_period = Some(Nanos(40)));
        // A later change does not put it off.
        machine.act(Nanos(20), &mut world, |_, _| {});
        machine.advance(machine.next_event(), None, &mut world);
        machine.act(Nanos(50), &mut world, |listener, _| listener.look_period = None);
        machine.advance(machine.next_event(), None, &mut world);
        assert_eq!(machine.machine().heard, [(45, In::Looked), (85, In::Looked)]);
        assert_eq!(machine.next_event(), Nanos::NEVER);
    }
}
