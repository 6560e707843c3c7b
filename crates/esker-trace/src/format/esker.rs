//! esker's own trace format: packed blocks with checksums.
//!
//! ```text
//! file     "ESKERTRC", u32 version (1), u32 zero, then sections up to the one of kind E
//! section  u8 kind, 3 bytes zero, u32 count, u32 bytes, u32 CRC-32 of these 12 bytes and what follows, then the bytes:
//!   V      `count` names of volumes, in the order of their indices: u16 length, UTF-8
//!   R      `count` records (up to 65,536) as one block of the spool's packing (spool/codec.rs)
//!   E      u64 number of records in the file; `count` is 0
//! ```
//! All numbers are little endian. A volume's name comes before the records that use it. A recording whose program was
//! killed has no end: it is read up to its last whole section.

use std::io;

use flate2::Crc;

use esker_core::registry::ParameterSource;

use super::fixed::{u32_le, u64_le};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Opened, RecordSource, Responses, Times, VolumeNames};
use crate::error::{InputPosition, TraceError};
use crate::input::Input;
use crate::sink::{Found, Sink};
use crate::spool::codec::{BLOCK_PADDING, BLOCK_RECORDS, BlockDecoder, BlockEncoder};
use crate::writer::{RecordWriter, Target};
use crate::{Operation, Record, VolumeIndex};

const MAGIC: &[u8; 8] = b"ESKERTRC";
const VERSION: u32 = 1;
const SECTION_HEADER: usize = 16;
/// The largest size of a section.
const SECTION_MAX: usize = 4 << 20;
/// Records unpacked at a time.
const UNPACKED: usize = 4096;

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "esker",
    summary: "esker's own packed traces, with checksums",
    source: "esker's own: this page",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["esker"],
        layout: "binary: ESKERTRC, version 1, then sections with checksums: names of volumes, blocks of up to 65,536 \
                 records as differences of as few bytes as they need, the number of records at the end",
        remarks: "keeps everything; times count from wherever they counted in the trace it was made from; one that was \
                  cut off is read up to its last whole section",
        binary: true,
        times: Times::Absolute,
        responses: Responses::Optional,
        holds: Holds {
            operations: &[Operation::Read, Operation::Write, Operation::Trim, Operation::Flush],
            offset_unit: 1,
            length_unit: 1,
            volumes: VolumeNames::Text,
            ..Holds::SECTORS
        },
        detect: |sample| if sample.bytes.starts_with(MAGIC) { 100 } else { 0 },
        open: Open::One(open),
        write: Some(|| Box::new(Writer::default())),
    },
};

struct Reader {
    input: Input,
    begun: bool,
    block: Vec<u8>,
    decoder: BlockDecoder,
    records: Vec<Record>,
    count: u64,
}

fn open(input: Input, _: &crate::ReadOptions) -> Opened {
    let (block, records) = (Vec::new(), Vec::with_capacity(UNPACKED));
    Ok(Box::new(Reader { input, begun: false, block, decoder: BlockDecoder::new(0), records, count: 0 }))
}

impl Reader {
    fn damaged(&self, expected: &'static str, found: impl Into<String>) -> TraceError {
        let place = InputPosition::Byte(self.input.position());
        TraceError::Damaged { name: self.input.name().to_string(), place, expected, found: found.into() }
    }

    /// Makes sure that `count` more bytes are in the window.
    fn require_bytes(&mut self, count: usize) -> Result<(), TraceError> {
        if self.input.fill_to(count)? {
            return Ok(());
        }
        Err(self.damaged("the rest of the trace", "the end of the input"))
    }

    fn header(&mut self) -> Result<(), TraceError> {
        self.require_bytes(16)?;
        let window = self.input.window();
        if !window.starts_with(MAGIC) {
            return Err(self.damaged("ESKERTRC", super::lines::quote(&window[..8])));
        }
        let version = u32_le(window, 8);
        if version != VERSION {
            return Err(self.damaged("version 1 of the format", format!("version {version}")));
        }
        self.check_reserved(&window[12..16])?;
        self.input.consume(16);
        Ok(())
    }

    /// Checks that bytes reserved for later versions are zero: this version does not read past what it does not know.
    fn check_reserved(&self, bytes: &[u8]) -> Result<(), TraceError> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        Err(self.damaged("zero in reserved bytes", super::lines::quote(bytes)))
    }

    /// Returns true if the input ends before the next section does.
    fn is_cut_off(&mut self) -> Result<bool, TraceError> {
        if !self.input.fill_to(SECTION_HEADER)? {
            return Ok(true);
        }
        let bytes = u32_le(self.input.window(), 8) as usize;
        Ok(bytes <= SECTION_MAX && !self.input.fill_to(SECTION_HEADER + bytes)?)
    }

    /// Reads one section and returns its kind.
    fn section(&mut self, sink: &mut Sink) -> Result<u8, TraceError> {
        let header: [u8; SECTION_HEADER] = self.input.window()[..SECTION_HEADER].try_into().expect("its length");
        let (kind, count, bytes) = (header[0], u32_le(&header, 4) as usize, u32_le(&header, 8) as usize);
        if bytes > SECTION_MAX {
            return Err(self.damaged("a section of at most 4 MiB", format!("{bytes} bytes")));
        }
        let payload = &self.input.window()[SECTION_HEADER..SECTION_HEADER + bytes];
        let mut crc = Crc::new();
        crc.update(&header[..12]);
        crc.update(payload);
        if crc.sum() != u32_le(&header, 12) {
            return Err(self.damaged("a section with the right checksum", "damaged bytes"));
        }
        self.check_reserved(&header[1..4])?;
        match kind {
            b'V' => {
                let mut rest = payload;
                for _ in 0..count {
                    let name = rest
                        .split_first_chunk()
                        .and_then(|(length, names)| names.split_at_checked(usize::from(u16::from_le_bytes(*length))));
                    let Some((name, after)) = name else {
                        return Err(self.damaged("the name of a volume", "the end of the section"));
                    };
                    let name = String::from_utf8_lossy(name).into_owned();
                    sink.volumes.append(name).map_err(|too_many| sink.too_many_volumes(too_many))?;
                    rest = after;
                }
            }
            b'R' if count <= BLOCK_RECORDS => {
                self.block.clear();
                self.block.extend_from_slice(payload);
                self.block.resize(bytes + BLOCK_PADDING, 0);
                self.decoder = BlockDecoder::new(count);
                if count == 0 && bytes > 0 {
                    return Err(self.damaged("records", "none"));
                }
            }
            b'E' if bytes == 8 => {
                self.check_reserved(&header[4..8])?;
                let said = u64_le(payload, 0);
                if said != self.count {
                    return Err(self.damaged("as many records as the end says", format!("{} of {said}", self.count)));
                }
            }
            _ => return Err(self.damaged("a section of names, records or the end", format!("kind {kind}"))),
        }
        self.input.consume(SECTION_HEADER + bytes);
        Ok(kind)
    }

    /// Unpacks some records of the current block.
    fn unpack(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        self.records.clear();
        if self.decoder.decode(&self.block, UNPACKED, &mut self.records).is_err() {
            return Err(self.damaged("packed records", "something else"));
        }
        let volumes = sink.volumes.names().len() as u32;
        for record in &self.records {
            sink.place += 1;
            let Record { at, offset, length, volume, operation, response } = *record;
            if volume.0 >= volumes {
                return Err(self.damaged("a volume that has a name", format!("volume {}", volume.0)));
            }
            let found = Found { at, offset, length: u64::from(length), volume, operation, response };
            if let Err(expected) = sink.request(found) {
                return Err(self.damaged(expected, format!("{length} bytes at byte {offset}")));
            }
        }
        self.count += self.records.len() as u64;
        sink.notes.lines = sink.place;
        Ok(())
    }
}

impl RecordSource for Reader {
    fn fill(&mut self, sink: &mut Sink) -> Result<bool, TraceError> {
        if !self.begun {
            self.header()?;
            self.begun = true;
        }
        while self.decoder.remaining() == 0 {
            if self.is_cut_off()? {
                sink.notes.remark("the trace was cut off: it was read up to its last whole section");
                return Ok(false);
            }
            if self.section(sink)? == b'E' {
                if self.input.fill_to(1)? {
                    return Err(self.damaged("the end of the input", "more bytes"));
                }
                return Ok(false);
            }
        }
        self.unpack(sink)?;
        Ok(true)
    }
}

#[derive(Default)]
struct Writer {
    encoder: BlockEncoder,
    names: Vec<String>,
    records: u64,
}

fn write_section(output: &mut Vec<u8>, kind: u8, count: u32, payload: &[u8]) {
    let mut header = [0; 12];
    header[0] = kind;
    header[4..8].copy_from_slice(&count.to_le_bytes());
    header[8..].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    let mut crc = Crc::new();
    crc.update(&header);
    crc.update(payload);
    output.extend_from_slice(&header);
    output.extend_from_slice(&crc.sum().to_le_bytes());
    output.extend_from_slice(payload);
}

impl Writer {
    /// Writes the new names, then the records that are waiting.
    fn flush(&mut self, output: &mut Vec<u8>) {
        for names in self.names.chunks(32) {
            let mut payload = Vec::new();
            for name in names {
                let mut end = name.len().min(usize::from(u16::MAX));
                while !name.is_char_boundary(end) {
                    end -= 1;
                }
                payload.extend_from_slice(&(end as u16).to_le_bytes());
                payload.extend_from_slice(&name.as_bytes()[..end]);
            }
            write_section(output, b'V', names.len() as u32, &payload);
        }
        self.names.clear();
        let records = self.encoder.records();
        if records > 0 {
            write_section(output, b'R', records as u32, self.encoder.finish());
        }
    }
}

impl RecordWriter for Writer {
    fn begin(&mut self, output: &mut Vec<u8>) {
        output.extend_from_slice(MAGIC);
        output.extend_from_slice(&VERSION.to_le_bytes());
        output.extend_from_slice(&[0; 4]);
    }

    fn volume(&mut self, _: &mut Vec<u8>, target: Target<'_>) {
        self.names.push(target.name.to_string());
    }

    fn record(&mut self, output: &mut Vec<u8>, record: &Record, _: Target<'_>) -> io::Result<()> {
        debug_assert_ne!(record.volume, VolumeIndex(u32::MAX));
        self.records += 1;
        if self.encoder.push(record) {
            self.flush(output);
        }
        Ok(())
    }

    fn write_waiting(&mut self, output: &mut Vec<u8>) {
        self.flush(output);
    }

    fn end(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        self.flush(output);
        write_section(output, b'E', 0, &self.records.to_le_bytes());
        Ok(())
    }
}
