//! A volume that is open, with requests one after the other or several at a time.

use std::path::Path;
use std::time::Duration;

use esker_core::{Bytes, DeviceError, Lba, Nanos, Request, RequestKind, Tag};
use esker_volume::{Buffer, Clock, DeviceIo, DeviceSettings, IoChoice, Reply, SystemClock, Volume};

use super::device::Access;
use super::file::{Places, start_io};
use super::range_map;
use crate::args::{Common, VolumeIo};
use crate::cancel;
use crate::failure::Failure;

/// The longest wait, so that Ctrl-C is noticed.
const WAIT: Duration = Duration::from_millis(50);

/// The longest wait for structures at the end: a device that takes longer has failed.
pub(super) const END_LIMIT: Nanos = Nanos::from_secs(30);

/// How the devices are read and written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Serving {
    pub(super) io: IoChoice,
    pub(super) settings: DeviceSettings,
    /// Whether the volume follows the map of ranges that its settings name, which then has to be there.
    pub(super) follows_map: bool,
    /// Whether the volume is only read: nothing is written to its devices, and it can do without one that fails.
    pub(super) only_reads: bool,
}

impl Default for Serving {
    fn default() -> Self {
        let (io, settings) = (IoChoice::default(), DeviceSettings::default());
        Self { io, settings, follows_map: true, only_reads: false }
    }
}

impl Serving {
    /// For what needs no policy, or brings another one: the map of ranges may be gone.
    pub(super) fn without_map() -> Self {
        Self { follows_map: false, ..Self::default() }
    }

    /// For what only reads.
    pub(super) fn to_read() -> Self {
        Self { only_reads: true, ..Self::without_map() }
    }

    pub(super) fn new(io: VolumeIo, is_direct: bool) -> Self {
        let io = match io {
            VolumeIo::Best => IoChoice::Best,
            VolumeIo::IoUring => IoChoice::Ring,
            VolumeIo::Threads => IoChoice::Threads,
        };
        Self { io, settings: DeviceSettings { is_direct, ..DeviceSettings::default() }, ..Self::default() }
    }

    /// Opens a volume. Returns whether all its devices are used past the page cache, too.
    pub(super) fn open(
        &self,
        places: &Places,
        (io, clock): (&DeviceIo, SystemClock),
        common: &Common,
    ) -> Result<(Volume<SystemClock>, bool), Failure> {
        let access = if self.only_reads { Access::Read } else { Access::Write };
        let mut opened = places.open(access, io, self.settings)?;
        if self.only_reads {
            opened = opened.without_failing(true, common)?;
        }
        let volume = match access {
            Access::Read => Volume::open_to_read(opened.devices, clock),
            Access::Write => Volume::open(opened.devices, clock),
        };
        opened.away.say(volume.as_ref().ok().map(Volume::state), common);
        let mut volume = volume?;
        match self.follows_map {
            true => range_map::follow(&mut volume, places.path())?,
            false => range_map::protect(&volume, places.path()),
        }
        Ok((volume, opened.are_direct))
    }
}

/// An open volume.
pub(super) struct Session {
    pub(super) volume: Volume<SystemClock>,
    clock: SystemClock,
    io: DeviceIo,
    is_direct: bool,
}

impl Session {
    /// Opens the volume whose devices are at `places`.
    pub(super) fn open(places: &Places, serving: Serving, common: &Common) -> Result<Self, Failure> {
        let (io, clock) = (start_io(serving.io)?, SystemClock::start());
        let (volume, is_direct) = serving.open(places, (&io, clock), common)?;
        Ok(Self { volume, clock, io, is_direct })
    }

    /// Refuses to go on if the volume whose file is `file` may hold data. `hint` says what to do then.
    pub(super) fn refuse_to_overwrite(&self, file: &Path, hint: &str) -> Result<(), Failure> {
        match self.volume.is_empty() {
            true => Ok(()),
            false => {
                Err(Failure::input(format!("{} may hold data, which would be replaced", file.display()))
                    .with_hint(hint))
            }
        }
    }

    /// Whether all devices are used past the page cache.
    pub(super) fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// The way in which the devices are read and written, in words.
    pub(super) fn io(&self) -> &str {
        self.io.name()
    }

    /// The time of the volume's clock.
    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Waits for the next thing to do, until `limit` at most, and does it.
    pub(super) fn step(&mut self, limit: Nanos) {
        let next = self.volume.next_event().min(limit);
        let now = self.clock.now();
        if next > now {
            let left = if next == Nanos::NEVER { WAIT } else { Duration::from_nanos(next.0 - now.0).min(WAIT) };
            self.io.wait(Some(left));
        }
        self.volume.step();
    }

    /// Waits for the reply to the requests under way.
    pub(super) fn reply(&mut self) -> Result<Reply, Failure> {
        self.volume.step();
        loop {
            if let Some(reply) = self.volume.next_reply() {
                return Ok(reply);
            }
            if cancel::requested() {
                return Err(Failure::cancelled());
            }
            self.step(Nanos::NEVER);
        }
    }

    /// Performs one request.
    pub(super) fn perform(&mut self, request: Request, data: Buffer) -> Result<Reply, Failure> {
        self.volume.submit(Tag::new(0, 0), request, data);
        let reply = self.reply()?;
        reply.result.map_err(|error| failed(&request, error))?;
        Ok(reply)
    }

    /// Makes all that was written durable.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.perform(Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO), Buffer::default()).map(drop)
    }

    /// Waits until what opening the volume has begun is written, such as the map on another device that keeps it from
    /// now on. Otherwise the devices disagree until the volume is opened the next time: that does no harm, so Ctrl-C
    /// ends the wait, and what the command has done is done.
    pub(super) fn end(mut self) {
        let limit = self.clock.now() + END_LIMIT;
        self.volume.step();
        while self.volume.is_writing_structures() && self.clock.now() < limit && !cancel::requested() {
            self.step(limit);
        }
    }
}

/// The failure for a request that has failed.
pub(super) fn failed(request: &Request, error: DeviceError) -> Failure {
    let what = match request.kind {
        RequestKind::Read => "read",
        RequestKind::Flush => return Failure::work(format!("what was written cannot be made durable: {error}")),
        _ => "write",
    };
    Failure::work(format!("cannot {what} {} at byte {}: {error}", request.length, request.start.byte_offset()))
}
