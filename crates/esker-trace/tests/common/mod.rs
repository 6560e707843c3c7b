//! Traces in memory, and records that a format can hold.
#![allow(dead_code, reason = "every test file uses its part")]

use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

use esker_core::Nanos;
use esker_trace::{
    FormatEntry, Operation, ReadOptions, Record, Responses, Times, TraceError, TraceReader, TraceWriter, VolumeIndex,
    VolumeNames, WriteNotes,
};
use proptest::prelude::*;

/// A buffer that can be read after the writer is gone.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    /// Takes what has been written.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn write(format: &str, records: &[Record], volumes: &[String]) -> Result<(Vec<u8>, WriteNotes), TraceError> {
    let output = Shared::default();
    let mut writer = TraceWriter::create(format, Box::new(output.clone()), volumes)?;
    for record in records {
        writer.push(record)?;
    }
    let notes = writer.finish()?;
    Ok((output.take(), notes))
}

/// Reads all records of `bytes`.
pub(crate) fn read(bytes: Vec<u8>, options: &ReadOptions) -> Result<(TraceReader, Vec<Record>), TraceError> {
    let mut reader = TraceReader::from_reader("test", Box::new(Cursor::new(bytes)), options)?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch)? {
        all.extend_from_slice(&batch);
    }
    Ok((reader, all))
}

pub(crate) fn forced(format: &str) -> ReadOptions {
    ReadOptions { format: Some(format.into()), ..ReadOptions::default() }
}

/// A trace that `format` can hold exactly: its volumes in order of appearance, and its records in order of time. Ranges
/// do not overlap, because formats with events could not tell which of two requests for one range completed.
pub(crate) fn legal_trace(format: &'static FormatEntry) -> impl Strategy<Value = (Vec<String>, Vec<Record>)> {
    let holds = format.build.holds;
    let record = (
        0..10_000_000_000u64,
        any::<u64>(),
        prop_oneof![1..1000u32, any::<u32>()],
        0..5usize,
        0..holds.operations.len(),
        prop::option::of(0..9_000_000_000u64),
    );
    let start = match format.build.times {
        Times::None => 0..1u64,
        Times::Relative => 0..1_000_000_000_000,
        Times::Absolute => 0..4_000_000_000_000_000_000,
    };
    (start, prop::collection::vec(record, 1..80)).prop_map(move |(start, raw)| {
        let (mut at, mut names, mut records) = (start, Vec::new(), Vec::new());
        let slice = (holds.end_max / 2 / raw.len() as u64).min(1 << 40);
        for (index, (step, place, length, volume, operation, response)) in raw.into_iter().enumerate() {
            at = if format.build.times == Times::None { 0 } else { at + step };
            let operation = holds.operations[operation];
            let unit = u64::from(holds.offset_unit).max(u64::from(holds.length_unit));
            let length_max = holds.length_max.min((slice / 2) as u32).max(holds.length_unit);
            let mut length = (length % length_max).max(1).next_multiple_of(holds.length_unit);
            if length > length_max {
                length = holds.length_unit;
            }
            let mut offset = index as u64 * slice + place % (slice - u64::from(length));
            offset -= offset % unit;
            let response = match format.build.responses {
                Responses::Never => None,
                Responses::Optional => response,
                Responses::ZeroIfUnknown => response.map(|response| response + holds.response_unit.0),
                Responses::Always => Some(response.unwrap_or(0)),
            };
            let mut response = response.map(|response| Nanos(response - response % holds.response_unit.0));
            if operation == Operation::Flush {
                (offset, length) = (0, 0);
                if format.name.starts_with("blk") {
                    // Flushes have no range by which they could be found.
                    response = None;
                }
            }
            let name = match holds.volumes {
                VolumeNames::One => "0".to_string(),
                VolumeNames::Number(_) => (volume * 7).to_string(),
                VolumeNames::HostAndNumber => format!("host-{}.{}", volume / 2, volume % 2),
                VolumeNames::MajorMinor => format!("{},{}", 8 + volume / 3, volume),
                // With everything that some format might take for a separator.
                VolumeNames::Word => format!("/dev/sd{}|;:=\"'#,", (b'a' + volume as u8) as char),
                VolumeNames::Text => format!("volume, {volume}: \u{e9}"),
            };
            let known = names.iter().position(|known| *known == name);
            let volume = known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            records.push(Record {
                at: Nanos(at - at % holds.time_unit.0),
                offset,
                length,
                volume: VolumeIndex(volume as u32),
                operation,
                response,
            });
        }
        (names, records)
    })
}
