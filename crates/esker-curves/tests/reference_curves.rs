//! Compares curves of a real trace with curves computed by others, and measures the error of sampled curves.

use esker_core::Ratio;
use esker_curves::{CurveBuilder, CurveMethod, CurveObjects, CurveSettings, MissRatioCurve};
use esker_testkit::reference_data;
use esker_trace::{ReadOptions, Record, TraceModelFitter, TraceReader};

fn records() -> Option<Vec<Record>> {
    read("cloudphysics-2h.vscsi")
}

fn read(name: &str) -> Option<Vec<Record>> {
    let path = reference_data(&format!("traces/{name}.zst"))?;
    let mut reader = TraceReader::open(&[path], &ReadOptions::default()).unwrap();
    let (mut records, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch).unwrap() {
        records.extend_from_slice(&batch);
    }
    Some(records)
}

fn curve(records: &[Record], settings: CurveSettings) -> MissRatioCurve {
    let mut builder = CurveBuilder::new(&settings);
    for record in records {
        // Volumes are far apart in the address space.
        builder.request(record.offset + (u64::from(record.volume.0) << 44), u64::from(record.length));
    }
    builder.finish()
}

#[test]
fn the_exact_curve_of_the_virtual_disk_is_the_published_one() {
    let Some(records) = records() else { return };
    let start_blocks = CurveSettings { objects: CurveObjects::StartBlock, ..CurveSettings::default() };
    type Case = (CurveSettings, u64, u64, &'static [(u64, f64)]);
    let cases: [Case; 2] = [
        (
            start_blocks,
            113_872,
            48_974,
            &[
                (489, 0.837958),
                (2_448, 0.824584),
                (4_897, 0.804913),
                (9_794, 0.724910),
                (24_487, 0.626976),
                (39_179, 0.430299),
                (48_974, 0.430079),
            ],
        ),
        (
            CurveSettings::default(),
            1_141_869,
            269_210,
            &[
                (2_692, 0.896869),
                (26_921, 0.874098),
                (53_842, 0.812914),
                (134_605, 0.473261),
                (215_368, 0.415731),
                (269_210, 0.235763),
            ],
        ),
    ];
    for (settings, accesses, objects, points) in cases {
        let curve = curve(&records, settings);
        assert_eq!((curve.accesses, curve.objects), (accesses, objects));
        for &(size, expected) in points {
            let found = curve.miss_ratio_at(size);
            assert!((found - expected).abs() < 6e-7, "{settings:?} at {size}: {found}, not {expected}");
        }
        assert_eq!(curve.lowest_miss_ratio(), objects as f64 / accesses as f64, "only first uses miss");
    }
}

/// Over ten seeds, because a single seed may mislead.
#[test]
fn samples_of_the_virtual_disk_err_little() {
    let Some(records) = records() else { return };
    let exact = curve(&records, CurveSettings::default());
    for (method, limit) in [
        (CurveMethod::Shards { rate: Ratio::percent(10) }, 0.02),
        (CurveMethod::ShardsFixedSize { objects: 8_192 }, 0.02),
    ] {
        let error = |seed| {
            let sampled = curve(&records, CurveSettings { method, seed, ..CurveSettings::default() });
            assert_eq!(sampled.accesses, exact.accesses);
            exact.mean_absolute_difference(&sampled, 1_000)
        };
        let mut errors: Vec<f64> = (0..10).map(error).collect();
        errors.sort_by(f64::total_cmp);
        let median = (errors[4] + errors[5]) / 2.0;
        assert!(median < limit, "{}: {errors:?}", method.describe());
    }
}

/// Generated traces serve for sizing caches as well as the original ones.
#[test]
fn generated_traces_have_the_curve_of_their_original() {
    for name in ["cloudphysics-2h.vscsi", "msr-prxy_0-first20k.csv", "Financial1-first10k.spc", "diskmon-sys1.diskmon"]
    {
        let Some(records) = read(name) else { continue };
        let mut fitter = TraceModelFitter::default();
        fitter.push_all(&records);
        let model = fitter.finish(&[]);
        let generated: Vec<Record> = model.generate(records.len() as u64, 1).collect();
        let (before, after) = (curve(&records, CurveSettings::default()), curve(&generated, CurveSettings::default()));
        let error = before.mean_absolute_difference(&after, 1_000);
        assert!(error < 0.02, "{name}: {error}");
    }
}
