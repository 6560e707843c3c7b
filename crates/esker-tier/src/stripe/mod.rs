//! Striping (RAID-0): units go to the devices in turn, without redundancy and without a map.

mod stripes;
#[cfg(test)]
mod tests;

use esker_core::{Bytes, DeviceError, DeviceState, Hint, Lba, Machine, Nanos, Request, RequestKind, Tag, TagSlab};
use thiserror::Error;

use crate::engine::{DataRef, Effect, Engine, Flushes, Health, Hosts, Input, IoId, NextFlush};
use crate::extent::DeviceIndex;
use stripes::{ChildRange, Stripes};

/// The settings of a [`StripeEngine`]. They stay the same for the life of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripeSettings {
    /// Bytes on one device before the next device's turn: a multiple of the sector size.
    pub unit: Bytes,
    /// Capacity of each device. Each is used only up to the whole units of the smallest one.
    pub devices: Vec<Bytes>,
}

/// Why devices cannot be striped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StripeError {
    /// The number of devices is zero or too large.
    #[error("there are {0} devices; a stripe goes over 1 to 65,536")]
    Devices(usize),
    /// The unit is empty, or not a whole number of sectors.
    #[error("`stripe` is {0}; it has to be whole sectors of 512B")]
    Unit(Bytes),
    /// A device has no room for one unit.
    #[error("`stripe` is {unit}, more than its smallest child's {smallest}")]
    Small {
        /// The unit.
        unit: Bytes,
        /// Capacity of the smallest device.
        smallest: Bytes,
    },
    /// The capacity is too large to be addressed.
    #[error("the children hold more than 16 EiB together")]
    Vast,
}

impl StripeError {
    /// Returns the key that the error is about, as configurations name it.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            Self::Unit(_) | Self::Small { .. } => Some("stripe"),
            Self::Devices(_) | Self::Vast => None,
        }
    }
}

impl Hint for StripeError {}

/// Sends each request of the host to the devices that hold its units, at most one request to each: on each device, the
/// units of a range are contiguous.
#[derive(Debug)]
pub struct StripeEngine {
    stripes: Stripes,
    health: Health,
    hosts: Hosts,
    ios: TagSlab<StripeIo>,
    /// The flushes of each device.
    flushes: Vec<Flushes>,
    /// A fault for tests: the last device is not flushed.
    #[cfg(test)]
    skips_last: bool,
}

/// Stripes do not count writes, so no flush under way may cover what a later flush is asked for: it always begins after
/// that flush.
const COVERS: u64 = 0;
const ASKED_FOR: u64 = 1;

/// A request to a device, on behalf of a host's request.
#[derive(Clone, Copy, Debug)]
struct StripeIo {
    host: Tag,
    device: DeviceIndex,
    kind: RequestKind,
    /// Where it begins on the device.
    start: Lba,
    /// Decides which of several errors is reported: the offset in the host's request, or for a flush the device.
    order: u64,
}

impl StripeEngine {
    /// Creates an engine over the devices of `settings`.
    ///
    /// # Errors
    /// If the number of devices is zero or too large, the unit is not a whole number of sectors or does not fit into
    /// the smallest device, or the capacity is too large.
    pub fn new(settings: &StripeSettings) -> Result<Self, StripeError> {
        let count = settings.devices.len();
        let Some(&smallest) = settings.devices.iter().min() else { return Err(StripeError::Devices(0)) };
        if count > usize::from(u16::MAX) + 1 {
            return Err(StripeError::Devices(count));
        }
        Ok(Self {
            stripes: Stripes::new(count as u64, settings.unit, smallest)?,
            health: Health::new(count),
            hosts: Hosts::default(),
            ios: TagSlab::default(),
            flushes: std::iter::repeat_with(Flushes::default).take(count).collect(),
            #[cfg(test)]
            skips_last: false,
        })
    }

    /// Tells the engine, before any input, that `device` is missing: its units cannot be read.
    pub fn without(mut self, device: DeviceIndex) -> Self {
        self.health.miss(device);
        self
    }

    #[inline]
    fn host(&mut self, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        let capacity = self.capacity();
        self.hosts.begin(tag, request.kind);
        if request.kind == RequestKind::Flush {
            for index in 0..self.flushed_devices() {
                let device = DeviceIndex(index as u16);
                let request = Request { start: Lba(0), length: Bytes::ZERO, ..request };
                self.flush(tag, device, request, effects);
            }
        } else if request.end_byte() > capacity.0 {
            self.hosts.note(tag, 0, DeviceError::OutOfRange { end: request.end_byte(), capacity });
        } else if request.length > Bytes::ZERO {
            for ChildRange { child, start, length, offset } in
                self.stripes.split(request.start.byte_offset(), request.length.0)
            {
                let start_byte = request.start.byte_offset();
                let data = request.kind.has_data().then(|| self.stripes.data_of(tag, start_byte, offset));
                let piece = Request { start, length, ..request };
                self.send(tag, DeviceIndex(child as u16), offset, piece, data, effects);
            }
        }
        if !self.hosts.waits(tag) {
            let result = self.hosts.result(tag);
            self.hosts.reply(tag, result, effects);
        }
    }

    /// Returns how many devices a flush of the host goes to: all of them, unless a test has introduced a fault.
    fn flushed_devices(&self) -> usize {
        let all = self.health.devices().len();
        #[cfg(test)]
        if self.skips_last {
            return all - 1;
        }
        all
    }

    /// Has `tag` wait for a flush of `device` that begins after this call.
    fn flush(&mut self, tag: Tag, device: DeviceIndex, request: Request, effects: &mut Vec<Effect>) {
        if self.health.has_failed(device) {
            return self.hosts.note(tag, u64::from(device.0), DeviceError::Failed);
        }
        self.hosts.wait(tag);
        if !self.flushes[usize::from(device.0)].join(ASKED_FOR, Some(tag), request) {
            self.send_flush(device, vec![tag], request, effects);
        }
    }

    fn send_flush(&mut self, device: DeviceIndex, hosts: Vec<Tag>, request: Request, effects: &mut Vec<Effect>) {
        let host = hosts[0];
        let io = IoId(self.ios.insert(StripeIo {
            host,
            device,
            kind: request.kind,
            start: Lba(0),
            order: u64::from(device.0),
        }));
        self.flushes[usize::from(device.0)].begin(io, COVERS, hosts);
        effects.push(Effect::Io { io, host: Some(host), device, request, data: None });
    }

    fn flush_ended(
        &mut self,
        device: DeviceIndex,
        io: IoId,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        let (hosts, _, next) = self.flushes[usize::from(device.0)].end(io, result.is_ok());
        if let Some(NextFlush { hosts, like }) = next {
            self.send_flush(device, hosts, like, effects);
        }
        for host in hosts {
            self.child_ended(host, u64::from(device.0), result, effects);
        }
    }

    #[inline]
    fn child_ended(&mut self, host: Tag, order: u64, result: Result<(), DeviceError>, effects: &mut Vec<Effect>) {
        if self.hosts.child_ended(host, order, result) {
            let result = self.hosts.result(host);
            self.hosts.reply(host, result, effects);
        }
    }

    #[inline]
    fn send(
        &mut self,
        tag: Tag,
        device: DeviceIndex,
        order: u64,
        request: Request,
        data: Option<DataRef>,
        effects: &mut Vec<Effect>,
    ) {
        if request.kind != RequestKind::Read && self.health.has_failed(device) {
            return self.hosts.note(tag, order, DeviceError::Failed);
        }
        let io = IoId(self.ios.insert(StripeIo { host: tag, device, kind: request.kind, start: request.start, order }));
        self.hosts.wait(tag);
        effects.push(Effect::Io { io, host: Some(tag), device, request, data });
    }
}

impl Machine for StripeEngine {
    type Input = Input;
    type Effect = Effect;

    #[inline]
    fn on(&mut self, _: Nanos, input: Input, effects: &mut Vec<Effect>) {
        match input {
            Input::Host { tag, request } => self.host(tag, request, effects),
            Input::Done { io, at: _, result } => {
                let StripeIo { host, device, kind, start, order } = self.ios.remove(io.0);
                let result = self.health.judge(device, kind, result);
                if kind == RequestKind::Flush {
                    return self.flush_ended(device, io, result, effects);
                }
                let result = result.map_err(|error| match error {
                    DeviceError::Medium { at } => {
                        DeviceError::Medium { at: Bytes(self.stripes.offset_in_host(order, start, at.0)) }
                    }
                    other => other,
                });
                self.child_ended(host, order, result, effects);
            }
            Input::Device { device, telemetry } => self.health.learn(device, telemetry.state),
            // Striping keeps no records and uses no timer.
            Input::Durable { .. }
            | Input::JournalFailed
            | Input::Dropped { .. }
            | Input::Room { .. }
            | Input::Unsupported { .. }
            | Input::Timer => {}
        }
    }
}

impl Engine for StripeEngine {
    fn capacity(&self) -> Bytes {
        self.stripes.capacity()
    }

    /// Requests within one unit pass, except writes to a failed device.
    #[inline]
    fn pass(&self, request: &Request) -> Option<(DeviceIndex, Lba)> {
        let has_range = request.kind != RequestKind::Flush && request.length > Bytes::ZERO;
        if !has_range || request.end_byte() > self.capacity().0 {
            return None;
        }
        let ChildRange { child, start, .. } =
            self.stripes.only_child_range(request.start.byte_offset(), request.length.0)?;
        let device = DeviceIndex(child as u16);
        (request.kind == RequestKind::Read || !self.health.has_failed(device)).then_some((device, start))
    }

    #[inline]
    fn passed(
        &mut self,
        device: DeviceIndex,
        kind: RequestKind,
        result: Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        self.health.judge(device, kind, result)
    }

    fn device_state(&self, device: DeviceIndex) -> DeviceState {
        self.health.device(device)
    }

    fn state(&self) -> DeviceState {
        self.health.worst()
    }
}
