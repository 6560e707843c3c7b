//! `esker trace`: characterises, converts, filters, records and generates traces.

mod formats;
mod generate;
mod info;
mod record;
mod rewrite;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use esker_trace::{FormatEntry, ReadNotes, ReadOptions, Record, TraceError, TraceReader, TraceWriter, WriteNotes};

use crate::args::{Common, ReadArguments, TraceCommand};
use crate::failure::Failure;
use crate::output::{Output, remark};
use crate::progress::{Progress, Unit};

/// Runs a command of `esker trace`.
pub(crate) fn run(command: TraceCommand, common: &Common) -> Result<ExitCode, Failure> {
    match command {
        TraceCommand::Info(arguments) => info::run(&arguments, common),
        TraceCommand::Convert(arguments) => rewrite::convert(&arguments, common),
        TraceCommand::Filter(arguments) => rewrite::filter(&arguments, common),
        TraceCommand::Record(arguments) => record::run(&arguments, common),
        TraceCommand::Generate(arguments) => generate::run(&arguments, common),
        TraceCommand::Formats => formats::run(),
    }
}

/// The options for reading, from the arguments.
pub(crate) fn read_options(arguments: &ReadArguments) -> ReadOptions {
    let default = ReadOptions::default();
    ReadOptions {
        format: arguments.format.clone(),
        lenient: arguments.lenient,
        reorder_time: arguments.reorder.unwrap_or(default.reorder_time),
        reorder_records: arguments.reorder_records.unwrap_or(default.reorder_records),
    }
}

/// Refuses a trace that is given twice: its requests would be counted twice.
pub(crate) fn check_given_once(traces: &[PathBuf]) -> Result<(), Failure> {
    let mut known = BTreeSet::new();
    for trace in traces {
        let place = std::fs::canonicalize(trace).unwrap_or_else(|_| trace.clone());
        if !known.insert(place) {
            let message = match trace.to_str() {
                Some("-") => "standard input is given twice".to_string(),
                _ => format!("{} is given twice", trace.display()),
            };
            return Err(
                Failure::input(message).with_hint("give each trace once; look at what a shell pattern stands for")
            );
        }
    }
    Ok(())
}

/// The error for a trace without requests.
pub(crate) fn no_requests(trace: &Path, notes: &ReadNotes) -> Failure {
    let name = if trace.as_os_str() == "-" { "standard input".into() } else { trace.display().to_string() };
    let kinds: Vec<String> = notes.ignored.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
    let mut message = format!("{name} has no requests");
    if !kinds.is_empty() {
        message += &format!("; what it has is no request: {}", kinds.join(", "));
    }
    for remark in &notes.remarks {
        message += &format!("; {remark}");
    }
    let failure = Failure::input(message);
    if notes.ignored("completion without request") > 0 {
        return failure
            .with_hint("record when requests are queued or issued, too: blktrace -a queue -a issue -a complete");
    }
    match notes.bad_line_messages.first() {
        Some(first) => failure.with_hint(format!(
            "{} lines were skipped as broken, the first: {first}; --format names another format",
            notes.bad_lines
        )),
        None => failure,
    }
}

/// Prints what is to know of a trace that was read.
pub(crate) fn print_notes(lines: &[String], common: &Common) {
    if !common.quiet {
        lines.iter().for_each(|line| remark(&format!("note: {line}")));
    }
}

/// A progress bar over the bytes of a trace.
pub(crate) struct ReadProgress(Progress);

impl ReadProgress {
    pub(crate) fn new(common: &Common, what: &str) -> Self {
        let bar = Progress::new(common.quiet, Unit::Bytes);
        bar.set_message(what);
        Self(bar)
    }
    pub(crate) fn moved(&self, reader: &TraceReader) {
        self.0.set(reader.bytes_read(), reader.bytes_total().unwrap_or(0));
    }
}

/// A trace writer with its output.
struct TraceOutput {
    output: Output,
    writer: TraceWriter,
}

impl TraceOutput {
    /// Starts a trace in `format`. `volumes` are the names known so far.
    fn begin(mut output: Output, format: &FormatEntry, volumes: &[String]) -> Result<Self, Failure> {
        let writer = TraceWriter::create(format.name, output.writer()?, volumes)?;
        Ok(Self { output, writer })
    }

    fn push(&mut self, record: &Record) -> Result<(), Failure> {
        self.writer.push(record).map_err(|error| failed(&self.output, error))
    }

    /// Writes record `number` of `trace`; an error names both.
    fn push_from(&mut self, record: &Record, trace: &str, number: u64) -> Result<(), Failure> {
        self.writer.push(record).map_err(|error| failed(&self.output, error.in_record(trace, number)))
    }

    fn finish(self, common: &Common) -> Result<(), Failure> {
        let notes = self.writer.finish().map_err(|error| failed(&self.output, error))?;
        self.output.finish()?;
        if !common.quiet {
            print_losses(&notes);
        }
        Ok(())
    }
}

/// An error of a trace writer. If its output failed, the error names the output.
fn failed(output: &Output, error: TraceError) -> Failure {
    match error {
        TraceError::Write(error) => output.failed(error),
        error => error.into(),
    }
}

/// Prints what the output could not hold.
fn print_losses(notes: &WriteNotes) {
    remark(&format!("wrote {} requests", notes.records));
    for line in notes.lines() {
        remark(&format!("note: {line}"));
    }
}
