//! `esker trace convert` and `esker trace filter`: read a trace and write it again.

use std::path::PathBuf;
use std::process::ExitCode;

use esker_core::{Nanos, words};
use esker_trace::{Anonymiser, Filter, FilterSettings, Filtered, FormatEntry, OperationName, ReadOptions, TraceReader};

use super::{ReadProgress, TraceOutput, check_given_once, no_requests, print_notes, read_options};
use crate::args::{Common, ConvertArguments, FilterArguments, OperationKind, ReadArguments, WriteArguments};
use crate::cancel;
use crate::failure::Failure;
use crate::output::{Output, Outputs, remark};
use crate::trace_ending::{check_terminal, format_of};

/// Writes a trace in another format.
pub(super) fn convert(arguments: &ConvertArguments, common: &Common) -> Result<ExitCode, Failure> {
    of_arguments(
        &arguments.traces,
        &arguments.read,
        &arguments.write,
        FilterSettings::default(),
        arguments.anonymise,
        common,
    )
}

/// Filters, shifts or rescales a trace.
pub(super) fn filter(arguments: &FilterArguments, common: &Common) -> Result<ExitCode, Failure> {
    let operation = |kind: &OperationKind| match kind {
        OperationKind::Read => OperationName::Read,
        OperationKind::Write => OperationName::Write,
        OperationKind::Trim => OperationName::Trim,
        OperationKind::Flush => OperationName::Flush,
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
    of_arguments(&arguments.traces, &arguments.read, &arguments.write, settings, arguments.anonymise, common)
}

fn of_arguments(
    traces: &[PathBuf],
    read: &ReadArguments,
    write: &WriteArguments,
    settings: FilterSettings,
    anonymises: bool,
    common: &Common,
) -> Result<ExitCode, Failure> {
    check_given_once(traces)?;
    let format = format_of(write)?;
    check_terminal(write, format)?;
    let output = Outputs::of_traces_with_o(write.force, traces)?.trace(write)?;
    let rewriting = Rewriting { traces, read: read_options(read), settings, anonymises, stops: cancel::requested };
    rewrite(rewriting, output, format, common)
}

/// What is read, and what becomes of it.
pub(super) struct Rewriting<'a> {
    pub(super) traces: &'a [PathBuf],
    pub(super) read: ReadOptions,
    pub(super) settings: FilterSettings,
    /// Whether names of volumes and the date are left out.
    pub(super) anonymises: bool,
    /// Whether the user has asked for the end.
    pub(super) stops: fn() -> bool,
}

/// Reads the traces as one and writes it in this format.
pub(super) fn rewrite(
    rewriting: Rewriting<'_>,
    output: Output,
    format: &FormatEntry,
    common: &Common,
) -> Result<ExitCode, Failure> {
    let Rewriting { traces, read, settings, anonymises, stops } = rewriting;
    let mut filter = Filter::new(settings.clone())?;
    let mut anonymiser = anonymises.then(Anonymiser::default);
    let names = |volumes: &[String]| if anonymises { Anonymiser::names(volumes) } else { volumes.to_vec() };
    let mut reader = TraceReader::open(traces, &read)?;
    let mut output = TraceOutput::begin(output, format, &names(reader.volumes()))?;
    let bar = ReadProgress::new(common, "rewriting");
    let (mut batch, mut number, mut window) = (Vec::new(), 0, None);
    'reading: while reader.next_batch(&mut batch)? {
        if stops() {
            return Err(Failure::cancelled());
        }
        output.writer.set_volumes(&names(reader.volumes()))?;
        for record in &batch {
            number += 1;
            let (first, _) = *window.get_or_insert((record.at, record.at));
            window = Some((first, record.at));
            match filter.apply(record, reader.volumes()) {
                Filtered::Keep(record) => {
                    let record = anonymiser.as_mut().map_or(record, |anonymiser| anonymiser.apply(&record));
                    output.push_from(&record, reader.name(), number)?;
                }
                Filtered::Drop => {}
                Filtered::End => break 'reading,
            }
        }
        bar.moved(&reader);
    }
    drop(bar);
    filter.check_volumes(reader.volumes())?;
    if filter.kept() == 0 {
        return Err(match window {
            None => no_requests(&traces[0], reader.notes()),
            Some((first, last)) => nothing_left(&settings, &filter, last.saturating_sub(first)),
        });
    }
    if !reader.notes().has_times {
        output.writer.trace_has_no_times();
    }
    output.finish(common)?;
    let dropped = [
        (filter.below_zero(), "would have begun below address zero"),
        (filter.beyond_end(), "would have ended beyond the address 2^64"),
    ];
    for name in filter.volumes_not_seen(reader.volumes()).filter(|_| !common.quiet) {
        remark(&format!("note: no volume `{name}` before the end of what was asked for: it comes later, or never"));
    }
    for (count, what) in dropped.into_iter().filter(|(count, _)| *count > 0 && !common.quiet) {
        remark(&format!("note: {count} requests {what} and were dropped"));
    }
    print_notes(&reader.notes().lines(), common);
    Ok(ExitCode::SUCCESS)
}

/// The error if no request of a trace of this duration has passed the filter.
fn nothing_left(settings: &FilterSettings, filter: &Filter, duration: Nanos) -> Failure {
    let lasts = words::duration(duration.as_secs_f64());
    match settings.from {
        Some(from) if from > duration => {
            Failure::input(format!("no request is left: --from {from} is beyond the trace's end, which lasts {lasts}"))
                .with_hint("--from and --until count from the trace's first request")
        }
        _ if filter.below_zero() > 0 => {
            Failure::input("no request is left: --shift moves all of them below address zero")
        }
        _ if filter.beyond_end() > 0 => {
            Failure::input("no request is left: --shift moves all of them beyond the address 2^64")
        }
        _ => Failure::input("no request is left: none has everything that was asked for")
            .with_hint("`esker trace info` shows what the trace has"),
    }
}
