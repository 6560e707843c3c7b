//! The sink that every format passes its records to.

use esker_core::Nanos;

use crate::error::{InputPosition, TraceError};
use crate::notes::ReadNotes;
use crate::volumes::{TooMany, VOLUMES_MAX, Volumes};
use crate::window::ReorderWindow;
use crate::{Operation, ReadOptions, Record, VolumeIndex};

/// Collects records, checks the rules that hold for every format, and counts what was read.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) name: String,
    pub(crate) volumes: Volumes,
    pub(crate) notes: ReadNotes,
    window: ReorderWindow<Record>,
    lenient: u64,
    first_bad: Option<String>,
    options: (Nanos, usize),
    /// The line or record that is being read, counted from 1.
    pub(crate) place: u64,
    binary: bool,
    has_responses: bool,
    events_reordered: (u64, Nanos),
    /// Pairs of a record's number, and the difference of position and number from that record on.
    marks: Vec<(u64, u64)>,
    mark: u64,
    /// Trims of 4 GiB and more, and the records that they became.
    long_trims: (u64, u64),
    trim_pieces: u64,
}

/// What is expected if a read or write is longer than records can represent.
pub(crate) const TOO_LONG: &str = "a length below 4 GiB";
/// Trims of 4 GiB and more are split into pieces of this many bytes, a multiple of any sector and page.
const TRIM_PIECE: u64 = (4 << 30) - (1 << 20);
/// The largest number of pieces made before records are handed on.
const TRIM_PIECES_MAX: u64 = 1 << 18;

/// A request as a format read it, before its length is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) at: Nanos,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) volume: VolumeIndex,
    pub(crate) operation: Operation,
    pub(crate) response: Option<Nanos>,
}

impl Sink {
    pub(crate) fn new(name: &str, binary: bool, has_times: bool, options: &ReadOptions) -> Self {
        Self {
            name: name.to_string(),
            volumes: Volumes::default(),
            notes: ReadNotes { has_times, ..ReadNotes::default() },
            window: ReorderWindow::new(options.reorder_time, options.reorder_records),
            lenient: options.lenient.unwrap_or(0),
            first_bad: None,
            options: (options.reorder_time, options.reorder_records),
            place: 0,
            binary,
            has_responses: false,
            events_reordered: (0, Nanos::ZERO),
            marks: Vec::new(),
            mark: u64::MAX,
            long_trims: (0, 0),
            trim_pieces: 0,
        }
    }

    /// Takes a request. Reads, writes and trims of zero bytes are counted and left out. The error tells what was
    /// expected.
    #[inline(always)]
    pub(crate) fn request(&mut self, found: Found) -> Result<(), &'static str> {
        let Found { at, offset, length, volume, operation, response } = found;
        debug_assert!((volume.0 as usize) < self.volumes.names().len(), "a volume comes from `sink.volumes`");
        if length == 0 && operation != Operation::Flush {
            self.notes.ignore("request of length zero");
            return Ok(());
        }
        let Ok(length) = u32::try_from(length) else { return self.long_trim(found) };
        if offset.checked_add(u64::from(length)).is_none() {
            return Err("a range that ends below 2^64 bytes");
        }
        let delta = self.place.wrapping_sub(self.window.pushed());
        if delta != self.mark {
            self.mark = delta;
            self.marks.push((self.window.pushed(), delta));
        }
        self.has_responses |= response.is_some();
        self.window.push(Record { at, offset, length, volume, operation, response });
        Ok(())
    }

    /// Splits a trim of 4 GiB or more. Their number between two calls of [`Self::settle`] is bounded, to bound memory.
    #[cold]
    fn long_trim(&mut self, found: Found) -> Result<(), &'static str> {
        if found.operation != Operation::Trim {
            return Err(TOO_LONG);
        }
        let Some(end) = found.offset.checked_add(found.length) else {
            return Err("a range that ends below 2^64 bytes");
        };
        let pieces = found.length.div_ceil(TRIM_PIECE);
        if self.trim_pieces + pieces > TRIM_PIECES_MAX {
            return Err("trims of less than 1 PiB");
        }
        self.trim_pieces += pieces;
        self.long_trims.0 += 1;
        self.long_trims.1 += pieces;
        let mut offset = found.offset;
        while offset < end {
            let length = TRIM_PIECE.min(end - offset);
            self.request(Found { offset, length, ..found })?;
            offset += length;
        }
        Ok(())
    }

    /// The position `number`: a line or a record, depending on the format.
    pub(crate) fn place(&self, number: u64) -> InputPosition {
        if self.binary { InputPosition::Record(number) } else { InputPosition::Line(number) }
    }

    /// Reports a bad line or record: an error, or a note if it is tolerated.
    #[cold]
    pub(crate) fn bad(&mut self, expected: &'static str, found: String) -> Result<(), TraceError> {
        let error = TraceError::Field { name: self.name.clone(), place: self.place(self.place), expected, found };
        if self.lenient == 0 {
            return Err(error);
        }
        let message = error.to_string();
        let first = self.first_bad.get_or_insert_with(|| message.clone()).clone();
        if self.notes.bad_lines == self.lenient {
            return Err(TraceError::TooManyBadLines {
                name: self.name.clone(),
                limit: self.lenient,
                first,
                last: message,
            });
        }
        self.notes.bad_line(message);
        Ok(())
    }

    #[cold]
    pub(crate) fn too_many_volumes(&self, _: TooMany) -> TraceError {
        TraceError::TooManyVolumes { name: self.name.clone(), place: self.place(self.place), limit: VOLUMES_MAX }
    }

    /// Sorts the records that came since the last call.
    pub(crate) fn settle(&mut self) -> Result<(), TraceError> {
        self.trim_pieces = 0;
        self.notes.has_responses = self.has_responses;
        let result = self.window.settle();
        let (events, step_back) = self.events_reordered;
        self.notes.reordered = self.window.reordered + events;
        self.notes.largest_step_back = self.window.largest_step_back.max(step_back);
        if let Err(far) = result {
            let mark = self.marks.iter().rev().find(|(since, _)| *since <= far.record);
            let number = mark.map_or(far.record, |(_, delta)| far.record.wrapping_add(*delta));
            return Err(TraceError::Unordered {
                name: self.name.clone(),
                place: self.place(number),
                back: far.back,
                at: far.at,
                window: self.options.0,
                records: self.options.1,
            });
        }
        if self.marks.len() > 1 {
            self.marks.drain(..self.marks.len() - 1);
        }
        Ok(())
    }

    /// Notes that a format put `count` events in order before it made records of them.
    pub(crate) fn events_reordered(&mut self, count: u64, step_back: Nanos) {
        self.events_reordered = (count, step_back);
    }

    /// Called when there are no more records.
    pub(crate) fn finish(&mut self) {
        let (trims, pieces) = self.long_trims;
        if trims > 0 {
            self.notes.remark(format!("{trims} trims of 4 GiB and more were read as {pieces} shorter ones"));
        }
        self.window.finish();
    }

    /// Moves the next records whose order is certain into `batch`, which is empty. Returns false if there are none now.
    pub(crate) fn take_chunk(&mut self, batch: &mut Vec<Record>) -> bool {
        let some = self.window.take_chunk(batch);
        self.notes.records += batch.len() as u64;
        some
    }
}
