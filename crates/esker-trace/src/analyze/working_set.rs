//! The working set over time, and the growth of the footprint.

use std::collections::BTreeMap;

use esker_core::Nanos;
use esker_results::profile::WorkingSetInterval;

use super::area_set::AREA_BYTES;
use super::series::Series;
use super::touched::TouchedAreas;

/// Computes the working-set series.
pub(super) fn working_set(touched: &TouchedAreas, series: &Series) -> Vec<WorkingSetInterval> {
    let new_pages = series.new_pages();
    // Many areas are touched in the same intervals: counting equal bit patterns first saves most of the work on bits.
    let mut patterns: BTreeMap<u128, u64> = BTreeMap::new();
    for area in touched.areas() {
        *patterns.entry(area.intervals).or_default() += 1;
    }
    let mut areas = vec![0u64; new_pages.len()];
    for (bits, count) in patterns {
        let mut bits = bits;
        while bits != 0 {
            areas[bits.trailing_zeros() as usize] += count;
            bits &= bits - 1;
        }
    }
    let width = series.working_set_width();
    let mut pages = 0;
    let intervals = new_pages.iter().zip(areas).enumerate();
    intervals
        .map(|(index, (new_pages, areas))| {
            pages += new_pages;
            WorkingSetInterval {
                start_s: Nanos(width.0 * index as u64).as_secs_f64(),
                area_bytes: areas * AREA_BYTES,
                footprint_bytes: pages * 4096,
            }
        })
        .collect()
}
