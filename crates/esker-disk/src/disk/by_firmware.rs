//! Commands as the controller of a particular drive handles them: overheads by kind, a bus that is given away and taken
//! back, and reads that are sent once enough of their sectors are in the buffer.

use esker_core::{Bytes, Nanos, Request, Tag};

use super::{Command, Disk};
use crate::cache::Found;
use crate::{Access, DiskError, ExtraDisconnect, FirmwareSettings, Waiting};

/// The controller's settings, and what it remembers of the previous command.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    settings: FirmwareSettings,
    wrote: bool,
    /// The sector behind the last write.
    write_end: u64,
    /// The sector behind the last write that ended in the buffer.
    early_end: u64,
}

/// When a write can begin, according to its controller.
struct WriteTimes {
    arm: Nanos,
    data: Nanos,
    /// Time from the end of the data until the bus is free.
    disconnect: Nanos,
    /// Time from the end on the medium until the bus is taken again.
    reselect: Nanos,
}

impl Controller {
    /// # Errors
    /// A time beyond ten seconds, or a share beyond one.
    pub(super) fn new(settings: &FirmwareSettings) -> Result<Self, DiskError> {
        let extra = settings.extra_disconnect.unwrap_or_default();
        let pairs = [
            ("firmware.read_hit", settings.read_hit),
            ("firmware.read_miss", settings.read_miss),
            ("firmware.write", settings.write),
            ("firmware.read_disconnect", settings.read_disconnect),
        ];
        let times = [
            ("firmware.read_completion", settings.read_completion),
            ("firmware.write_completion", settings.write_completion),
            ("firmware.data_preparation", settings.data_preparation),
            ("firmware.first_reselect", settings.first_reselect),
            ("firmware.other_reselect", settings.other_reselect),
            ("firmware.write_disconnect", settings.write_disconnect),
            ("firmware.write_seek_min", settings.write_seek_min),
            ("firmware.extra_disconnect", extra.command),
            ("firmware.extra_disconnect", extra.disconnect),
            ("firmware.extra_disconnect", extra.pause),
            ("firmware.extra_disconnect", extra.second_disconnect),
            ("firmware.extra_disconnect", extra.seek_delay),
        ];
        let all = pairs.iter().flat_map(|(key, pair)| [(*key, pair.after_read), (*key, pair.after_write)]).chain(times);
        for (key, time) in all {
            if time > Nanos::from_secs(10) {
                return Err(DiskError::OutOfRange { key, expected: "at most 10s", found: time.to_string() });
            }
        }
        if !settings.write_start.is_sorted_by(|before, after| before.0 < after.0) {
            let (key, found) = ("firmware.write_start", format!("{:?}", settings.write_start));
            return Err(DiskError::OutOfRange { key, expected: "lengths in rising order", found });
        }
        Ok(Self { settings: settings.clone(), wrote: false, write_end: 0, early_end: 0 })
    }

    pub(super) fn read_completion(&self) -> Nanos {
        self.settings.read_completion
    }

    /// Returns true if a write from sector `start` continues the data that wait in the buffer. All other writes wait
    /// until these are on the medium.
    pub(super) fn appends(&self, start: u64) -> bool {
        start == self.early_end
    }

    /// Records that a write up to sector `end` has completed in the buffer.
    pub(super) fn admitted(&mut self, end: u64) {
        self.early_end = end;
    }

    /// Returns how many of a write's `sectors` have to be in the buffer before the head begins: at least one.
    fn held_at_start(&self, sectors: u64) -> u64 {
        let applies = |&&(length, _): &&(u32, u32)| u64::from(length) <= sectors;
        let held = self.settings.write_start.iter().rev().find(applies).map_or(1, |(_, held)| u64::from(*held));
        held.clamp(1, sectors)
    }

    /// Returns the times of a write from sector `start` that the controller takes at `from`.
    fn write_times(&self, from: Nanos, start: u64) -> WriteTimes {
        let settings = &self.settings;
        // A write that continues the one before it does not give the bus away once more.
        match settings.extra_disconnect.filter(|_| self.wrote && start != self.write_end) {
            Some(ExtraDisconnect { command, disconnect, pause, second_disconnect, seek_delay }) => WriteTimes {
                arm: from + command + seek_delay,
                data: from + command + disconnect + pause + settings.first_reselect + settings.data_preparation,
                disconnect: second_disconnect,
                reselect: settings.other_reselect,
            },
            None => {
                let arm = from + settings.write.after(self.wrote);
                WriteTimes {
                    arm,
                    data: arm + settings.data_preparation,
                    disconnect: settings.write_disconnect,
                    reselect: settings.first_reselect,
                }
            }
        }
    }
}

impl Disk {
    /// Returns true if reads that are in the buffer have to wait for the arm now.
    pub(super) fn hits_wait(&self) -> bool {
        self.serving.is_some() && self.firmware.as_ref().is_some_and(|firmware| !firmware.settings.hits_overtake)
    }

    /// Takes a read or write.
    pub(super) fn take_by_firmware(&mut self, now: Nanos, tag: Tag, request: &Request, sectors: u64, sequence: u64) {
        let write = request.kind.is_write();
        let (start, end) = (request.start.0, request.start.0 + sectors);
        let idle = self.serving.is_none() && self.arriving.is_empty();
        let found = match &mut self.cache {
            Some(cache) if idle => {
                let read = cache.follow(&mut self.mechanics, now);
                if let Some(spindle) = &mut self.spindle {
                    spindle.read_ahead(read);
                }
                cache.look(start, end, write)
            }
            _ => Found::Nothing,
        };
        let begin = self.controller_free.max(now);
        let bytes = if request.kind.has_data() { request.length.0 } else { 0 };
        let early = write && self.ends_in_buffer(request, sectors);
        let (ready, data, bus, reselect) = if write {
            self.times_of_write(begin, start, sectors, bytes, early)
        } else {
            let (ready, bus) = self.times_of_read(begin, found);
            (ready, Nanos::ZERO, bus, Nanos::ZERO)
        };
        self.controller_free = ready;
        let controller = self.firmware.as_mut().expect("only with firmware");
        controller.wrote = write;
        if write {
            controller.write_end = end;
            self.flushes.write_begins();
        }
        let priority = request.priority;
        let command = Command { tag, priority, submitted: now, data, bus, reselect, sectors, bytes, ended: false };
        let waiting = Waiting { start, write, sequence, came: now, slot: self.commands.insert(command) };
        if early {
            self.full.push(now, request.priority, waiting);
            self.admit_writes(now);
        } else {
            self.arriving.schedule(ready, waiting);
        }
        self.proceed(now);
    }

    /// Returns when the arm may move for a read, or a hit is answered, and when the drive may send the data that it
    /// has.
    fn times_of_read(&self, begin: Nanos, found: Found) -> (Nanos, Nanos) {
        let Controller { settings, wrote, .. } = self.firmware.as_ref().expect("only with firmware");
        let hit = begin + settings.read_hit.after(*wrote) + settings.data_preparation;
        let miss = begin + settings.read_miss.after(*wrote);
        match found {
            Found::Whole => (hit, hit),
            Found::Part => (miss, hit),
            Found::Nothing if settings.never_disconnects => (miss, miss + settings.data_preparation),
            Found::Nothing => (miss, miss + settings.read_disconnect.after(*wrote)),
        }
    }

    /// Returns, for a write: when the arm may move; when the head may begin; when the bus is free, or for an early
    /// write, when it has completed; and how long it takes to get the bus back.
    fn times_of_write(
        &mut self,
        begin: Nanos,
        start: u64,
        sectors: u64,
        bytes: u64,
        early: bool,
    ) -> (Nanos, Nanos, Nanos, Nanos) {
        let controller = self.firmware.as_ref().expect("only with firmware");
        let times = controller.write_times(begin, start);
        let received = self.link.data_in(times.data, bytes);
        // The head follows the data: it needs the first sectors when it begins, and must not get ahead of the last.
        let behind = sectors - controller.held_at_start(sectors);
        let turn = self.mechanics.geometry().locate(start).sector_angle;
        let medium = Nanos(self.mechanics.rotation().time(turn).0 * (sectors - 1));
        let first = times.data.max(received.saturating_sub(Nanos(self.link.sector_in().0 * behind)));
        let data = first.max(received.saturating_sub(medium)).max(times.arm + controller.settings.write_seek_min);
        let settings = &controller.settings;
        let bus = match early {
            true => received + settings.write_completion,
            false if settings.never_disconnects => received,
            false => received + times.disconnect,
        };
        let reselect = match (settings.never_disconnects, early) {
            (true, false) => Nanos::ZERO,
            (false, false) => times.reselect,
            // For a write that had to wait for room: the time until it has completed.
            (true, true) => bus.saturating_sub(times.data),
            (false, true) => times.reselect + settings.data_preparation + bus.saturating_sub(times.data),
        };
        (times.arm, data, bus, reselect)
    }

    /// Moves the arm for a command that read-ahead has not begun, to the first sector that is not in the buffer.
    pub(super) fn position(&mut self, now: Nanos, next: &Waiting, command: &Command) -> Access {
        let end = next.start + command.sectors;
        let held = match &self.cache {
            Some(cache) if self.firmware.is_some() && !next.write => cache.part_of(next.start),
            _ => None,
        };
        let from = held.filter(|&from| from < end).unwrap_or(next.start);
        self.mechanics.access(now, command.data, from, end - from, next.write)
    }

    /// Returns the number of sectors before those of a read that passed the head while it waited, if the drive keeps
    /// them.
    pub(super) fn passed_before(&self, next: &Waiting, access: &Access) -> u64 {
        let keeps = |controller: &Controller| controller.settings.reads_while_waiting;
        if next.write || access.sector == Nanos::ZERO || !self.firmware.as_ref().is_some_and(keeps) {
            return 0;
        }
        let place = self.mechanics.geometry().locate(next.start);
        (access.rotation.0 / access.sector.0).min(u64::from(place.sector)).min(next.start)
    }

    /// Returns when the command whose access ends at `arm_free` has ended for the host.
    pub(super) fn ends_by_firmware(&mut self, next: &Waiting, command: &Command, access: &Access) -> Nanos {
        let Controller { settings, .. } = self.firmware.as_ref().expect("only with firmware");
        if next.write {
            return self.arm_free.max(command.bus) + command.reselect + settings.write_completion;
        }
        let (completion, watermark) = (settings.read_completion, settings.read_watermark);
        let reselect = settings.first_reselect + settings.data_preparation;
        let never = settings.never_disconnects;
        let fresh = self.fresh_bytes(next, command);
        // Track changes make the transfer longer than its sectors; read-ahead that was taken over makes it shorter.
        let together = Nanos(access.sector.0 * (fresh.div_ceil(Bytes::SECTOR.0).max(1) - 1));
        let begun = self.arm_free.saturating_sub(access.transfer) + access.sector;
        let first = begun.min(self.arm_free.saturating_sub(together));
        let partial = fresh < command.bytes;
        let taken = if never || partial {
            command.bus
        } else {
            // The time of the sector that completes the required share, interpolated between the first sector and the
            // last.
            let enough = watermark.of(command.sectors).clamp(1, command.sectors);
            let passed = u128::from(access.transfer.saturating_sub(access.sector).0) * u128::from(enough - 1)
                / u128::from((command.sectors - 1).max(1));
            command.bus.max(first + Nanos(passed as u64)) + reselect
        };
        self.link.data_out_from(taken, (first, self.arm_free), fresh, command.bytes) + completion
    }

    /// Returns how many bytes of a read come from the medium.
    fn fresh_bytes(&self, next: &Waiting, command: &Command) -> u64 {
        let held = self.cache.as_ref().and_then(|cache| cache.part_of(next.start)).unwrap_or(next.start);
        let had = held.saturating_sub(next.start).min(command.sectors) * Bytes::SECTOR.0;
        command.bytes - had.min(command.bytes)
    }
}
