//! How much is in use at a time, and how does the footprint grow?

use std::collections::BTreeMap;

use esker_core::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::series::Series;
use super::touched::{AREA_BYTES, TouchedAreas};

/// One of at most 128 equal intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkingSetInterval {
    /// Its begin, seconds after the first arrival.
    pub start_s: f64,
    /// Distinct 1 MiB areas read or written in it, times their size.
    pub area_bytes: u64,
    /// Distinct 4 KiB pages read or written from the trace's start to this interval's end, times their size.
    pub footprint_bytes: u64,
}

/// The series.
pub(super) fn working_set(touched: &TouchedAreas, series: &Series) -> Vec<WorkingSetInterval> {
    let new_pages = series.new_pages();
    // Many areas are touched in the same intervals: counting equal bit patterns first spares most of the bit work.
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
