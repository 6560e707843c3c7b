//! Kim 2009, table 3.4 and figure 3.11: the cost of cleaning and translation, by layer and workload.

use super::drive::{LAYERS, Setup, StandInRun, simulate};
use super::workload::{CELLO, FINANCIAL, StandIn, TPC_H, WEB_SEARCH};
use crate::{Context, Item, ReproduceError};

/// A row of table 3.4; for DFTL with the columns of the map.
pub(super) struct OverheadRow {
    pub(super) workload: &'static StandIn,
    /// One of [`LAYERS`].
    pub(super) layer: &'static str,
    pub(super) data_erases: f64,
    pub(super) map_erases: f64,
    /// Switch, partial and full.
    pub(super) merges: [f64; 3],
    /// (1) data pages copied, (3) map reads for translation, (7) map writes for translation.
    pub(super) copies: f64,
    pub(super) map_reads: f64,
    pub(super) map_writes: f64,
    /// (2) map pages copied.
    pub(super) map_copies: f64,
    /// (4) map pages read and (8) written because data pages had moved.
    pub(super) updates: [f64; 2],
}

const fn row(
    workload: &'static StandIn,
    layer: usize,
    erases: [f64; 2],
    merges: [f64; 3],
    copies: [f64; 2],
    map: [f64; 4],
) -> OverheadRow {
    OverheadRow {
        workload,
        layer: LAYERS[layer],
        data_erases: erases[0],
        map_erases: erases[1],
        merges,
        copies: copies[0],
        map_copies: copies[1],
        map_reads: map[0],
        map_writes: map[1],
        updates: [map[2], map[3]],
    }
}

const NO_MAP: [f64; 4] = [0.0; 4];

/// Table 3.4. Entries that it does not have are zero.
pub(super) const TABLE_3_4: [OverheadRow; 10] = [
    row(&FINANCIAL, 0, [10_111.0, 0.0], [5_275.0, 4_836.0, 0.0], [15_573.0, 0.0], NO_MAP),
    row(
        &FINANCIAL,
        1,
        [10_176.0, 4_240.0],
        [5_650.0, 8_766.0, 0.0],
        [19_369.0, 5_945.0],
        [517_456.0, 258_017.0, 7_582.0, 7_582.0],
    ),
    row(&FINANCIAL, 2, [151_180.0, 0.0], [374.0, 5_967.0, 8_865.0], [1_508_490.0, 0.0], NO_MAP),
    row(&CELLO, 0, [10_787.0, 0.0], [447.0, 10_340.0, 0.0], [81_109.0, 0.0], NO_MAP),
    row(
        &CELLO,
        1,
        [10_795.0, 5_071.0],
        [353.0, 15_513.0, 0.0],
        [82_956.0, 42_724.0],
        [730_107.0, 251_518.0, 29_010.0, 29_010.0],
    ),
    row(&CELLO, 2, [134_676.0, 0.0], [1.0, 9_763.0, 7_694.0], [3_149_194.0, 0.0], NO_MAP),
    row(&TPC_H, 0, [2_544.0, 0.0], [14.0, 2_530.0, 0.0], [102_130.0, 0.0], NO_MAP),
    row(
        &TPC_H,
        1,
        [2_678.0, 2_118.0],
        [5.0, 4_791.0, 0.0],
        [110_716.0, 75_255.0],
        [1_449_183.0, 50_242.0, 10_018.0, 10_023.0],
    ),
    row(&TPC_H, 2, [19_476.0, 0.0], [5.0, 949.0, 568.0], [618_459.0, 0.0], NO_MAP),
    row(&WEB_SEARCH, 1, [15.0, 350.0], [0.0, 365.0, 0.0], [480.0, 6_391.0], [1_588_120.0, 16_390.0, 51.0, 51.0]),
];

/// The values of a row that a run gives.
pub(super) struct Counts {
    pub(super) data_erases: f64,
    pub(super) map_erases: f64,
    pub(super) merges: [f64; 3],
    pub(super) copies: f64,
    pub(super) map_copies: f64,
    pub(super) map_reads: f64,
    pub(super) map_writes: f64,
    pub(super) updates: [f64; 2],
}

impl Counts {
    fn of(run: &StandInRun) -> Self {
        let flash = &run.flash;
        let mapping = flash.mapping.unwrap_or_default();
        let is_mapped = flash.mapping.is_some();
        let pick = |mapped: u64, otherwise: u64| (if is_mapped { mapped } else { otherwise }) as f64;
        Self {
            data_erases: pick(mapping.data_erases, flash.erases),
            map_erases: mapping.map_erases as f64,
            merges: [flash.merges.switch, flash.merges.partial, flash.merges.full].map(|merges| merges as f64),
            copies: pick(mapping.cleaning_data_writes, flash.programs.cleaning),
            map_copies: mapping.cleaning_map_writes as f64,
            map_reads: mapping.translation_reads as f64,
            map_writes: mapping.translation_writes as f64,
            updates: [mapping.update_reads, mapping.update_writes].map(|pages| pages as f64),
        }
    }
}

/// Runs every row.
pub(super) fn rows(
    item: &Item,
    context: &Context<'_>,
    part: f64,
) -> Result<Vec<(&'static OverheadRow, Counts)>, ReproduceError> {
    static ROWS: [OverheadRow; 10] = TABLE_3_4;
    let simulated = ROWS.iter().enumerate().map(|(index, row)| {
        let workload = row.workload.shortened(part);
        Ok((row, Counts::of(&simulate(item, context, &Setup::new(&workload, row.layer, (index, ROWS.len())))?)))
    });
    simulated.collect()
}
