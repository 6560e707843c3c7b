//! Engines turn requests of the host into requests to devices. The simulator runs them over models of devices, the
//! volume over files: what runs in one runs in the other.

mod checkpoint;
mod durability;
mod effect;
mod health;
mod hosts;

use std::fmt::Debug;

use esker_core::{Bytes, DeviceState, Nanos, Ratio};

pub use checkpoint::Checkpoint;
pub(crate) use durability::{Durability, Waiting};
pub use effect::{DataRef, Effect, Input, IoId, MapRecord, RecordNumber};
pub(crate) use health::Health;
pub(crate) use hosts::Hosts;

use crate::extent::DeviceIndex;

/// A state machine between a host and devices: it takes [`Input`]s with their times and answers with [`Effect`]s. It
/// reads no clock, does no I/O and sees no data.
///
/// Rules that every engine keeps:
/// - A request is answered once, whole or with its first error by address. A failed request to a device is not
///   repeated.
/// - A flush means: the devices with completed unflushed writes are flushed, then the map's records are durable, then
///   the reply. FUA means the same for one write.
/// - A device whose flush or durable write (FUA) failed, or that lost its power, is [`DeviceState::Failed`] for the
///   rest of the engine's life: what it had taken may be lost, and a second try that says Ok would not bring it back
///   (Linux marks the pages of a failed fsync as clean). From then on writes and trims there fail, and so does every
///   flush of the host; reads go on, and so does everything else on other devices. A failed journal means the same for
///   all devices. Only an engine that is restored from what is durable promises anything again.
pub trait Engine: Debug + Send {
    /// Bytes that the host can address.
    fn capacity(&self) -> Bytes;

    /// Takes one input and appends what is to be done because of it. `now` never goes back.
    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>);

    /// Whether `device` serves, as far as the engine knows.
    fn device_state(&self, device: DeviceIndex) -> DeviceState;

    /// The worst state of a device; failed, too, once the journal has.
    fn state(&self) -> DeviceState;

    /// The map as far as its records have been issued. Where a journal holds all of them, it can begin anew from here.
    /// An engine that computes its places has an empty one.
    fn checkpoint(&self) -> Checkpoint {
        Checkpoint::default()
    }

    /// Gives the first `share` of the host's address space a place, as if it had been written and flushed before; for
    /// simulations of traces whose data were there already. Only while nothing is under way (asserted).
    fn fill(&mut self, share: Ratio) {
        let _ = share;
    }

    /// What became of extents so far; `None` of an engine that computes its places.
    fn movements(&self) -> Option<Movements> {
        None
    }

    /// Asserts what must always hold. For tests: costs the whole map.
    fn check(&self) {}
}

/// Counts of extents that changed their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Movements {
    /// Copied to another device.
    pub moved: u64,
    /// Bytes of them.
    pub moved_bytes: u64,
    /// Copies that came to nothing.
    pub abandoned: u64,
    /// Freed by trims of the host.
    pub freed: u64,
}

impl<E: Engine + ?Sized> Engine for Box<E> {
    fn capacity(&self) -> Bytes {
        (**self).capacity()
    }
    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        (**self).on(now, input, effects);
    }
    fn device_state(&self, device: DeviceIndex) -> DeviceState {
        (**self).device_state(device)
    }
    fn state(&self) -> DeviceState {
        (**self).state()
    }
    fn checkpoint(&self) -> Checkpoint {
        (**self).checkpoint()
    }
    fn fill(&mut self, share: Ratio) {
        (**self).fill(share);
    }
    fn movements(&self) -> Option<Movements> {
        (**self).movements()
    }
    fn check(&self) {
        (**self).check();
    }
}
