//! The `.lis` traces of the ARC paper (Megiddo and Modha, FAST 2003).

use std::io;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Sample, Times, VolumeNames};
use crate::scan::Scanner;
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target, write_number};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "arc",
    summary: "Cache traces of the ARC paper (.lis): OLTP, P1 to P14, DS1, S1 to S3",
    source: "Megiddo and Modha, FAST 2003",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["arc", "lis"],
        layout: "text, spaces between: start block, number of blocks, an ignored number, number of the request; blocks \
                 of 512 bytes",
        remarks: "no times and reads only; one volume",
        binary: false,
        times: Times::None,
        responses: Responses::Never,
        holds: Holds { operations: &[Operation::Read], volumes: VolumeNames::One, ..Holds::SECTORS },
        detect,
        open: Open::One(lines::open::<Arc>),
        write: Some(|| Box::new(Arc::default())),
    },
};

/// Four numbers are weak evidence: any more certain format wins.
fn detect(sample: &Sample<'_>) -> u8 {
    if lines::confidence::<Arc>(sample) >= 95 { 70 } else { 0 }
}

/// Counts the lines written, to number them.
#[derive(Default)]
struct Arc {
    written: u64,
}

impl LineFormat for Arc {
    #[inline(always)]
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        scanner.blanks();
        let block = scanner.number("a block number")?;
        scanner.gap()?;
        let blocks = scanner.number("a number of blocks")?;
        scanner.gap()?;
        scanner.number("a number")?;
        scanner.gap()?;
        scanner.number("a request number")?;
        scanner.end_of_line()?;
        let offset = block.checked_mul(512).ok_or("a block below 2^55")?;
        let length = blocks.checked_mul(512).ok_or("a length below 4 GiB")?;
        let volume = sink.volumes.number(0)?;
        let operation = Operation::Read;
        Ok(sink.request(Found { at: Nanos::ZERO, offset, length, volume, operation, response: None })?)
    }
}

impl RecordWriter for Arc {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, _: Target<'_>) -> io::Result<()> {
        write_number(output, record.offset / 512);
        output.push(b' ');
        write_number(output, u64::from(record.length / 512));
        output.extend_from_slice(b" 0 ");
        write_number(output, self.written);
        output.push(b'\n');
        self.written += 1;
        Ok(())
    }
}
