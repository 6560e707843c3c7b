//! `esker trace convert` and `esker trace filter`: a trace in, a trace out.

use std::path::PathBuf;
use std::process::ExitCode;

use esker_trace::{Filter, FilterSettings, Filtered, OperationName, TraceReader};

use super::{ReadProgress, TraceOutput, read_options};
use crate::args::{Common, ConvertArguments, FilterArguments, Kind, ReadArguments, WriteArguments};
use crate::cancel;
use crate::failure::Failure;

/// Writes a trace in another format.
pub(super) fn convert(arguments: &ConvertArguments, common: &Common) -> Result<ExitCode, Failure> {
    rewrite(&arguments.traces, &arguments.read, &arguments.write, FilterSettings::default(), common)
}

/// Cuts, shifts or rescales a trace.
pub(super) fn filter(arguments: &FilterArguments, common: &Common) -> Result<ExitCode, Failure> {
    let operation = |kind: &Kind| match kind {
        Kind::Read => OperationName::Read,
        Kind::Write => OperationName::Write,
        Kind::Trim => OperationName::Trim,
        Kind::Flush => OperationName::Flush,
    };
    let settings = FilterSettings {
        volumes: arguments.volume.clone(),
        operations: arguments.kind.iter().map(operation).collect(),
        from: arguments.from,
        until: arguments.until,
        address_from: arguments.address_from,
        address_to: arguments.address_to,
        shift_bytes: arguments.shift.unwrap_or(0),
        speed: arguments.speed,
        head: arguments.head,
    };
    rewrite(&arguments.traces, &arguments.read, &arguments.write, settings, common)
}

fn rewrite(
    traces: &[PathBuf],
    read: &ReadArguments,
    write: &WriteArguments,
    settings: FilterSettings,
    common: &Common,
) -> Result<ExitCode, Failure> {
    let mut filter = Filter::new(settings)?;
    let mut reader = TraceReader::open(traces, &read_options(read))?;
    let mut output = TraceOutput::create(write, reader.volumes())?;
    let bar = ReadProgress::new(common, "rewriting");
    let mut batch = Vec::new();
    let mut number = 0;
    'reading: while reader.next_batch(&mut batch)? {
        if cancel::requested() {
            return Err(Failure::cancelled());
        }
        output.writer.set_volumes(reader.volumes())?;
        for record in &batch {
            number += 1;
            match filter.apply(record, reader.volumes()) {
                Filtered::Keep(record) => {
                    output.writer.push(&record).map_err(|error| error.in_record(reader.name(), number))?;
                }
                Filtered::Drop => {}
                Filtered::End => break 'reading,
            }
        }
        bar.moved(&reader);
    }
    drop(bar);
    filter.check_volumes(reader.volumes())?;
    if !reader.notes().has_times {
        output.writer.trace_has_no_times();
    }
    output.finish(common)?;
    if filter.below_zero() > 0 && !common.quiet {
        remark(&format!("{} requests would have begun below address zero and were dropped", filter.below_zero()));
    }
    for text in esker_study::remarks(reader.notes()) {
        if !common.quiet {
            remark(&text);
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::print_stderr, reason = "remarks belong beside the data, not in it")]
fn remark(text: &str) {
    eprintln!("note: {text}");
}
