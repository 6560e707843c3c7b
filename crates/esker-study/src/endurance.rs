//! Write amplification and lifetime of a flash design.

use std::cell::Cell;

use esker_core::{Arrival, Bytes, Device, RequestKind, words};
use esker_results::{FlashReport, LeftOut, SettledResults, Settling};
use esker_sim::{SettleSettings, settle};

use crate::arrivals::{Load, arrivals};
use crate::lifetime::{Wear, lifetime_years};
use crate::load::StudyWorkload;
use crate::run::MeasuredRun;
use crate::{DesignFault, Hooks, StudyError};
use esker_results::study::Endurance;

/// Bytes that the workload writes per day, and their growth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    host_bytes_per_day: Option<f64>,
    growth_per_year: f64,
}

impl Rates {
    /// Rates from the workload's mean.
    pub(crate) fn of(workload: &StudyWorkload, growth_per_year: f64) -> Self {
        let duration = workload.profile.duration_s.filter(|&seconds| workload.has_times() && seconds > 0.0);
        let host_bytes_per_day = duration.map(|seconds| workload.profile.write_bytes as f64 / seconds * 86_400.0);
        Self { host_bytes_per_day, growth_per_year }
    }
}

/// Judges wear after the measured run. `flash` has the counters of that run, `sold` is the raw size of the drive as
/// sold.
pub(crate) fn judge(
    workload: &StudyWorkload,
    run: &mut MeasuredRun,
    flash: &FlashReport,
    sold: Bytes,
    rates: &Rates,
    hooks: &Hooks<'_>,
) -> Result<Endurance, StudyError> {
    let host_pages = flash.pages.host.max(1);
    let settle_settings = run.experiment.run.settle.clone().unwrap_or_default();
    let mut go_on = || !hooks.cancelled();
    let (capacity, left_out) = (run.device.capacity(), Cell::default());
    let changes = || changes(workload, capacity, &left_out);
    let settled = settle(&mut run.device, run.replay.last_event, &settle_settings, changes, &mut go_on);
    let settled = settled.map_err(StudyError::design)?;
    let settled = settled.ok_or_else(|| StudyError::design(DesignFault::NoFlash))?;
    let (judged, basis) = (settled.outcome.may_be_judged(), basis(&settled, &settle_settings));
    let write_amplification = settled.write_amplification;
    let simulated_raw = Bytes(flash.pages.raw * page_bytes(run, host_pages));
    let raw = sold.max(simulated_raw);
    // The host's share of the raw pages is that of the simulated part of the drive.
    let capacity =
        (u128::from(raw.0) * u128::from(run.device.capacity().0) / u128::from(simulated_raw.0.max(1))) as u64;
    let host_bytes_per_day = rates.host_bytes_per_day;
    let lifetime = host_bytes_per_day.filter(|_| judged).map(|host_bytes_per_day| {
        // Partial pages cost whole programs, so count pages, not bytes.
        let pages_per_byte = if workload.profile.write_bytes > 0 {
            flash.host_page_writes as f64 / workload.profile.write_bytes as f64
        } else {
            0.0
        };
        lifetime_years(&Wear {
            raw,
            rated_cycles: flash.endurance_cycles,
            write_amplification: write_amplification.unwrap_or(1.0),
            host_bytes_per_day: host_bytes_per_day * pages_per_byte * page_bytes(run, host_pages) as f64,
            growth_per_year: rates.growth_per_year,
        })
    });
    Ok(Endurance {
        write_amplification,
        judged,
        basis,
        passes: settled.passes,
        host_bytes_per_day,
        drive_writes_per_day: host_bytes_per_day.map(|bytes| bytes / capacity.max(1) as f64),
        lifetime_capacity_bytes: capacity,
        lifetime_years: lifetime.map(|(years, _)| years),
        lifetime_is_lower_bound: lifetime.is_some_and(|(_, bounded)| bounded),
        rated_cycles: flash.endurance_cycles,
        cleaning_share: settled.cleaning_share,
    })
}

/// Returns the requests that matter for wear in further passes: writes, trims, and flushes, which empty write buffers.
fn changes<'a>(
    workload: &'a StudyWorkload,
    capacity: Bytes,
    left_out: &'a Cell<LeftOut>,
) -> impl Iterator<Item = Arrival> + 'a {
    let all = arrivals(workload, &Load::AS_TRACED, capacity, left_out).expect("the measured run had the same");
    all.filter(|arrival| arrival.request.kind != RequestKind::Read)
}

fn page_bytes(run: &MeasuredRun, host_pages: u64) -> u64 {
    run.device.capacity().0 / host_pages
}

/// Explains in the report how write amplification was found, or why it could not be.
fn basis(settled: &SettledResults, settings: &SettleSettings) -> String {
    let (passes, capacities) = (settled.passes, words::factor(settled.capacities_written));
    match settled.outcome {
        Settling::NothingWritten => "The trace writes nothing.".to_string(),
        Settling::OnePassIsEnough => format!("The trace writes the design's host capacity {capacities} times."),
        Settling::Settled => format!(
            "The trace's writes were repeated {passes} times ({capacities} host capacities), until write amplification \
            settled within {}.",
            words::percent(settings.within.as_f64())
        ),
        Settling::NotSettled => format!(
            "Too few writes to judge endurance: {passes} passes wrote {capacities} times the host capacity and \
            amplification had not settled."
        ),
        Settling::TooFewWrites => format!(
            "Too few writes to judge endurance: it would take {} passes of the trace to write the host capacity once.",
            words::count((1.0 / settled.capacities_written) as u64)
        ),
    }
}
