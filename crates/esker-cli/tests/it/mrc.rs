//! Miss-ratio curves at given sizes, compared with published ones.

use esker_testkit::reference_data;
use esker_trace::{ReadOptions, TraceReader};
use serde_json::Value;

use crate::support::{esker_in, esker_ok};

/// Runs `esker mrc` with `arguments` and returns objects and miss ratio of each point.
fn points(arguments: &[&str]) -> Vec<(u64, f64)> {
    let folder = tempfile::tempdir().unwrap();
    let run = esker_ok(folder.path(), &[&["mrc", "-q", "--json=-"], arguments].concat());
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    let point = |point: &Value| (point["objects"].as_u64().unwrap(), point["miss_ratio"].as_f64().unwrap());
    answer["points"].as_array().unwrap().iter().map(point).collect()
}

/// Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003: hit ratios of LRU in per cent,
/// by cache size in pages of 512 bytes (the size of a block in these traces).
#[test]
fn published_hit_ratios_of_the_arc_paper() {
    let oltp: &[(u64, f64)] = &[(1000, 32.83), (2000, 42.47), (5000, 53.65), (10_000, 60.70), (15_000, 64.63)];
    for (name, published) in [("arc-OLTP.lis", oltp), ("arc-P3.lis", &[(32_768, 3.57)])] {
        let Some(path) = reference_data(&format!("traces/{name}.zst")) else { return };
        let sizes: Vec<String> = published.iter().map(|(size, _)| size.to_string()).collect();
        let found = points(&[path.to_str().unwrap(), "--object", "512B", "--at", &sizes.join(",")]);
        assert_eq!(found.len(), published.len());
        for ((objects, ratio), (size, hits)) in found.into_iter().zip(published) {
            assert_eq!(objects, *size);
            assert!(
                (100.0 * (1.0 - ratio) - hits).abs() < 0.005 + 1e-9,
                "{name} at {size}: {ratio}, not {hits} % hits"
            );
        }
    }
}

/// The curve that libCacheSim computes if an object is the first block of a request; also for the same trace in
/// libCacheSim's own format, with hashes as objects.
#[test]
fn start_blocks_and_hashed_objects_have_the_reference_curve() {
    let Some(path) = reference_data("traces/cloudphysics-2h.vscsi.zst") else { return };
    let reference = [(489, 0.837958), (2_448, 0.824584), (4_897, 0.804913), (24_487, 0.626976), (48_974, 0.430079)];
    let folder = tempfile::tempdir().unwrap();
    let hashed = folder.path().join("hashed.bin");
    let mut reader = TraceReader::open(std::slice::from_ref(&path), &ReadOptions::default()).unwrap();
    let (mut bytes, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch).unwrap() {
        for record in &batch {
            bytes.extend_from_slice(&((record.at.0 / 1_000_000_000) as u32).to_le_bytes());
            // An odd factor gives each start block a number of its own.
            let hash = (record.offset + (u64::from(record.volume.0) << 44)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            bytes.extend_from_slice(&hash.to_le_bytes());
            bytes.extend_from_slice(&record.length.to_le_bytes());
            bytes.extend_from_slice(&(-1i64).to_le_bytes());
        }
    }
    std::fs::write(&hashed, bytes).unwrap();
    let (block, hashed) = (path.to_str().unwrap(), hashed.to_str().unwrap());
    let at = "489,2448,4897,24487,48974";
    let start_block = ["--object", "start-block"];
    for arguments in [
        [&[block][..], &start_block].concat(),
        vec![block, "--start-block"],
        [&[hashed, "--format", "oracle-general"][..], &start_block].concat(),
    ] {
        let found = points(&[&arguments[..], &["--at", at]].concat());
        for ((objects, ratio), (size, expected)) in found.into_iter().zip(reference) {
            assert_eq!(objects, size);
            assert!((ratio - expected).abs() < 6e-7, "{arguments:?} at {size}: {ratio}, not {expected}");
        }
    }
}

/// AET on the same trace: within the bound of sampled curves at these sizes, on average.
#[test]
fn reuse_times_come_near_the_reference_curve() {
    let Some(path) = reference_data("traces/cloudphysics-2h.vscsi.zst") else { return };
    let (start_blocks, pages) = (
        [(489, 0.837958), (2_448, 0.824584), (4_897, 0.804913), (24_487, 0.626976), (48_974, 0.430079)],
        [(2_692, 0.896869), (26_921, 0.874098), (134_605, 0.473261), (215_368, 0.415731), (269_210, 0.235763)],
    );
    for (object, reference) in [("start-block", start_blocks), ("4KiB", pages)] {
        let at: Vec<String> = reference.iter().map(|(size, _)| size.to_string()).collect();
        let arguments = [path.to_str().unwrap(), "--object", object, "--method", "aet", "--at", &at.join(",")];
        let found = points(&arguments);
        let errors = found.iter().zip(reference).map(|((_, found), (_, exact))| (found - exact).abs());
        let errors: Vec<f64> = errors.collect();
        assert!(errors.iter().sum::<f64>() / 5.0 < 0.02, "{object}: {errors:?}");
    }
}

#[test]
fn sizes_are_objects_or_bytes() {
    let folder = tempfile::tempdir().unwrap();
    // 0 to 99, twice: all accesses of the second round hit from 100 pages on.
    let numbers: Vec<u8> = (0..200u32).flat_map(|number| (number % 100).to_le_bytes()).collect();
    std::fs::write(folder.path().join("loop.u32"), numbers).unwrap();
    let run = |arguments: &[&str]| esker_in(folder.path(), &[&["mrc", "loop.u32", "-q"], arguments].concat());
    let at = |arguments: &[&str]| {
        let answer: Value = serde_json::from_str(&run(&[&["--json=-"], arguments].concat()).stdout).unwrap();
        let point = |point: &Value| (point["objects"].as_u64(), point["bytes"].as_u64(), point["miss_ratio"].as_f64());
        answer["points"].as_array().unwrap().iter().map(point).collect::<Vec<_>>()
    };
    let pages = |count: u64, ratio| (Some(count), Some(count * 4096), Some(ratio));
    assert_eq!(at(&["--at", "99,400KiB,1_000"]), [pages(99, 1.0), pages(100, 0.5), pages(1000, 0.5)]);
    let sectors = |count: u64, ratio| (Some(count), Some(count * 512), Some(ratio));
    assert_eq!(at(&["--object", "512b", "--at", "799,400KiB"]), [sectors(799, 1.0), sectors(800, 0.5)]);
    assert_eq!(at(&["--object", "start-block", "--at", "100"]), [(Some(100), None, Some(0.5))]);
    for (arguments, message) in [
        (&["--object", "start-block", "--at", "1MiB"][..], "start blocks have no size of their own"),
        (&["--at", "1KiB"], "no room for one object of 4KiB"),
        (&["--at", "much"], "--at much"),
        (&["--at", "1", "--points", "5"], "cannot be used with"),
        (&["--start-block", "--object", "4KiB"], "cannot be used with"),
        (&["--method", "shards"], "--method shards needs the size of its sample"),
        (&["--method", "aet", "--sample", "1%"], "--sample is the sample of `--method shards`"),
        (&["--method", "aet", "--seeds", "2"], "--seeds goes with --sample"),
    ] {
        let run = run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
}

/// 1,000 pages, each used four times.
fn folder_with_pages() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let numbers: Vec<u8> = (0..4_000u32).flat_map(|number| (number % 1_000).to_le_bytes()).collect();
    std::fs::write(folder.path().join("pages.u32"), numbers).unwrap();
    folder
}

#[test]
fn a_sample_that_knows_nothing_is_refused() {
    let folder = folder_with_pages();
    let run = |arguments: &[&str]| esker_in(folder.path(), &[&["mrc", "pages.u32", "-q"], arguments].concat());
    for (arguments, message) in [
        (&["--sample", "0.001%", "--seeds", "10", "--at", "1000000"][..], "has no objects at all"),
        (&["--sample", "0.001%"], "has no objects at all"),
        (&["--sample", "10%", "--at", "500,90"], "a sample of 10% has room for 9 of 90 objects: too few to tell"),
    ] {
        let run = run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stdout);
        assert!(run.stderr.contains(message) && run.stderr.contains("sample more"), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!(run(&["--sample", "10%", "--at", "0,500"]).code, 0);
    // By default, such sizes are left out.
    let found = points(&[folder.path().join("pages.u32").to_str().unwrap(), "--sample", "10%"]);
    assert!(found.len() > 1 && found.iter().all(|(size, _)| *size == 0 || *size >= 95), "{found:?}");
}

#[test]
fn seeds_go_on_at_zero_after_the_largest() {
    let folder = folder_with_pages();
    let seed = u64::MAX.to_string();
    for seeds in ["1", "3"] {
        let arguments = ["mrc", "pages.u32", "-q", "--sample", "50%", "--at", "500", "--seed", &seed, "--seeds", seeds];
        esker_ok(folder.path(), &arguments);
    }
}
