//! Traces of a virtual desktop infrastructure, SYSTOR 2017 (SNIA IOTTA; Lee 2017).

use std::io;

use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Sample, Times};
use crate::scan::Scanner;
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target, write_decimal, write_number};
use crate::{Operation, Record};

const HEADER: &[u8] = b"Timestamp,Response,IOType,LUN,Offset,Size";

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "systor",
    summary: "Virtual desktop storage, SYSTOR 2017 (SNIA IOTTA)",
    source: "Lee et al., SYSTOR 2017",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["systor", "csv"],
        layout: "text with a header line `Timestamp,Response,IOType,LUN,Offset,Size`: timestamp in seconds since 1970 \
                 with decimals, response time in seconds (may be empty), type R, W or empty, logical unit, offset and \
                 size in bytes",
        remarks: "each logical unit is a volume; a response time that is empty or 0 means that it is not known; \
                  requests without a type, which got no response, are counted and left out; the header may be missing \
                  or repeated",
        binary: false,
        times: Times::Absolute,
        responses: Responses::ZeroIfUnknown,
        holds: Holds { offset_unit: 1, length_unit: 1, ..Holds::SECTORS },
        detect,
        open: Open::One(lines::open::<Systor>),
        write: Some(|| Box::new(Systor)),
    },
};

fn detect(sample: &Sample<'_>) -> u8 {
    let header = sample.bytes.get(..HEADER.len()).is_some_and(|start| start.eq_ignore_ascii_case(HEADER));
    if header { 100 } else { lines::confidence::<Systor>(sample) }
}

/// Has no state between lines.
#[derive(Default)]
struct Systor;

impl LineFormat for Systor {
    #[inline(always)]
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        if scanner.peek() | 0x20 == b't' {
            scanner.word(HEADER, "a time in seconds or the header")?;
            scanner.end_of_line()?;
            sink.notes.ignore("header");
            return Ok(());
        }
        let at = scanner.time::<9>("a time in seconds")?;
        scanner.comma()?;
        let mut response = None;
        if scanner.peek() != b',' {
            response = Some(scanner.time::<9>("a response time in seconds")?).filter(|response| response.0 != 0);
        }
        scanner.comma()?;
        if scanner.peek() == b',' {
            // The recording has no answer to this request, so neither its type nor its size is certain.
            scanner.rest_of_line()?;
            sink.notes.ignore("request of unknown type");
            return Ok(());
        }
        let operation = scanner.one_of(b'r', b'w', "R, W or nothing")?;
        scanner.comma()?;
        let unit = scanner.number_u32("a logical unit")?;
        scanner.comma()?;
        let offset = scanner.number("an offset in bytes")?;
        scanner.comma()?;
        let length = scanner.number("a size in bytes")?;
        scanner.end_of_line()?;
        let volume = sink.volumes.number(u64::from(unit))?;
        Ok(sink.request(Found { at, offset, length, volume, operation, response })?)
    }
}

impl RecordWriter for Systor {
    fn begin(&mut self, output: &mut Vec<u8>) {
        output.extend_from_slice(HEADER);
        output.push(b'\n');
    }

    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()> {
        write_decimal(output, record.at.0, 9, 6);
        output.push(b',');
        if let Some(response) = record.response {
            write_decimal(output, response.0, 9, 6);
        }
        output.extend_from_slice(if record.operation == Operation::Read { b",R," } else { b",W," });
        write_number(output, u64::from(target.number));
        for number in [record.offset, u64::from(record.length)] {
            output.push(b',');
            write_number(output, number);
        }
        output.push(b'\n');
        Ok(())
    }
}
