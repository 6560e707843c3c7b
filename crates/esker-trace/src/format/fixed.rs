//! Common parts of binary formats with records of one size.

use super::lines::{LineError, quote};
use super::{RecordSource, Sample};
use crate::error::TraceError;
use crate::input::Input;
use crate::reader::ReadOptions;
use crate::sink::Sink;

/// A format whose records all have `SIZE` bytes.
pub(crate) trait FixedFormat: Send {
    const SIZE: usize;
    /// The name of a record, for the message if one is cut off.
    const RECORD: &'static str;

    /// Reads one record of [`FixedFormat::SIZE`] bytes and passes it to `sink`.
    fn record(&mut self, bytes: &[u8], sink: &mut Sink) -> Result<(), LineError>;

    /// Fetches what the next records look up into the processor's cache. Most formats look nothing up.
    #[inline]
    fn warm(&self, _records: &[u8]) {}
}

/// How many records are looked ahead at a time.
const WARM_BATCH: usize = 64;

struct Fixed<F> {
    input: Input,
    format: F,
}

/// Reads the rest of an input as records of `format`.
pub(crate) fn open<F: FixedFormat + 'static>(input: Input, format: F) -> Box<dyn RecordSource> {
    Box::new(Fixed { input, format })
}

impl<F: FixedFormat> RecordSource for Fixed<F> {
    fn fill(&mut self, sink: &mut Sink) -> Result<bool, TraceError> {
        if !self.input.fill_to(F::SIZE)? {
            let rest = self.input.window().len();
            if rest > 0 {
                sink.place += 1;
                sink.bad(F::RECORD, format!("{rest} bytes and the end of the input"))?;
            }
            return Ok(false);
        }
        let window = self.input.window();
        let whole = window.len() / F::SIZE * F::SIZE;
        for batch in window[..whole].chunks(F::SIZE * WARM_BATCH) {
            self.format.warm(batch);
            for record in batch.chunks_exact(F::SIZE) {
                sink.place += 1;
                if let Err(error) = self.format.record(record, sink) {
                    refuse(record, error, sink)?;
                }
            }
        }
        sink.notes.lines = sink.place;
        self.input.consume(whole);
        Ok(true)
    }
}

/// Reports a record that is not as its format has it.
#[cold]
fn refuse(record: &[u8], error: LineError, sink: &mut Sink) -> Result<(), TraceError> {
    match error {
        LineError::TooManyVolumes(too_many) => Err(sink.too_many_volumes(too_many)),
        LineError::Expected(expected) | LineError::Header(expected) => {
            let from = expected.at.min(record.len());
            let (from, shown) = if from == record.len() { (0, 16) } else { (from, 4) };
            let found = quote(&record[from..record.len().min(from + shown)]);
            sink.bad(expected.what, found)
        }
    }
}

/// How well the beginning of an input, from byte `start`, reads as records: up to 99. Nearly all records have to.
pub(crate) fn confidence<F: FixedFormat>(mut format: F, sample: &Sample<'_>, start: usize) -> u8 {
    let options = ReadOptions { lenient: Some(u64::MAX), ..ReadOptions::default() };
    let mut sink = Sink::new("", true, true, &options);
    let Some(bytes) = sample.bytes.get(start..) else { return 0 };
    let (mut good, mut all) = (0, 0);
    for record in bytes.chunks_exact(F::SIZE).take(500) {
        all += 1;
        good += usize::from(format.record(record, &mut sink).is_ok());
    }
    match good * 100 / all.max(1) {
        share @ 90.. => share.min(99) as u8,
        _ => 0,
    }
}

/// Reads a little-endian number from a record.
pub(crate) fn u16_le(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}
pub(crate) fn u32_le(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
pub(crate) fn u64_le(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
