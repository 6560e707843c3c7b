//! `esker trace`: look at traces, convert, cut or make them.

mod formats;
mod generate;
mod info;
mod rewrite;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use esker_trace::{FORMATS, ReadNotes, ReadOptions, TraceReader, TraceWriter, WriteNotes};

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

/// Refuses what was given twice: its requests would count twice, which nobody asked for.
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

/// What to say of a trace in which no request was found.
pub(crate) fn no_requests(trace: &Path, notes: &ReadNotes) -> Failure {
    let name = if trace.as_os_str() == "-" { "standard input".into() } else { trace.display().to_string() };
    let kinds: Vec<String> = notes.ignored.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
    let mut message = format!("{name} has no requests");
    if !kinds.is_empty() {
        message += &format!("; what it has is no request: {}", kinds.join(", "));
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

/// A bar over the bytes of a trace.
struct ReadProgress(Progress);

impl ReadProgress {
    fn new(common: &Common, what: &str) -> Self {
        let bar = Progress::new(common.quiet, "B");
        bar.say(what);
        Self(bar)
    }
    fn moved(&self, reader: &TraceReader) {
        self.0.set(reader.bytes_read(), reader.bytes_total().unwrap_or(0));
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
    if notes.times_dropped {
        eprintln!("note: the format has no times; they were dropped");
    }
    if notes.times_rounded > 0 {
        eprintln!("note: {} times were rounded down to the format's unit", notes.times_rounded);
    }
    if notes.responses_dropped > 0 {
        eprintln!("note: {} response times were dropped, the format has none", notes.responses_dropped);
    }
    for (name, becomes) in &notes.volumes_renamed {
        eprintln!("note: volume {name} is called {becomes} in the output");
    }
}
