//! The log filter of nbdkit: requests to a network block device, with their completions.

use std::collections::BTreeMap;
use std::io;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::lines::{self, LineError, LineFormat};
use super::{Format, FormatCapability, FormatEntry, Holds, Open, Responses, Times, VolumeNames};
use crate::calendar::Date;
use crate::pairing::{COMPLETION, Event, Pairing, Step};
use crate::scan::{Expected, Scanner};
use crate::sink::Sink;
use crate::writer::events::{Events, MatchedBy, WrittenEvent};
use crate::writer::{RecordWriter, Target, write_hexadecimal, write_number, write_padded};
use crate::{Operation, Record};

pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "nbdkit",
    summary: "log of nbdkit's log filter: a network block device and what was asked of it",
    source: "nbdkit-log-filter(1)",
    parameters: ParameterSource::NONE,
    capabilities: &[FormatCapability::Write],
    build: Format {
        endings: &["nbdkit"],
        layout: "text: date and time in UTC with microseconds, connection=N, then a request (`Write id=3 offset=0x0 \
                 count=0x1000 fua=0 ...`) or its completion (`...Write id=3 return=0`); offset and count in bytes, \
                 hexadecimal; kinds Read, Write, Trim, Zero, Flush; other lines are counted and passed over",
        remarks: "all connections are one volume; a Zero that may free its range counts as a trim, any other as a \
                  write; response times run to the completion; failed requests have none",
        binary: false,
        times: Times::Absolute,
        responses: Responses::Optional,
        holds: Holds {
            operations: &[Operation::Read, Operation::Write, Operation::Trim, Operation::Flush],
            offset_unit: 1,
            length_unit: 1,
            time_unit: Nanos::from_micros(1),
            response_unit: Nanos::from_micros(1),
            volumes: VolumeNames::One,
            ..Holds::SECTORS
        },
        detect: lines::confidence::<Nbdkit>,
        open: Open::One(lines::open::<Nbdkit>),
        write: Some(|| Box::new(Writer::default())),
    },
};

/// No more requests than this are under way at once; older ones must have lost their completion.
const OPEN_MAX: usize = 65_536;

#[derive(Default)]
struct Nbdkit {
    pairing: Pairing,
    /// Requests under way: from connection and id to the number of the pairing.
    open: BTreeMap<(u64, u64), u64>,
    clock: Clock,
}

/// The last date that was read: a log has few different ones.
#[derive(Default)]
struct Clock {
    text: [u8; 10],
    seconds: u64,
}

impl Clock {
    /// Reads `2026-11-20 07:58:07.491123`, in UTC.
    fn read(&mut self, scanner: &mut Scanner<'_>) -> Result<Nanos, LineError> {
        let start = scanner.position;
        let expected = LineError::Expected(Expected { what: "a date and time", at: start });
        let year = scanner.number("a year")?;
        scanner.byte(b'-', "a date such as 2026-11-20")?;
        let month = scanner.number("a month")?;
        scanner.byte(b'-', "a date such as 2026-11-20")?;
        let day = scanner.number("a day")?;
        let text = scanner.since(start);
        if text != self.text {
            let date = Date { year, month, day, hour: 0, minute: 0, second: 0 };
            let (Some(seconds), Ok(text)) = (date.seconds(), text.try_into()) else { return Err(expected) };
            *self = Self { text, seconds };
        }
        scanner.gap()?;
        let hour = scanner.number("an hour")?;
        scanner.byte(b':', "a time such as 07:58:07.491123")?;
        let minute = scanner.number("a minute")?;
        scanner.byte(b':', "a time such as 07:58:07.491123")?;
        let second = scanner.time::<9>("seconds")?;
        if hour > 23 || minute > 59 || second >= Nanos::from_secs(61) {
            return Err(expected);
        }
        let whole = self.seconds + hour * 3600 + minute * 60;
        let Some(at) = whole.checked_mul(1_000_000_000).and_then(|whole| whole.checked_add(second.0)) else {
            return Err(expected);
        };
        Ok(Nanos(at))
    }
}

/// The operation of this name; `None` for requests that are not about data.
fn operation(name: &[u8]) -> Option<Operation> {
    match name {
        b"Read" => Some(Operation::Read),
        b"Write" | b"Zero" => Some(Operation::Write),
        b"Trim" => Some(Operation::Trim),
        b"Flush" => Some(Operation::Flush),
        _ => None,
    }
}

/// Lines that are not requests, by their first word.
fn ignored_kind(name: &[u8]) -> Option<&'static str> {
    Some(match name.strip_prefix(b"...").unwrap_or(name) {
        b"Ready" | b"Fork" => "start of the server",
        b"Preconnect" | b"Connect" | b"Disconnect" => "connection",
        b"ListExports" => "list of exports",
        b"Extents" => "question for extents",
        b"Cache" => "prefetch",
        _ => return None,
    })
}

impl LineFormat for Nbdkit {
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError> {
        let at = self.clock.read(scanner)?;
        scanner.gap()?;
        let mut connection = None;
        let mut start = scanner.position;
        let mut name = scanner.name("a request")?;
        if let Some(number) = name.strip_prefix(b"connection=") {
            connection = decimal(number);
            scanner.gap()?;
            start = scanner.position;
            name = scanner.name("a request")?;
        }
        let unknown =
            LineError::Expected(Expected { what: "Read, Write, Trim, Zero, Flush or another log line", at: start });
        let (ends, kind) = match name.strip_prefix(b"...") {
            Some(name) => (true, name),
            None => (false, name),
        };
        let (Some(operation), Some(connection)) = (operation(kind), connection) else {
            let Some(other) = ignored_kind(name) else { return Err(unknown) };
            if kind == b"Ready" && !ends {
                // Another log was appended: connections and numbers begin anew.
                self.open.clear();
            }
            scanner.rest_of_line()?;
            sink.notes.ignore(other);
            return Ok(());
        };
        let fields = Fields::read(scanner)?;
        let id = fields.id.ok_or("a request with its id=")?;
        let volume = sink.volumes.number(0)?;
        if ends {
            match self.open.remove(&(connection, id)) {
                None => sink.notes.ignore(COMPLETION),
                Some(_) if fields.failed => sink.notes.ignore("completion of a failed request"),
                Some(number) => self.pairing.end_numbered(number, at, sink),
            }
            return Ok(());
        }
        let operation = if kind == b"Zero" && fields.may_trim { Operation::Trim } else { operation };
        let (offset, length) = match (operation, fields.offset, fields.count) {
            (Operation::Flush, ..) => (0, 0),
            (_, Some(offset), Some(count)) => (offset, count),
            _ => return Err("a request with its offset= and count=".into()),
        };
        let event = Event { at, step: Step::Dispatch, volume, operation, offset, length };
        let number = self.pairing.begin_numbered(event, sink)?;
        if self.open.len() == OPEN_MAX {
            self.open.pop_first();
        }
        self.open.insert((connection, id), number);
        Ok(())
    }

    fn finish(&mut self, sink: &mut Sink) {
        self.pairing.finish(sink);
    }
}

/// The fields after the name of a request.
#[derive(Default)]
struct Fields {
    id: Option<u64>,
    offset: Option<u64>,
    count: Option<u64>,
    may_trim: bool,
    failed: bool,
}

impl Fields {
    fn read(scanner: &mut Scanner<'_>) -> Result<Self, LineError> {
        let mut fields = Self::default();
        let rest = scanner.rest();
        for word in rest.split(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
            let Some(equals) = word.iter().position(|byte| *byte == b'=') else { continue };
            let (key, value) = (&word[..equals], &word[equals + 1..]);
            match key {
                b"id" => fields.id = decimal(value),
                b"offset" => fields.offset = hexadecimal(value),
                b"count" => fields.count = hexadecimal(value),
                b"trim" => fields.may_trim = value == b"1",
                b"return" => fields.failed = value != b"0",
                _ => {}
            }
        }
        scanner.rest_of_line()?;
        Ok(fields)
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(text.strip_prefix(b"0x")?).ok()?, 16).ok()
}

struct Writer {
    events: Events,
    today: Today,
}

impl Default for Writer {
    fn default() -> Self {
        Self { events: Events::new(Step::Dispatch, MatchedBy::Number), today: Today::default() }
    }
}

/// The last date that was written, and its day since 1970: most events are on the same day as the one before.
#[derive(Default)]
struct Today {
    text: String,
    day: u64,
}

impl Today {
    fn write(&mut self, output: &mut Vec<u8>, at: Nanos) {
        let (seconds, micros) = (at.0 / 1_000_000_000, at.0 / 1_000 % 1_000_000);
        if self.text.is_empty() || self.day != seconds / 86_400 {
            let Date { year, month, day, .. } = Date::at(seconds);
            self.day = seconds / 86_400;
            self.text = format!("{year:04}-{month:02}-{day:02} ");
        }
        output.extend_from_slice(self.text.as_bytes());
        for (part, behind) in [(seconds / 3600 % 24, b':'), (seconds / 60 % 60, b':'), (seconds % 60, b'.')] {
            write_padded(output, part, 2, b'0');
            output.push(behind);
        }
        write_padded(output, micros, 6, b'0');
    }
}

fn write_event(output: &mut Vec<u8>, today: &mut Today, event: WrittenEvent<'_>) {
    let WrittenEvent { step, at, record, number } = event;
    today.write(output, at);
    let completes = step == Step::Complete;
    output.extend_from_slice(if completes { b" connection=1 ..." } else { b" connection=1 " });
    output.extend_from_slice(match record.operation {
        Operation::Read => b"Read id=",
        Operation::Write => b"Write id=",
        Operation::Trim => b"Trim id=",
        Operation::Flush => b"Flush id=",
    });
    write_number(output, number + 1);
    if completes {
        output.extend_from_slice(b" return=0\n");
        return;
    }
    if record.operation != Operation::Flush {
        output.extend_from_slice(b" offset=");
        write_hexadecimal(output, record.offset);
        output.extend_from_slice(b" count=");
        write_hexadecimal(output, u64::from(record.length));
    }
    output.extend_from_slice(match record.operation {
        Operation::Read | Operation::Flush => b" ...\n",
        Operation::Write | Operation::Trim => b" fua=0 ...\n",
    });
}

impl RecordWriter for Writer {
    fn record(&mut self, output: &mut Vec<u8>, record: &Record, _: Target<'_>) -> io::Result<()> {
        let Self { events, today } = self;
        events.record(record, |event| write_event(output, today, event));
        Ok(())
    }

    fn end(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        let Self { events, today } = self;
        events.end(|event| write_event(output, today, event));
        Ok(())
    }

    fn mistaken(&self) -> Option<(u64, u64)> {
        self.events.mistaken()
    }
}
