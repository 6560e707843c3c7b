//! I/O logs of fio (`write_iolog`, `read_iolog`), versions 2 and 3.

use std::io;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times, VolumeNames};
use crate::scan::{Expected, LONGEST_NAME, Scanner};
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target, write_number};
use crate::{Operation, Record};

const HEADER_2: &[u8] = b"fio version 2 iolog";
const HEADER_3: &[u8] = b"fio version 3 iolog";

pub(super) const V3: FormatEntry = FormatEntry {
    name: "fio",
    summary: "fio I/O logs, version 3 (fio 3.31 and later), which fio replays with their times",
    source: "fio's HOWTO, trace file format",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["fio", "iolog"],
        layout: "text: `fio version 3 iolog`, then `timestamp file action [offset length]`; timestamp in microseconds \
                 since the start, actions add, open, close, read, write, trim, sync and datasync, offset and length in \
                 bytes",
        remarks: "each file is a volume; sync and datasync become flushes, add, open and close are counted and left \
                  out",
        binary: false,
        times: Times::Relative,
        responses: Responses::Never,
        holds: Holds { time_unit: Nanos(1000), ..HOLDS },
        detect: |sample| if sample.bytes.starts_with(HEADER_3) { 100 } else { 0 },
        open: Open::One(lines::open::<Fio<3>>),
        write: Some(|| Box::new(Fio::<3>::default())),
    },
};

pub(super) const V2: FormatEntry = FormatEntry {
    name: "fio-v2",
    summary: "fio I/O logs, version 2 (before fio 3.31)",
    source: "fio's HOWTO, trace file format",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["fio-v2", "iolog"],
        layout: "text: `fio version 2 iolog`, then `file action [offset length]`; actions as in version 3 and `file \
                 wait MICROSECONDS`, offset and length in bytes",
        remarks: "as fio; there are no times but those that `wait` lines add up to (fio writes none): every wait \
                  counts from the one before",
        times: Times::None,
        holds: HOLDS,
        detect: |sample| if sample.bytes.starts_with(HEADER_2) { 100 } else { 0 },
        open: Open::One(lines::open::<Fio<2>>),
        write: Some(|| Box::new(Fio::<2>::default())),
        ..V3.build
    },
};

const HOLDS: Holds = Holds {
    operations: &[Operation::Read, Operation::Write, Operation::Trim, Operation::Flush],
    offset_unit: 1,
    length_unit: 1,
    volumes: VolumeNames::Word,
    ..Holds::SECTORS
};

#[derive(Default)]
struct Fio<const VERSION: u8> {
    begun: bool,
    /// The sum of the waits.
    waited: Nanos,
    /// Names of the volumes written, which are closed at the end.
    names: Vec<String>,
    latest: Nanos,
}

impl<const VERSION: u8> LineFormat for Fio<VERSION> {
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        // fio appends to a log that exists, including the header.
        if !self.begun || scanner.peek() == b'f' {
            let (header, what) = match VERSION {
                2 => (HEADER_2, "`fio version 2 iolog`"),
                _ => (HEADER_3, "`fio version 3 iolog`"),
            };
            let start = scanner.position;
            match scanner.word(header, what).and_then(|()| scanner.end_of_line()) {
                Ok(()) => {
                    if self.begun {
                        sink.notes.ignore("repeated header");
                    }
                    self.begun = true;
                    return Ok(());
                }
                // A file whose name begins with an f.
                Err(_) if self.begun => scanner.position = start,
                Err(_) => return Err(LineError::Header(Expected { what, at: start })),
            }
        }
        scanner.blanks();
        let mut at = self.waited;
        if VERSION == 3 {
            at = micros(scanner, "a time in microseconds")?;
            scanner.gap()?;
        }
        let name = file_name(scanner)?;
        scanner.gap()?;
        let start = scanner.position;
        let operation = match scanner.name("an action")? {
            b"read" => Operation::Read,
            b"write" => Operation::Write,
            b"trim" => Operation::Trim,
            b"sync" | b"datasync" => Operation::Flush,
            b"add" | b"open" | b"close" => {
                scanner.rest_of_line()?;
                sink.notes.ignore("add, open or close");
                return Ok(());
            }
            b"wait" if VERSION == 2 => {
                scanner.gap()?;
                let wait = micros(scanner, "a time in microseconds")?;
                scanner.rest_of_line()?;
                self.waited = self.waited.0.checked_add(wait.0).map(Nanos).ok_or("times below 584 years in all")?;
                sink.notes.has_times = true;
                return Ok(());
            }
            _ => {
                const WHAT: &str = "add, open, close, read, write, trim, sync, datasync or (version 2) wait";
                return Err(LineError::Expected(Expected { what: WHAT, at: start }));
            }
        };
        let (mut offset, mut length) = (0, 0);
        if operation == Operation::Flush {
            scanner.rest_of_line()?;
        } else {
            scanner.gap()?;
            offset = scanner.number("an offset in bytes")?;
            scanner.gap()?;
            length = scanner.number("a length in bytes")?;
            scanner.end_of_line()?;
        }
        let volume = sink.volumes.key(name, |name| String::from_utf8_lossy(name).into_owned())?;
        Ok(sink.request(Found { at, offset, length, volume, operation, response: None })?)
    }
}

/// Reads the name of a file, which ends at a blank: it may have commas.
fn file_name<'a>(scanner: &mut Scanner<'a>) -> Result<&'a [u8], Expected> {
    let (start, rest) = (scanner.position, scanner.rest());
    let length = rest.iter().position(|byte| matches!(byte, b'\0'..=b' ' | 0x7f)).unwrap_or(rest.len());
    if length == 0 || length > LONGEST_NAME {
        return Err(Expected { what: "a file name", at: start });
    }
    scanner.position += length;
    Ok(&rest[..length])
}

fn micros(scanner: &mut Scanner<'_>, what: &'static str) -> Result<Nanos, Expected> {
    let start = scanner.position;
    scanner.number(what)?.checked_mul(1000).map(Nanos).ok_or(Expected { what: "a time below 584 years", at: start })
}

impl<const VERSION: u8> Fio<VERSION> {
    fn write_line(&self, output: &mut Vec<u8>, at: Nanos, words: [&str; 2]) {
        if VERSION == 3 {
            write_number(output, at.0 / 1000);
            output.push(b' ');
        }
        output.extend_from_slice(words[0].as_bytes());
        output.push(b' ');
        output.extend_from_slice(words[1].as_bytes());
    }
}

impl<const VERSION: u8> RecordWriter for Fio<VERSION> {
    fn begin(&mut self, output: &mut Vec<u8>) {
        output.extend_from_slice(if VERSION == 2 { HEADER_2 } else { HEADER_3 });
        output.push(b'\n');
    }

    fn volume(&mut self, output: &mut Vec<u8>, target: Target<'_>) {
        for action in ["add", "open"] {
            self.write_line(output, self.latest, [target.name, action]);
            output.push(b'\n');
        }
        self.names.push(target.name.to_string());
    }

    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()> {
        let action = match record.operation {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Trim => "trim",
            Operation::Flush => "sync",
        };
        self.latest = record.at;
        self.write_line(output, record.at, [target.name, action]);
        for number in [record.offset, u64::from(record.length)] {
            output.push(b' ');
            write_number(output, number);
        }
        output.push(b'\n');
        Ok(())
    }

    fn end(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        for name in &self.names {
            self.write_line(output, self.latest, [name, "close"]);
            output.push(b'\n');
        }
        Ok(())
    }
}
