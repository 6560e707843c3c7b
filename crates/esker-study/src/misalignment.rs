//! Constant misalignments, and what they cost: a design is simulated with and without them.

use crate::StudyError;
use crate::design::Design;
use crate::load::StudyWorkload;
use crate::measure::{Load, flash_report, measured_run};
use crate::run::DesignRun;
use crate::task::Task;
use esker_results::study::{AlignmentRun, Candidate, CandidateOutcome, Misalignment, MisalignmentCost};

/// Volumes with a smaller share of the requests are not reported.
const SHARE_MIN: f64 = 0.05;

/// Returns the volumes whose requests would be aligned after a shift, without the cost.
pub(crate) fn find(workload: &StudyWorkload) -> Vec<Misalignment> {
    let input = workload.inputs.first().map_or("TRACE", |input| input.name.as_str());
    let several = workload.traces().volumes().len() > 1;
    workload
        .profile
        .volumes
        .iter()
        .filter(|volume| volume.requests as f64 >= SHARE_MIN * workload.profile.requests as f64)
        .filter_map(|volume| {
            let misalignment = volume.misalignment.as_ref()?;
            Some(Misalignment {
                volume: volume.name.clone(),
                shift_bytes: misalignment.shift_bytes as i64,
                aligned_before: misalignment.aligned_before,
                aligned_after: misalignment.aligned_after,
                command: format!(
                    "esker trace filter {input}{} --shift {} -o aligned.esker",
                    if several { format!(" --volume {}", volume.name) } else { String::new() },
                    misalignment.shift_bytes
                ),
                cost: None,
            })
        })
        .collect()
}

/// Simulates `design` with every misaligned volume shifted, for comparison with its run as traced.
pub(crate) fn cost(
    task: &Task<'_>,
    design: &Design,
    candidate: &Candidate,
    found: &[Misalignment],
) -> Result<Option<MisalignmentCost>, StudyError> {
    let (CandidateOutcome::Served, Some(requests)) = (&candidate.outcome, &candidate.requests) else { return Ok(None) };
    let Some(flash) = candidate.devices.values().find_map(|device| device.flash.as_ref()) else { return Ok(None) };
    let as_traced = AlignmentRun {
        mean_us: requests.all.response_time.mean_us,
        p99_us: requests.all.response_time.p99_us,
        page_reads: flash.reads.host,
        page_programs: flash.programs.total(),
    };
    let workload = task.workload;
    let volumes = workload.traces().volumes().iter();
    let shifts: Vec<u64> = volumes
        .map(|volume| {
            found.iter().find(|found| found.volume == *volume).map_or(0, |found| found.shift_bytes.unsigned_abs())
        })
        .collect();
    let requests = workload.requests.shifted(shifts).expect("a study is of traces");
    // What is shifted may touch more areas than there is room for.
    if requests.dense_map().is_some_and(|map| map.end() > candidate.capacity_bytes) {
        return Ok(None);
    }
    let run = measured_run(task, design, &Load { requests: &requests, ..Load::as_traced(workload) }, None)?;
    Ok(aligned(&run).map(|aligned| MisalignmentCost { candidate: candidate.name.clone(), as_traced, aligned }))
}

fn aligned(run: &DesignRun) -> Option<AlignmentRun> {
    let flash = flash_report(run.simulation.device())?;
    let times = run.statistics.results().all.response_time;
    (run.replay.end == esker_core::ReplayEnd::Complete).then(|| AlignmentRun {
        mean_us: times.mean_us,
        p99_us: times.p99_us,
        page_reads: flash.reads.host,
        page_programs: flash.programs.total(),
    })
}
