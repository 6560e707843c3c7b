//! Faults that somebody makes at an emulated device, and their end.

use std::io;

use esker_core::{Change, ChangeError, DeviceError, Nanos, Ratio, RequestKind};
use esker_volume::{Clock, Reply, ReplyData};

use super::{EmulatedDevice, Ended, UnderWay};
use crate::failing::Failing;
use crate::status::EmulationStatus;

/// The faults of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faults {
    failing: Failing,
    power: Power,
    /// When the power comes back.
    power_on_at: Nanos,
    slow: Ratio,
    pub(super) power_cuts: u64,
}

/// Whether a device has power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Power {
    On,
    /// It was cut, and nobody has noticed yet.
    JustCut,
    Off,
}

impl Default for Faults {
    fn default() -> Self {
        let (failing, power_on_at) = (Failing::None, Nanos::NEVER);
        Self { failing, power: Power::On, power_on_at, slow: Ratio::ONE, power_cuts: 0 }
    }
}

impl Faults {
    /// The error of a request of this kind, if it fails.
    pub(super) fn error_of(&self, kind: RequestKind) -> Option<DeviceError> {
        let fails = match self.failing {
            _ if self.power != Power::On => true,
            Failing::None => false,
            Failing::Writes => kind != RequestKind::Read,
            Failing::All => true,
        };
        fails.then_some(DeviceError::Failed)
    }

    pub(super) fn next_event(&self) -> Nanos {
        self.power_on_at
    }

    /// Whoever uses the device has seen at `now` whether it has power.
    pub(super) fn were_seen(&mut self, now: Nanos) {
        if self.power == Power::JustCut {
            self.power = Power::Off;
        }
        if self.power_on_at <= now {
            (self.power, self.power_on_at) = (Power::On, Nanos::NEVER);
        }
    }
}

impl<C: Clock> EmulatedDevice<C> {
    /// Has everything in the simulated device take `factor` times as long as its settings say, from now on. One
    /// restores its speed.
    ///
    /// # Errors
    /// If the factor is zero, or if the simulated device was not assembled for such a change.
    pub fn slow(&mut self, factor: Ratio) -> Result<(), ChangeError> {
        if factor == Ratio::ZERO {
            let hint = "10 makes it ten times slower, 1 restores its speed".to_string();
            return Err(ChangeError::new("no device works in no time").with_hint(Some(hint)));
        }
        self.advance();
        if !self.device.change(self.now, &self.name, Change::Slow { factor })? {
            return Err(ChangeError::new(format!("{} does not change its speed", self.name)));
        }
        self.faults.slow = factor;
        Ok(())
    }

    /// Has requests fail, those under way included: they change nothing. [`Failing::None`] ends this.
    pub fn fail(&mut self, failing: Failing) {
        self.advance();
        self.faults.failing = failing;
    }

    /// Cuts the power. Requests under way fail, also those that have ended and whose reply was not taken. Of what was
    /// not durable an arbitrary part is lost, in whole sectors; of what the requests under way would have changed, an
    /// arbitrary part is there. The power comes back after `off`, or with [`Self::power_on`].
    ///
    /// The simulated device goes on with what it has: it knows nothing of this, and takes no time to recover.
    ///
    /// # Errors
    /// If the data cannot be read or written. The power is off all the same.
    pub fn cut_power(&mut self, off: Option<Nanos>) -> io::Result<()> {
        self.advance();
        let (now, cuts) = (self.now, self.faults.power_cuts);
        let failed = |tag| Reply { tag, at: now, result: Err(DeviceError::Failed), data: ReplyData::default() };
        self.ended.iter_mut().for_each(|ended| ended.reply = failed(ended.reply.tag));
        let lost: Vec<&UnderWay> = self.under_way.iter().filter(|request| request.power_cuts == cuts).collect();
        let reply = |lost: &&UnderWay| Ended { request: lost.request, arrived: now, reply: failed(lost.tag) };
        self.ended.extend(lost.iter().map(reply));
        let done = self.medium.cut_power(lost.iter().map(|lost| (&lost.request, &lost.data[..])));
        // Only what the simulated device has got ends there.
        self.waiting.drain(..).for_each(|own| drop(self.under_way.remove(own)));
        let power_on_at = off.map_or(Nanos::NEVER, |off| now + off);
        self.faults = Faults { power: Power::JustCut, power_on_at, power_cuts: cuts + 1, ..self.faults };
        done
    }

    /// Switches the power on: at once if there was a step without power, otherwise with the next one.
    pub fn power_on(&mut self) {
        self.advance();
        match self.faults.power {
            Power::On => {}
            Power::JustCut => self.faults.power_on_at = self.now,
            Power::Off => (self.faults.power, self.faults.power_on_at) = (Power::On, Nanos::NEVER),
        }
    }

    /// Returns false while the power is off: nobody is connected then.
    pub fn has_power(&self) -> bool {
        self.faults.power == Power::On
    }

    /// What the device says of itself.
    pub fn status(&self) -> EmulationStatus {
        let Faults { failing, slow, power_cuts, .. } = self.faults;
        EmulationStatus {
            device: self.name.clone(),
            capacity_bytes: self.capacity().0,
            has_power: self.has_power(),
            power_cuts,
            failing,
            slow: slow.as_f64(),
            has_volatile_cache: self.medium.is_volatile(),
            volatile_bytes: self.medium.volatile_bytes(),
            response_times: self.figures.times(),
            punctuality: self.figures.punctuality(self.since, self.clock.now()),
        }
    }
}
