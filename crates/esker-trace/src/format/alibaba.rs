//! Block traces of Alibaba Cloud, 2020.

use std::io;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times};
use crate::scan::{Expected, Scanner};
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target, write_number};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "alibaba",
    summary: "Alibaba Cloud block traces, 2020",
    source: "Li et al., IISWC 2020",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["alibaba", "csv"],
        layout: "text: device,opcode,offset,length,timestamp; opcode R or W, offset and length in bytes, timestamp in \
                 microseconds since 1970",
        remarks: "each device is a volume; a header line `device_id,opcode,offset,length,timestamp` is passed over",
        binary: false,
        times: Times::Absolute,
        responses: Responses::Never,
        holds: Holds { offset_unit: 1, length_unit: 1, time_unit: Nanos(1000), ..Holds::SECTORS },
        detect: lines::confidence::<Alibaba>,
        open: Open::One(lines::open::<Alibaba>),
        write: Some(|| Box::new(Alibaba)),
    },
};

const HEADER: &[u8] = b"device_id,opcode,offset,length,timestamp";

/// A first line that does not begin with a number may be a header with the names of the columns.
#[cold]
fn header(scanner: &mut Scanner<'_>, sink: &mut Sink, expected: Expected) -> Result<(), LineError> {
    if scanner.word(HEADER, expected.what).and_then(|()| scanner.end_of_line()).is_err() {
        return Err(expected.into());
    }
    sink.notes.ignore("header");
    Ok(())
}

/// Has no state between lines.
#[derive(Default)]
struct Alibaba;

impl LineFormat for Alibaba {
    #[inline(always)]
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        let device = match scanner.number_u32("a device number") {
            Ok(device) => device,
            Err(expected) => return header(scanner, sink, expected),
        };
        scanner.comma()?;
        let operation = scanner.one_of(b'r', b'w', "R or W")?;
        scanner.comma()?;
        let offset = scanner.number("an offset in bytes")?;
        scanner.comma()?;
        let length = scanner.number("a length in bytes")?;
        scanner.comma()?;
        const TIME: &str = "a time in microseconds between 1970 and 2554";
        let start = scanner.position;
        let micros = scanner.number(TIME)?;
        let at = micros.checked_mul(1000).ok_or(Expected { what: TIME, at: start })?;
        scanner.end_of_line()?;
        let volume = sink.volumes.number(u64::from(device))?;
        Ok(sink.request(Found { at: Nanos(at), offset, length, volume, operation, response: None })?)
    }
}

impl RecordWriter for Alibaba {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()> {
        write_number(output, u64::from(target.number));
        output.extend_from_slice(if record.operation == Operation::Read { b",R," } else { b",W," });
        write_number(output, record.offset);
        for number in [u64::from(record.length), record.at.0 / 1000] {
            output.push(b',');
            write_number(output, number);
        }
        output.push(b'\n');
        Ok(())
    }
}
