//! DiskSim's validation files: requests of one drive, one after another, with the service times that were measured.
//!
//! They are no traces of a workload, because nothing in them says when requests would have arrived. So they are not
//! among the formats, and only [`crate::TraceReader::open_measured`] reads them.

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatEntry, Holds, Open, Responses, Times, VolumeNames};
use crate::scan::Scanner;
use crate::sink::{Found, Sink};

pub(crate) static ENTRY: FormatEntry = FormatEntry {
    name: "disksim-validate",
    summary: "DiskSim's validation files: service times measured on a drive",
    source: "DiskSim 4.0 reference manual, CMU-PDL-08-101",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: Format {
        endings: &["disksim-validate"],
        layout: "text, spaces between: R or W, how the drive served it, sector, sectors, service time and the host's pause \
                 behind it in microseconds with decimals",
        remarks: "times are as if the host had issued each request at the end of its pause",
        binary: false,
        times: Times::Relative,
        responses: Responses::Always,
        holds: Holds { volumes: VolumeNames::One, ..Holds::SECTORS },
        detect: lines::confidence::<DiskSimValidate>,
        open: Open::One(lines::open::<DiskSimValidate>),
        write: None,
    },
};

/// Knows when the next request is issued.
#[derive(Default)]
struct DiskSimValidate {
    now: Nanos,
}

impl LineFormat for DiskSimValidate {
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        scanner.blanks();
        let operation = scanner.one_of(b'r', b'w', "R or W")?;
        scanner.gap()?;
        scanner.name("a word such as Hit or Miss")?;
        scanner.gap()?;
        let sector = scanner.number("a sector number")?;
        scanner.gap()?;
        let sectors = scanner.number("a number of sectors")?;
        scanner.gap()?;
        let service = scanner.time::<3>("a service time in microseconds")?;
        scanner.gap()?;
        let pause = scanner.time::<3>("a pause in microseconds")?;
        scanner.end_of_line()?;
        let offset = sector.checked_mul(512).ok_or("a sector below 2^55")?;
        let length = sectors.checked_mul(512).ok_or("a length below 4 GiB")?;
        let volume = sink.volumes.number(0)?;
        let at = self.now;
        let next = at.0.checked_add(service.0).and_then(|end| end.checked_add(pause.0));
        self.now = Nanos(next.ok_or("times that add up to less than 584 years")?);
        Ok(sink.request(Found { at, offset, length, volume, operation, response: Some(service) })?)
    }
}
