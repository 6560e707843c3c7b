//! Records back into files.

pub(crate) mod completions;

use std::collections::BTreeSet;
use std::io::{self, Write};

use esker_core::Nanos;

use crate::error::TraceError;
use crate::format::{self, FormatEntry, Responses, Times, VolumeNames};
use crate::{Operation, Record};

/// Written in pieces of about this many bytes.
const PIECE: usize = 256 << 10;
/// A trace whose first time is later than this (1973) has absolute times.
const ABSOLUTE: Nanos = Nanos::from_secs(100_000_000);

/// What a record is written for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// The volume's number, in formats that number volumes.
    pub(crate) number: u32,
    /// The volume's name.
    pub(crate) name: &'a str,
}

/// Writes one format. Everything that the format's [`format::Holds`] says has been checked before.
pub(crate) trait RecordWriter: Send {
    /// What stands in front of the first record.
    fn begin(&mut self, _output: &mut Vec<u8>) {}
    /// A volume became known; they come in the order of their indices.
    fn volume(&mut self, _output: &mut Vec<u8>, _target: Target<'_>) {}
    /// One record.
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()>;
    /// What stands behind the last one.
    fn end(&mut self, _output: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }
}

/// What was not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteNotes {
    /// Records written.
    pub records: u64,
    /// Response times that the format has no place for.
    pub responses_dropped: u64,
    /// Times that were rounded down to the format's unit.
    pub times_rounded: u64,
    /// Whether times were dropped altogether.
    pub times_dropped: bool,
    /// What was subtracted from all times, since the format counts from the trace's own start.
    pub time_origin: Nanos,
    /// Volumes that are called otherwise in the output: the name, and what it became.
    pub volumes_renamed: Vec<(String, String)>,
}

/// Writes a trace in any format that can be written.
pub struct TraceWriter {
    format: &'static FormatEntry,
    writer: Box<dyn RecordWriter>,
    output: Box<dyn Write + Send>,
    buffer: Vec<u8>,
    /// Name and number in the output, by volume index.
    volumes: Vec<(String, u32)>,
    numbers: BTreeSet<u32>,
    names: BTreeSet<String>,
    notes: WriteNotes,
}

impl std::fmt::Debug for TraceWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceWriter").field("format", &self.format.name).finish_non_exhaustive()
    }
}

impl TraceWriter {
    /// Begins a trace of the format called `format` on `output`, with the volumes known by now.
    pub fn create(format: &str, output: Box<dyn Write + Send>, volumes: &[String]) -> Result<Self, TraceError> {
        let format = format::entry(format)?;
        let write = format.write.ok_or(TraceError::NotWritable { format: format.name })?;
        let mut this = Self {
            format,
            writer: write(),
            output,
            buffer: Vec::with_capacity(PIECE + 4096),
            volumes: Vec::new(),
            numbers: BTreeSet::new(),
            names: BTreeSet::new(),
            notes: WriteNotes::default(),
        };
        this.writer.begin(&mut this.buffer);
        this.set_volumes(volumes)?;
        Ok(this)
    }

    /// Makes volumes known that appeared since: `volumes` begins with those known before.
    pub fn set_volumes(&mut self, volumes: &[String]) -> Result<(), TraceError> {
        for name in volumes.iter().skip(self.volumes.len()) {
            let (name, number) = self.place_volume(name)?;
            self.writer.volume(&mut self.buffer, Target { number, name: &name });
            self.volumes.push((name, number));
        }
        Ok(())
    }

    /// What `name` becomes in the output.
    fn place_volume(&mut self, name: &str) -> Result<(String, u32), TraceError> {
        let index = self.volumes.len() as u32;
        let (becomes, number) = match self.format.holds.volumes {
            VolumeNames::One if index > 0 => {
                return Err(self.cannot_hold("more than one volume", "write each volume to a file of its own"));
            }
            VolumeNames::One => (name.to_string(), 0),
            VolumeNames::Number(max) => {
                let free = |number: &u32| *number <= max && !self.numbers.contains(number);
                let own = name.parse().ok().filter(|own: &u32| own.to_string() == name).filter(free);
                let Some(number) = own.or_else(|| (index..=max).find(free)) else {
                    return Err(self.cannot_hold("that many volumes", "write fewer volumes"));
                };
                (number.to_string(), number)
            }
            VolumeNames::HostAndNumber => {
                let fits = name.rsplit_once('.').is_some_and(|(host, disk)| {
                    is_word(host) && disk.parse::<u32>().is_ok_and(|number| number.to_string() == disk)
                });
                (if fits { name.to_string() } else { format!("{}.{index}", to_word(name)) }, index)
            }
            VolumeNames::MajorMinor => {
                let fits = name.split_once(',').is_some_and(|(major, minor)| {
                    [major, minor]
                        .iter()
                        .all(|part| part.parse::<u32>().is_ok_and(|number| number.to_string() == *part))
                });
                (if fits { name.to_string() } else { format!("259,{index}") }, index)
            }
            VolumeNames::Word => (if is_word(name) { name.to_string() } else { to_word(name) }, index),
            VolumeNames::Text => (name.to_string(), index),
        };
        let becomes = self.unique(becomes);
        self.numbers.insert(number);
        self.names.insert(becomes.clone());
        if becomes != name && self.format.holds.volumes != VolumeNames::One {
            self.notes.volumes_renamed.push((name.to_string(), becomes.clone()));
        }
        Ok((becomes, number))
    }

    /// `name`, or something like it where another volume is called so.
    fn unique(&self, name: String) -> String {
        let taken = |name: &str| self.names.contains(name);
        if !taken(&name) {
            return name;
        }
        let (stem, rest) = match self.format.holds.volumes {
            VolumeNames::HostAndNumber => name.rsplit_once('.').map_or((&*name, ""), |(host, _)| (host, ".0")),
            VolumeNames::MajorMinor => ("259,", ""),
            _ => (&*name, ""),
        };
        let names = (1u32..).map(|count| match self.format.holds.volumes {
            VolumeNames::MajorMinor => format!("{stem}{}", 1_000 + count),
            _ => format!("{stem}_{count}{rest}"),
        });
        names.into_iter().find(|name| !taken(name)).expect("there are more names than volumes")
    }

    fn cannot_hold(&self, what: impl Into<String>, remedy: &'static str) -> TraceError {
        TraceError::CannotHold { format: self.format.name, number: self.notes.records + 1, what: what.into(), remedy }
    }

    /// Writes one record. What the format cannot hold is an error; what it has no place for (response times, fine
    /// times) is dropped and noted.
    pub fn push(&mut self, record: &Record) -> Result<(), TraceError> {
        let holds = &self.format.holds;
        let mut record = *record;
        if !holds.operations.contains(&record.operation) {
            let what = match record.operation {
                Operation::Read => "reads",
                Operation::Write => "writes",
                Operation::Trim => "trims",
                Operation::Flush => "flushes",
            };
            return Err(self.cannot_hold(what, "filter them out first, or choose another format"));
        }
        if record.operation == Operation::Flush {
            (record.offset, record.length) = (0, 0);
        }
        let length_ok = record.length <= holds.length_max && record.length.is_multiple_of(holds.length_unit);
        if !record.offset.is_multiple_of(u64::from(holds.offset_unit)) || !length_ok || record.end() > holds.end_max {
            let what = format!(
                "{} bytes at byte {} (offsets in units of {}, lengths in units of {} up to {})",
                record.length, record.offset, holds.offset_unit, holds.length_unit, holds.length_max
            );
            return Err(self.cannot_hold(what, "choose a format that counts in bytes, such as esker, msr or parquet"));
        }
        match self.format.times {
            Times::None => {
                self.notes.times_dropped |= record.at != Nanos::ZERO;
                record.at = Nanos::ZERO;
            }
            Times::Relative if self.notes.records == 0 && record.at > ABSOLUTE => self.notes.time_origin = record.at,
            _ => {}
        }
        if record.at < self.notes.time_origin || record.at - self.notes.time_origin > holds.time_max {
            return Err(self.cannot_hold(format!("the time {}", record.at), "shift or cut the trace in time first"));
        }
        record.at = record.at - self.notes.time_origin;
        if !record.at.0.is_multiple_of(holds.time_unit.0) {
            record.at.0 -= record.at.0 % holds.time_unit.0;
            self.notes.times_rounded += 1;
        }
        match (self.format.responses, record.response) {
            (Responses::Never, Some(_)) => {
                record.response = None;
                self.notes.responses_dropped += 1;
            }
            (_, Some(response)) => {
                let rounded = response.min(holds.response_max).0;
                record.response = Some(Nanos(rounded - rounded % holds.response_unit.0));
            }
            (_, None) => {}
        }
        let volume = record.volume.0 as usize;
        let (name, number) = self.volumes.get(volume).expect("set_volumes named the record's volume");
        self.writer.record(&mut self.buffer, &record, Target { number: *number, name }).map_err(TraceError::Write)?;
        self.notes.records += 1;
        if self.buffer.len() >= PIECE { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> Result<(), TraceError> {
        self.output.write_all(&self.buffer).map_err(TraceError::Write)?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is left and says what was not kept.
    pub fn finish(mut self) -> Result<WriteNotes, TraceError> {
        self.writer.end(&mut self.buffer).map_err(TraceError::Write)?;
        self.write_out()?;
        self.output.flush().map_err(TraceError::Write)?;
        Ok(self.notes)
    }
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.len() <= 255 && name.bytes().all(|byte| !matches!(byte, b'\0'..=b' ' | b',' | 0x7f))
}

fn to_word(name: &str) -> String {
    let word: String =
        name.chars().map(|c| if matches!(c, '\0'..=' ' | ',' | '\x7f') { '_' } else { c }).take(60).collect();
    if word.is_empty() { "volume".into() } else { word }
}

/// Appends a whole number.
pub(crate) fn write_number(output: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    output.extend_from_slice(&digits[start..]);
}

/// Appends `value` / 10^`places` with at least `shown` decimals, and all that are not zero.
pub(crate) fn write_decimal(output: &mut Vec<u8>, value: u64, places: u32, shown: u32) {
    let scale = 10u64.pow(places);
    write_number(output, value / scale);
    let mut fraction = value % scale;
    let mut count = places;
    while count > shown && fraction.is_multiple_of(10) {
        fraction /= 10;
        count -= 1;
    }
    if count == 0 {
        return;
    }
    output.push(b'.');
    let start = output.len();
    write_number(output, fraction);
    let missing = count as usize - (output.len() - start);
    output.splice(start..start, std::iter::repeat_n(b'0', missing));
}
