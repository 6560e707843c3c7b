//! ASCII traces of SSDsim and MQSim.

use std::io;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::disksim::DiskSim;
use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Sample, Times};
use crate::scan::Scanner;
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target, write_number};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "ssdsim",
    summary: "ASCII traces of SSDsim and MQSim",
    source: "Hu et al., ICS 2011; Tavakkol et al., FAST 2018",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["ssdsim", "mqsim"],
        layout: "text, spaces or tabs between: arrival device sector size op; arrival in whole nanoseconds, sector and \
                 size in 512-byte sectors, op 1 for reads and 0 for writes",
        remarks: "told from `disksim` by whole-numbered times",
        binary: false,
        times: Times::Relative,
        responses: Responses::Never,
        holds: Holds::SECTORS,
        detect,
        open: Open::One(lines::open::<SsdSim>),
        write: Some(|| Box::new(SsdSim)),
    },
};

/// If some lines can only be DiskSim's, all lines are.
fn detect(sample: &Sample<'_>) -> u8 {
    let (own, wider) = (lines::confidence::<SsdSim>(sample), lines::confidence::<DiskSim>(sample));
    if own >= wider { own } else { own.saturating_sub(20) }
}

/// Has no state between lines.
#[derive(Default)]
pub(super) struct SsdSim;

impl LineFormat for SsdSim {
    #[inline(always)]
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        scanner.blanks();
        let at = scanner.number("an arrival time in nanoseconds")?;
        scanner.gap()?;
        let device = scanner.number_u32("a device number")?;
        scanner.gap()?;
        let sector = scanner.number("a sector number")?;
        scanner.gap()?;
        let sectors = scanner.number("a number of sectors")?;
        scanner.gap()?;
        let operation = scanner.one_of(b'1', b'0', "1 (read) or 0 (write)")?;
        scanner.end_of_line()?;
        let offset = sector.checked_mul(512).ok_or("a sector below 2^55")?;
        let length = sectors.checked_mul(512).ok_or("a length below 4 GiB")?;
        let volume = sink.volumes.number(u64::from(device))?;
        Ok(sink.request(Found { at: Nanos(at), offset, length, volume, operation, response: None })?)
    }
}

impl RecordWriter for SsdSim {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()> {
        write_number(output, record.at.0);
        for number in [u64::from(target.number), record.offset / 512, u64::from(record.length / 512)] {
            output.push(b' ');
            write_number(output, number);
        }
        output.extend_from_slice(if record.operation == Operation::Read { b" 1\n" } else { b" 0\n" });
        Ok(())
    }
}
