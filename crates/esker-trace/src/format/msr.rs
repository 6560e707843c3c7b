//! Traces of Microsoft Research Cambridge (SNIA IOTTA, 2007): prxy_0, src1_2, usr_0 and others.

use std::io;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times, VolumeNames};
use crate::scan::{Expected, Scanner};
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target, write_number};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "msr",
    summary: "Microsoft Research Cambridge servers, 2007 (SNIA IOTTA)",
    source: "Narayanan, Donnelly and Rowstron, FAST 2008",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["msr", "csv"],
        layout: "text: timestamp,hostname,disk,type,offset,size,response; timestamp in Windows FILETIME (100 ns since \
                 1601), type Read or Write, offset and size in bytes, response time in 100 ns",
        remarks: "each host and disk is a volume called HOST.DISK; a response time of 0 means that it is not known; a \
                  header line that begins with `Timestamp,` is passed over",
        binary: false,
        times: Times::Absolute,
        responses: Responses::ZeroIfUnknown,
        holds: Holds {
            offset_unit: 1,
            length_unit: 1,
            time_unit: Nanos(100),
            response_unit: Nanos(100),
            volumes: VolumeNames::HostAndNumber,
            ..Holds::SECTORS
        },
        detect: lines::confidence::<Msr>,
        open: Open::One(lines::open::<Msr>),
        write: Some(|| Box::new(Msr)),
    },
};

/// 1970-01-01 in FILETIME.
const UNIX_EPOCH: u64 = 116_444_736_000_000_000;

/// Has no state between lines.
#[derive(Default)]
struct Msr;

impl LineFormat for Msr {
    #[inline(always)]
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        const TIME: &str = "a FILETIME between 1970 and 2554";
        if scanner.peek() | 0x20 == b't' {
            scanner.word(b"Timestamp,", TIME)?;
            scanner.rest_of_line()?;
            sink.notes.ignore("header");
            return Ok(());
        }
        let start = scanner.position;
        let ticks = scanner.number(TIME)?;
        let at = ticks
            .checked_sub(UNIX_EPOCH)
            .and_then(|ticks| ticks.checked_mul(100))
            .ok_or(Expected { what: TIME, at: start })?;
        scanner.comma()?;
        let key = scanner.position;
        scanner.name("a host name")?;
        scanner.comma()?;
        scanner.number_u32("a disk number")?;
        let key = scanner.since(key);
        scanner.comma()?;
        let operation = scanner.either(b"read,", b"write,", "Read or Write")?;
        let offset = scanner.number("an offset in bytes")?;
        scanner.comma()?;
        let length = scanner.number("a size in bytes")?;
        scanner.comma()?;
        let start = scanner.position;
        let response = scanner.number("a response time in units of 100 ns")?;
        let response =
            response.checked_mul(100).ok_or(Expected { what: "a response time below 584 years", at: start })?;
        scanner.end_of_line()?;
        let volume = sink.volumes.key(key, |key| String::from_utf8_lossy(key).replace(',', "."))?;
        let response = (response != 0).then_some(Nanos(response));
        Ok(sink.request(Found { at: Nanos(at), offset, length, volume, operation, response })?)
    }
}

impl RecordWriter for Msr {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()> {
        write_number(output, record.at.0 / 100 + UNIX_EPOCH);
        output.push(b',');
        // "HOST.DISK". Any other name counts as a host with disk 0.
        match target.name.rsplit_once('.') {
            Some((host, disk)) => {
                output.extend_from_slice(host.as_bytes());
                output.push(b',');
                output.extend_from_slice(disk.as_bytes());
            }
            None => {
                output.extend_from_slice(target.name.as_bytes());
                output.extend_from_slice(b",0");
            }
        }
        output.extend_from_slice(if record.operation == Operation::Read { b",Read," } else { b",Write," });
        write_number(output, record.offset);
        output.push(b',');
        write_number(output, u64::from(record.length));
        output.push(b',');
        write_number(output, record.response.map_or(0, |response| response.0 / 100));
        output.push(b'\n');
        Ok(())
    }
}
