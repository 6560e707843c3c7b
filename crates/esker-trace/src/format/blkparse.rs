//! The text output of blkparse in its default form (Linux block layer).

use std::io;

use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times, VolumeNames};
use crate::pairing::{Event, Pairing, Step};
use crate::scan::{Expected, Scanner};
use crate::sink::Sink;
use crate::writer::events::{Events, MatchedBy, WrittenEvent};
use crate::writer::{RecordWriter, Target, write_number, write_padded};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "blkparse",
    summary: "blkparse text, as blktrace recordings are printed on Linux",
    source: "blkparse(1)",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["blkparse"],
        layout: "text, spaces between: device as major,minor, CPU, sequence number, time in seconds, process, action, \
                 what (RWBS), then `sector + sectors [command]`; sectors of 512 bytes",
        remarks: "requests are Q events where one comes before 4,097 D events, else D events; response times run to \
                  the C event of the same range, also where requests were merged or split; D in RWBS is a trim, F \
                  without data a flush; other actions and the summary at the end are counted and left out; each device is a volume",
        binary: false,
        times: Times::Relative,
        responses: Responses::Optional,
        holds: HOLDS,
        detect: lines::confidence::<Blkparse>,
        open: Open::One(lines::open::<Blkparse>),
        write: Some(|| Box::new(Writer::default())),
    },
};

pub(super) const HOLDS: Holds = Holds {
    operations: &[Operation::Read, Operation::Write, Operation::Trim, Operation::Flush],
    volumes: VolumeNames::MajorMinor,
    ..Holds::SECTORS
};

#[derive(Default)]
struct Blkparse {
    pairing: Pairing,
    events: u64,
    in_summary: bool,
}

/// The operation that the letters of RWBS stand for; `None` for requests without data that are not flushes.
fn operation(rwbs: &[u8], sectors: u64) -> Option<Operation> {
    // A flush before the data is an F in front of the letter of the operation.
    match rwbs {
        [b'F', ..] if sectors == 0 => Some(Operation::Flush),
        [b'F', rest @ ..] if !rest.is_empty() => operation(rest, sectors),
        [b'R', ..] => Some(Operation::Read),
        [b'W', ..] => Some(Operation::Write),
        [b'D', ..] => Some(Operation::Trim),
        _ => None,
    }
}

impl LineFormat for Blkparse {
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        scanner.blanks();
        if !scanner.peek().is_ascii_digit() {
            return self.other_line(scanner, sink);
        }
        let device = scanner.position;
        scanner.number_u32("a device as major,minor")?;
        scanner.comma()?;
        scanner.number_u32("a device as major,minor")?;
        let device = scanner.since(device);
        scanner.gap()?;
        scanner.number("a CPU number")?;
        scanner.gap()?;
        scanner.number("a sequence number")?;
        scanner.gap()?;
        let at = scanner.time::<9>("a time in seconds")?;
        scanner.gap()?;
        scanner.number("a process number")?;
        scanner.gap()?;
        let action = scanner.name("an action")?;
        let (step, other) = match action {
            b"Q" => (Some(Step::Queue), ""),
            b"D" => (Some(Step::Dispatch), ""),
            b"C" => (Some(Step::Complete), ""),
            b"G" => (None, "get-request event (G)"),
            b"I" => (None, "insert event (I)"),
            b"M" | b"F" => (None, "merge event (M, F)"),
            b"P" | b"U" | b"UT" | b"T" => (None, "plug or unplug event (P, U, T)"),
            b"A" => (None, "remap event (A)"),
            b"X" => (None, "split event (X)"),
            b"R" => (None, "requeue event (R)"),
            b"S" => (None, "sleep event (S)"),
            b"B" => (None, "bounce event (B)"),
            b"m" => (None, "message (m)"),
            _ if action.len() <= 2 && action[0].is_ascii_alphabetic() => (None, "other event"),
            _ => {
                let at = scanner.position - action.len();
                return Err(LineError::Expected(Expected { what: "an action such as Q, D or C", at }));
            }
        };
        let Some(step) = step else {
            scanner.rest_of_line()?;
            sink.notes.ignore(other);
            self.events += 1;
            return Ok(());
        };
        scanner.gap()?;
        let rwbs = scanner.name("an operation (RWBS)")?;
        scanner.blanks();
        let (mut sector, mut sectors) = (0, 0);
        if scanner.peek().is_ascii_digit() {
            sector = scanner.number("a sector number")?;
            scanner.blanks();
            if scanner.peek() == b'+' {
                scanner.position += 1;
                scanner.blanks();
                sectors = scanner.number("a number of sectors")?;
            }
        }
        scanner.rest_of_line()?;
        self.events += 1;
        let Some(operation) = operation(rwbs, sectors) else {
            sink.notes.ignore("event without data");
            return Ok(());
        };
        let (mut offset, length) = (sector.checked_mul(512), sectors.checked_mul(512));
        if operation == Operation::Flush {
            offset = Some(0);
        }
        let (offset, length) = offset.zip(length).ok_or("a sector below 2^55")?;
        let volume = sink.volumes.key(device, |device| String::from_utf8_lossy(device).into_owned())?;
        Ok(self.pairing.event(Event { at, step, volume, operation, offset, length }, sink)?)
    }

    fn finish(&mut self, sink: &mut Sink) {
        self.pairing.finish(sink);
    }
}

impl Blkparse {
    /// Before the events blkparse prints which files it reads, and after them a summary.
    fn other_line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        let start = scanner.position;
        let line = scanner.rest_of_line()?;
        if line.starts_with(b"Input file ") {
            sink.notes.ignore("file name");
            return Ok(());
        }
        self.in_summary |= self.events > 0 && (line.starts_with(b"CPU") || line.starts_with(b"Total "));
        if self.in_summary && !line.is_empty() {
            sink.notes.ignore("summary line");
            return Ok(());
        }
        Err(LineError::Expected(Expected { what: "a device as major,minor", at: start }))
    }
}

struct Writer {
    sequence: u64,
    events: Events,
    /// How the lines of each volume begin: with device and CPU.
    begins: Vec<String>,
}

impl Default for Writer {
    fn default() -> Self {
        Self { sequence: 0, events: Events::new(Step::Queue, MatchedBy::Range), begins: Vec::new() }
    }
}

fn write_event(output: &mut Vec<u8>, sequence: &mut u64, begins: &[String], event: WrittenEvent<'_>) {
    let WrittenEvent { step, at, record, .. } = event;
    *sequence += 1;
    output.extend_from_slice(begins[record.volume.0 as usize].as_bytes());
    write_padded(output, *sequence, 8, b' ');
    output.push(b' ');
    write_padded(output, at.0 / 1_000_000_000, 5, b' ');
    output.push(b'.');
    write_padded(output, at.0 % 1_000_000_000, 9, b'0');
    output.extend_from_slice(if step == Step::Complete { b"     0  C " } else { b"     0  Q " });
    output.extend_from_slice(match record.operation {
        Operation::Read => b"  R ",
        Operation::Write => b"  W ",
        Operation::Trim => b"  D ",
        Operation::Flush => b" FN ",
    });
    match (record.operation, step) {
        (Operation::Flush, Step::Complete) => output.extend_from_slice(b"0 "),
        (Operation::Flush, _) => {}
        _ => {
            write_number(output, record.offset / 512);
            output.extend_from_slice(b" + ");
            write_number(output, u64::from(record.length / 512));
            output.push(b' ');
        }
    }
    output.extend_from_slice(if step == Step::Complete { b"[0]\n" } else { b"[esker]\n" });
}

impl RecordWriter for Writer {
    fn volume(&mut self, _: &mut Vec<u8>, target: Target<'_>) {
        self.begins.push(format!("{:>7} {:>2} ", target.name, 0));
    }

    fn record(&mut self, output: &mut Vec<u8>, record: &Record, _: Target<'_>) -> io::Result<()> {
        let Self { sequence, events, begins } = self;
        events.record(record, |event| write_event(output, sequence, begins, event));
        Ok(())
    }

    fn end(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        let Self { sequence, events, begins } = self;
        events.end(|event| write_event(output, sequence, begins, event));
        Ok(())
    }

    fn mistaken(&self) -> Option<(u64, u64)> {
        self.events.mistaken()
    }
}
