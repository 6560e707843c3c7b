//! `esker trace info`: the profiles of traces.

use std::process::ExitCode;

use esker_core::{unlikely_rate, words};

use esker_results::profile::{Profile, TraceProfile, TraceProfiles};
use esker_trace::{Characteriser, CharacteriserSettings, TraceReader, group_inputs};
use serde_json::Value;

use super::{ReadProgress, check_given_once, no_requests, read_options};
use crate::args::{Common, InfoArguments};
use crate::failure::Failure;
use crate::output::{Outputs, json};
use crate::table::{self, Table};
use crate::{cancel, output};

/// Characterises each trace.
pub(super) fn run(arguments: &InfoArguments, common: &Common) -> Result<ExitCode, Failure> {
    check_given_once(&arguments.traces)?;
    let json = Outputs::of_traces(arguments.json.force, &arguments.traces)?.json(&arguments.json, &json::PROFILE)?;
    let mut values = Vec::new();
    let mut text = String::new();
    for paths in group_inputs(&arguments.traces) {
        let name = paths[0].display().to_string();
        let mut reader = TraceReader::open(&paths, &read_options(&arguments.read))?;
        let bar = ReadProgress::new(common, &name);
        let mut characteriser = Characteriser::new(CharacteriserSettings::default());
        let mut batch = Vec::new();
        while reader.next_batch(&mut batch)? {
            if cancel::requested() {
                return Err(Failure::cancelled());
            }
            characteriser.push_all(&batch);
            bar.moved(&reader);
        }
        drop(bar);
        if reader.notes().records == 0 {
            return Err(no_requests(&paths[0], reader.notes()));
        }
        let profile = characteriser.finish(reader.volumes());
        let mut remarks = reader.notes().lines();
        let bytes = profile.read_bytes + profile.write_bytes;
        let volumes = reader.volumes().len() as u64;
        remarks.extend(unlikely_rate(profile.requests, bytes, profile.duration_s.unwrap_or(0.0), volumes));
        if arguments.json.json.is_some() {
            values.push(TraceProfile { trace: name, format: reader.format().name.to_string(), remarks, profile });
        } else {
            text += &render(&name, &reader, &profile, &remarks);
        }
    }
    match json {
        Some(json) => json.write_json(&profiles(values)?)?,
        None => output::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// One trace is written as one object, as scripts expect; several are written as a list.
fn profiles(mut profiles: Vec<TraceProfile>) -> Result<Value, Failure> {
    let profiles = match profiles.len() {
        1 => TraceProfiles::One(Box::new(profiles.remove(0))),
        _ => TraceProfiles::Several(profiles),
    };
    serde_json::to_value(profiles).map_err(Failure::work)
}

fn render(name: &str, reader: &TraceReader, profile: &Profile, remarks: &[String]) -> String {
    let mut text = format!("{name} ({})\n\n", reader.format().name);
    let mut line = |what: &str, value: String| text += &format!("  {what:<26} {value}\n");
    let transfers = (profile.read_requests + profile.write_requests).max(1) as f64;
    line(
        "requests",
        format!(
            "{} ({} reads, {} writes, {} trims, {} flushes)",
            words::count(profile.requests),
            words::count(profile.read_requests),
            words::count(profile.write_requests),
            words::count(profile.trim_requests),
            words::count(profile.flush_requests)
        ),
    );
    line("read share", table::percent(profile.read_requests as f64 / transfers));
    line(
        "volume",
        format!(
            "{} read, {} written",
            words::bytes(profile.read_bytes as f64),
            words::bytes(profile.write_bytes as f64)
        ),
    );
    line(
        "size",
        format!(
            "mean {}, median {}",
            words::bytes(profile.mean_size_bytes),
            words::bytes(profile.median_size_bytes as f64)
        ),
    );
    match (profile.duration_s, profile.requests_per_s) {
        (Some(duration), Some(rate)) => {
            line("time", format!("{}, {} requests/s on average", words::duration(duration), words::digits(rate)))
        }
        _ if reader.notes().has_times => {
            line("time", "all requests have the same time: nothing is known of rates, peaks and pauses".into())
        }
        _ => line("time", "the trace has no times".into()),
    }
    line(
        "touched",
        format!(
            "{} in {} pages of 4 KiB; {} apart at most",
            words::bytes(profile.footprint_bytes as f64),
            words::count(profile.pages_4k),
            words::bytes(profile.address_span_bytes as f64)
        ),
    );
    line(
        "sequential",
        format!(
            "{} per volume, {} over all volumes together",
            table::percent(profile.sequential_fraction),
            table::percent(profile.sequential_fraction_global)
        ),
    );
    line("aligned to 4 KiB", table::percent(profile.aligned_4k_fraction));
    if let Some(peaks) = &profile.peaks {
        line(
            "busiest second",
            format!(
                "{} requests, {}",
                words::count(peaks.requests_per_s.max as u64),
                words::bytes(peaks.bytes_per_s.max)
            ),
        );
    }
    if let Some(measured) = &profile.measured {
        line(
            "response, as measured",
            format!("mean {}, p99 {}", words::time(measured.all.mean_us), words::time(measured.all.p99_us)),
        );
    }
    for volume in &profile.volumes {
        if let Some(misalignment) = &volume.misalignment {
            line(
                "misaligned",
                format!(
                    "volume {}: shifting by {} bytes would align {}",
                    volume.name,
                    misalignment.shift_bytes,
                    table::percent(misalignment.aligned_after)
                ),
            );
        }
    }
    for remark in remarks {
        line("note", remark.clone());
    }
    if profile.volumes.len() > 1 {
        text.push('\n');
        let mut volumes = Table::new(&["volume", "requests", "reads", "mean size", "touched", "sequential"]);
        for volume in &profile.volumes {
            let transfers = (volume.read_requests + volume.write_requests).max(1) as f64;
            volumes.row([
                volume.name.clone(),
                words::count(volume.requests),
                table::percent(volume.read_requests as f64 / transfers),
                words::bytes(volume.mean_size_bytes),
                words::bytes(volume.footprint_bytes as f64),
                table::percent(volume.sequential_fraction),
            ]);
        }
        text += &volumes.render();
    }
    text + "\n"
}
