//! Binary recordings of blktrace: one file per CPU, or one stream (`blktrace -o -`).
//!
//! An event has 48 bytes and a payload (linux/blktrace_api.h): u32 magic 0x65617400 with the version 7 in its low byte,
//! u32 sequence, u64 time in ns, u64 sector, u32 bytes, u32 action (low half: what happened; high half: to what), u32
//! process, u32 device (major << 20 | minor), u32 CPU, u16 error, u16 length of the payload.

use std::io;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::{Format, FormatCapability, FormatEntry, Open, Opened, RecordSource, Responses, Sample, Times, blkparse};
use crate::error::TraceError;
use crate::input::Input;
use crate::pairing::{Event, Pairing, Step};
use crate::reader::ReadOptions;
use crate::sink::Sink;
use crate::window::{ReorderWindow, Timed};
use crate::writer::events::{Events, MatchedBy, WrittenEvent};
use crate::writer::{RecordWriter, Target};
use crate::{Operation, Record};

const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
const EVENT: usize = 48;
/// Events read before records are handed on.
const EVENTS_AT_A_TIME: usize = 16_384;

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "blktrace",
    summary: "Binary blktrace recordings: NAME.blktrace.0, .1, ... together, or the stream of `blktrace -o -`",
    source: "linux/blktrace_api.h",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["blktrace"],
        layout: "binary, either byte order, events of 48 bytes and an optional rest: magic, sequence, time in ns, \
                 sector of 512 bytes, length in bytes, action, process, device, CPU, error, length of the rest \
                 (linux/blktrace_api.h)",
        remarks: "as blkparse; files of one recording are merged by time; times are those of the recording's clock, \
                  not shifted to zero",
        binary: true,
        times: Times::Relative,
        responses: Responses::Optional,
        holds: blkparse::HOLDS,
        detect,
        open: Open::Several(open),
        write: Some(|| Box::new(Writer::default())),
    },
};

/// Whether numbers are big-endian; `None` if the magic is missing in both byte orders.
fn big_endian(bytes: &[u8]) -> Option<bool> {
    let magic: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
    match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
        (little, _) if little & !0xff == MAGIC => Some(false),
        (_, big) if big & !0xff == MAGIC => Some(true),
        _ => None,
    }
}

fn detect(sample: &Sample<'_>) -> u8 {
    if big_endian(sample.bytes).is_some() { 100 } else { 0 }
}

/// The fields of an event that are used.
#[derive(Clone, Copy, Debug)]
struct Raw {
    at: Nanos,
    /// The number of the event, for messages.
    place: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
}

impl Timed for Raw {
    fn at(&self) -> Nanos {
        self.at
    }
}

/// Bits of an action's high half.
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
const READ: u32 = 1 << 16;

/// One file of a recording, and its next event.
struct Cpu {
    input: Input,
    big_endian: bool,
    next: Option<Raw>,
}

impl Cpu {
    fn read(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        self.next = None;
        if !self.input.fill_to(EVENT)? {
            let rest = self.input.window().len();
            if rest == 0 {
                return Ok(());
            }
            sink.place += 1;
            return sink.bad("an event of 48 bytes", format!("{rest} bytes and the end of {}", self.input.name()));
        }
        sink.place += 1;
        let event: [u8; EVENT] = self.input.window()[..EVENT].try_into().expect("its length");
        if big_endian(&event) != Some(self.big_endian) {
            // Without the magic it is unknown where the next event begins.
            return Err(self.damaged(sink, "the magic of an event", super::lines::quote(&event[..4])));
        }
        let number = |at: usize, length: usize| {
            let mut bytes = [0; 8];
            if self.big_endian {
                bytes[8 - length..].copy_from_slice(&event[at..at + length]);
                u64::from_be_bytes(bytes)
            } else {
                bytes[..length].copy_from_slice(&event[at..at + length]);
                u64::from_le_bytes(bytes)
            }
        };
        let number_u32 = |at| number(at, 4) as u32;
        if number_u32(0) & 0xff != VERSION {
            return Err(self.damaged(sink, "version 7 of the format", format!("version {}", number_u32(0) & 0xff)));
        }
        self.next = Some(Raw {
            at: Nanos(number(8, 8)),
            place: sink.place,
            sector: number(16, 8),
            bytes: number_u32(24),
            action: number_u32(28),
            device: number_u32(36),
        });
        let rest = number(46, 2) as usize;
        if !self.input.fill_to(EVENT + rest)? {
            self.next = None;
            return sink.bad("the rest of an event", format!("the end of {}", self.input.name()));
        }
        self.input.consume(EVENT + rest);
        Ok(())
    }

    fn damaged(&self, sink: &Sink, expected: &'static str, found: String) -> TraceError {
        TraceError::Damaged { name: self.input.name().to_string(), place: sink.place(sink.place), expected, found }
    }
}

struct Reader {
    cpus: Vec<Cpu>,
    begun: bool,
    /// Events of one CPU may be slightly out of order, those of a stream by more.
    window: ReorderWindow<Raw>,
    pairing: Pairing,
    sorted: Vec<Raw>,
    options: ReadOptions,
}

fn open(inputs: Vec<Input>, options: &ReadOptions) -> Opened {
    let mut cpus = Vec::new();
    for input in inputs {
        let Some(big_endian) = big_endian(input.window()) else {
            return Err(TraceError::Damaged {
                name: input.name().to_string(),
                place: crate::InputPosition::Byte(0),
                expected: "the magic of a blktrace event",
                found: super::lines::quote(&input.window()[..input.window().len().min(4)]),
            });
        };
        cpus.push(Cpu { input, big_endian, next: None });
    }
    Ok(Box::new(Reader {
        cpus,
        begun: false,
        window: ReorderWindow::new(options.reorder_time, options.reorder_records),
        pairing: Pairing::default(),
        sorted: Vec::new(),
        options: options.clone(),
    }))
}

impl Reader {
    /// Moves the earliest next event of all files into the window. Returns false if there is none.
    fn merge_one(&mut self, sink: &mut Sink) -> Result<bool, TraceError> {
        let heads = self.cpus.iter().enumerate().filter_map(|(index, cpu)| Some((cpu.next?.at, index)));
        let Some((_, index)) = heads.min() else { return Ok(false) };
        let cpu = &mut self.cpus[index];
        self.window.push(cpu.next.take().expect("it is the earliest"));
        cpu.read(sink)?;
        Ok(true)
    }

    fn event(&mut self, raw: Raw, sink: &mut Sink) -> Result<(), TraceError> {
        sink.place = raw.place;
        if raw.action & NOTIFY != 0 {
            sink.notes.ignore("message or process name");
            return Ok(());
        }
        let step = match raw.action & 0xff {
            1 => Step::Queue,
            7 => Step::Dispatch,
            8 => Step::Complete,
            action => {
                sink.notes.ignore(match action {
                    2 | 3 => "merge event (M, F)",
                    4 => "get-request event (G)",
                    5 => "sleep event (S)",
                    6 => "requeue event (R)",
                    9..=11 => "plug or unplug event (P, U, T)",
                    12 => "insert event (I)",
                    13 => "split event (X)",
                    14 => "bounce event (B)",
                    15 => "remap event (A)",
                    _ => "other event",
                });
                return Ok(());
            }
        };
        let operation = if raw.action & DISCARD != 0 {
            Operation::Trim
        } else if raw.bytes == 0 && raw.action & FLUSH != 0 {
            Operation::Flush
        } else if raw.action & WRITE != 0 {
            Operation::Write
        } else if raw.action & READ != 0 {
            Operation::Read
        } else {
            sink.notes.ignore("event without data");
            return Ok(());
        };
        let sector = if operation == Operation::Flush { 0 } else { raw.sector };
        let volume = sink
            .volumes
            .key(&raw.device.to_le_bytes(), |_| format!("{},{}", raw.device >> 20, raw.device & 0xf_ffff))
            .map_err(|too_many| sink.too_many_volumes(too_many))?;
        let Some(offset) = sector.checked_mul(512) else {
            return sink.bad("a sector below 2^55", sector.to_string());
        };
        let event = Event { at: raw.at, step, volume, operation, offset, length: u64::from(raw.bytes) };
        match self.pairing.event(event, sink) {
            Ok(()) => Ok(()),
            Err(expected) => sink.bad(expected, format!("{} bytes at sector {sector}", raw.bytes)),
        }
    }

    /// Hands on the events whose order is certain.
    fn take_events(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        let mut events = std::mem::take(&mut self.sorted);
        while self.window.take_chunk(&mut events) {
            for raw in events.drain(..) {
                self.event(raw, sink)?;
            }
        }
        self.sorted = events;
        Ok(())
    }
}

impl RecordSource for Reader {
    fn fill(&mut self, sink: &mut Sink) -> Result<bool, TraceError> {
        if !self.begun {
            self.begun = true;
            for cpu in &mut self.cpus {
                cpu.read(sink)?;
            }
        }
        let read = sink.place;
        let mut more = true;
        for _ in 0..EVENTS_AT_A_TIME {
            more = self.merge_one(sink)?;
            if !more {
                break;
            }
        }
        let (place, read) = (sink.place, sink.place - read);
        sink.notes.lines += read;
        self.window.settle().map_err(|far| TraceError::Unordered {
            name: sink.name.clone(),
            place: sink.place(far.record + 1),
            back: far.back,
            at: far.at,
            window: self.options.reorder_time,
            records: self.options.reorder_records,
        })?;
        if !more {
            self.window.finish();
        }
        self.take_events(sink)?;
        if self.window.reordered > 0 {
            sink.events_reordered(self.window.reordered, self.window.largest_step_back);
        }
        sink.place = place;
        if !more {
            self.pairing.finish(sink);
        }
        Ok(more)
    }
}

struct Writer {
    sequence: u32,
    events: Events,
    devices: Vec<u32>,
}

impl Default for Writer {
    fn default() -> Self {
        Self { sequence: 0, events: Events::new(Step::Queue, MatchedBy::Range), devices: Vec::new() }
    }
}

fn write_event(output: &mut Vec<u8>, sequence: &mut u32, devices: &[u32], event: WrittenEvent<'_>) {
    let WrittenEvent { step, at, record, .. } = event;
    // The step is also a bit of the high half: queue 1 << 4, complete 1 << 7.
    let action = if step == Step::Complete { 8 | 1 << 23 } else { 1 | 1 << 20 };
    let what = match record.operation {
        Operation::Read => READ,
        Operation::Write => WRITE,
        Operation::Trim => WRITE | DISCARD,
        Operation::Flush => WRITE | FLUSH,
    };
    *sequence = sequence.wrapping_add(1);
    let numbers = [record.length, action | what, 0, devices[record.volume.0 as usize], 0, 0];
    let mut bytes = [0; EVENT];
    bytes[..4].copy_from_slice(&(MAGIC | VERSION).to_le_bytes());
    bytes[4..8].copy_from_slice(&sequence.to_le_bytes());
    bytes[8..16].copy_from_slice(&at.0.to_le_bytes());
    bytes[16..24].copy_from_slice(&(record.offset / 512).to_le_bytes());
    for (bytes, number) in bytes[24..].chunks_exact_mut(4).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    output.extend_from_slice(&bytes);
}

impl RecordWriter for Writer {
    fn volume(&mut self, _: &mut Vec<u8>, target: Target<'_>) {
        // Names were made to fit before: 12 bits of the major number, 20 of the minor.
        let (major, minor) = target.name.split_once(',').unwrap_or(("259", "0"));
        let part = |text: &str, bits: u32| text.parse::<u32>().unwrap_or(0) & ((1 << bits) - 1);
        self.devices.push(part(major, 12) << 20 | part(minor, 20));
    }

    fn record(&mut self, output: &mut Vec<u8>, record: &Record, _: Target<'_>) -> io::Result<()> {
        let Self { sequence, events, devices } = self;
        events.record(record, |event| write_event(output, sequence, devices, event));
        Ok(())
    }

    fn end(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        let Self { sequence, events, devices } = self;
        events.end(|event| write_event(output, sequence, devices, event));
        Ok(())
    }

    fn mistaken(&self) -> Option<(u64, u64)> {
        self.events.mistaken()
    }
}
