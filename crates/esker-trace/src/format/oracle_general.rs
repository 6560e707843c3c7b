//! libCacheSim's `oracleGeneral`: accesses to objects, each with the time of the object's next access.

use esker_core::registry::ParameterSource;
use esker_core::{IdMap, Nanos};

use super::fixed::{self, FixedFormat, u32_le, u64_le};
use super::lines::LineError;
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Sample, Times, VolumeNames};
use crate::Operation;
use crate::scan::Expected;
use crate::sink::{Found, Sink};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "oracle-general",
    summary: "libCacheSim's oracleGeneral: traces of caches of every kind",
    source: "libCacheSim, the oracleGeneral trace format",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::KnownByEnding],
    build: Format {
        endings: &["oracle-general", "oraclegeneral"],
        layout: "binary, little endian, records of 24 bytes: u32 seconds, u64 object (often a hash), u32 bytes, i64 \
                 number of the object's next access (-1 or the largest number: none)",
        remarks: "all are reads; next accesses are not kept. Objects become addresses 4 GiB apart, in order of first \
                  appearance, so that none overlap: with `--object start-block` curves are exact for objects whatever \
                  their size. Sizes of 0 count as 1 byte. Recognised by its content, or by the ending `.oracleGeneral`",
        binary: true,
        times: Times::Relative,
        responses: Responses::Never,
        holds: Holds {
            operations: &[Operation::Read],
            offset_unit: 1,
            length_unit: 1,
            time_unit: Nanos::from_secs(1),
            volumes: VolumeNames::One,
            ..Holds::SECTORS
        },
        detect,
        open: Open::One(|input, _| Ok(fixed::open(input, OracleGeneral::default()))),
        write: None,
    },
};

const SIZE: usize = 24;

/// The next access of an object comes after the access itself, or never. Eight consecutive records for which this
/// holds, and whose times rise, are no accident.
fn detect(sample: &Sample<'_>) -> u8 {
    if sample.whole && !sample.bytes.len().is_multiple_of(SIZE) {
        return 0;
    }
    let records = || sample.bytes.chunks_exact(SIZE).take(500);
    let mut last = 0;
    let fits = |(index, record): (usize, &[u8])| {
        let (seconds, next) = (u32_le(record, 0), u64_le(record, 16) as i64);
        let later = seconds >= std::mem::replace(&mut last, seconds);
        later
            && u32_le(record, 12) > 0
            && (next == -1 || next == i64::MAX || (index as i64 + 1..1 << 40).contains(&next))
    };
    if records().count() >= 8 && records().enumerate().all(fits) { 90 } else { 0 }
}

/// Numbers objects in order of appearance.
#[derive(Default)]
struct OracleGeneral {
    numbers: IdMap,
}

impl FixedFormat for OracleGeneral {
    const SIZE: usize = SIZE;
    const RECORD: &'static str = "a record of 24 bytes";

    fn record(&mut self, bytes: &[u8], sink: &mut Sink) -> Result<(), LineError> {
        let next = self.numbers.len() as u64;
        if next > u64::from(u32::MAX) {
            return Err(LineError::Expected(Expected { what: "at most 2^32 objects", at: 4 }));
        }
        let number = self.numbers.get_or_insert(object(bytes), next);
        let volume = sink.volumes.number(0)?;
        Ok(sink.request(Found {
            at: Nanos::from_secs(u64::from(u32_le(bytes, 0))),
            offset: number << 32,
            length: u64::from(u32_le(bytes, 12).max(1)),
            volume,
            operation: Operation::Read,
            response: None,
        })?)
    }

    #[inline]
    fn warm(&self, records: &[u8]) {
        self.numbers.warm(records.chunks_exact(SIZE).map(object));
    }
}

/// The object of a record.
#[inline]
fn object(record: &[u8]) -> u64 {
    u64_le(record, 4)
}
