//! What a workload asks for, as volumes count its requests.

use std::cell::Cell;
use std::collections::BTreeMap;

use esker_catalogue::Product;
use esker_cloud::Counter;
use esker_core::{Bytes, Nanos};
use esker_sim::{BeyondCapacity, WorkloadSettings};

use super::orders::settings;
use crate::StudyError;
use crate::busy::Stretch;
use crate::load::StudyWorkload;

/// The rates that a workload asks for, as one kind of volume counts requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pace {
    /// Most operations per second, as the volume counts them, in any stretch as long as the busy one.
    pub(super) busy_operations: f64,
    /// Most bytes per second, as the volume counts them, in any stretch as long as the busy one.
    pub(super) busy_bytes: f64,
    /// Operations per second over the whole trace.
    pub(super) mean_operations: f64,
    /// Bytes per second over the whole trace.
    pub(super) mean_bytes: f64,
}

/// The rates that a workload asks for, by the name of the product that counts them.
pub(super) type Paces = BTreeMap<String, Pace>;

/// Pairs of operations and bytes: in the current stretch, in the stretch with the most, and in all.
#[derive(Clone, Copy, Default)]
struct Counts {
    now: (u64, u64),
    most: (u64, u64),
    all: (u64, u64),
}

/// Counts the workload as the volumes of `products` do, in one pass. The minute with the most requests need not be the
/// one with the most operations or bytes, so time is divided into stretches as long as `stretch`, which is one of them.
pub(super) fn paces(products: &[Product], workload: &StudyWorkload, stretch: &Stretch) -> Result<Paces, StudyError> {
    let left_out = Cell::default();
    // Many products count in the same way.
    let mut counters: Vec<(Counter, Counts)> = Vec::new();
    let mut counter_of: Vec<(&Product, usize)> = Vec::new();
    let mut saved = Vec::new();
    for product in products.iter().filter(|product| product.is_cloud_volume()) {
        let settings = settings(product)?;
        saved.push(settings.saves_up);
        let counter = Counter::new(&settings);
        let known = counters.iter().position(|(other, _)| *other == counter);
        let index = known.unwrap_or_else(|| {
            counters.push((counter, Counts::default()));
            counters.len() - 1
        });
        counter_of.push((product, index));
    }
    let (mut index, mut last) = (0, stretch.to);
    let everything = Bytes(workload.map().footprint().next_multiple_of(1 << 20));
    // Requests within less time than volumes save up may pass at once.
    let longest = saved.into_iter().max().unwrap_or(Nanos(1));
    let length = stretch.length().max(longest);
    let phase = stretch.from.0 % length.0;
    let packed = WorkloadSettings { beyond_capacity: BeyondCapacity::Dense, ..WorkloadSettings::default() };
    for arrival in workload.requests.arrivals(everything, &packed, &left_out).map_err(StudyError::design)? {
        last = last.max(arrival.at);
        if !arrival.request.kind.has_data() {
            continue;
        }
        let its_index = (arrival.at.0 + length.0 - phase) / length.0;
        let is_next = its_index != index;
        index = its_index;
        for (counter, Counts { now, most, all }) in &mut counters {
            if is_next {
                *now = (0, 0);
            }
            let cost = counter.count(&arrival.request);
            *now = (now.0 + cost.operations, now.1 + cost.bytes);
            *all = (all.0 + cost.operations, all.1 + cost.bytes);
            *most = (most.0.max(now.0), most.1.max(now.1));
        }
    }
    let (busy, whole) = (length.as_secs_f64(), last.as_secs_f64().max(1.0));
    let pace = |Counts { most, all, .. }: Counts| Pace {
        busy_operations: most.0 as f64 / busy,
        busy_bytes: most.1 as f64 / busy,
        mean_operations: all.0 as f64 / whole,
        mean_bytes: all.1 as f64 / whole,
    };
    Ok(counter_of.into_iter().map(|(product, index)| (product.name.clone(), pace(counters[index].1))).collect())
}
