//! Parquet tables with a row per request.

mod columns;
mod guard;
mod read;
mod write;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times, VolumeNames};
use crate::Operation;

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "parquet",
    summary: "Parquet tables, a row per request",
    source: "Apache Parquet; the columns are esker's own",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["parquet"],
        layout: "columns ts_ns (i64), dev (text), op (text: read, write, trim, flush), off and len (bytes), lat_ns \
                 (i64, may be null); read also under other usual names: ts, time or timestamp and lat, latency or \
                 response with _ns, _us, _ms or _s or as timestamps or floating-point seconds; device, volume, disk, \
                 lun; operation, opcode, type, rw; offset, or lba, lbn or sector in 512-byte sectors; length, size, or \
                 sectors; numbers for names of devices, and 0 to 3 for operations in the order above",
        remarks: "written with zstd in row groups of a quarter million; other columns are left out; without a device \
                  column the trace is one volume, without a time column it has no times; not read from front to back, \
                  so that standard input and compressed files go through a temporary file",
        binary: true,
        times: Times::Absolute,
        responses: Responses::Optional,
        holds: Holds {
            operations: &[Operation::Read, Operation::Write, Operation::Trim, Operation::Flush],
            offset_unit: 1,
            length_unit: 1,
            time_max: Nanos(i64::MAX as u64),
            response_max: Nanos(i64::MAX as u64),
            volumes: VolumeNames::Text,
            ..Holds::SECTORS
        },
        detect: |sample| if sample.bytes.starts_with(MAGIC) { 100 } else { 0 },
        open: Open::One(read::open),
        write: Some(write::writer),
    },
};

/// The first and the last bytes of a file.
const MAGIC: &[u8] = b"PAR1";
