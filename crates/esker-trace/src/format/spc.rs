//! SPC-1 traces of the UMass Trace Repository (Financial1, Financial2, WebSearch1 to 3).

use std::io;

use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times};
use crate::scan::Scanner;
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target, write_decimal, write_number};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "spc",
    summary: "SPC traces of the UMass repository: Financial1, WebSearch1 and others",
    source: "SPC trace file format, revision 1.0.1; traces of the UMass Trace Repository",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["spc", "csv"],
        layout: "text: ASU,LBA,size,opcode,timestamp; LBA in 512-byte sectors of that ASU, size in bytes, opcode R or \
                 W in either case, timestamp in seconds since the start with decimals; further fields are allowed",
        remarks: "each ASU is a volume; optional fields are dropped",
        binary: false,
        times: Times::Relative,
        responses: Responses::Never,
        holds: Holds { length_unit: 1, ..Holds::SECTORS },
        detect: lines::confidence::<Spc>,
        open: Open::One(lines::open::<Spc>),
        write: Some(|| Box::new(Spc)),
    },
};

/// Has no state between lines.
#[derive(Default)]
struct Spc;

impl LineFormat for Spc {
    #[inline(always)]
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        let asu = scanner.number_u32("an ASU number")?;
        scanner.comma()?;
        let lba = scanner.number("a sector number")?;
        scanner.comma()?;
        let length = scanner.number("a size in bytes")?;
        scanner.comma()?;
        let operation = scanner.one_of(b'r', b'w', "R or W")?;
        scanner.comma()?;
        let at = scanner.time::<9>("a timestamp in seconds")?;
        if scanner.peek() == b',' {
            scanner.rest_of_line()?;
        } else {
            scanner.end_of_line()?;
        }
        let offset = lba.checked_mul(512).ok_or("a sector below 2^55")?;
        let volume = sink.volumes.number(u64::from(asu))?;
        Ok(sink.request(Found { at, offset, length, volume, operation, response: None })?)
    }
}

impl RecordWriter for Spc {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()> {
        write_number(output, u64::from(target.number));
        output.push(b',');
        write_number(output, record.offset / 512);
        output.push(b',');
        write_number(output, u64::from(record.length));
        output.extend_from_slice(if record.operation == Operation::Read { b",R," } else { b",W," });
        write_decimal(output, record.at.0, 9, 6);
        output.push(b'\n');
        Ok(())
    }
}
