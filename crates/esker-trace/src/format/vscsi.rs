//! VMware vscsiStats traces, as CloudPhysics collected them (Waldspurger 2015): two binary layouts.

use std::io;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::fixed::{self, FixedFormat, u16_le, u32_le, u64_le};
use super::lines::LineError;
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times, VolumeNames};
use crate::scan::Expected;
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target};
use crate::{Operation, Record};

pub(super) const V1: FormatEntry = FormatEntry {
    name: "vscsi",
    summary: "VMware vscsiStats, version 1 (CloudPhysics)",
    source: "vscsiStats of VMware ESX, as in the traces of Waldspurger et al., FAST 2015",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["vscsi"],
        layout: "binary, little endian, 32 bytes: u32 serial, u32 length in bytes, u32 scatter-gather entries, u16 \
                 SCSI command, u16 version (1 in its high byte), u64 sector of 512 bytes, u64 time in microseconds",
        remarks: "READ, WRITE and SYNCHRONIZE CACHE of any length are kept, other commands are counted and left out; \
                  one volume",
        binary: true,
        times: Times::Relative,
        responses: Responses::Never,
        holds: HOLDS,
        detect: |sample| fixed::confidence(Vscsi::<1>, sample, 0),
        open: Open::One(|input, _| Ok(fixed::open(input, Vscsi::<1>))),
        write: Some(|| Box::new(Writer { version: 1, serial: 0 })),
    },
};

pub(super) const V2: FormatEntry = FormatEntry {
    name: "vscsi2",
    summary: "VMware vscsiStats, version 2 (CloudPhysics), with response times",
    source: "vscsiStats of VMware ESX, as in the traces of Waldspurger et al., FAST 2015",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["vscsi2", "vscsi"],
        layout: "binary, little endian, 40 bytes: u16 SCSI command, u16 version (2 in its high byte), u32 serial, u32 \
                 length in bytes, u32 scatter-gather entries, u64 sector of 512 bytes, u64 time and u64 response time \
                 in microseconds",
        remarks: "as vscsi; a response time of 0 means that it is not known",
        responses: Responses::ZeroIfUnknown,
        detect: |sample| fixed::confidence(Vscsi::<2>, sample, 0),
        open: Open::One(|input, _| Ok(fixed::open(input, Vscsi::<2>))),
        write: Some(|| Box::new(Writer { version: 2, serial: 0 })),
        ..V1.build
    },
};

const HOLDS: Holds = Holds {
    operations: &[Operation::Read, Operation::Write, Operation::Flush],
    length_unit: 1,
    time_unit: Nanos(1000),
    response_unit: Nanos(1000),
    volumes: VolumeNames::One,
    ..Holds::SECTORS
};

/// SCSI commands that read, write and flush, by length of the command.
const READS: [u16; 4] = [0x08, 0x28, 0xa8, 0x88];
const WRITES: [u16; 4] = [0x0a, 0x2a, 0xaa, 0x8a];
const FLUSHES: [u16; 2] = [0x35, 0x91];

/// Has no state between records.
struct Vscsi<const VERSION: u8>;

impl<const VERSION: u8> FixedFormat for Vscsi<VERSION> {
    const SIZE: usize = if VERSION == 1 { 32 } else { 40 };
    const RECORD: &'static str = if VERSION == 1 { "a record of 32 bytes" } else { "a record of 40 bytes" };

    #[inline(always)]
    fn record(&mut self, bytes: &[u8], sink: &mut Sink) -> Result<(), LineError> {
        let (command_at, length_at) = if VERSION == 1 { (12, 4) } else { (0, 8) };
        let version_at = command_at + 2;
        if u16_le(bytes, version_at) >> 8 != u16::from(VERSION) {
            let what = if VERSION == 1 { "version 1 in the record" } else { "version 2 in the record" };
            return Err(LineError::Expected(Expected { what, at: version_at }));
        }
        let command = u16_le(bytes, command_at);
        let operation = match command {
            _ if READS.contains(&command) => Operation::Read,
            _ if WRITES.contains(&command) => Operation::Write,
            _ if FLUSHES.contains(&command) => Operation::Flush,
            0x100.. => return Err(LineError::Expected(Expected { what: "a SCSI command below 256", at: command_at })),
            _ => {
                sink.notes.ignore("other SCSI command");
                return Ok(());
            }
        };
        let (mut sector, mut length) = (u64_le(bytes, 16), u64::from(u32_le(bytes, length_at)));
        if operation == Operation::Flush {
            (sector, length) = (0, 0);
        }
        let offset = sector.checked_mul(512).ok_or("a sector below 2^55")?;
        let micros = |at: usize| u64_le(bytes, at).checked_mul(1000).map(Nanos).ok_or("a time below 584 years");
        let at = micros(24)?;
        let response = if VERSION == 1 { None } else { Some(micros(32)?).filter(|response| response.0 != 0) };
        let volume = sink.volumes.number(0)?;
        Ok(sink.request(Found { at, offset, length, volume, operation, response })?)
    }
}

struct Writer {
    version: u16,
    serial: u32,
}

impl RecordWriter for Writer {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, _: Target<'_>) -> io::Result<()> {
        let command: u16 = match record.operation {
            Operation::Read => 0x88,
            Operation::Write => 0x8a,
            _ => 0x91,
        };
        let head = u32::from(command) | u32::from(self.version << 8) << 16;
        let (serial, length) = (self.serial, record.length);
        let words = if self.version == 1 { [serial, length, 1, head] } else { [head, serial, length, 1] };
        let response = record.response.unwrap_or_default().0 / 1000;
        let mut bytes = [0; 40];
        for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        for (bytes, number) in bytes[16..].chunks_exact_mut(8).zip([record.offset / 512, record.at.0 / 1000, response])
        {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        output.extend_from_slice(if self.version == 1 { &bytes[..32] } else { &bytes });
        self.serial = self.serial.wrapping_add(1);
        Ok(())
    }
}
