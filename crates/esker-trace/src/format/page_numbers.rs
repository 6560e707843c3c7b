//! Files of page numbers and nothing else.

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::fixed::{self, FixedFormat, u32_le, u64_le};
use super::lines::LineError;
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times, VolumeNames};
use crate::Operation;
use crate::scan::Expected;
use crate::sink::{Found, Sink};

const PAGE: u64 = 4096;

const HOLDS: Holds = Holds {
    operations: &[Operation::Read],
    offset_unit: PAGE as u32,
    length_unit: PAGE as u32,
    length_max: PAGE as u32,
    volumes: VolumeNames::One,
    ..Holds::SECTORS
};

pub(super) const U32: FormatEntry = FormatEntry {
    name: "u32",
    summary: "Page numbers of 32 bits, one per access",
    source: "none: numbers one after the other",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::KnownByEnding],
    build: Format {
        endings: &["u32"],
        layout: "binary, little endian, a u32 page number per access; pages of 4 KiB",
        remarks: "no times and reads only; one volume. Any file might be one, so that only `--format` or the ending \
                  `.u32` says so",
        binary: true,
        times: Times::None,
        responses: Responses::Never,
        holds: HOLDS,
        detect: |_| 0,
        open: Open::One(|input, _| Ok(fixed::open(input, Numbers::<4>))),
        write: None,
    },
};

pub(super) const U64: FormatEntry = FormatEntry {
    name: "u64",
    summary: "Page numbers of 64 bits, one per access",
    source: "none: numbers one after the other",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::KnownByEnding],
    build: Format {
        endings: &["u64"],
        layout: "binary, little endian, a u64 page number below 2^52 - 1 per access; pages of 4 KiB",
        remarks: "no times and reads only; one volume. Any file might be one, so that only `--format` or the ending \
                  `.u64` says so",
        open: Open::One(|input, _| Ok(fixed::open(input, Numbers::<8>))),
        ..U32.build
    },
};

/// Page numbers of `SIZE` bytes each.
struct Numbers<const SIZE: usize>;

impl<const SIZE: usize> FixedFormat for Numbers<SIZE> {
    const SIZE: usize = SIZE;
    const RECORD: &'static str = "a whole page number";

    fn record(&mut self, bytes: &[u8], sink: &mut Sink) -> Result<(), LineError> {
        let number = if SIZE == 4 { u64::from(u32_le(bytes, 0)) } else { u64_le(bytes, 0) };
        if number >= (1 << 52) - 1 {
            return Err(LineError::Expected(Expected { what: "a page number below 2^52 - 1", at: 0 }));
        }
        let volume = sink.volumes.number(0)?;
        let operation = Operation::Read;
        Ok(sink.request(Found {
            at: Nanos::ZERO,
            offset: number * PAGE,
            length: PAGE,
            volume,
            operation,
            response: None,
        })?)
    }
}
