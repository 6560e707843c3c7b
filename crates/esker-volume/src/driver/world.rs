//! Stores and a journal as the world of an engine.

use std::collections::VecDeque;
use std::io;

use esker_core::{DeviceError, Nanos, Tag, World};
use esker_tier::{DeviceIndex, Effect, Engine, Input, RecordNumber, Reshape};

use super::{Reply, StuckDrain};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::journal::Journal;
use crate::memory::ReplyData;
use crate::store::{Store, StoreEnd};

/// Stores, a journal, buffers and a clock.
pub(super) struct RealWorld<C> {
    pub(super) stores: Vec<Store>,
    pub(super) journal: Box<dyn Journal>,
    pub(super) clock: C,
    pub(super) buffers: Buffers,
    /// What stores and the journal have ended, and the engine does not know yet.
    inputs: VecDeque<Input>,
    pub(super) replies: VecDeque<Reply>,
    pub(super) drained: Vec<usize>,
    pub(super) stuck: Vec<StuckDrain>,
    ends: Vec<StoreEnd>,
    hardened: Vec<io::Result<RecordNumber>>,
    /// Number of hardenings that the journal has not answered yet.
    hardening: u32,
    journal_failed: bool,
    /// The first error after which data may be lost.
    pub(super) failure: Option<io::Error>,
    /// Whether a store has refused a write since this was last reset.
    pub(super) was_refused: bool,
    /// Whether the journal is to be asked for what has ended although nobody waits for it: it may have failed, and it
    /// has work of its own.
    pub(super) journal_is_due: bool,
    /// Whether a store has got a request since the last [`Self::send`].
    has_submitted: bool,
}

impl<C: Clock> RealWorld<C> {
    pub(super) fn new(stores: Vec<Store>, journal: Box<dyn Journal>, clock: C) -> Self {
        Self {
            stores,
            journal,
            clock,
            buffers: Buffers::default(),
            inputs: VecDeque::new(),
            replies: VecDeque::new(),
            drained: Vec::new(),
            stuck: Vec::new(),
            ends: Vec::new(),
            hardened: Vec::new(),
            hardening: 0,
            journal_failed: false,
            failure: None,
            was_refused: false,
            journal_is_due: true,
            has_submitted: false,
        }
    }

    /// Returns the time of the next event of a store or of the journal.
    pub(super) fn next_event(&self) -> Nanos {
        let stores = self.stores.iter().map(Store::next_event).min();
        stores.unwrap_or(Nanos::NEVER).min(self.journal.next_event())
    }

    /// Performs the event of a store that is due at `now == next_event()`.
    pub(super) fn advance(&mut self, now: Nanos) {
        let wall = now.max(self.clock.now());
        // What is due in the journal is done whenever it is asked for what has ended.
        let Some(due) = self.stores.iter_mut().find(|store| store.next_event() == now) else {
            return self.journal.take_ended(wall, &mut self.hardened);
        };
        due.advance(now, wall, &mut self.buffers, &mut self.ends);
    }

    /// Hands what was submitted to stores and journal to their devices.
    pub(super) fn send(&mut self) -> bool {
        self.stores.iter_mut().for_each(Store::send);
        self.journal.send();
        std::mem::take(&mut self.has_submitted)
    }

    /// Returns true while a store or the journal is working.
    pub(super) fn is_busy(&self) -> bool {
        (self.hardening > 0 && !self.journal_failed) || self.journal.is_busy() || self.stores.iter().any(Store::is_busy)
    }

    /// Returns true while the journal, a checkpoint or superblocks are being written.
    pub(super) fn is_writing_structures(&self) -> bool {
        self.journal.is_busy()
    }

    /// Notes a change of the devices that the engine has accepted.
    pub(super) fn reshaped(&mut self, now: Nanos, reshape: Reshape, store: Option<Store>) {
        self.stores.extend(store);
        match reshape {
            Reshape::Keep { device } | Reshape::Grow { device, .. } => {
                let store = usize::from(device.0);
                self.stores[store].try_again();
                if matches!(reshape, Reshape::Keep { .. }) {
                    self.drained.retain(|&drained| drained != store);
                    self.stuck.retain(|stuck| stuck.store != store);
                }
            }
            // This closes the store's files.
            Reshape::Remove { device } => self.stores[usize::from(device.0)].remove(now),
            _ => {}
        }
    }

    /// Returns true if something may have ended while it was submitted.
    pub(super) fn may_have_ended(&self) -> bool {
        !self.inputs.is_empty() || self.hardening > 0 || self.stores.iter().any(Store::is_immediate)
    }

    /// Turns operations that the stores and the journal have ended into inputs of the engine.
    fn take_ended(&mut self) {
        let now = self.clock.now();
        for (index, store) in self.stores.iter_mut().enumerate() {
            store.take_ended(now, &mut self.buffers, &mut self.ends);
            // Before the ends of reads, which may have returned what the device no longer holds.
            if store.take_news() {
                self.inputs.push_back(device_input(index, store, now));
            }
        }
        if std::mem::take(&mut self.journal_is_due) || self.hardening > 0 {
            self.journal.take_ended(now, &mut self.hardened);
        }
        for StoreEnd { io, at, result, failure } in self.ends.drain(..) {
            if let Some(failure) = failure {
                self.failure.get_or_insert(failure);
            }
            self.was_refused |= matches!(result, Err(DeviceError::NoSpace | DeviceError::ReadOnly));
            self.inputs.push_back(Input::Done { io, at, result });
        }
        for hardened in self.hardened.drain(..) {
            if self.journal_failed {
                break;
            }
            self.hardening = self.hardening.saturating_sub(1);
            self.inputs.push_back(match hardened {
                Ok(through) => Input::Durable { through },
                Err(error) => {
                    self.journal_failed = true;
                    self.failure.get_or_insert(error);
                    Input::JournalFailed
                }
            });
        }
    }

    fn reply(&mut self, at: Nanos, tag: Tag, result: Result<(), DeviceError>) {
        let (data, is_read) = self.buffers.end(tag);
        // The memory of a read that failed may hold data of other requests.
        let data = match (is_read, result) {
            (true, Err(_)) => {
                self.buffers.recycle(data);
                ReplyData::default()
            }
            _ => data,
        };
        self.replies.push_back(Reply { tag, at, result, data });
    }
}

/// What the engine may know about the store at `index`.
fn device_input(index: usize, store: &mut Store, now: Nanos) -> Input {
    Input::Device { device: DeviceIndex(index as u16), telemetry: store.telemetry(now) }
}

impl<E: Engine + ?Sized, C: Clock> World<E> for RealWorld<C> {
    fn perform(&mut self, now: Nanos, effect: &Effect, _: &E) {
        match *effect {
            Effect::Io { io, host: _, device: DeviceIndex(device), request, data } => {
                self.stores[device as usize].submit(now, io, request, data, &mut self.buffers);
                self.has_submitted = true;
            }
            Effect::Buffer(step) => self.buffers.step(step),
            // Neither files nor the kernel's block devices have such commands.
            Effect::Control { device, control } => self.inputs.push_back(Input::Unsupported { device, control }),
            // Stores keep all that they hold.
            Effect::Retain { .. } | Effect::WakeAt(_) => {}
            Effect::Record { number, record } => self.journal.append(number, 0, record),
            Effect::Harden { through } => {
                self.hardening += 1;
                self.journal.harden(through);
            }
            Effect::Reply { tag, result } => self.reply(now, tag, result),
            Effect::Drained(DeviceIndex(device)) => {
                self.stuck.retain(|stuck| stuck.store != usize::from(device));
                self.drained.push(device.into());
            }
            Effect::DrainStuck { device, extents, first } => {
                let store = usize::from(device.0);
                self.stuck.retain(|stuck| stuck.store != store);
                self.stuck.push(StuckDrain { store, extents, first });
            }
        }
    }

    /// What has ended is later than everything that was due when the driver woke up. Ends that a model has decided are
    /// the exception: they are due events themselves.
    fn next_input(&mut self, now: Nanos) -> Option<(Nanos, Input)> {
        if self.inputs.is_empty() {
            self.take_ended();
        }
        let input = self.inputs.pop_front()?;
        let at = if let Input::Done { at, .. } = input { now.max(at) } else { now };
        Some((at, input))
    }

    fn look(&mut self, now: Nanos, inputs: &mut Vec<Input>) {
        inputs.extend(self.stores.iter_mut().enumerate().map(|(index, store)| device_input(index, store, now)));
    }
}
