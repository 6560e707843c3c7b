//! Kim 2009, table 3.5: response, device time and wait in the driver, by workload and layer.

use super::drive::{LAYERS, Served, StandInRun};
use super::workload::{CELLO, FINANCIAL, StandIn, TPC_H, WEB_SEARCH};
use crate::{Claim, Item};

/// Mean and standard deviation, in ms, of the response, the time in the drive and the wait in the driver's queue.
pub(super) type Times = [(f64, f64); 3];

/// The table: for each workload a row per layer, in the order of [`LAYERS`].
pub(super) static TABLE_3_5: [(&StandIn, [Times; 3]); 4] = [
    (
        &FINANCIAL,
        [
            [(0.43, 0.81), (0.39, 0.79), (0.04, 0.19)],
            [(0.61, 1.52), (0.55, 1.50), (0.06, 0.29)],
            [(2.75, 19.77), (1.67, 13.51), (1.09, 13.55)],
        ],
    ),
    (
        &CELLO,
        [
            [(1.50, 4.96), (0.41, 0.80), (1.08, 4.88)],
            [(2.14, 6.96), (0.59, 1.04), (1.54, 6.88)],
            [(16.93, 52.14), (2.00, 14.59), (14.94, 50.20)],
        ],
    ),
    (
        &TPC_H,
        [
            [(0.79, 2.96), (0.68, 1.78), (0.11, 2.13)],
            [(1.39, 7.65), (0.95, 2.88), (0.44, 6.57)],
            [(3.19, 29.56), (1.06, 11.65), (2.13, 26.74)],
        ],
    ),
    (
        &WEB_SEARCH,
        [
            [(0.86, 0.64), (0.68, 0.44), (0.18, 0.46)],
            [(1.24, 1.06), (0.94, 0.68), (0.30, 0.78)],
            [(0.86, 0.64), (0.68, 0.44), (0.18, 0.46)],
        ],
    ),
];

/// A time of a request, in nanoseconds.
type TimeOf = fn(&Served) -> u64;

/// Names of the columns, and the time of a request for each.
const COLUMNS: [(&str, TimeOf); 3] = [
    ("response", Served::response),
    ("device time", |served| served.device),
    ("wait in the driver", |served| served.queued),
];

/// Claims of one layer under one workload, mean and standard deviation of each column. `reason` may explain a column's
/// mean.
pub(super) fn compared(
    item: &Item,
    name: &str,
    published: &Times,
    run: &StandInRun,
    reason: impl Fn(&str) -> &'static str,
) -> Vec<Claim> {
    let mut claims = Vec::new();
    for ((column, of), (mean, deviation)) in COLUMNS.into_iter().zip(published) {
        let claim = format!("{name}: mean {column}, ms");
        claims.push(Claim::compared(item.name, &claim, *mean, run.mean_ms(of), reason(column)));
        let claim = format!("{name}: standard deviation of the {column}, ms");
        claims.push(Claim::compared(item.name, &claim, *deviation, run.deviation_ms(of), "table 3.5"));
    }
    claims
}

/// Returns the rows of `workload`, by layer.
pub(super) fn of(workload: &str) -> &'static [Times; 3] {
    let row = TABLE_3_5.iter().find(|(of, _)| of.name == workload);
    &row.expect("table 3.5 has all workloads").1
}

const _: () = assert!(LAYERS.len() == 3);

#[cfg(test)]
mod tests {
    use esker_core::{Bytes, Lba, Request};

    use super::*;

    /// A response time is the time in the drive plus the wait, and the table's means agree.
    #[test]
    fn the_published_means_add_up() {
        for (workload, layers) in &TABLE_3_5 {
            for (layer, [response, device, wait]) in LAYERS.iter().zip(layers) {
                let sum = device.0 + wait.0;
                assert!((response.0 - sum).abs() < 0.0151, "{}, {layer}: {sum}", workload.name);
            }
        }
    }

    #[test]
    fn deviations_are_those_of_all_requests() {
        let request = Request::read(Lba(0), Bytes(512));
        let served = |device, queued| Served { request, arrival: 0, queued, device };
        let run =
            StandInRun { served: vec![served(1_000_000, 0), served(3_000_000, 4_000_000)], ..StandInRun::default() };
        assert_eq!(run.deviation_ms(|served| served.device), 1.0);
        assert_eq!(run.deviation_ms(Served::response), 3.0);
    }
}
