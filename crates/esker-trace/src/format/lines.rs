//! Common parts of all formats with one request per line.

use super::recognise::NEAR;
use super::{Opened, RecordSource, Sample};
use crate::error::TraceError;
use crate::input::Input;
use crate::reader::ReadOptions;
use crate::scan::{Expected, LONGEST_LINE, PADDING, Scanner};
use crate::sink::Sink;
use crate::volumes::TooMany;

/// Why a line could not be read.
#[derive(Debug)]
pub(crate) enum LineError {
    /// The line has something else at this position.
    Expected(Expected),
    /// The line has something else at this position, and no later line can be read without it.
    Header(Expected),
    /// There are too many volumes.
    TooManyVolumes(TooMany),
}

impl From<Expected> for LineError {
    #[inline(always)]
    fn from(expected: Expected) -> Self {
        Self::Expected(expected)
    }
}
impl From<&'static str> for LineError {
    /// An error of the line as a whole.
    fn from(what: &'static str) -> Self {
        Self::Expected(Expected { what, at: usize::MAX })
    }
}
impl From<TooMany> for LineError {
    fn from(too_many: TooMany) -> Self {
        Self::TooManyVolumes(too_many)
    }
}

/// A format of one request (or event) per line.
pub(crate) trait LineFormat: Send + Default {
    /// Reads one line including its end, and passes it to `sink`. Must not pass anything if it fails.
    fn line(&mut self, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), LineError>;

    /// Called once after the last line.
    fn finish(&mut self, _sink: &mut Sink) {}
}

/// Reads lines of `F`.
struct Lines<F> {
    input: Input,
    format: F,
    ended: bool,
}

/// Opens an input as lines of `F`.
pub(crate) fn open<F: LineFormat + 'static>(input: Input, _options: &ReadOptions) -> Opened {
    Ok(Box::new(Lines { input, format: F::default(), ended: false }))
}

impl<F: LineFormat> RecordSource for Lines<F> {
    fn fill(&mut self, sink: &mut Sink) -> Result<bool, TraceError> {
        if self.ended {
            return Ok(false);
        }
        let mut end = whole_lines(self.input.window());
        while end == 0 {
            let waiting = self.input.window().len();
            if waiting > LONGEST_LINE {
                sink.place += 1;
                return Err(too_long(sink));
            }
            if self.input.advance(waiting)? {
                end = whole_lines(self.input.window());
            } else {
                self.input.terminate_line();
                self.ended = true;
                end = self.input.window().len();
                break;
            }
        }
        parse_lines(&mut self.format, self.input.padded_window(), end, sink)?;
        if self.ended {
            self.format.finish(sink);
            return Ok(false);
        }
        let rest = self.input.window().len() - end;
        if !self.input.advance(rest)? && rest == 0 {
            self.ended = true;
            self.format.finish(sink);
            return Ok(false);
        }
        Ok(true)
    }
}

/// Number of bytes at the front that are whole lines.
fn whole_lines(window: &[u8]) -> usize {
    memchr::memrchr(b'\n', window).map_or(0, |at| at + 1)
}

/// Reads the lines in the first `end` bytes.
fn parse_lines<F: LineFormat>(format: &mut F, bytes: &[u8], end: usize, sink: &mut Sink) -> Result<(), TraceError> {
    let mut scanner = Scanner::new(&bytes[..end + PADDING], 0);
    while scanner.position < end {
        let start = scanner.position;
        sink.place += 1;
        match format.line(&mut scanner, sink) {
            Ok(()) => debug_assert_eq!(bytes[scanner.position - 1], b'\n'),
            Err(error) => {
                scanner.position = start;
                bad_line(error, &mut scanner, sink)?;
            }
        }
    }
    sink.notes.lines = sink.place;
    Ok(())
}

#[cold]
fn too_long(sink: &Sink) -> TraceError {
    damaged(sink, "a line of at most 65,536 bytes", "a longer one".into())
}

fn damaged(sink: &Sink, expected: &'static str, found: String) -> TraceError {
    TraceError::Damaged { name: sink.name.clone(), place: sink.place(sink.place), expected, found }
}

/// Skips the line at the scanner's position, which could not be read.
#[cold]
fn bad_line(error: LineError, scanner: &mut Scanner<'_>, sink: &mut Sink) -> Result<(), TraceError> {
    let (expected, fatal) = match error {
        LineError::TooManyVolumes(too_many) => return Err(sink.too_many_volumes(too_many)),
        LineError::Header(expected) => (expected, true),
        LineError::Expected(expected) => (expected, false),
    };
    let line = scanner.rest();
    let start = scanner.position;
    if line.len() > LONGEST_LINE {
        return Err(too_long(sink));
    }
    scanner.next_line();
    if line.iter().all(u8::is_ascii_whitespace) {
        sink.notes.ignore("blank line");
        return Ok(());
    }
    if expected.at == usize::MAX {
        return sink.bad(expected.what, quote(line));
    }
    let rest = &line[expected.at.saturating_sub(start).min(line.len())..];
    let field = rest.split(|byte| matches!(byte, b',' | b' ' | b'\t')).next().unwrap_or_default();
    let found = quote(if field.is_empty() { &rest[..rest.len().min(1)] } else { field });
    if fatal { Err(damaged(sink, expected.what, found)) } else { sink.bad(expected.what, found) }
}

/// Bytes as a message shows them.
pub(crate) fn quote(bytes: &[u8]) -> String {
    const SHOWN: usize = 60;
    match bytes {
        [] => "the end of the line".into(),
        _ if bytes.len() > SHOWN => format!("`{}...`", bytes[..SHOWN].escape_ascii()),
        _ => format!("`{}`", bytes.escape_ascii()),
    }
}

/// How well the beginning of an input reads as lines of `F`: up to 100. At least [`super::recognise::FITS`] if most of
/// the first lines do; otherwise up to [`NEAR`], by the share that does.
pub(crate) fn confidence<F: LineFormat>(sample: &Sample<'_>) -> u8 {
    const LINES: u64 = 200;
    let end = if sample.whole { sample.bytes.len() } else { whole_lines(sample.bytes) };
    let mut bytes = sample.bytes[..end].to_vec();
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    let end = bytes.len();
    bytes.resize(end + PADDING, b'\n');
    let mut sink = Sink::new("", false, true, &ReadOptions { lenient: Some(LINES), ..ReadOptions::default() });
    let mut scanner = Scanner::new(&bytes, 0);
    let mut format = F::default();
    let (mut good, mut reached) = (0u64, 0.0);
    while scanner.position < end && sink.place < LINES {
        let start = scanner.position;
        sink.place += 1;
        match format.line(&mut scanner, &mut sink) {
            Ok(()) => good += 1,
            Err(error) => {
                scanner.position = start;
                if let LineError::Expected(expected) | LineError::Header(expected) = error {
                    let read = expected.at.clamp(start, start + scanner.rest().len()) - start;
                    reached += read as f64 / scanner.rest().len().max(1) as f64;
                }
                if scanner.rest().iter().all(u8::is_ascii_whitespace) {
                    sink.place -= 1;
                }
                scanner.next_line();
            }
        }
    }
    let lines = sink.place.max(1);
    match good * 100 / lines {
        share @ 60.. => share as u8,
        _ => ((good as f64 + reached) / lines as f64 * f64::from(NEAR)) as u8,
    }
}
