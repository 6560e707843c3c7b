//! `esker trace`: look at traces, convert, cut or make them.

mod ending;
mod formats;
mod generate;
mod info;
mod rewrite;

use std::process::ExitCode;

use esker_trace::{FormatEntry, ReadOptions, Record, TraceError, TraceReader, TraceWriter, WriteNotes};

use crate::args::{Common, ReadArguments, TraceCommand};
use crate::failure::Failure;
use crate::output::{Output, remark};
use crate::progress::Progress;

/// Runs one of the commands.
pub(crate) fn run(command: TraceCommand, common: &Common) -> Result<ExitCode, Failure> {
    match command {
        TraceCommand::Info(arguments) => info::run(&arguments, common),
        TraceCommand::Convert(arguments) => rewrite::convert(&arguments, common),
        TraceCommand::Filter(arguments) => rewrite::filter(&arguments, common),
        TraceCommand::Generate(arguments) => generate::run(&arguments, common),
        TraceCommand::Formats => formats::run(),
    }
}

/// How traces are to be read.
pub(crate) fn read_options(arguments: &ReadArguments) -> ReadOptions {
    let default = ReadOptions::default();
    ReadOptions {
        format: arguments.format.clone(),
        lenient: arguments.lenient,
        reorder_time: arguments.reorder.unwrap_or(default.reorder_time),
        reorder_records: arguments.reorder_records.unwrap_or(default.reorder_records),
    }
}

/// A bar over the bytes of a trace.
struct ReadProgress(Progress);

impl ReadProgress {
    fn new(common: &Common, what: &str) -> Self {
        let bar = Progress::new(common.quiet, "B");
        bar.say(what);
        Self(bar)
    }
    fn moved(&self, reader: &TraceReader) {
        let done = reader.bytes_read();
        self.0.set(done, reader.bytes_total().unwrap_or(done));
    }
}

/// A trace writer and the file under it.
struct TraceOutput {
    output: Output,
    writer: TraceWriter,
}

impl TraceOutput {
    /// Begins a trace in `format` with the volumes known by now.
    fn begin(mut output: Output, format: &FormatEntry, volumes: &[String]) -> Result<Self, Failure> {
        let writer = TraceWriter::create(format.name, output.writer()?, volumes)?;
        Ok(Self { output, writer })
    }

    fn push(&mut self, record: &Record) -> Result<(), Failure> {
        self.writer.push(record).map_err(|error| failed(&self.output, error))
    }

    fn finish(self, common: &Common) -> Result<(), Failure> {
        let notes = self.writer.finish().map_err(|error| failed(&self.output, error))?;
        self.output.finish()?;
        if !common.quiet {
            say(&notes);
        }
        Ok(())
    }
}

/// An error of a trace writer; one of the file under it names the file.
fn failed(output: &Output, error: TraceError) -> Failure {
    match error {
        TraceError::Write(error) => output.failed(error),
        error => error.into(),
    }
}

/// What the output could not hold.
fn say(notes: &WriteNotes) {
    remark(&format!("wrote {} requests", notes.records));
    if notes.times_dropped {
        remark("note: the format has no times; they were dropped");
    }
    if notes.times_rounded > 0 {
        remark(&format!("note: {} times were rounded down to the format's unit", notes.times_rounded));
    }
    if notes.responses_dropped > 0 {
        remark(&format!("note: {} response times were dropped, the format has none", notes.responses_dropped));
    }
    for (name, becomes) in &notes.volumes_renamed {
        remark(&format!("note: volume {name} is called {becomes} in the output"));
    }
}
