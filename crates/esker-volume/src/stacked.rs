//! An engine over stores of its own as the back end of another engine's store: engines stack.

use std::io;

use esker_core::{Bytes, DeviceError, Lba, Nanos, Request, RequestKind, TagSlab};
use esker_tier::Engine;

use crate::backend::{Backend, Ended, Operation, OperationData, PlacedError};
use crate::clock::Clock;
use crate::driver::{RealDriver, Reply};
use crate::memory::Buffer;

/// A driver as a back end. The driver above it tells it the time, and when to do what is due.
pub struct Stacked<E: Engine + ?Sized, C> {
    driver: RealDriver<E, C>,
    /// The operations under way: their identifiers, kinds and lengths.
    under_way: TagSlab<(u64, RequestKind, u64)>,
    /// When requests end that the engine has answered on arrival.
    immediate_at: Nanos,
    ended: Vec<Ended>,
}

impl<E: Engine + ?Sized, C: Clock> Stacked<E, C> {
    /// Creates a back end that holds what `driver` holds.
    pub fn new(driver: RealDriver<E, C>) -> Self {
        Self { driver, under_way: TagSlab::default(), immediate_at: Nanos::NEVER, ended: Vec::new() }
    }

    /// Turns the replies of the driver into ends of operations.
    fn collect(&mut self) {
        while let Some(Reply { tag, at, result, data }) = self.driver.next_reply() {
            let (id, kind, length) = self.under_way.remove(tag);
            let data = match (kind, result) {
                (RequestKind::Read, Ok(())) => OperationData::Fill(self.driver.gathered(data)),
                (RequestKind::Read, Err(_)) => {
                    self.driver.recycle(data);
                    OperationData::Fill(self.driver.buffer(length as usize))
                }
                _ => {
                    self.driver.recycle(data);
                    OperationData::None
                }
            };
            self.ended.push(Ended { id, at: Some(at), result: result.map_err(io_error), data });
        }
    }
}

impl<E: Engine + ?Sized, C: Clock + Send> Backend for Stacked<E, C> {
    fn capacity(&self) -> Bytes {
        self.driver.capacity()
    }

    fn submit(&mut self, now: Nanos, id: u64, operation: Operation) {
        let Operation { kind, offset, length, priority, stream, data } = operation;
        let request = Request { kind, start: Lba::containing(offset), length: Bytes(length), priority, stream };
        let memory = match data {
            OperationData::None => Buffer::default(),
            OperationData::Fill(memory) => memory,
            OperationData::Take(gather) => gather.into_buffer(|length| self.driver.buffer(length)),
        };
        let tag = self.under_way.insert((id, kind, length));
        self.driver.accept(now, tag, request, memory);
        if self.driver.has_reply() {
            self.immediate_at = now;
        }
    }

    fn send(&mut self) {
        self.driver.send();
    }

    fn is_immediate(&self) -> bool {
        true
    }

    /// What the engine has answered on arrival ends with the next [`Self::advance`], as in the simulator.
    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        self.driver.settle();
        if self.immediate_at == Nanos::NEVER {
            self.collect();
        }
        ended.append(&mut self.ended);
    }

    fn next_event(&self) -> Nanos {
        self.driver.next_event().min(self.immediate_at)
    }

    fn advance(&mut self, now: Nanos) {
        if self.immediate_at == now {
            self.immediate_at = Nanos::NEVER;
        } else {
            self.driver.advance(now);
        }
        self.collect();
    }
}

/// The error of an engine as one of an operating system, so that the store above learns from it what it would learn
/// from a file.
fn io_error(error: DeviceError) -> io::Error {
    let kind = match error {
        DeviceError::NoSpace => io::ErrorKind::StorageFull,
        DeviceError::ReadOnly => io::ErrorKind::ReadOnlyFilesystem,
        DeviceError::Medium { at } => return PlacedError::new(at.0, io::Error::other(error)),
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
