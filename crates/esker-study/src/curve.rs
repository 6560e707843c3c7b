//! The miss-ratio curve of a workload, for an LRU cache of 4 KiB pages.

use esker_core::Ratio;
use esker_curves::{CurveBuilder, CurveMethod, CurveObjects, CurveSettings, PAGE_BYTES};
use esker_trace::{DenseMap, Operation, Record};

use crate::load::StudyWorkload;
use crate::{Hooks, StudyError};
use esker_results::study::{MissRatioCurve, MissRatioPoint};

/// Up to this many page accesses the curve is exact; above that, it is sampled.
const EXACT_MAX: u64 = 3_000_000;
/// Up to this many accesses, a tenth of the pages is sampled; above that, a hundredth.
const TENTH_MAX: u64 = 60_000_000;
/// Number of points of the curve.
const POINTS: usize = 128;
/// The knee of the curve is where this share of an unlimited cache's hits is reached.
const KNEE_SHARE: f64 = 0.9;

/// Returns the curve over all volumes of the workload.
pub(crate) fn curve(workload: &StudyWorkload, seed: u64, hooks: &Hooks<'_>) -> Result<MissRatioCurve, StudyError> {
    let profile = &workload.profile;
    // A request touches at most one page more than its bytes fill.
    let accesses = (profile.read_bytes + profile.write_bytes) / PAGE_BYTES + profile.requests;
    let method = match accesses {
        few if few <= EXACT_MAX => CurveMethod::Exact,
        some if some <= TENTH_MAX => CurveMethod::Shards { rate: Ratio::percent(10) },
        _ => CurveMethod::Shards { rate: Ratio::percent(1) },
    };
    let settings = CurveSettings { method, objects: CurveObjects::Pages, seed };
    let mut builder = CurveBuilder::new(&settings);
    for (index, record) in workload.records().enumerate() {
        if let Some((offset, length)) = packed_range(workload.map(), &record) {
            builder.request(offset, length);
        }
        if index % 65_536 == 0 {
            hooks.check()?;
        }
    }
    let curve = builder.finish();
    let knee = curve.smallest_with_share_of_hits(KNEE_SHARE);
    let points = curve
        .thinned(POINTS)
        .points
        .into_iter()
        .map(|point| MissRatioPoint { bytes: point.objects * PAGE_BYTES, miss_ratio: point.miss_ratio });
    Ok(MissRatioCurve {
        method: settings.method.describe(),
        accesses: curve.accesses,
        pages: curve.objects,
        points: points.collect(),
        knee_bytes: knee.objects * PAGE_BYTES,
        knee_miss_ratio: knee.miss_ratio,
    })
}

/// Returns offset and length of a record in the packed address space of all volumes; `None` for trims and flushes.
pub(crate) fn packed_range(map: &DenseMap, record: &Record) -> Option<(u64, u64)> {
    matches!(record.operation, Operation::Read | Operation::Write)
        .then(|| map.map(record.volume, record.offset))
        .flatten()
        .map(|offset| (offset, u64::from(record.length)))
}
