//! `esker trace`: look at traces, convert, cut or make them.

mod formats;
mod generate;
mod info;
mod rewrite;

use std::path::Path;
use std::process::ExitCode;

use esker_trace::{FORMATS, ReadOptions, TraceReader, TraceWriter, WriteNotes};

use crate::args::{Common, ReadArguments, TraceCommand, WriteArguments};
use crate::failure::Failure;
use crate::output::Output;
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
    fn create(arguments: &WriteArguments, volumes: &[String]) -> Result<Self, Failure> {
        let format = match &arguments.to {
            Some(name) => name.clone(),
            None => format_of(&arguments.output).to_string(),
        };
        let output = Output::create(&arguments.output)?;
        let writer = TraceWriter::create(&format, output.compressing_writer()?, volumes)?;
        Ok(Self { output, writer })
    }

    fn finish(self, common: &Common) -> Result<(), Failure> {
        let notes = self.writer.finish().map_err(Failure::work)?;
        self.output.finish()?;
        if !common.quiet {
            say(&notes);
        }
        Ok(())
    }
}

/// The format that a file name asks for: its extension, without a compression's, is a format's name; else esker's own.
fn format_of(path: &Path) -> &'static str {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
    let name = name.trim_end_matches(".zst").trim_end_matches(".gz");
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    FORMATS
        .iter()
        .find(|format| format.name == extension && format.can_be_written())
        .map_or("esker", |format| format.name)
}

/// What the output could not hold.
#[expect(clippy::print_stderr, reason = "remarks belong beside the data, not in it")]
fn say(notes: &WriteNotes) {
    eprintln!("wrote {} requests", notes.records);
    for line in notes.lines() {
        eprintln!("note: {line}");
    }
}
