//! `esker cache`: what caches of several policies and sizes miss.

mod asked;
mod costs;
mod figures;
mod runs;
mod table;

use std::process::ExitCode;

use esker_curves::CurveObjects;
use esker_results::cache::{CACHE_SCHEMA, CachePolicy, CacheResult, CacheResults, CacheSample};

use super::study::quote;
use super::transfers::{Transfers, check_sample, check_warm_up, objects};
use crate::args::{CacheArguments, CacheBy, Common, CurveObject};
use crate::failure::Failure;
use crate::output::{self, Content, Output, Outputs, json};

/// Simulates and prints.
pub(crate) fn run(arguments: &CacheArguments, common: &Common) -> Result<ExitCode, Failure> {
    check_sample(arguments.sample, arguments.seeds, "a simulation of all objects")?;
    check_warm_up(arguments.warm_up)?;
    let policies = asked::policies(&arguments.policy, arguments.sized)?;
    let admissions = asked::admissions(&arguments.admission)?;
    let pairs = asked::pairs(&policies, &admissions, asked::are_named(&arguments.policy))?;
    let objects = if arguments.sized { CurveObjects::StartBlock } else { objects(arguments.object) };
    let sizes = asked::sizes(&arguments.size, objects, arguments.sized)?;
    let costs = costs::given(arguments, objects)?;
    let mut outputs = Outputs::of_traces(arguments.json.force, &arguments.traces)?;
    let html = arguments.output.as_ref().map(|path| outputs.claim("-o", path, Content::Page)).transpose()?;
    let json = outputs.json(&arguments.json, &json::CACHE)?;
    let page_is_printed = html.as_ref().is_some_and(Output::is_standard_output);
    let transfers = Transfers::read(&arguments.traces, &arguments.read, arguments.sample.is_some(), common)?;
    let warm = transfers.warm_up(arguments.warm_up);
    let duration = transfers.duration_after(warm)?;
    let runs = runs::Runs { arguments, common, objects, pairs: &pairs, warm, duration };
    let logs = runs.logs(&transfers)?;
    let (volumes, largest) = (transfers.volumes().to_vec(), transfers.largest());
    drop(transfers);
    let distinct = runs.distinct_objects(&logs);
    let distinct_bytes = arguments.sized.then(|| runs.distinct_bytes(&logs));
    let sample = runs.sample(&logs, largest);
    let sizes = sizes.resolve(distinct_bytes.unwrap_or(distinct), sample)?;
    let mut found = runs.simulate(&logs, &volumes, &sizes)?;
    if let Some(costs) = &costs {
        found.iter_mut().for_each(|result| costs::add(costs, result));
    }
    let accesses = logs[0].accesses();
    let results = CacheResults {
        schema: CACHE_SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_string(),
        command: command_line(arguments, common),
        seed: common.seed.unwrap_or(1),
        objects_are: objects.describe().to_string(),
        object_bytes: objects.bytes(),
        sized: arguments.sized,
        distinct_bytes,
        accesses,
        accessed_bytes: logs[0].bytes(),
        distinct_objects: distinct,
        sample: arguments.sample.map(|rate| CacheSample { rate: rate.as_f64(), seeds: arguments.seeds }),
        warm_up: arguments.warm_up.map(esker_core::Ratio::as_f64),
        costs,
        rated_drive_writes_per_day: arguments.drive_writes_per_day,
        duration_s: runs.duration.map(esker_core::Nanos::as_secs_f64),
        policies: described(&policies, &found, runs.first_uses(&logs) / accesses as f64),
        admissions: admissions.iter().map(asked::AdmissionPolicy::described).collect(),
        results: found,
    };
    if let Some(html) = html {
        html.write_text(&esker_report::render_cache(&results)?)?;
    }
    match json {
        Some(json) => json.write_json(&results)?,
        None if page_is_printed => {}
        None => output::print(&table::render(&results))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The policies as results have them. `first_uses` is the share of the accesses that are the first to their object.
fn described(policies: &[asked::Policy], found: &[CacheResult], first_uses: f64) -> Vec<CachePolicy> {
    let described = |policy: &asked::Policy| CachePolicy {
        policy: policy.choice.to_string(),
        summary: policy.entry.summary.to_string(),
        is_bound: policy.is_bound(),
        knee: costs::knee(&policy.choice.to_string(), found, first_uses),
    };
    policies.iter().map(described).collect()
}

/// The command that repeats the work, without options that only name outputs.
fn command_line(arguments: &CacheArguments, common: &Common) -> String {
    let mut words = vec!["esker".to_string(), "cache".to_string()];
    words.extend(arguments.traces.iter().map(|trace| quote(&trace.display().to_string())));
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(name.to_string());
            words.push(quote(&value));
        }
    };
    option("--format", arguments.read.format.clone());
    option("--lenient", arguments.read.lenient.map(|count| count.to_string()));
    option("--reorder", arguments.read.reorder.map(|time| time.to_string()));
    option("--reorder-records", arguments.read.reorder_records.map(|count| count.to_string()));
    let list = |values: &[String]| (!values.is_empty()).then(|| values.join(","));
    option("--policy", list(&arguments.policy));
    option("--admission", list(&arguments.admission));
    option("--size", list(&arguments.size));
    let object = match arguments.object {
        CurveObject::Sector => Some("512B"),
        CurveObject::Page => None,
        CurveObject::StartBlock => Some("start-block"),
    };
    option("--object", object.map(str::to_string));
    let by = |by: CacheBy| match by {
        CacheBy::Volume => "volume".to_string(),
    };
    option("--by", arguments.by.map(by));
    option("--warm-up", arguments.warm_up.map(|share| share.to_string()));
    option("--drive-writes-per-day", arguments.drive_writes_per_day.map(|rating| rating.to_string()));
    option("--sample", arguments.sample.map(|rate| rate.to_string()));
    option("--seeds", (arguments.seeds > 1).then(|| arguments.seeds.to_string()));
    option("--hit-cost", arguments.hit_cost.map(|time| time.to_string()));
    option("--miss-cost", arguments.miss_cost.map(|time| time.to_string()));
    option("--price-per-gib", arguments.price_per_gib.map(|price| price.to_string()));
    option("--seed", common.seed.map(|seed| seed.to_string()));
    words.extend(arguments.sized.then(|| "--sized".to_string()));
    words.join(" ")
}
