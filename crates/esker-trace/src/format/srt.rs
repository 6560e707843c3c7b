//! HP Labs' SRT 1.3 traces (Ruemmler and Wilkes 1993: hplajw, and others converted to it): binary records behind a text
//! header.

use std::io;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::fixed::{self, FixedFormat};
use super::lines::LineError;
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Opened, READ_WRITE, Responses, Times, VolumeNames};
use crate::calendar::Date;
use crate::error::{InputPosition, TraceError};
use crate::input::Input;
use crate::scan::Expected;
use crate::sink::{Found, Sink};
use crate::writer::{RecordWriter, Target};
use crate::{Operation, Record};

const MAGIC: &[u8] = b"$$TR_IOREC-1.3";
/// The header ends with a form feed, and is never longer than this.
const HEADER_MAX: usize = 1 << 20;
/// Bytes of a block if the header does not give them.
const SECTOR: u64 = 256;

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "srt",
    summary: "HP Labs SRT 1.3: hplajw and other traces of 1992 and later",
    source: "Ruemmler and Wilkes, USENIX Winter 1993",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["srt"],
        layout: "a text header from `$$TR_IOREC-1.3` to a form feed with `tracedate` and `sectorsize`, then binary, \
                 big endian, records of 14 u32 numbers: bytes in the record (56), kind, seconds and microseconds since \
                 the trace's date, microseconds from there to start and stop, bytes, block, device (disk in bits \
                 8-15), driver, cylinder, flags (bit 0: read), two more; blocks of 256 bytes or as the header says",
        remarks: "the trace's date is taken as UTC; the response time runs to the stop, queueing included; each disk \
                  is a volume",
        binary: true,
        times: Times::Absolute,
        responses: Responses::Always,
        holds: Holds {
            operations: READ_WRITE,
            offset_unit: SECTOR as u32,
            length_unit: 1,
            length_max: i32::MAX as u32,
            end_max: SECTOR << 31,
            time_unit: Nanos(1000),
            time_max: Nanos::from_secs(u32::MAX as u64),
            response_unit: Nanos(1000),
            response_max: Nanos::from_micros(i32::MAX as u64),
            volumes: VolumeNames::Number(255),
        },
        detect: |sample| if sample.bytes.starts_with(MAGIC) { 100 } else { 0 },
        open: Open::One(open),
        write: Some(|| Box::new(Writer::default())),
    },
};

fn open(mut input: Input, _: &crate::ReadOptions) -> Opened {
    let damaged = |input: &Input, expected, found: String| TraceError::Damaged {
        name: input.name().to_string(),
        place: InputPosition::Byte(0),
        expected,
        found,
    };
    let end = loop {
        let window = input.window();
        if !window.starts_with(MAGIC) {
            let found = super::lines::quote(&window[..window.len().min(MAGIC.len())]);
            return Err(damaged(&input, "$$TR_IOREC-1.3", found));
        }
        let header = &window[..window.len().min(HEADER_MAX)];
        if let Some(end) = memchr::memchr(b'\x0c', header) {
            break end;
        }
        let seen = window.len();
        if seen >= HEADER_MAX || !input.advance(seen)? {
            return Err(damaged(&input, "a form feed behind the header", format!("none in {seen} bytes")));
        }
    };
    let header = String::from_utf8_lossy(&input.window()[..end]).into_owned();
    let date = field(&header, "tracedate").map(|value| value.trim_matches('"').to_string()).unwrap_or_default();
    let Some(base) = parse_date(&date) else {
        return Err(damaged(&input, "tracedate as in \"Sat May 30 00:03:06 1992\"", format!("`{date}`")));
    };
    let sector = match field(&header, "sectorsize") {
        None => SECTOR,
        Some(value) => match value.parse() {
            Ok(bytes) if (1..=65_536).contains(&bytes) => bytes,
            _ => return Err(damaged(&input, "a sectorsize up to 65,536", format!("`{value}`"))),
        },
    };
    input.consume(end + 1);
    Ok(fixed::open(input, Srt { base, sector }))
}

/// The value of the first `name = value`, up to a semicolon, a comma or the end of the line.
fn field<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header.lines().find_map(|line| {
        let value = line.trim_start().strip_prefix(name)?.trim_start().strip_prefix('=')?;
        Some(value.trim().trim_end_matches([';', ',']).trim_end())
    })
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// Seconds since 1970 for a date such as "Sat May 30 00:03:06 1992".
fn parse_date(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let (_, month, day, time, year) = (words.next()?, words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let mut parts = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    Date { year: year.parse().ok()?, month, day: day.parse().ok()?, hour, minute, second }.seconds()
}

fn write_date(seconds: u64) -> String {
    let Date { year, month, day, hour, minute, second } = Date::at(seconds);
    let week_day = DAYS[(seconds / 86_400 % 7) as usize];
    format!("{week_day} {} {day:>2} {hour:02}:{minute:02}:{second:02} {year}", MONTHS[month as usize - 1])
}

struct Srt {
    /// Seconds from 1970 to the date of the trace.
    base: u64,
    sector: u64,
}

impl FixedFormat for Srt {
    const SIZE: usize = 56;
    const RECORD: &'static str = "a record of 56 bytes";

    fn record(&mut self, bytes: &[u8], sink: &mut Sink) -> Result<(), LineError> {
        let word = |index: usize| {
            u64::from(u32::from_be_bytes(bytes[4 * index..4 * index + 4].try_into().expect("four bytes")))
        };
        let expected = |what, index: usize| Err(LineError::Expected(Expected { what, at: 4 * index }));
        if word(0) != 56 {
            return expected("56, the size of the record", 0);
        }
        if word(3) >= 1_000_000 {
            return expected("microseconds below a million", 3);
        }
        let micros = (self.base + word(2)) * 1_000_000 + word(3);
        let Some(at) = micros.checked_mul(1000) else { return expected("a time before 2554", 2) };
        if word(5) > i32::MAX as u64 {
            return expected("a stop that is not before the request", 5);
        }
        let operation = if word(11) & 1 == 1 { Operation::Read } else { Operation::Write };
        let volume = sink.volumes.number(word(8) >> 8 & 0xff)?;
        Ok(sink.request(Found {
            at: Nanos(at),
            offset: word(7) * self.sector,
            length: word(6),
            volume,
            operation,
            response: Some(Nanos(word(5) * 1000)),
        })?)
    }
}

#[derive(Default)]
struct Writer {
    /// Seconds from 1970 to the date of the trace, which is that of the first record.
    base: Option<u64>,
}

impl Writer {
    fn header(output: &mut Vec<u8>, base: u64) {
        output.extend_from_slice(MAGIC);
        let date = write_date(base);
        let text = format!(
            " (IOAdaptor Upgrade Version)\0\nversion      = 1.3;\ntracedate    = \"{date}\";\nsystem       = \"esker\";\n\
             sectorsize   = {SECTOR};\n\x0c"
        );
        output.extend_from_slice(text.as_bytes());
    }
}

impl RecordWriter for Writer {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, target: Target<'_>) -> io::Result<()> {
        let seconds = record.at.0 / 1_000_000_000;
        let base = *self.base.get_or_insert_with(|| {
            Self::header(output, seconds);
            seconds
        });
        let Some(since) = seconds.checked_sub(base) else {
            return Err(io::Error::other("records of an SRT trace are in order of time"));
        };
        let stop = (record.response.unwrap_or_default().0 / 1000) as u32;
        let read = u32::from(record.operation == Operation::Read);
        let words = [
            56,
            0x4_0001,
            since as u32,
            (record.at.0 / 1000 % 1_000_000) as u32,
            0,
            stop,
            record.length,
            (record.offset / SECTOR) as u32,
            target.number << 8,
            0,
            0,
            read,
            0,
            0,
        ];
        for word in words {
            output.extend_from_slice(&word.to_be_bytes());
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        if self.base.is_none() {
            Self::header(output, 0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written() {
        assert_eq!(parse_date("Sat May 30 00:03:06 1992"), Some(707_184_186));
        assert_eq!(write_date(707_184_186), "Sat May 30 00:03:06 1992");
        assert_eq!(parse_date("Tue Feb 29 23:59:59 2000"), Some(951_868_799));
        assert_eq!(write_date(951_868_799), "Tue Feb 29 23:59:59 2000");
        assert_eq!(parse_date("Thu Feb 29 23:59:59 2001"), None);
        assert_eq!(parse_date("Sat May 30 24:03:06 1992"), None);
        assert_eq!(parse_date(""), None);
        for seconds in (0..10_000_000_000u64).step_by(12_345_678) {
            assert_eq!(parse_date(&write_date(seconds)), Some(seconds));
        }
    }
}
