//! DiskSim's ASCII traces (also for its Microsoft SSD model, Agrawal 2008).

use std::io;

use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::ssdsim::SsdSim;
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Sample, Times};
use crate::scan::Scanner;
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target, write_decimal, write_number};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "disksim",
    summary: "DiskSim ASCII traces, also Agrawal's IOzone and Postmark",
    source: "DiskSim 4.0 reference manual, CMU-PDL-08-101",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["disksim"],
        layout: "text, spaces or tabs between: arrival device sector size flags; arrival in milliseconds with \
                 decimals, sector and size in 512-byte sectors, flags hexadecimal with bit 0 set for reads",
        remarks: "flags but bit 0 are dropped; told from `ssdsim` by decimals in the times",
        binary: false,
        times: Times::Relative,
        responses: Responses::Never,
        holds: Holds::SECTORS,
        detect,
        open: Open::One(lines::open::<DiskSim>),
        write: Some(|| Box::new(DiskSim)),
    },
};

/// Every SSDsim line also reads as a DiskSim line. If no time has decimals, the trace is probably SSDsim's.
fn detect(sample: &Sample<'_>) -> u8 {
    let (own, narrower) = (lines::confidence::<DiskSim>(sample), lines::confidence::<SsdSim>(sample));
    if own > narrower { own } else { own.saturating_sub(20) }
}

/// Has no state between lines.
#[derive(Default)]
pub(super) struct DiskSim;

impl LineFormat for DiskSim {
    #[inline(always)]
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        scanner.blanks();
        let at = scanner.time::<6>("an arrival time in milliseconds")?;
        scanner.gap()?;
        let device = scanner.number_u32("a device number")?;
        scanner.gap()?;
        let sector = scanner.number("a sector number")?;
        scanner.gap()?;
        let sectors = scanner.number("a number of sectors")?;
        scanner.gap()?;
        let flags = scanner.hexadecimal("flags in hexadecimal")?;
        scanner.end_of_line()?;
        let operation = if flags & 1 == 1 { Operation::Read } else { Operation::Write };
        let offset = sector.checked_mul(512).ok_or("a sector below 2^55")?;
        let length = sectors.checked_mul(512).ok_or("a length below 4 GiB")?;
        let volume = sink.volumes.number(u64::from(device))?;
        Ok(sink.request(Found { at, offset, length, volume, operation, response: None })?)
    }
}

impl RecordWriter for DiskSim {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()> {
        write_decimal(output, record.at.0, 6, 6);
        for number in [u64::from(target.number), record.offset / 512, u64::from(record.length / 512)] {
            output.push(b' ');
            write_number(output, number);
        }
        output.extend_from_slice(if record.operation == Operation::Read { b" 1\n" } else { b" 0\n" });
        Ok(())
    }
}
