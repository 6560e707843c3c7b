//! `esker sim`: one experiment.

mod cache_parts;
mod cloud_volume;
mod cluster;
mod disk;
mod flash_cache;
mod placement;
mod recovery;

use std::process::ExitCode;

use esker_core::words;
use esker_results::{RequestClass, RunResults, SettledResults, Settling};
use esker_sim::{Experiment, RunError, RunOptions};

use crate::args::{Common, SimArguments};
use crate::failure::Failure;
use crate::output::{Content, Output, Outputs, json};
use crate::progress::{Progress, Unit};
use crate::table::{Table, percent};
use crate::{cancel, output};

/// Runs the experiment.
pub(crate) fn run(arguments: &SimArguments, common: &Common) -> Result<ExitCode, Failure> {
    let mut experiment = Experiment::load(&arguments.file)?;
    if !experiment.dimensions().is_empty() {
        let message = format!("{} has a [sweep] table: it describes many runs", arguments.file.display());
        return Err(Failure::input(message).with_hint("run it with `esker sweep`"));
    }
    if let Some(seed) = common.seed {
        experiment.run.seed = seed;
    }
    let inputs = [vec![arguments.file.clone()], experiment.traces()].concat();
    let mut outputs = Outputs::new(arguments.json.force, &inputs)?;
    let html = arguments.output.as_ref().map(|path| outputs.claim("-o", path, Content::Page)).transpose()?;
    let json = outputs.json(&arguments.json, &json::RUN)?;
    let page_is_printed = html.as_ref().is_some_and(Output::is_standard_output);
    let bar = Progress::new(common.quiet, Unit::Things("requests"));
    bar.set_message("simulating");
    let progress = |done: u64, total: u64| bar.set(done, total);
    let options = RunOptions {
        progress: Some(&progress),
        cancel: Some(cancel::flag()),
        cost: !arguments.no_cost,
        ..RunOptions::default()
    };
    let results = esker_sim::run(&experiment, &options).map_err(failure)?;
    drop(bar);
    if let Some(html) = html {
        html.write_text(&esker_report::render_run(&results)?)?;
    }
    match json {
        Some(json) => json.write_json(&results)?,
        None if page_is_printed => {}
        None => output::print(&render(&results))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The error of a run, for the user.
pub(super) fn failure(error: RunError) -> Failure {
    match error {
        RunError::Cancelled => Failure::cancelled(),
        error => error.into(),
    }
}

pub(super) fn render(results: &RunResults) -> String {
    let workload = &results.workload;
    let mut text = format!(
        "{} requests ({} reads, {} writes), {} in {}\n",
        words::count(workload.requests),
        words::count(workload.read_requests),
        words::count(workload.write_requests),
        words::bytes((workload.read_bytes + workload.write_bytes) as f64),
        words::duration(workload.duration_s),
    );
    if let Some(saturated) = &results.saturated {
        text += &format!(
            "\nThe target cannot keep up: requests pile up from {} on; {} waited when it was stopped.\n",
            words::clock(saturated.since_s),
            words::count(saturated.backlog_requests)
        );
    } else {
        text += &format!(
            "{} requests/s, {}/s\n\n",
            words::digits(results.throughput.requests_per_s),
            words::bytes(results.throughput.bytes_per_s)
        );
        text += &response_times(results);
    }
    for (name, device) in &results.devices {
        text += &format!("\n{name} ({}, {})", device.kind, words::bytes(device.capacity_bytes as f64));
        let busy: Vec<String> = device
            .utilisation
            .iter()
            .map(|(resource, busy)| format!("{} {} busy", words::resource(resource), percent(*busy)))
            .collect();
        if !busy.is_empty() {
            text += &format!(": {}", busy.join(", "));
        }
        if let Some(flash) = &device.flash {
            text += &format!(
                "\n  programs: {} for the host, {} cleaning, {} map; {} erases; write amplification {}",
                words::count(flash.programs.host),
                words::count(flash.programs.cleaning),
                words::count(flash.programs.mapping),
                words::count(flash.erases),
                words::amplification(flash.write_amplification),
            );
            text += &flash.recovery.as_ref().map_or_else(String::new, recovery::describe_recovery);
        }
        text += &device.disk.as_ref().map_or_else(String::new, disk::describe);
        if let Some(volume) = &device.cloud_volume {
            text += &cloud_volume::describe(volume);
        }
        text += &device.flash_cache.as_ref().map_or_else(String::new, flash_cache::describe);
        for (child, share) in &device.children {
            text += &format!("\n  {child}: {} of its requests", percent(share.share));
            let drained = share.drained_at_s.map(|at| format!(", empty after {}", words::duration(at)));
            text += &drained.unwrap_or_default();
        }
        text += &device.placement.as_ref().map_or_else(String::new, placement::describe);
        text += &device.cluster.as_ref().map_or_else(String::new, cluster::describe);
        text.push('\n');
    }
    if let Some(settled) = &results.settled {
        text += &format!("\n{}\n", describe_settling(settled));
    }
    if !results.remarks.is_empty() {
        text.push('\n');
        results.remarks.iter().for_each(|remark| text += &format!("note: {remark}\n"));
    }
    if let Some(cost) = &results.cost {
        text += &format!(
            "\nsimulated in {} ({} requests per second), preconditioned in {}\n",
            words::duration(cost.wall_s),
            words::count(cost.requests_per_wall_s as u64),
            words::duration(cost.precondition_s)
        );
    }
    text
}

/// The result of the further passes over the writes, in words.
fn describe_settling(settled: &SettledResults) -> String {
    let amplification = words::amplification(settled.write_amplification);
    let (passes, capacities) = (settled.passes, words::factor(settled.capacities_written));
    match settled.outcome {
        Settling::NothingWritten => "the workload writes nothing: no write amplification to settle".to_string(),
        Settling::OnePassIsEnough => {
            format!("write amplification {amplification}: the run wrote the host capacity {capacities} times")
        }
        Settling::Settled => {
            format!(
                "write amplification settled at {amplification} after {passes} passes ({capacities} host capacities)"
            )
        }
        Settling::NotSettled => format!(
            "write amplification has not settled after {passes} passes ({capacities} host capacities): \
             {amplification} at the end"
        ),
        Settling::MostlyBuffered => {
            let few = "a pass writes less than ten times what the write buffer holds";
            format!("too few writes to settle write amplification: {few}")
        }
        Settling::TooFewWrites => {
            format!("too few writes to settle write amplification: a pass writes the host capacity {capacities} times")
        }
    }
}

fn response_times(results: &RunResults) -> String {
    let mut table = Table::new(&["response time", "requests", "mean", "sd", "p50", "p95", "p99", "p99.9", "max"]);
    let mut row = |name: &str, class: &RequestClass| {
        if class.count > 0 {
            let times = &class.response_time;
            let values =
                [times.mean_us, times.stddev_us, times.p50_us, times.p95_us, times.p99_us, times.p999_us, times.max_us];
            let mut cells = vec![name.to_string(), words::count(class.count)];
            cells.extend(values.map(words::time));
            table.row(cells);
        }
    };
    row("all", &results.requests.all);
    row("read", &results.requests.read);
    row("write", &results.requests.write);
    let mut text = table.render();
    if results.requests.errors > 0 {
        text += &format!("{} requests failed\n", words::count(results.requests.errors));
    }
    text
}
