//! Remarks on results: what a reader should know before trusting them.

use esker_core::words;
use esker_results::RunResults;

use crate::config::{Experiment, RunEvent, RunSettings};
use crate::workload::{Traces, Workload};

/// Returns a remark for each device that was to be drained and was not empty at the end; the first `made` events of
/// the run were made, in order of time.
pub(crate) fn undrained(run: &RunSettings, made: usize, results: &RunResults) -> Vec<String> {
    let mut events: Vec<&RunEvent> = run.events.iter().collect();
    events.sort_by_key(|event| event.at);
    let holds_data = |event: &&&RunEvent| {
        let reports = results.devices.values().filter_map(|device| device.children.get(&event.device));
        event.drain && reports.into_iter().any(|child| child.drained_at_s.is_none())
    };
    let remark = |event: &&RunEvent| {
        format!("`{}` was to be drained from {} on, and still held data at the end.", event.device, event.at)
    };
    events.iter().take(made).filter(holds_data).map(remark).collect()
}

/// Returns remarks on a run, in sentences.
pub(crate) fn remarks(experiment: &Experiment, workload: &Workload, results: &RunResults) -> Vec<String> {
    let settings = &experiment.workload;
    let mut remarks = Vec::new();
    remarks.extend(workload.traces().into_iter().flat_map(Traces::notes).cloned());
    remarks.extend(workload.traces().and_then(Traces::remark).map(str::to_string));
    if settings.queue_depth.is_none() {
        remarks.extend(workload.unlikely_rate(settings.time_scale()));
    }
    remarks.extend(nothing_measured(experiment, results));
    let left_out = &results.workload.left_out;
    let requests = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", several(count)));
    remarks.extend(requests(left_out.empty_requests, "of no bytes left out: no device can serve them."));
    remarks.extend(requests(
        left_out.requests_past_the_end,
        "past the target's end left out, as `beyond_capacity = \"clip\"` asks for.",
    ));
    remarks.extend(requests(
        left_out.requests_cut_short,
        "cut short at the target's end, as `beyond_capacity = \"clip\"` asks for.",
    ));
    remarks.extend(requests(
        left_out.trims_of_nothing,
        "to trim left out: they cover no whole sector of what the target holds for this workload.",
    ));
    for (name, device) in &results.devices {
        if device.flash.as_ref().is_some_and(|flash| flash.power_failure_missed) {
            remarks.push(format!("The power failure of `{name}` never happened: the run ended before it."));
        }
    }
    remarks.extend(esker_results::remarks(&results.devices));
    remarks
}

/// Returns a remark if all requests warmed up the target.
fn nothing_measured(experiment: &Experiment, results: &RunResults) -> Option<String> {
    let warm_up = experiment.run.warm_up_requests;
    (warm_up > 0 && results.workload.requests == 0 && results.saturated.is_none()).then(|| {
        format!(
            "No request was measured: all of them were the warm-up, for which `warm_up_requests = {warm_up}` takes the \
             first {}.",
            words::count(warm_up)
        )
    })
}

/// Returns a remark for each event of the run that was not made; the first `made` were, in order of time.
pub(crate) fn unmade_events(run: &RunSettings, made: usize) -> Vec<String> {
    let mut events: Vec<&RunEvent> = run.events.iter().collect();
    events.sort_by_key(|event| event.at);
    let remark = |event: &&RunEvent| {
        format!("The event of `{}` at {} never happened: the run ended before it.", event.device, event.at)
    };
    events.iter().skip(made).map(remark).collect()
}

fn several(count: u64) -> String {
    if count == 1 { "1 request".to_string() } else { format!("{} requests", words::count(count)) }
}
