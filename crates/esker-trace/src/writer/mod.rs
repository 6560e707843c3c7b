//! Writes records into files.

pub(crate) mod events;
mod losses;
mod text;
mod volumes;

use std::io::{self, Write};

use esker_core::Nanos;

use crate::error::TraceError;
use crate::format::{self, ABSOLUTE_FROM, FORMATS, FormatCapability, FormatEntry, Holds, Times, VolumeNames};
use crate::{Operation, Record, VolumeIndex};
use losses::LossCounts;
pub use losses::{Loss, LossKind, WriteNotes};
pub(crate) use text::{write_decimal, write_hexadecimal, write_number, write_padded};
use volumes::{Naming, NoPlace};

/// Output is written in pieces of about this many bytes.
const PIECE: usize = 256 << 10;

/// The volume of a record, as it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// The number of the volume, for formats that number volumes.
    pub(crate) number: u32,
    /// The name of the volume.
    pub(crate) name: &'a str,
}

/// Writes one format. The values have been checked against the format's [`format::Holds`].
pub(crate) trait RecordWriter: Send {
    /// Writes what comes before the first record.
    fn begin(&mut self, _output: &mut Vec<u8>) {}
    /// Announces a volume before its first record. Volumes come in the order of their indices in the output.
    fn volume(&mut self, _output: &mut Vec<u8>, _target: Target<'_>) {}
    /// Writes one record.
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()>;
    /// Writes the records that are waiting, so that they can be read if nothing more is ever written.
    fn write_waiting(&mut self, _output: &mut Vec<u8>) {}
    /// Writes what comes after the last record.
    fn end(&mut self, _output: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }
    /// After the end, for formats with events: how many response times are read back differently from those written,
    /// and the number of the first such record, from 0.
    fn mistaken(&self) -> Option<(u64, u64)> {
        None
    }
}

/// Writes a trace in any format that can be written.
pub struct TraceWriter {
    format: &'static FormatEntry,
    writer: Box<dyn RecordWriter>,
    output: Box<dyn Write + Send>,
    buffer: Vec<u8>,
    /// Names in the trace. Those that a record has used also have their index, name and number in the output.
    volumes: Vec<(String, Option<Placed>)>,
    placed: u32,
    /// A bit for each operation that the format knows.
    operations: u8,
    naming: Naming,
    losses: LossCounts,
    notes: WriteNotes,
}

/// A volume in the output.
#[derive(Clone, Debug)]
struct Placed {
    index: VolumeIndex,
    name: String,
    number: u32,
}

impl std::fmt::Debug for TraceWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceWriter").field("format", &self.format.name).finish_non_exhaustive()
    }
}

impl TraceWriter {
    /// Starts a trace in the format called `format` on `output`. `volumes` are the names known so far.
    pub fn create(format: &str, output: Box<dyn Write + Send>, volumes: &[String]) -> Result<Self, TraceError> {
        let format = format::entry(format)?;
        let write = format.build.write.ok_or(TraceError::NotWritable { format: format.name })?;
        let mut this = Self {
            format,
            writer: write(),
            output,
            buffer: Vec::with_capacity(PIECE + 4096),
            volumes: Vec::new(),
            placed: 0,
            operations: format.build.holds.operations.iter().fold(0, |bits, &operation| bits | 1 << operation as u8),
            naming: Naming::new(format.build.holds.volumes),
            losses: LossCounts::default(),
            notes: WriteNotes::new(format.name),
        };
        this.writer.begin(&mut this.buffer);
        this.set_volumes(volumes)?;
        Ok(this)
    }

    /// Makes volumes known that have appeared since: `volumes` begins with those known before. Only volumes of written
    /// records appear in the output.
    pub fn set_volumes(&mut self, volumes: &[String]) -> Result<(), TraceError> {
        self.volumes.extend(volumes.iter().skip(self.volumes.len()).map(|name| (name.clone(), None)));
        Ok(())
    }

    /// Gives volume number `volume` its name and number in the output.
    #[cold]
    fn place_volume(&mut self, volume: usize) -> Result<(), TraceError> {
        let name = self.volumes[volume].0.clone();
        let (becomes, number) = self.naming.place(&name).map_err(|reason| {
            let others = others(|holds| holds.volumes != VolumeNames::One);
            match reason {
                NoPlace::OnlyOne => self.cannot_hold(
                    "more than one volume",
                    format!("choose one with `esker trace filter --volume NAME`, or write {others}"),
                ),
                NoPlace::TooMany => self.cannot_hold(
                    "that many volumes",
                    format!("choose some with `esker trace filter --volume NAME`, or write {others}"),
                ),
            }
        })?;
        if becomes != name {
            self.notes.volumes_renamed.push((name, becomes.clone()));
        }
        self.writer.volume(&mut self.buffer, Target { number, name: &becomes });
        self.volumes[volume].1 = Some(Placed { index: VolumeIndex(self.placed), name: becomes, number });
        self.placed += 1;
        Ok(())
    }

    fn cannot_hold(&self, what: impl Into<String>, remedy: String) -> TraceError {
        let (format, number) = (self.format.name, self.notes.records + 1);
        TraceError::CannotHold { format, name: None, number, what: what.into(), remedy }
    }

    /// States that the records come from a trace without times. If the format has times, the notes will mention it.
    pub fn trace_has_no_times(&mut self) {
        let count = self.notes.records;
        if self.format.build.times != Times::None && count > 0 && self.losses.lost(LossKind::TimesMadeUp) == 0 {
            self.losses.lose_many(Loss { kind: LossKind::TimesMadeUp, count, first: 1 });
        }
    }

    /// Writes one record. Records come in order of time. A value that the format cannot hold is an error; other records
    /// may follow. Response times and fine parts of times that the format cannot hold are dropped and counted.
    pub fn push(&mut self, record: &Record) -> Result<(), TraceError> {
        let mut record = *record;
        if record.operation == Operation::Flush {
            (record.offset, record.length) = (0, 0);
        }
        let since = self.check(&record)?;
        let volume = record.volume.0 as usize;
        if self.volumes.get(volume).expect("set_volumes named the record's volume").1.is_none() {
            self.place_volume(volume)?;
        }
        self.fit_time(&mut record, since);
        let (response, loss) = losses::response(self.format, record.response);
        record.response = response;
        if let Some(kind) = loss {
            self.losses.lose(kind, self.notes.records + 1);
        }
        let Placed { index, name, number } = self.volumes[volume].1.as_ref().expect("it was just placed");
        record.volume = *index;
        self.writer.record(&mut self.buffer, &record, Target { number: *number, name }).map_err(TraceError::Write)?;
        self.notes.records += 1;
        if self.buffer.len() >= PIECE { self.write_out() } else { Ok(()) }
    }

    /// Checks that the format can hold the record. Returns the time as the format counts it.
    #[inline]
    fn check(&self, record: &Record) -> Result<Nanos, TraceError> {
        let holds = &self.format.build.holds;
        if self.operations >> record.operation as u8 & 1 == 0 {
            return Err(self.cannot_hold_operation(record.operation));
        }
        let (offset_unit, length_unit) = (u64::from(holds.offset_unit), u64::from(holds.length_unit));
        let length_ok = record.length <= holds.length_max && remainder(u64::from(record.length), length_unit) == 0;
        let end = record.offset.checked_add(u64::from(record.length));
        let empty = record.length == 0 && record.operation != Operation::Flush;
        let offset_ok = remainder(record.offset, offset_unit) == 0;
        if !offset_ok || !length_ok || empty || end.is_none_or(|end| end > holds.end_max) {
            return Err(self.cannot_hold_range(record));
        }
        let since = match self.format.build.times {
            Times::None => Some(Nanos::ZERO),
            Times::Relative => record.at.0.checked_sub(self.origin(record).0).map(Nanos),
            Times::Absolute => Some(record.at),
        };
        match since {
            Some(since) if since <= holds.time_max => Ok(since),
            _ => Err(self.cannot_hold_time(record.at)),
        }
    }

    #[cold]
    fn cannot_hold_time(&self, at: Nanos) -> TraceError {
        let others = others(|other| other.time_max > self.format.build.holds.time_max);
        let remedy = format!("keep an earlier part with `esker trace filter --until`, or write {others}");
        self.cannot_hold(format!("the time {at}"), remedy)
    }

    #[cold]
    fn cannot_hold_operation(&self, operation: Operation) -> TraceError {
        let what = match operation {
            Operation::Read => "reads",
            Operation::Write => "writes",
            Operation::Trim => "trims",
            Operation::Flush => "flushes",
        };
        let kinds = self.format.build.holds.operations.iter().map(|kind| match kind {
            Operation::Read => "--kind read",
            Operation::Write => "--kind write",
            Operation::Trim => "--kind trim",
            Operation::Flush => "--kind flush",
        });
        let (kinds, others) =
            (kinds.collect::<Vec<_>>().join(" "), others(|holds| holds.operations.contains(&operation)));
        self.cannot_hold(what, format!("leave them out with `esker trace filter {kinds}`, or write {others}"))
    }

    #[cold]
    fn cannot_hold_range(&self, record: &Record) -> TraceError {
        let holds = &self.format.build.holds;
        let end = if holds.end_max == u64::MAX { String::new() } else { format!(", ends up to {}", holds.end_max) };
        let what = format!(
            "{} bytes at byte {} (offsets in units of {}, lengths in units of {} up to {}{end})",
            record.length, record.offset, holds.offset_unit, holds.length_unit, holds.length_max
        );
        let others = others(|holds| {
            (holds.offset_unit, holds.length_unit, holds.length_max, holds.end_max) == (1, 1, u32::MAX, u64::MAX)
        });
        self.cannot_hold(what, format!("write a format that counts in bytes: {others}"))
    }

    /// The time that is subtracted from the time of `record`.
    fn origin(&self, record: &Record) -> Nanos {
        if self.notes.records > 0 {
            self.notes.time_origin
        } else if record.at >= ABSOLUTE_FROM {
            record.at
        } else {
            Nanos::ZERO
        }
    }

    /// Sets the time of the record to `since`, rounded down to the unit of the format.
    #[inline]
    fn fit_time(&mut self, record: &mut Record, since: Nanos) {
        match self.format.build.times {
            Times::None => {
                if record.at != Nanos::ZERO {
                    self.losses.lose(LossKind::TimesDropped, self.notes.records + 1);
                }
                record.at = Nanos::ZERO;
                return;
            }
            Times::Relative => {
                self.notes.time_origin = record.at - since;
                record.at = since;
            }
            Times::Absolute => {}
        }
        let finer = remainder(record.at.0, self.format.build.holds.time_unit.0);
        if finer != 0 {
            record.at.0 -= finer;
            self.losses.lose(LossKind::TimesRounded, self.notes.records + 1);
        }
    }

    fn write_out(&mut self) -> Result<(), TraceError> {
        self.output.write_all(&self.buffer).map_err(TraceError::Write)?;
        self.buffer.clear();
        Ok(())
    }

    /// Hands the output all that was pushed, as far as the format allows. If the program is killed after that, a trace
    /// in esker's own format can be read up to here.
    pub fn write_waiting(&mut self) -> Result<(), TraceError> {
        self.writer.write_waiting(&mut self.buffer);
        self.write_out()?;
        self.output.flush().map_err(TraceError::Write)
    }

    /// Writes the rest, and returns what was not kept.
    pub fn finish(mut self) -> Result<WriteNotes, TraceError> {
        self.writer.end(&mut self.buffer).map_err(TraceError::Write)?;
        if let Some((count, first)) = self.writer.mistaken() {
            self.losses.lose_many(Loss { kind: LossKind::ResponsesMistaken, count, first: first + 1 });
        }
        self.write_out()?;
        self.output.flush().map_err(TraceError::Write)?;
        Ok(WriteNotes { losses: self.losses.list(), ..self.notes })
    }
}

/// `value % unit`, without a division if the unit is a power of two or a microsecond, as in most formats.
#[inline]
fn remainder(value: u64, unit: u64) -> u64 {
    const MICROSECOND: u64 = Nanos::from_micros(1).0;
    match unit {
        _ if unit.is_power_of_two() => value & (unit - 1),
        MICROSECOND => value % MICROSECOND,
        _ => value % unit,
    }
}

/// The formats that can be written and satisfy `has`, as a list for people.
fn others(has: impl Fn(&Holds) -> bool) -> String {
    let names: Vec<&str> = FORMATS
        .iter()
        .filter(|format| format.can(FormatCapability::Write) && has(&format.build.holds))
        .map(|format| format.name)
        .collect();
    names.join(", ")
}
