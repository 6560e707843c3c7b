//! Fields separated by semicolons, as our own recorder writes them.

use std::io;

use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times, VolumeNames};
use crate::scan::Scanner;
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target, write_number};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "semicolons",
    summary: "What our recorder writes",
    source: "none: an example",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["semicolons"],
        layout: "text: time;operation;offset;length; time in nanoseconds since the start, operation R or W, offset and \
                 length in bytes",
        remarks: "one volume; no response times",
        binary: false,
        times: Times::Relative,
        responses: Responses::Never,
        holds: Holds { offset_unit: 1, length_unit: 1, volumes: VolumeNames::One, ..Holds::SECTORS },
        detect: lines::confidence::<Semicolons>,
        open: Open::One(lines::open::<Semicolons>),
        write: Some(|| Box::new(Semicolons)),
    },
};

/// Has no state between lines.
#[derive(Default)]
struct Semicolons;

impl LineFormat for Semicolons {
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        let at = scanner.time::<0>("a time in nanoseconds")?;
        scanner.byte(b';', "a semicolon")?;
        let operation = scanner.one_of(b'r', b'w', "R or W")?;
        scanner.byte(b';', "a semicolon")?;
        let offset = scanner.number("an offset in bytes")?;
        scanner.byte(b';', "a semicolon")?;
        let length = scanner.number("a length in bytes")?;
        scanner.end_of_line()?;
        // A format with volumes looks each up by its number or name; this one has a single volume.
        let volume = sink.volumes.number(0)?;
        Ok(sink.request(Found { at, offset, length, volume, operation, response: None })?)
    }
}

impl RecordWriter for Semicolons {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, _: Target<'_>) -> io::Result<()> {
        write_number(output, record.at.0);
        output.extend_from_slice(if record.operation == Operation::Read { b";R;" } else { b";W;" });
        write_number(output, record.offset);
        output.push(b';');
        write_number(output, u64::from(record.length));
        output.push(b'\n');
        Ok(())
    }
}
