//! `esker cluster sim`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_core::{jobs, words};
use esker_fleet::{FleetError, FleetSettings, Simulation};
use esker_results::fleet::{FLEET_SCHEMA, FleetResults, FleetRun};

use crate::args::{ClusterSimArguments, Common};
use crate::cancel;
use crate::commands::study::quote;
use crate::failure::Failure;
use crate::output::{self, Content, Output, Outputs, json};
use crate::progress::{Progress, Unit};
use crate::table::{Table, percent};

/// Simulates the fleet under each balancer.
pub(crate) fn run(arguments: &ClusterSimArguments, common: &Common) -> Result<ExitCode, Failure> {
    let origin = arguments.file.display().to_string();
    let text = esker_files::read_to_string(&arguments.file)
        .map_err(|error| Failure::input(format!("{origin}: cannot be read: {error}")))?;
    let settings = FleetSettings::read(&text, &origin, &assignments(arguments))?;
    let mut outputs = Outputs::new(arguments.json.force, &[])?;
    let page = arguments.output.as_ref().map(|path| outputs.claim("-o", path, Content::Page)).transpose()?;
    let json = outputs.json(&arguments.json, &json::FLEET)?;
    let seed = common.seed.unwrap_or(settings.run.seed);
    let runs = simulate(&settings, seed, common)?;
    let results = FleetResults {
        schema: FLEET_SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_string(),
        command: command_line(arguments, seed),
        seed,
        servers: settings.group.iter().map(|group| u64::from(group.count)).sum(),
        slices: settings.data.slices.into(),
        replicas: settings.data.replicas.into(),
        slice_bytes: settings.data.slice().0,
        epoch_ns: settings.run.epoch.0,
        runs,
    };
    let print = json.is_none() && !page.as_ref().is_some_and(Output::is_standard_output);
    page.map_or(Ok(()), |page| page.write_text(&esker_report::render_fleet(&results)?))?;
    json.map_or(Ok(()), |json| json.write_json(&results))?;
    if print {
        output::print(&render(&results))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the options set in the file.
fn assignments(arguments: &ClusterSimArguments) -> Vec<String> {
    let names: Vec<String> = arguments.balancer.iter().map(|name| format!("\"{}\"", name.to_lowercase())).collect();
    let balancers = (!names.is_empty()).then(|| format!("balancers=[{}]", names.join(",")));
    arguments.set.iter().cloned().chain(balancers).collect()
}

/// One simulation for each balancer, side by side.
fn simulate(settings: &FleetSettings, seed: u64, common: &Common) -> Result<Vec<FleetRun>, Failure> {
    let (count, done) = (settings.balancers.len(), AtomicU64::new(0));
    let total = settings.run.epochs() * count as u64;
    let bar = Progress::new(common.quiet, Unit::Things("epochs"));
    bar.set_message("simulating the fleet");
    // Each simulation looks after each epoch whether it should stop.
    let goes_on = |_: u64| {
        bar.set(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        !cancel::requested()
    };
    let runs = jobs::collect(common.threads(), count, |at| {
        Simulation::new(settings, seed, &settings.balancers[at])?.run(goes_on)
    });
    drop(bar);
    runs.into_iter().collect::<Result<_, FleetError>>().map_err(|error| match error {
        FleetError::Stopped => Failure::cancelled(),
        error => error.into(),
    })
}

/// The command that repeats it, without options that only name outputs.
fn command_line(arguments: &ClusterSimArguments, seed: u64) -> String {
    let mut line = format!("esker cluster sim {}", quote(&arguments.file.display().to_string()));
    arguments.balancer.iter().for_each(|name| line += &format!(" --balancer {name}"));
    arguments.set.iter().for_each(|set| line += &format!(" --set {}", quote(set)));
    line + &format!(" --seed {seed}")
}

fn render(results: &FleetResults) -> String {
    let mut table = Table::new(&[
        "balancer",
        "first worn out",
        "of the bound",
        "life used: sd",
        "p99",
        "max",
        "extra writes",
        "moves",
        "worn out",
        "failed",
        "replaced",
        "lost slices",
    ]);
    for run in &results.runs {
        let end = (run.epochs * results.epoch_ns) as f64 / 1e9;
        let first = run.first_worn_out_ns.map(|at| words::duration(at as f64 / 1e9));
        let so_far = run.bound_ns.map(|bound| end * 1e9 / bound as f64).filter(|share| *share < 1.0);
        let share = run.share_of_bound.map(percent);
        table.row([
            run.balancer.clone(),
            first.unwrap_or_else(|| format!("> {}", words::duration(end))),
            share.unwrap_or_else(|| so_far.map_or("-".into(), |share| format!("> {}", percent(share)))),
            percent(run.life_used.sd),
            percent(run.life_used.p99),
            percent(run.life_used.max),
            format!("{:.3} %", run.written.extra_share * 100.0),
            words::count(run.counts.moves),
            words::count(run.counts.worn_out),
            words::count(run.counts.failed),
            words::count(run.counts.replaced),
            words::count(run.counts.slices_lost),
        ]);
    }
    table.render() + &results.runs.iter().filter(|run| run.counts.became_coded > 0).map(code).collect::<String>()
}

/// What became of slices that were cold.
fn code(run: &FleetRun) -> String {
    let slices = words::count(run.counts.coded);
    let written = words::bytes(run.written.code_bytes as f64);
    format!("{}: {slices} slices are an erasure code at the end, for which {written} were written\n", run.balancer)
}
