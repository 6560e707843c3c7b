//! `esker study`: from traces to one report.

use std::process::ExitCode;

use esker_core::words;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_catalogue::{Catalogue, Market, Running};
use esker_results::study::{Candidate, CandidateOutcome, Endurance, Level, StudyCost, StudyReport, WorkloadStudy};
use esker_study::{Hooks, InUse, StudyError, StudySettings};

use super::study_tables::{TableOutputs, explain};
use super::trace::read_options;
use crate::args::{Common, StudyArguments};
use crate::failure::Failure;
use crate::output::{Content, Output, Outputs, json};
use crate::progress::{Progress, Unit};
use crate::table::{self, Table};
use crate::{cancel, memory, output};

/// Runs the study, writes the report, and prints the verdict.
pub(crate) fn run(arguments: StudyArguments, common: &Common) -> Result<ExitCode, Failure> {
    super::trace::check_given_once(&arguments.traces)?;
    let catalogue = arguments.catalogue.catalogue_with(&arguments.have)?;
    let inputs: Vec<_> = arguments.traces.iter().chain(arguments.catalogue.files()).cloned().collect();
    let mut outputs = Outputs::of_traces_with_o(arguments.json.force, &inputs)?;
    let report = outputs.claim("-o", &arguments.output, Content::Page)?;
    let json = outputs.json(&arguments.json, &json::STUDY)?;
    let workloads = if arguments.together { 1 } else { esker_trace::group_inputs(&arguments.traces).len() };
    let tables = TableOutputs::claim(&arguments.tables, workloads, &mut outputs)?;
    let settings = settings(&arguments, catalogue, common);
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
    #[expect(clippy::disallowed_methods, reason = "what the study costs the user")]
    let begin = std::time::Instant::now();
    let mut study = esker_study::study(&settings, &hooks).map_err(failure)?;
    drop(bar);
    if !arguments.no_cost {
        study.cost = Some(StudyCost {
            wall_s: begin.elapsed().as_secs_f64(),
            peak_memory_bytes: memory::peak_bytes(),
            simulated_requests: simulated.load(Ordering::Relaxed),
        });
    }
    let html = esker_report::render(&study)?;
    if cancel::requested() {
        return Err(Failure::cancelled());
    }
    // Standard output takes only one of report, JSON and verdict.
    let verdict = !report.is_standard_output()
        && !tables.take_standard_output()
        && !json.as_ref().is_some_and(Output::is_standard_output);
    report.write_text(&html)?;
    json.map_or(Ok(()), |json| json.write_json(&study))?;
    tables.write(&study)?;
    if verdict {
        output::print(&summary(&study, &arguments))?;
        explain(&arguments.tables, &study)?;
    }
    let all_have_one = study.workloads.iter().all(|workload| workload.verdict.recommended.is_some());
    Ok(if arguments.require && !all_have_one { ExitCode::from(NONE_KEEPS) } else { ExitCode::SUCCESS })
}

/// The exit code where no design keeps every budget and one was required.
const NONE_KEEPS: u8 = 3;

/// What the arguments ask for.
fn settings(arguments: &StudyArguments, catalogue: Catalogue, common: &Common) -> StudySettings {
    StudySettings {
        traces: arguments.traces.clone(),
        read: read_options(&arguments.read),
        together: arguments.together,
        budgets: arguments.budgets.budgets(),
        running: Running { years: arguments.budgets.years, ..catalogue.running.clone() },
        catalogue,
        in_use: arguments.have.clone(),
        market: arguments.market,
        consumer: arguments.consumer,
        kinds: arguments.kinds.names.clone(),
        plan: arguments.plan,
        data: arguments.data.data(),
        utilisation: arguments.data.utilisation,
        thorough: arguments.thorough,
        seed: common.seed.unwrap_or(1),
        threads: common.threads(),
        command: command_line(arguments, common),
    }
}

/// The failure of a study, or of a plan.
pub(super) fn failure(error: StudyError) -> Failure {
    match error {
        StudyError::Cancelled => Failure::cancelled(),
        error => error.into(),
    }
}

/// The command that repeats the study, without options that only name outputs.
fn command_line(arguments: &StudyArguments, common: &Common) -> String {
    let mut words = vec!["esker".to_string(), "study".to_string()];
    words.extend(arguments.traces.iter().map(|trace| quote(&trace.display().to_string())));
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(name.to_string());
            words.push(quote(&value));
        }
    };
    option("--format", arguments.read.format.clone());
    option("--lenient", arguments.read.lenient.map(|count| count.to_string()));
    for (name, value) in arguments.budgets.given().into_iter().chain(arguments.data.given()) {
        option(name, Some(value));
    }
    option("--market", (arguments.market != Market::OnPremises).then(|| arguments.market.to_string()));
    for InUse { product, capacity, count } in &arguments.have {
        let count = if *count == 1 { String::new() } else { format!("{count}x") };
        option("--have", Some(format!("{count}{product}:{capacity}")));
    }
    for (name, value) in arguments.catalogue.given() {
        option(name, Some(value));
    }
    option("--seed", common.seed.map(|seed| seed.to_string()));
    if arguments.together {
        words.push("--together".into());
    }
    if arguments.consumer {
        words.push("--consumer".into());
    }
    words.extend(arguments.kinds.names.iter().map(|kind| format!("--{kind}")));
    if arguments.plan {
        words.push("--plan".into());
    }
    if arguments.thorough {
        words.push("--thorough".into());
    }
    words.join(" ")
}

/// A word as a shell reads it.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./%+=:,@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The summary for a terminal: the verdict and the designs.
fn summary(study: &StudyReport, arguments: &StudyArguments) -> String {
    let mut text = String::new();
    for workload in &study.workloads {
        text += &workload_summary(workload, study.budgets.years);
        text.push('\n');
    }
    text + &format!("Report: {}\n", arguments.output.display())
}

fn workload_summary(workload: &WorkloadStudy, years: f64) -> String {
    let profile = &workload.profile;
    let mut text = format!(
        "{}: {} requests, {} reads, {} touched{}\n\n{}\n",
        workload.name,
        words::count(profile.requests),
        table::percent(profile.read_requests as f64 / (profile.read_requests + profile.write_requests).max(1) as f64),
        words::bytes(profile.footprint_bytes as f64),
        profile.duration_s.map_or(String::new(), |seconds| format!(" in {}", words::duration(seconds))),
        workload.verdict.headline
    );
    for finding in &workload.verdict.findings {
        let mark = match finding.level {
            Level::Good => "ok",
            Level::Info => "--",
            Level::Warning => "! ",
            Level::Bad => "!!",
        };
        text += &format!("  {mark} {}\n", finding.text);
    }
    text.push('\n');
    // Headlines of rented designs are by the month, and only the same period compares them with others.
    let price = format!("price, {}", words::years_limit(years));
    let mut designs =
        Table::new(&["design", &price, "p99", "worst p99", "carries", "write amplification", "lifetime", ""]);
    if let Some(measured) = &workload.measured {
        designs.row([
            "today, as measured".to_string(),
            "-".to_string(),
            words::time(measured.all.p99_us),
            words::time(measured.busiest_hour_p99_us),
        ]);
    }
    // Other markets have a line among the findings.
    let asked_for = |candidate: &&Candidate| candidate.product.market == workload.verdict.market;
    for candidate in workload.candidates.iter().filter(asked_for) {
        designs.row(row(candidate, workload));
    }
    text + &designs.render() + &by_family(workload, &price)
}

/// The best design of each family, if there are several.
fn by_family(workload: &WorkloadStudy, price: &str) -> String {
    let rows = esker_report::families(workload);
    if rows.is_empty() {
        return String::new();
    }
    let heads = ["kind", "best design", price, "power", "worst p99", "lifetime", "promoted a day", "cost in life", ""];
    let mut families = Table::new(&heads);
    for row in rows {
        let of = |cell: fn(&Candidate) -> String| row.design.map_or("-".into(), cell);
        families.row([
            row.answer.family.clone(),
            of(|design| design.name.clone()),
            of(total),
            row.power().unwrap_or("-".into()),
            of(worst_p99),
            of(|design| design.endurance.as_ref().map_or("-".into(), lifetime)),
            row.promoted().unwrap_or("-".into()),
            row.cost_in_life().unwrap_or("-".into()),
            row.budgets(),
        ]);
    }
    format!("\nThe best design of each kind:\n{}", families.render())
}

fn total(candidate: &Candidate) -> String {
    format!("{} {}", words::money(candidate.cost.total), candidate.cost.currency)
}

fn worst_p99(candidate: &Candidate) -> String {
    candidate.judgement.worst_p99.map_or("-".into(), |worst| words::time(worst.p99_us))
}

fn lifetime(endurance: &Endurance) -> String {
    match endurance.lifetime_years {
        Some(years) if endurance.lifetime_is_lower_bound => format!("> {years:.0} years"),
        Some(years) => format!("{} years", words::digits(years)),
        None => match endurance.lifetime_range_years {
            Some([low, high]) => words::years_between(low, high, esker_study::LIFETIME_LIMIT_YEARS),
            None => "no times".into(),
        },
    }
}

fn row(candidate: &Candidate, workload: &WorkloadStudy) -> Vec<String> {
    let mut cells = vec![candidate.name.clone(), total(candidate)];
    match candidate.outcome {
        CandidateOutcome::Served => {
            cells.push(candidate.counted_response().map_or("-".into(), |counted| words::time(counted.p99_us)));
            cells.push(worst_p99(candidate));
            cells.push(candidate.headroom.as_ref().map_or("-".into(), |headroom| {
                let more = if headroom.is_lower_bound { ", tested no further" } else { "" };
                format!("{} x{more}", words::factor(headroom.factor))
            }));
        }
        _ => cells.extend(["-".into(), "-".into(), "-".into()]),
    }
    match &candidate.endurance {
        Some(endurance) => {
            cells.push(endurance.write_amplification.map_or("-".into(), |value| format!("{value:.2}")));
            cells.push(lifetime(endurance));
        }
        None => cells.extend(["-".into(), "-".into()]),
    }
    let recommended = workload.verdict.recommended.as_ref() == Some(&candidate.name);
    cells.push(if recommended { "<- recommended".into() } else { candidate.judgement.reasons.join("; ") });
    cells
}
