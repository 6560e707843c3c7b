//! Block events as written by the WiscSee study of flash translation layers.

use std::io;

use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times, VolumeNames};
use crate::pairing::{Event, Pairing, Step};
use crate::scan::{Expected, Scanner};
use crate::sink::Sink;
use crate::writer::events::{Events, MatchedBy, WrittenEvent};
use crate::writer::{RecordWriter, Target, write_decimal, write_number};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "wiscsee",
    summary: "WiscSee block events (blktrace of a file system, prepared for a flash simulator)",
    source: "He et al., EuroSys 2017",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["wiscsee"],
        layout: "text, spaces between: process, action, operation, offset and size in bytes, time in seconds, wait \
                 before it in seconds, synchronous; action D (dispatch) or C (complete), operation read, write or \
                 discard",
        remarks: "requests are dispatches, response times run to the completion of the same range; one volume",
        binary: false,
        times: Times::Relative,
        responses: Responses::Optional,
        holds: Holds {
            operations: &[Operation::Read, Operation::Write, Operation::Trim],
            offset_unit: 1,
            length_unit: 1,
            volumes: VolumeNames::One,
            ..Holds::SECTORS
        },
        detect: lines::confidence::<Wiscsee>,
        open: Open::One(lines::open::<Wiscsee>),
        write: Some(|| Box::new(Writer::default())),
    },
};

#[derive(Default)]
struct Wiscsee {
    pairing: Pairing,
}

impl LineFormat for Wiscsee {
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        scanner.blanks();
        scanner.number("a process number")?;
        scanner.gap()?;
        let step = match scanner.peek() {
            b'D' => Step::Dispatch,
            b'C' => Step::Complete,
            _ => return scanner.expected("D or C").map_err(LineError::from),
        };
        scanner.position += 1;
        scanner.gap()?;
        let start = scanner.position;
        let operation = match scanner.name("an operation")? {
            b"read" => Operation::Read,
            b"write" => Operation::Write,
            b"discard" => Operation::Trim,
            _ => return Err(LineError::Expected(Expected { what: "read, write or discard", at: start })),
        };
        scanner.gap()?;
        let offset = scanner.number("an offset in bytes")?;
        scanner.gap()?;
        let length = scanner.number("a size in bytes")?;
        scanner.gap()?;
        let at = scanner.time::<9>("a time in seconds")?;
        scanner.rest_of_line()?;
        let volume = sink.volumes.number(0)?;
        Ok(self.pairing.event(Event { at, step, volume, operation, offset, length }, sink)?)
    }

    fn finish(&mut self, sink: &mut Sink) {
        self.pairing.finish(sink);
    }
}

struct Writer {
    events: Events,
}

impl Default for Writer {
    fn default() -> Self {
        Self { events: Events::new(Step::Dispatch, MatchedBy::Range) }
    }
}

fn write_event(output: &mut Vec<u8>, event: WrittenEvent<'_>) {
    let WrittenEvent { step, at, record, .. } = event;
    output.extend_from_slice(if step == Step::Complete { b"0 C " } else { b"0 D " });
    output.extend_from_slice(match record.operation {
        Operation::Read => b"read ".as_slice(),
        Operation::Write => b"write ",
        _ => b"discard ",
    });
    write_number(output, record.offset);
    output.push(b' ');
    write_number(output, u64::from(record.length));
    output.push(b' ');
    write_decimal(output, at.0, 9, 9);
    output.extend_from_slice(b" 0 False\n");
}

impl RecordWriter for Writer {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, _: Target<'_>) -> io::Result<()> {
        self.events.record(record, |event| write_event(output, event));
        Ok(())
    }

    fn end(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        self.events.end(|event| write_event(output, event));
        Ok(())
    }

    fn mistaken(&self) -> Option<(u64, u64)> {
        self.events.mistaken()
    }
}
