//! `esker plan`: the cheapest mix of devices for traces.

mod folder;
mod text;

use std::process::ExitCode;
use std::sync::atomic::AtomicU64;

use esker_catalogue::{Catalogue, Market, Running};
use esker_results::study::plan::PlanReport;
use esker_study::{Hooks, InUse, PlanSettings, Planned, StudySettings};
use esker_trace::group_inputs;

use super::study::{failure, quote};
use super::trace::read_options;
use crate::args::{Classes, Common, Constraints, PlanArguments};
use crate::failure::Failure;
use crate::output::{Content, Output, Outputs, json};
use crate::progress::{Progress, Unit};
use crate::{cancel, output};
pub(super) use folder::FIGURES;
use folder::PlanFolder;

/// The exit code where a plan does not keep every budget and that was required.
const NOT_KEPT: u8 = 3;

/// Plans, simulates the plans, and prints them.
pub(crate) fn run(arguments: &PlanArguments, common: &Common) -> Result<ExitCode, Failure> {
    super::trace::check_given_once(&arguments.traces)?;
    let workloads = if arguments.together { 1 } else { group_inputs(&arguments.traces).len() };
    if arguments.output.is_some() && workloads > 1 {
        let message = format!("-o takes one plan, and there are {workloads} workloads");
        return Err(Failure::input(message).with_hint("plan one trace at a time, or all of them --together"));
    }
    let catalogue = arguments.catalogue.catalogue_with(&arguments.have)?;
    let inputs: Vec<_> = arguments.traces.iter().chain(arguments.catalogue.files()).cloned().collect();
    let mut outputs = Outputs::of_traces_with_o(arguments.json.force, &inputs)?;
    let folder = arguments.output.as_ref().map(|path| PlanFolder::claim(path, &mut outputs)).transpose()?;
    let page = arguments.report.as_ref().map(|path| outputs.claim("--report", path, Content::Page)).transpose()?;
    let json = outputs.json(&arguments.json, &json::PLAN)?;
    let settings = settings(arguments, catalogue, common);
    let simulated = AtomicU64::new(0);
    let bar = Progress::new(common.quiet, Unit::Share);
    let progress = |what: &str, done: u64, total: Option<u64>| {
        bar.set_message(what);
        match total {
            Some(total) => bar.set(done, total),
            None => bar.forget_total(),
        }
    };
    let hooks = Hooks { progress: &progress, cancel: cancel::flag(), simulated: &simulated };
    let Planned { report, placed } = esker_study::plan(&settings, &hooks).map_err(failure)?;
    drop(bar);
    let print = !page.as_ref().is_some_and(Output::is_standard_output)
        && !json.as_ref().is_some_and(Output::is_standard_output);
    if let (Some(folder), Some(Some(placed))) = (folder, placed.first()) {
        folder.write(&report, placed, &group_inputs(&arguments.traces).concat(), &mut outputs)?;
    }
    page.map_or(Ok(()), |page| page.write_text(&esker_report::render_plan(&report)?))?;
    json.map_or(Ok(()), |json| json.write_json(&report))?;
    if print {
        output::print(&text::of(&report))?;
    }
    Ok(if arguments.require && !all_keep(&report) { ExitCode::from(NOT_KEPT) } else { ExitCode::SUCCESS })
}

fn all_keep(report: &PlanReport) -> bool {
    report.plans.iter().all(|one| one.plan.as_ref().is_some_and(|plan| plan.verified.keeps_budgets))
}

/// What the arguments ask for.
fn settings(arguments: &PlanArguments, catalogue: Catalogue, common: &Common) -> PlanSettings {
    let study = StudySettings {
        traces: arguments.traces.clone(),
        read: read_options(&arguments.read),
        together: arguments.together,
        budgets: arguments.budgets.budgets(),
        running: Running { years: arguments.budgets.years, ..catalogue.running.clone() },
        catalogue,
        in_use: arguments.have.clone(),
        market: Market::OnPremises,
        consumer: arguments.consumer,
        kinds: arguments.kinds.names.clone(),
        plan: false,
        data: arguments.data.data(),
        utilisation: arguments.data.utilisation,
        thorough: false,
        seed: common.seed.unwrap_or(1),
        threads: common.threads(),
        command: command_line(arguments, common),
    };
    PlanSettings {
        study,
        classes: arguments.classes.settings(),
        merge: arguments.classes == Classes::Merged,
        sharing: arguments.constraints.sharing(),
        power: arguments.power,
        rounds: arguments.rounds,
    }
}

/// The command that repeats the plan, without options that only name outputs.
fn command_line(arguments: &PlanArguments, common: &Common) -> String {
    let mut words = vec!["esker".to_string(), "plan".to_string()];
    words.extend(arguments.traces.iter().map(|trace| quote(&trace.display().to_string())));
    let mut given: Vec<(&str, String)> = Vec::new();
    given.extend(arguments.read.format.clone().map(|format| ("--format", format)));
    given.extend(arguments.read.lenient.map(|count| ("--lenient", count.to_string())));
    given.extend(arguments.budgets.given());
    given.extend(arguments.data.given());
    match arguments.classes {
        Classes::ThirtyThree => {}
        Classes::Seventeen => given.push(("--classes", "17".to_string())),
        Classes::Merged => given.push(("--classes", "merged".to_string())),
    }
    given.extend((arguments.constraints == Constraints::Paper).then(|| ("--constraints", "paper".to_string())));
    given.extend(arguments.power.map(|power| ("--power", power.to_string())));
    given.extend((arguments.rounds != PlanSettings::ROUNDS).then(|| ("--rounds", arguments.rounds.to_string())));
    for InUse { product, capacity, count } in &arguments.have {
        given.push(("--have", format!("{count}x{product}:{capacity}")));
    }
    given.extend(arguments.catalogue.given());
    given.extend(common.seed.map(|seed| ("--seed", seed.to_string())));
    words.extend(given.into_iter().flat_map(|(name, value)| [name.to_string(), quote(&value)]));
    words.extend(arguments.kinds.names.iter().map(|kind| format!("--{kind}")));
    words.extend(arguments.together.then(|| "--together".to_string()));
    words.extend(arguments.consumer.then(|| "--consumer".to_string()));
    words.join(" ")
}
