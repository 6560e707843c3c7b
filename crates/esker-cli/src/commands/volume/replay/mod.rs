//! `esker volume replay`: a workload against a volume or an export, in real time.

mod live;
mod target;

use std::cell::Cell;
use std::path::Path;
use std::process::ExitCode;

use esker_core::{Arrival, Bytes, Lba, Nanos, Request, RequestKind};
use esker_results::{LeftOut, RESULTS_SCHEMA, RunResults, WorkloadResults};
use esker_sim::{RunMeasurements, Traces, Workload, WorkloadSettings};
use serde_json::json;

use super::file::Places;
use super::session::Serving;
use crate::args::{Common, VolumeReplayArguments};
use crate::cancel;
use crate::commands::assignments::assignments;
use crate::commands::sim::{failure, render};
use crate::commands::workload_preset::over_preset;
use crate::failure::Failure;
use crate::output::{self, Outputs, json};
use crate::progress::{Progress, Unit};
use crate::table::percent;
use crate::values::DevicePlace;
use live::{Lateness, Live};
use target::Target;

/// Runs the workload and prints the results of `esker sim`.
pub(super) fn run(arguments: &VolumeReplayArguments, common: &Common) -> Result<ExitCode, Failure> {
    let settings = settings(arguments)?;
    if let DevicePlace::File(volume) = &arguments.volume {
        // What the volume's file names is no place for results.
        Places::read(volume)?;
    }
    let mut outputs = Outputs::new(arguments.json.force, &arguments.traces)?;
    let json = outputs.json(&arguments.json, &json::RUN)?;
    let seed = common.seed.unwrap_or(1);
    let workload = Workload::open(&settings, Path::new(""), seed, cancel::flag()).map_err(failure)?;
    let target = Target::open(&arguments.volume, Serving::new(arguments.io, arguments.direct), common)?;
    let (capacity, left_out) = (target.capacity(), Cell::<LeftOut>::default());
    let arrivals = || workload.arrivals(capacity, &settings, &left_out).map_err(|error| of_workload(&error));
    check_overwrites(arguments, &target, arrivals()?)?;
    left_out.take();
    cancel::leaves("the volume has a part of what was to be written");
    let target = if arguments.fill { fill(target, common)? } else { target };
    let depth = settings.queue_depth.map(|depth| depth.get() as usize);
    let depth = depth.or((!workload.has_times()).then_some(1));
    let bar = Progress::new(common.quiet, Unit::Things("requests"));
    bar.set_message("replaying");
    let mut measured = RunMeasurements::new();
    let live = Live::new(target, depth, &mut measured);
    let (replay, lateness, target) = live.run(arrivals()?, &mut |done| bar.set(done, workload.len()))?;
    drop(bar);
    let of_traces = workload.traces().into_iter().flat_map(Traces::notes).cloned();
    let is_cached = arguments.direct && !target.is_direct();
    let results = RunResults {
        schema: RESULTS_SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_string(),
        seed,
        config: config(&target, &settings, seed),
        workload: WorkloadResults { left_out: left_out.get(), ..measured.workload(&replay) },
        requests: measured.requests(),
        throughput: measured.throughput(&replay),
        saturated: None,
        settled: None,
        devices: target.report(),
        remarks: of_traces.chain(remarks(&lateness, replay.arrived, is_cached)).collect(),
        series: Vec::new(),
        placement_map: None,
        cost: None,
    };
    let written = match json {
        Some(json) => json.write_json(&results),
        None => output::print(&render(&results)),
    };
    target.end();
    written?;
    Ok(if results.requests.errors > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// What ran.
fn config(target: &Target, settings: &WorkloadSettings, seed: u64) -> serde_json::Value {
    let mut config = target.config();
    config["workload"] = json!(settings);
    config["run"] = json!({ "seed": seed });
    config
}

/// The settings of the workload.
fn settings(arguments: &VolumeReplayArguments) -> Result<WorkloadSettings, Failure> {
    let mut table = assignments(&arguments.set, "beyond_capacity=wrap")?;
    let text = |path: &std::path::PathBuf| toml::Value::String(path.to_string_lossy().into_owned());
    match &arguments.traces[..] {
        [] if !table.contains_key("synthetic") => {
            return Err(Failure::input("there is no trace to replay")
                .with_hint("name one, or make requests up: --set 'synthetic={requests=10000,read_fraction=0.7}'"));
        }
        [] => {}
        all => _ = table.insert("trace".to_string(), toml::Value::Array(all.iter().map(text).collect())),
    }
    if let Some(toml::Value::Table(synthetic)) = table.get_mut("synthetic") {
        *synthetic = over_preset(std::mem::take(synthetic))?;
    }
    if let Some(depth) = arguments.depth {
        table.insert("queue_depth".to_string(), toml::Value::Integer(depth.into()));
    }
    let table = serde_json::to_value(table).map_err(Failure::work)?;
    let settings: WorkloadSettings = esker_core::read(&table)?;
    if settings.processes.is_some() {
        return Err(Failure::input("processes: a volume is replayed by times, or with --depth requests under way")
            .with_hint("leave it out"));
    }
    Ok(settings)
}

/// Bytes of a write that fills a target, and how many are under way.
const FILLED: u64 = 1 << 20;
const FILLING: usize = 8;

/// Writes the whole target, as request 0.
fn fill(target: Target, common: &Common) -> Result<Target, Failure> {
    let capacity = target.capacity().0;
    let bar = Progress::new(common.quiet, Unit::Things("writes"));
    bar.set_message("filling");
    let write = |at: u64| {
        let length = Bytes(FILLED.min(capacity - at));
        Arrival { at: Nanos::ZERO, request: Request::write(Lba::containing(at), length) }
    };
    let mut measured = RunMeasurements::new();
    let live = Live::new(target, Some(FILLING), &mut measured).without_numbers();
    let writes = (0..capacity).step_by(FILLED as usize).map(write);
    let (_, _, mut target) = live.run(writes, &mut |done| bar.set(done, capacity.div_ceil(FILLED)))?;
    match measured.requests().errors {
        0 => target.start_measuring(),
        errors => return Err(Failure::work(format!("{errors} writes failed while it was filled"))),
    }
    Ok(target)
}

/// Gives each 16 bytes the number of the request that writes them, and that of their sector.
fn stamp(bytes: &mut [u8], first_sector: u64, request: u64) {
    for (sector, bytes) in (first_sector..).zip(bytes.chunks_mut(Bytes::SECTOR.0 as usize)) {
        let stamp = [request, sector].map(u64::to_le_bytes);
        bytes.chunks_mut(16).for_each(|piece| piece.copy_from_slice(stamp.as_flattened()));
    }
}

/// Refuses writes to what may hold data.
fn check_overwrites(
    arguments: &VolumeReplayArguments,
    target: &Target,
    mut arrivals: impl Iterator<Item = Arrival>,
) -> Result<(), Failure> {
    // Asked first: a load of a hundred million reads takes seconds to go through, in which nothing is sent.
    if arguments.overwrite {
        return Ok(());
    }
    let changes = |kind: RequestKind| kind.is_write() || kind == RequestKind::Trim;
    if !arguments.fill && !arrivals.any(|arrival| changes(arrival.request.kind)) {
        return Ok(());
    }
    let hint = "say --overwrite if it may be lost, or replay reads alone: --set 'filter={operations=[\"read\"]}'";
    target.refuse_to_overwrite(&arguments.volume, hint)
}

fn of_workload(error: &esker_sim::WorkloadError) -> Failure {
    let failure = Failure::input(format!("{}: {}", error.key, error.message));
    match &error.hint {
        Some(hint) => failure.with_hint(hint.clone()),
        None => failure,
    }
}

/// What a reader has to know of a run in real time.
fn remarks(lateness: &Lateness, arrived: u64, is_cached: bool) -> Vec<String> {
    let cached = is_cached.then(|| "a file system has no direct I/O: a device went through the page cache".to_string());
    cached.into_iter().chain(late(lateness, arrived)).collect()
}

fn late(lateness: &Lateness, arrived: u64) -> Option<String> {
    if lateness.late * 100 <= arrived {
        return None;
    }
    let share = percent(lateness.late as f64 / arrived as f64);
    Some(format!(
        "{share} of the requests were sent more than 1 ms after their time, at most {}: this machine, or the limit of \
         requests under way, held them back; their response times count from their time on",
        esker_core::words::duration(lateness.most.as_secs_f64()),
    ))
}
