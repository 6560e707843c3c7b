//! Drives at the conditions of their data sheets: the part that a study simulates, measured as data sheets are.

use esker_core::{ByteRate, Bytes};
use esker_flash::Work;
use esker_plan::{Performance, Product, Simulated};

use crate::offers::smallest_part;

/// Measures the part that a study simulates of a product's largest drive: random reads and steady random writes of
/// 4 KiB, 256 at a time, sequential reads and writes of 128 KiB, 32 at a time. `None` for what is no drive.
///
/// The largest drive has the most dies, and so is the one that could do more than a data sheet promises at best.
pub fn at_sheet_conditions(product: &Product) -> Option<Simulated> {
    let capacity = product.capacities.last()?.bytes;
    Some(Simulated { capacity, performance: performance_at(product, capacity)? })
}

/// Likewise, of a drive of `capacity`.
pub(crate) fn performance_at(product: &Product, capacity: Bytes) -> Option<Performance> {
    let part = smallest_part(product, capacity)?;
    // Catalogues refuse products that cannot be built.
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
