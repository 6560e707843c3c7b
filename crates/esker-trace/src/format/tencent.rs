//! Tencent Cloud Block Storage traces (SNIA IOTTA, 2018).

use std::io;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times};
use crate::scan::Scanner;
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target, write_number};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "tencent",
    summary: "Tencent Cloud Block Storage traces, 2018",
    source: "Zhang et al., USENIX ATC 2020",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["tencent", "csv"],
        layout: "text: timestamp,offset,size,type,volume; timestamp in whole seconds since 1970, offset and size in \
                 512-byte sectors, type 0 for reads and 1 for writes",
        remarks: "times are kept to the second only, as the format has them",
        binary: false,
        times: Times::Absolute,
        responses: Responses::Never,
        holds: Holds { time_unit: Nanos::from_secs(1), ..Holds::SECTORS },
        detect: lines::confidence::<Tencent>,
        open: Open::One(lines::open::<Tencent>),
        write: Some(|| Box::new(Tencent)),
    },
};

/// Has no state between lines.
#[derive(Default)]
struct Tencent;

impl LineFormat for Tencent {
    #[inline(always)]
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        let at = scanner.time::<9>("a time in seconds")?;
        scanner.comma()?;
        let sector = scanner.number("an offset in sectors")?;
        scanner.comma()?;
        let sectors = scanner.number("a size in sectors")?;
        scanner.comma()?;
        let operation = scanner.one_of(b'0', b'1', "0 (read) or 1 (write)")?;
        scanner.comma()?;
        let volume = scanner.number_u32("a volume number")?;
        scanner.end_of_line()?;
        let offset = sector.checked_mul(512).ok_or("a sector below 2^55")?;
        let length = sectors.checked_mul(512).ok_or("a length below 4 GiB")?;
        let volume = sink.volumes.number(u64::from(volume))?;
        Ok(sink.request(Found { at, offset, length, volume, operation, response: None })?)
    }
}

impl RecordWriter for Tencent {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()> {
        for number in [record.at.0 / 1_000_000_000, record.offset / 512, u64::from(record.length / 512)] {
            write_number(output, number);
            output.push(b',');
        }
        output.extend_from_slice(if record.operation == Operation::Read { b"0," } else { b"1," });
        write_number(output, u64::from(target.number));
        output.push(b'\n');
        Ok(())
    }
}
