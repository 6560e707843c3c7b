//! Logs of Sysinternals DiskMon.

use std::io;

use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times};
use crate::scan::Scanner;
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target, write_decimal, write_number};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "diskmon",
    summary: "Sysinternals DiskMon logs (Windows)",
    source: "Sysinternals DiskMon",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["diskmon"],
        layout: "text, tabs or spaces between: sequence number, time in seconds, duration in seconds, disk, Read or \
                 Write, sector, length; sector and length in 512-byte sectors",
        remarks: "the duration is the response time; its clock is coarse, so that 0 is common and kept as it is",
        binary: false,
        times: Times::Relative,
        responses: Responses::Always,
        holds: Holds::SECTORS,
        detect: lines::confidence::<DiskMon>,
        open: Open::One(lines::open::<DiskMon>),
        write: Some(|| Box::new(DiskMon::default())),
    },
};

/// Counts the lines written, to number them.
#[derive(Default)]
struct DiskMon {
    written: u64,
}

impl LineFormat for DiskMon {
    #[inline(always)]
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        scanner.number("a sequence number")?;
        scanner.gap()?;
        let at = scanner.time::<9>("a time in seconds")?;
        scanner.gap()?;
        let response = scanner.time::<9>("a duration in seconds")?;
        scanner.gap()?;
        let disk = scanner.number_u32("a disk number")?;
        scanner.gap()?;
        let operation = if scanner.peek() | 0x20 == b'r' { Operation::Read } else { Operation::Write };
        let word: &[u8] = if operation == Operation::Read { b"read" } else { b"write" };
        scanner.word(word, "Read or Write")?;
        scanner.gap()?;
        let sector = scanner.number("a sector number")?;
        scanner.gap()?;
        let sectors = scanner.number("a length in sectors")?;
        scanner.end_of_line()?;
        let offset = sector.checked_mul(512).ok_or("a sector below 2^55")?;
        let length = sectors.checked_mul(512).ok_or("a length below 4 GiB")?;
        let volume = sink.volumes.number(u64::from(disk))?;
        Ok(sink.request(Found { at, offset, length, volume, operation, response: Some(response) })?)
    }
}

impl RecordWriter for DiskMon {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()> {
        write_number(output, self.written);
        self.written += 1;
        for time in [record.at, record.response.unwrap_or_default()] {
            output.push(b'\t');
            write_decimal(output, time.0, 9, 6);
        }
        output.push(b'\t');
        write_number(output, u64::from(target.number));
        output.extend_from_slice(if record.operation == Operation::Read { b"\tRead\t" } else { b"\tWrite\t" });
        write_number(output, record.offset / 512);
        output.push(b'\t');
        write_number(output, u64::from(record.length / 512));
        output.push(b'\n');
        Ok(())
    }
}
