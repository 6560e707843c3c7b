//! All answers together, as `esker trace info --json` prints them.

use esker_core::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrivals::{IdlePeriods, InterArrival};
use super::peaks::{BusiestWindow, Peaks};
use super::responses::MeasuredResponses;
use super::series::LoadInterval;
use super::sizes::SizeDistribution;
use super::skew::{AccessCounts, Skew};
use super::touched::AREA_BYTES;
use super::volumes::VolumeProfile;
use super::working_set::{WorkingSetInterval, working_set};
use super::{Characteriser, peaks};

/// What a trace is like. A page is 4 KiB of one volume and counts as touched if any byte of it was; trims touch
/// nothing. Times are absent where the trace has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Requests of all kinds.
    pub requests: u64,
    /// Reads.
    pub read_requests: u64,
    /// Writes.
    pub write_requests: u64,
    /// Trims.
    pub trim_requests: u64,
    /// Flushes.
    pub flush_requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes trimmed.
    pub trim_bytes: u64,
    /// Mean size of reads and writes; zero where there are none.
    pub mean_size_bytes: f64,
    /// Median size of reads and writes (nearest rank); zero where there are none.
    pub median_size_bytes: u64,
    /// Distinct pages read or written.
    pub pages_4k: u64,
    /// Distinct pages read.
    pub pages_4k_read: u64,
    /// Distinct pages written.
    pub pages_4k_written: u64,
    /// Distinct pages read or written, times 4,096.
    pub footprint_bytes: u64,
    /// Touched 1 MiB areas, times their size: the dense address space that the trace can be mapped to.
    pub active_bytes: u64,
    /// Distance from the lowest to the highest byte read or written, summed over the volumes.
    pub address_span_bytes: u64,
    /// Share of requests that start exactly where the previous one on the same volume ended (flushes left out).
    pub sequential_fraction: f64,
    /// Share of requests whose address is the end of the previous request's, whatever volumes the two went to: all
    /// volumes' addresses are taken as one address space. Kim 2009, table 5.3: "the address of incoming request is next
    /// to that of the previous request"; as there, interleaved volumes hide each other's sequential runs.
    pub sequential_fraction_global: f64,
    /// Share of requests with 4 KiB aligned address and size (flushes left out).
    pub aligned_4k_fraction: f64,
    /// Page writes per distinct page written: a request counts once for each page it touches, however little of it.
    /// Zero where nothing was written.
    pub overwrite_ratio: f64,
    /// Last arrival minus first, in seconds.
    pub duration_s: Option<f64>,
    /// Requests over duration.
    pub requests_per_s: Option<f64>,
    /// Volumes with at least one request.
    pub devices: u64,
    /// First arrival in nanoseconds: since 1970-01-01 UTC where the format has absolute times.
    pub first_arrival_ns: u64,
    /// Request sizes.
    pub sizes: SizeDistribution,
    /// Times between arrivals.
    pub inter_arrival: Option<InterArrival>,
    /// Gaps between arrivals, one entry per threshold.
    pub idle: Vec<IdlePeriods>,
    /// Busiest seconds.
    pub peaks: Option<Peaks>,
    /// Busiest 60 seconds; begins at a whole second after the first arrival.
    pub busiest_minute: Option<BusiestWindow>,
    /// Busiest 3,600 seconds; begins at a multiple of five minutes after the first arrival.
    pub busiest_hour: Option<BusiestWindow>,
    /// Spread of accesses over pages.
    pub skew: Skew,
    /// Spread of writes over pages.
    pub write_skew: Skew,
    /// Response times that the trace recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measured: Option<MeasuredResponses>,
    /// Length of one interval of `load`, in seconds.
    pub load_interval_s: f64,
    /// Load over time; empty where the trace has no times.
    pub load: Vec<LoadInterval>,
    /// Length of one interval of `working_set`, in seconds.
    pub working_set_interval_s: f64,
    /// Working set over time; empty where the trace has no times.
    pub working_set: Vec<WorkingSetInterval>,
    /// Each volume, in the order of first appearance.
    pub volumes: Vec<VolumeProfile>,
}

pub(super) fn assemble(of: &mut Characteriser, names: &[String]) -> Profile {
    let (sum, devices, aligned) = of.volumes.totals();
    let (requests, ranged) = (sum.requests(), sum.ranged());
    // A trace without times has zeroes throughout.
    let timed = of.last > Nanos::ZERO;
    let duration = of.last - of.first;
    let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
    let (mut pages_4k, mut pages_4k_read, mut pages_4k_written) = (0, 0, 0);
    for area in of.touched.areas() {
        for (read, written) in area.read.iter().zip(&area.written) {
            pages_4k += u64::from((read | written).count_ones());
            pages_4k_read += u64::from(read.count_ones());
            pages_4k_written += u64::from(written.count_ones());
        }
    }
    let (all_counts, write_counts) = AccessCounts::of(&of.touched);
    let (written_pages, page_writes) = write_counts.totals();
    debug_assert_eq!(written_pages, pages_4k_written, "bits and counters disagree");
    let volumes = of.volumes.finish(&of.touched, names, of.first);
    let peaks: peaks::PeakResults = std::mem::take(&mut of.peaks).finish();
    Profile {
        requests,
        read_requests: sum.reads,
        write_requests: sum.writes,
        trim_requests: sum.trims,
        flush_requests: sum.flushes,
        read_bytes: sum.read_bytes,
        write_bytes: sum.write_bytes,
        trim_bytes: sum.trim_bytes,
        mean_size_bytes: share(sum.read_bytes + sum.write_bytes, sum.reads + sum.writes),
        median_size_bytes: of.sizes.median(),
        pages_4k,
        pages_4k_read,
        pages_4k_written,
        footprint_bytes: pages_4k * 4096,
        active_bytes: of.touched.len() as u64 * AREA_BYTES,
        address_span_bytes: volumes
            .iter()
            .fold(0, |sum: u64, volume| sum.saturating_add(volume.highest_byte - volume.lowest_byte)),
        sequential_fraction: share(sum.sequential, ranged),
        sequential_fraction_global: share(of.volumes.sequential_global, ranged),
        aligned_4k_fraction: share(aligned, ranged),
        overwrite_ratio: share(page_writes, written_pages),
        duration_s: timed.then(|| duration.as_secs_f64()),
        requests_per_s: (duration > Nanos::ZERO).then(|| requests as f64 / duration.as_secs_f64()),
        devices,
        first_arrival_ns: of.first.0,
        sizes: of.sizes.finish(of.settings.common_sizes),
        inter_arrival: of.arrivals.inter_arrival().filter(|_| timed),
        idle: if timed { of.arrivals.idle_periods(duration) } else { Vec::new() },
        peaks: timed.then_some(peaks.peaks),
        busiest_minute: timed.then_some(peaks.minute),
        busiest_hour: timed.then_some(peaks.hour),
        skew: all_counts.skew(of.settings.lorenz_points),
        write_skew: write_counts.skew(of.settings.lorenz_points),
        measured: of.responses.finish(peaks.hour_responses.as_ref()),
        load_interval_s: of.series.width().as_secs_f64(),
        load: if timed { of.series.finish() } else { Vec::new() },
        working_set_interval_s: of.series.working_set_width().as_secs_f64(),
        working_set: if timed { working_set(&of.touched, &of.series) } else { Vec::new() },
        volumes,
    }
}
