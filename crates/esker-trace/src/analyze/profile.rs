//! Assembles the profile that `esker trace info --json` prints.

use esker_core::Nanos;
use esker_results::profile::Profile;

use super::area_set::AREA_BYTES;
use super::skew::AccessCounts;
use super::working_set::working_set;
use super::{Characteriser, peaks};

pub(super) fn assemble(of: &mut Characteriser, names: &[String]) -> Profile {
    let (sum, devices, aligned) = of.volumes.totals();
    let (requests, ranged) = (sum.requests(), sum.ranged());
    // In a trace without times all times are zero.
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
