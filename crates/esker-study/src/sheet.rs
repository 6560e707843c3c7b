//! Measures the simulated part of a drive under the conditions of its data sheet.

use esker_catalogue::{Performance, Product, Simulated};
use esker_core::{ByteRate, Bytes};
use esker_flash::Work;

use crate::offers::smallest_part;

/// Measures the part that a study simulates of a product's largest drive: random reads and steady random writes of 4
/// KiB, 256 at a time, and sequential reads and writes of 128 KiB, 32 at a time. Returns `None` if the product is no
/// drive.
///
/// The largest drive has the most dies, so it is the one that might exceed its data sheet.
pub fn at_sheet_conditions(product: &Product) -> Option<Simulated> {
    let capacity = product.capacities.last()?.bytes;
    Some(Simulated { capacity, performance: performance_at(product, capacity)? })
}

/// Measures the simulated part of a drive of `capacity`.
pub(crate) fn performance_at(product: &Product, capacity: Bytes) -> Option<Performance> {
    let part = smallest_part(product, capacity)?;
    // Catalogues refuse products whose devices cannot be built.
    let measure = |work: Work| work.measure(&part, work.depth()).ok();
    let operations = |work| measure(work).map(|rate| rate.round() as u64);
    let bytes = |work| measure(work).map(|rate| ByteRate((rate * 1e6).round() as u64));
    Some(Performance {
        random_read: operations(Work::RandomRead),
        random_write: operations(Work::RandomWrite),
        sequential_read: bytes(Work::SequentialRead),
        sequential_write: bytes(Work::SequentialWrite),
        ..Performance::default()
    })
}
