//! `esker cache`: counts, the shape of its JSON, and mistakes.

use std::path::Path;

use esker_core::Rng;
use esker_testkit::reference_data;
use serde_json::Value;

use crate::support::{Run, esker_in, esker_ok};

/// Writes a trace of these pages and runs `esker cache` on it.
fn on_pages(folder: &Path, pages: &[u32], arguments: &[&str]) -> Run {
    std::fs::write(folder.join("pages.u32"), pages.iter().flat_map(|page| page.to_le_bytes()).collect::<Vec<_>>())
        .unwrap();
    esker_in(folder, &[&["cache", "pages.u32", "-q"], arguments].concat())
}

fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Writes reads to a file as SPC text. Each is a block of 512 bytes and a length in bytes.
fn sized_requests(folder: &Path, requests: &[(u64, u64)]) {
    let line = |(number, (block, bytes)): (usize, &(u64, u64))| format!("0,{block},{bytes},R,{number}.0\n");
    std::fs::write(folder.join("sized.spc"), requests.iter().enumerate().map(line).collect::<String>()).unwrap();
}

#[test]
fn objects_take_the_room_of_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    // A large object every third time, two small ones between.
    let requests: Vec<(u64, u64)> = (0..300).map(|n| [(0, 65_536), (1_000, 512), (2_000, 1_024)][n % 3]).collect();
    sized_requests(folder.path(), &requests);
    let run =
        |arguments: &[&str]| esker_in(folder.path(), &[&["cache", "sized.spc", "-q", "--sized"], arguments].concat());
    let order = ["--reorder", "2s", "--reorder-records", "99"];
    let found = json(&run(&[&order[..], &["--policy", "lru,gdsf", "--size", "66KiB,100%,1536B", "--json"]].concat()));
    let command = found["command"].as_str().unwrap();
    assert!(command.starts_with(&format!("esker cache sized.spc {} --policy", order.join(" "))), "{command}");
    assert_eq!((&found["sized"], &found["distinct_bytes"]), (&Value::Bool(true), &67_072.into()));
    let misses = |policy: &str| -> Vec<(u64, u64, u64)> {
        let of = found["results"].as_array().unwrap().iter().filter(|result| result["policy"] == policy);
        let number = |result: &Value, key: &str| result[key].as_u64().unwrap();
        of.map(|one| (number(one, "size_bytes"), number(one, "misses"), number(one, "refused"))).collect()
    };
    // In 1,536 bytes the large one never comes in, and the small ones stay.
    assert_eq!(misses("lru"), [(1_536, 102, 100), (67_072, 3, 0), (67_584, 3, 0)]);
    assert_eq!(misses("gdsf"), misses("lru"));
    // With room for the large one and the smallest, LRU misses all; GDSF keeps the smallest, which is worth most.
    let found = json(&run(&["--policy", "lru,gdsf", "--size", "66048B", "--json"]));
    let misses = |index: usize| found["results"][index]["misses"].as_u64().unwrap();
    assert_eq!(misses(0), 300);
    assert_eq!(misses(1), 201);
    let table = run(&["--size", "50%"]);
    assert_eq!(table.code, 0, "{}", table.stderr);
    assert!(table.stdout.contains("300 accesses to 3 start blocks of 66 KiB together; share"), "{}", table.stdout);
    assert!(table.stdout.contains("cache size  of all     lru    fifo"), "{}", table.stdout);
    for (arguments, expected) in [
        (&["--policy", "arc"][..], "`arc` shares its cache out by numbers of objects"),
        (&["--size", "100"], "--size 100: a cache of objects with sizes of their own needs its unit"),
        (&["--object", "4KiB"], "cannot be used with"),
    ] {
        let run = run(arguments);
        assert!(run.code == 2 && run.stderr.contains(expected), "{}", run.stderr);
    }
}

/// Sizes are bytes here, of which a sample has room for a hundredth.
#[test]
fn a_sample_of_objects_with_sizes_has_room_for_ten_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let run = |largest: u64, size: &str| {
        let requests: Vec<(u64, u64)> = (0..6_000).map(|n| (n % 3_000 * 2_048, 1 << 20)).collect();
        sized_requests(folder.path(), &[&requests[..], &[(1 << 30, largest)]].concat());
        let arguments = ["cache", "sized.spc", "-q", "--sized", "--policy", "lru", "--sample", "1%", "--size", size];
        esker_in(folder.path(), &arguments)
    };
    let small = run(1 << 20, "90MiB");
    assert!(
        small.code == 2 && small.stderr.contains("too little to tell, as 10 objects take 10 MiB"),
        "{}",
        small.stderr
    );
    assert_eq!(run(1 << 20, "2GiB").code, 0);
    let large = run(30 << 20, "2GiB");
    assert!(large.code == 2 && large.stderr.contains("the largest one 30 MiB"), "{}", large.stderr);
}

/// A hundred pages that are read three times in order, one a second: a cache of a hundred takes each in once.
#[test]
fn drive_writes_are_held_against_the_rating() {
    let folder = tempfile::tempdir().unwrap();
    let requests: Vec<(u64, u64)> = (0..300).map(|n| (n % 100 * 8, 4_096)).collect();
    sized_requests(folder.path(), &requests);
    let run = |arguments: &[&str]| esker_in(folder.path(), &[&["cache", "sized.spc", "-q"], arguments].concat());
    let caches = ["--policy", "lru", "--size", "100"];
    // 100 pages in 299 seconds into a drive of 100 pages.
    let expected = 86_400.0 / 299.0;
    let found = json(&run(&[&caches[..], &["--drive-writes-per-day", "300", "--json"]].concat()));
    let writes = found["results"][0]["drive_writes_per_day"].as_f64().unwrap();
    assert!((writes / expected - 1.0).abs() < 1e-6, "{writes} instead of {expected}");
    assert_eq!(found["rated_drive_writes_per_day"], 300.0);
    for (rating, beyond) in [("300", "rated for 300: 0 of 1 are beyond"), ("280", "rated for 280: 1 of 1 are beyond")] {
        let table = run(&[&caches[..], &["--drive-writes-per-day", rating]].concat());
        assert!(table.stdout.contains(beyond), "{}", table.stdout);
    }
    // A third warms the cache: nothing is written any more.
    let warm = json(&run(&[&caches[..], &["--drive-writes-per-day", "300", "--warm-up", "33.4%", "--json"]].concat()));
    assert_eq!(warm["results"][0]["drive_writes_per_day"], 0.0);
    assert_eq!(warm["results"][0]["misses"], 0);
}

/// What refuses objects may miss less than what takes in every miss, even with the future in mind.
#[test]
fn a_bound_does_not_claim_what_admission_can_beat() {
    let folder = tempfile::tempdir().unwrap();
    let pages: Vec<u32> = (1..500).flat_map(|once| [0, once]).collect();
    let admissions = ["--policy", "lru,belady", "--admission", "none,second-hit(window=1000%)", "--size", "1"];
    let table = on_pages(folder.path(), &pages, &admissions).stdout;
    assert!(table.contains("0.5020") && table.contains("1.0000"), "{table}");
    assert!(table.contains("belady: ") && table.contains("that takes in every miss misses less"), "{table}");
}

/// 0 to 99, round and round.
fn rounds(count: u32) -> Vec<u32> {
    (0..count * 100).map(|number| number % 100).collect()
}

/// What libCacheSim counts; an object is a start block, whatever the lengths.
#[test]
fn misses_are_those_of_the_reference() {
    let Some(path) = reference_data("traces/cloudphysics-2h.vscsi.zst") else { return };
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["cache", "-q", "--json", path.to_str().unwrap(), "--object", "start-block"];
    let sizes = ["--policy", "lru,fifo,clock", "--size", "490,4_897"];
    let found = json(&esker_in(folder.path(), &[&arguments[..], &sizes].concat()));
    assert_eq!((found["accesses"].as_u64(), found["distinct_objects"].as_u64()), (Some(113_872), Some(48_974)));
    let expected = [
        ("lru", 490, 95_415),
        ("fifo", 490, 96_515),
        ("clock", 490, 95_329),
        ("lru", 4_897, 91_657),
        ("fifo", 4_897, 91_716),
        ("clock", 4_897, 91_599),
    ];
    let results = found["results"].as_array().unwrap();
    assert_eq!(results.len(), expected.len());
    for (result, (policy, size, misses)) in results.iter().zip(expected) {
        assert_eq!((result["policy"].as_str(), result["size"].as_u64()), (Some(policy), Some(size)));
        assert_eq!(result["misses"].as_u64(), Some(misses), "{policy} at {size}");
        assert_eq!(result["requests"].as_u64(), Some(113_872));
        assert_eq!(result["miss_ratio"].as_f64(), Some(misses as f64 / 113_872.0));
    }
    // One and ten per cent are the same sizes.
    let shares = ["--policy", "lru,fifo,clock", "--size", "10%,1%"];
    assert_eq!(json(&esker_in(folder.path(), &[&arguments[..], &shares].concat()))["results"], found["results"]);
    // Pages of the exact curve of `esker mrc`: 2,692 of 269,210.
    let pages = ["cache", "-q", "--json", path.to_str().unwrap(), "--policy", "lru", "--size", "2692"];
    let found = json(&esker_in(folder.path(), &pages));
    assert_eq!(found["accesses"].as_u64(), Some(1_141_869));
    assert!((found["results"][0]["miss_ratio"].as_f64().unwrap() - 0.896869).abs() < 6e-7);
}

#[test]
fn the_json_has_what_others_read() {
    let folder = tempfile::tempdir().unwrap();
    let found = json(&on_pages(folder.path(), &rounds(2), &["--policy", "lru", "--size", "400KiB", "--json"]));
    assert_eq!(found["objects_are"], "4 KiB pages");
    let expected = serde_json::json!([{
        "policy": "lru", "admission": "none", "size": 100, "size_bytes": 409_600, "requests": 200, "misses": 100,
        "refused": 0, "miss_ratio": 0.5, "byte_miss_ratio": 0.5, "write_bytes": 409_600,
    }]);
    assert_eq!(found["results"], expected);
    // Start blocks have no size of their own. A cache that is larger than all objects is no mistake.
    let large = ["--object", "start-block", "--policy", "lru,fifo", "--size", "5000000000", "--json"];
    let found = json(&on_pages(folder.path(), &rounds(2), &large));
    for result in found["results"].as_array().unwrap() {
        assert_eq!((result["size"].as_u64(), result["misses"].as_u64()), (Some(5_000_000_000), Some(100)));
        assert_eq!(result.get("size_bytes"), None);
    }
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "cache"]).stdout).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&found));
}

#[test]
fn people_get_a_row_for_each_size() {
    let folder = tempfile::tempdir().unwrap();
    let run = on_pages(folder.path(), &rounds(2), &["--policy", "fifo,lru", "--size", "99,100%"]);
    let expected = "200 accesses to 100 4 KiB pages; share of the accesses that miss\n\n\
                    4 KiB pages  cache size   of all    fifo     lru  best\n\
                    -----------  ----------  -------  ------  ------  ---------\n\
                    99              396 KiB   99.0 %  1.0000  1.0000  fifo, lru\n\
                    100             400 KiB  100.0 %  0.5000  0.5000  fifo, lru\n\n\
                    Smallest size here with 90 % of the hits that are possible: fifo 100, lru 100\n";
    assert_eq!(run.stdout, expected);
    let all = on_pages(folder.path(), &rounds(2), &[]).stdout;
    assert!(all.lines().filter(|line| line.contains(" KiB")).count() >= 6, "six sizes by default:\n{all}");
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let skewed: Vec<u32> = (0..40_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 20) % 3_000).collect();
    for extra in [&[][..], &["--sample", "20%", "--seeds", "3"]] {
        let on = |threads: &str| {
            on_pages(folder.path(), &skewed, &[&["--json", "--threads", threads], extra].concat()).stdout
        };
        assert!(on("1").len() > 500 && on("1") == on("2"), "{extra:?}");
    }
}

#[test]
fn a_sample_shows_its_spread_and_comes_near() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(7);
    let skewed: Vec<u32> = (0..60_000).map(|_| (rng.unit().powi(3) * 20_000.0) as u32).collect();
    let arguments = ["--policy", "lru,clock", "--size", "10%", "--json"];
    let exact = json(&on_pages(folder.path(), &skewed, &arguments));
    let sampled = ["--sample", "10%", "--seeds", "10"];
    let sampled = json(&on_pages(folder.path(), &skewed, &[&arguments[..], &sampled].concat()));
    assert_eq!((sampled["sample"]["rate"].as_f64(), sampled["sample"]["seeds"].as_u64()), (Some(0.1), Some(10)));
    let distinct = sampled["distinct_objects"].as_f64().unwrap() / exact["distinct_objects"].as_f64().unwrap();
    assert!((distinct - 1.0).abs() < 0.05, "{distinct}");
    for (exact, sampled) in exact["results"].as_array().unwrap().iter().zip(sampled["results"].as_array().unwrap()) {
        assert_eq!(sampled["requests"], exact["requests"]);
        let number = |value: &Value| value.as_f64().unwrap();
        let (mean, spread) = (number(&sampled["miss_ratio"]), &sampled["spread"]);
        assert!((mean - number(&exact["miss_ratio"])).abs() < 0.02, "{exact} {sampled}");
        let (low, high) = (number(&spread["miss_ratio_lowest"]), number(&spread["miss_ratio_highest"]));
        assert!(low < mean && mean < high && number(&spread["miss_ratio_standard_error"]) < high - low);
    }
}

/// A sample of everything lays touched areas side by side, where the whole trace keeps its addresses: both have the
/// same objects, and cut requests into them at the same places.
#[test]
fn a_sample_of_everything_is_the_whole_however_far_apart_its_objects_lie() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(3);
    let block = |rng: &mut Rng| match rng.below(3) {
        0 => rng.below(5_000),
        1 => (rng.below(40) << 42) + rng.below(4_096),
        _ => 2_048 * rng.below(20) + 2_040,
    };
    let requests: Vec<_> = (0..500).map(|_| (block(&mut rng), 512 * (1 + rng.below(5_000)))).collect();
    sized_requests(folder.path(), &requests);
    for object in ["512B", "4KiB", "start-block"] {
        for extra in [&[][..], &["--warm-up", "30%"], &["--by", "volume"]] {
            let arguments = ["cache", "sized.spc", "-q", "--json", "--size", "10%,3000", "--object", object];
            let on = |sample: &[&str]| json(&esker_in(folder.path(), &[&arguments[..], extra, sample].concat()));
            let (whole, sample) = (on(&[]), on(&["--sample", "100%"]));
            for key in ["accesses", "accessed_bytes", "distinct_objects", "policies", "results"] {
                assert!(whole[key] == sample[key] && !whole[key].is_null(), "{object} {extra:?} {key}");
            }
        }
    }
}

/// 0 to 9 are read again and again, all others once: second-hit writes the ten alone, and misses each once more.
#[test]
fn admission_policies_refuse_what_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let pages: Vec<u32> =
        (0..1_000).map(|number| if number % 2 == 0 { number / 2 % 10 } else { 10 + number }).collect();
    let arguments = ["--policy", "lru,belady", "--admission", "none,second-hit,second-hit(window=1%)", "--size", "50"];
    let found = json(&on_pages(folder.path(), &pages, &[&arguments[..], &["--json"]].concat()));
    let counts = |result: &Value| {
        let words = |key: &str| result[key].as_str().unwrap().to_string();
        let number = |key: &str| result[key].as_u64().unwrap();
        (words("policy"), words("admission"), number("misses"), number("refused"), number("write_bytes") / 4096)
    };
    let of = |policy: &str, admission: &str, misses, refused, written| {
        (policy.to_string(), admission.to_string(), misses, refused, written)
    };
    let expected = [
        of("lru", "none", 510, 0, 510),
        of("belady", "none", 510, 0, 510),
        of("lru", "second-hit", 520, 510, 10),
        of("lru", "second-hit(window=1%)", 1_000, 1_000, 0),
    ];
    assert_eq!(found["results"].as_array().unwrap().iter().map(counts).collect::<Vec<_>>(), expected);
    assert_eq!(found["admissions"][1]["admission"], "second-hit");
    // These pages have no times.
    assert_eq!((found.get("duration_s"), found["results"][0].get("write_bytes_per_day")), (None, None));
    let text = on_pages(folder.path(), &pages, &arguments).stdout;
    assert!(text.contains("second-hit(window=1%)  1.0000\n"), "{text}");
    assert!(text.contains("\nWritten to the cache\n") && text.contains("  40 KiB\n"), "{text}");
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "cache"]).stdout).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&found));
}

/// A trace of two days: what is written is halved for one. A budget of a megabyte a day holds, in a sample, too.
#[test]
fn what_is_written_is_bytes_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(3);
    // Columns of an SPC trace: volume, block of 512 B, bytes, operation, seconds.
    let line = |number: u64| format!("0,{},4096,R,{}.000000\n", rng.below(4_000) * 8, number * 8);
    let trace: String = (0..=21_600).map(line).collect();
    std::fs::write(folder.path().join("days.spc"), trace).unwrap();
    let budget = "reject-first(bytes_per_day=1MB,window=1000%)";
    let arguments = ["cache", "days.spc", "-q", "--json", "--policy", "lru", "--size", "1000"];
    let found = |more: &[&str]| json(&esker_in(folder.path(), &[&arguments[..], more].concat()));
    let all = found(&["--admission", &format!("none,{budget}")]);
    let result = &all["results"][0];
    assert_eq!(all["duration_s"].as_f64(), Some(172_800.0));
    assert_eq!(result["write_bytes_per_day"].as_u64().unwrap(), result["write_bytes"].as_u64().unwrap() / 2);
    let per_day = |results: &Value| results["write_bytes_per_day"].as_f64().unwrap() / 1e6;
    let sampled = found(&["--admission", budget, "--sample", "10%"]);
    assert!(per_day(result) > 20.0, "{result}");
    for budgeted in [&all["results"][1], &sampled["results"][0]] {
        // Half of the budget that may be saved up comes on top.
        assert!((0.95..1.06).contains(&per_day(budgeted)), "{budgeted}");
    }
}

#[test]
fn costs_add_times_and_prices() {
    let folder = tempfile::tempdir().unwrap();
    let costs = ["--hit-cost", "100us", "--miss-cost", "5100us", "--price-per-gib", "0.5"];
    let arguments = [&["--policy", "lru", "--size", "50,100"][..], &costs].concat();
    let found = json(&on_pages(folder.path(), &rounds(2), &[&arguments[..], &["--json"]].concat()));
    let result = |index: usize| &found["results"][index];
    assert_eq!((result(0)["mean_access_us"].as_f64(), result(0).get("price_per_saved_ms")), (Some(5_100.0), None));
    assert_eq!(result(1)["mean_access_us"].as_f64(), Some(2_600.0));
    let price = 409_600.0 / f64::from(1 << 30) * 0.5 / 2.5;
    assert!((result(1)["price_per_saved_ms"].as_f64().unwrap() - price).abs() < 1e-12);
    assert_eq!(found["policies"][0]["knee"].as_u64(), Some(100));
    let text = on_pages(folder.path(), &rounds(2), &arguments).stdout;
    assert!(text.contains("Mean time of an access\n") && text.contains("2.6 ms"), "{text}");
    assert!(text.contains("Price of each millisecond"), "{text}");
}

#[test]
fn mistakes_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, message, hint) in [
        (&["--policy", "lur"][..], "`lur` is no cache policy; did you mean `lru`?", "there is: lru, "),
        (&["--policy", "lru,fifo,lru"], "--policy has `lru` twice", "give each policy once"),
        (&["--policy", "lru(k=2)"], "`lru` has no parameter `k`", ""),
        (&["--policy", "lru(k=2"], "the brackets of `lru(k=2` do not fit together", "write NAME, or NAME(KEY=VALUE"),
        (&["--policy", "lru,,fifo"], "lacks a name", "write NAME"),
        (
            &["--admission", "second-hat"],
            "`second-hat` is no admission policy; did you mean `second-hit`?",
            "there is: none, second-hit, ",
        ),
        (&["--admission", "larc(k=2)"], "`larc` has no parameter `k`", ""),
        (
            &["--admission", "larc", "--policy", "belady"],
            "`belady` knows which accesses follow",
            "add `none` to --admission",
        ),
        (&["--admission", "reject-first"], "`reject-first` looks at the times of accesses", "a trace with times"),
        (&["--size", "0"], "--size 0: a cache of no objects holds nothing", "at least one object"),
        (&["--size", "0%"], "holds nothing", ""),
        (&["--size", "101%"], "--size 101% is more than all objects", "at most 100%"),
        (&["--size", "1KiB"], "no room for one object of 4KiB", ""),
        (&["--size", "much"], "--size much", "number of objects"),
        (&["--size", "1GiB", "--object", "start-block"], "start blocks have no size of their own", "--object 4KiB"),
        (&["--seeds", "3"], "--seeds goes with --sample", ""),
        (&["--sample", "0%"], "--sample 0% makes no sense", ""),
        (&["--sample", "10%", "--size", "50"], "has room for 5 of 50 objects: too few", "100 objects or more"),
        (&["--miss-cost", "5ms"], "--hit-cost <TIME>", ""),
        (&["--miss-cost", "5ms", "--hit-cost", "5ms"], "--hit-cost 5ms is not less than --miss-cost 5ms", ""),
        (&["--price-per-gib", "1"], "--miss-cost <TIME>", ""),
        (
            &["--miss-cost", "5ms", "--hit-cost", "1ms", "--price-per-gib", "1", "--object", "start-block"],
            "--price-per-gib: start blocks have no size",
            "--object 4KiB",
        ),
        (&["--json=pages.u32"], "would replace the input", ""),
        (&["-o", "pages.u32", "--force"], "would replace the input", ""),
    ] {
        let run = on_pages(folder.path(), &rounds(3), arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(hint), "{arguments:?}: {}", run.stderr);
    }
    std::fs::write(folder.path().join("notes.html"), "my notes").unwrap();
    let run = on_pages(folder.path(), &rounds(3), &["-o", "notes.html"]);
    assert!(run.code == 2 && run.stderr.contains("is there already"), "{}", run.stderr);
    let empty = on_pages(folder.path(), &[], &[]);
    assert_eq!(empty.code, 2, "{}", empty.stderr);
    let twice = esker_in(folder.path(), &["cache", "pages.u32", "./pages.u32"]);
    assert!(twice.code == 2 && twice.stderr.contains("is given twice"), "{}", twice.stderr);
}

#[test]
fn the_page_has_every_policy_and_goes_to_standard_output_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    on_pages(folder.path(), &rounds(3), &["-o", "cache.html"]);
    let page = std::fs::read_to_string(folder.path().join("cache.html")).unwrap();
    assert!(page.contains("Which policy misses least?") && page.contains("clock"));
    let run = on_pages(folder.path(), &rounds(3), &["-o", "-"]);
    assert!(run.stdout.starts_with("<!DOCTYPE html>") && !run.stdout.contains("best\n---"), "{}", &run.stdout[..200]);
}
