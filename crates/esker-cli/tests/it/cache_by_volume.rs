//! `esker cache --by volume`: what each volume gets out of the cache that all of them share.

use std::collections::BTreeMap;
use std::path::Path;

use esker_core::Rng;
use serde_json::{Value, json};

use crate::support::{Run, esker_in, esker_ok};

/// A request of an SPC trace: volume, page, and whether it writes.
type Request = (u32, u64, bool);

/// Volumes 4, 0 and 7, which appear in this order and have the same addresses.
fn requests() -> Vec<Request> {
    let mut rng = Rng::new(9);
    let one = |number: usize| {
        let volume = if number < 3 { [4, 0, 7][number] } else { [4, 0, 0, 7][rng.below(4) as usize] };
        (volume, (rng.unit().powi(2) * 200.0) as u64, rng.chance(1, 3))
    };
    (0..5_000).map(one).collect()
}

fn on(folder: &Path, requests: &[Request], arguments: &[&str]) -> Run {
    let line = |(number, (volume, page, writes)): (usize, &Request)| {
        format!("{volume},{},4096,{},{number}.000000\n", page * 8, if *writes { "W" } else { "R" })
    };
    std::fs::write(folder.join("some.spc"), requests.iter().enumerate().map(line).collect::<String>()).unwrap();
    esker_in(folder, &[&["cache", "some.spc", "-q"], arguments].concat())
}

fn parsed(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Requests, misses and pages written of each volume: a list of pages, the one used last at its end.
fn naive_lru(requests: &[Request], size: usize) -> BTreeMap<u32, (u64, u64, u64)> {
    let mut held: Vec<(u32, u64)> = Vec::new();
    let mut counts: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
    for &(volume, page, writes) in requests {
        let count = counts.entry(volume).or_default();
        count.0 += 1;
        match held.iter().position(|one| *one == (volume, page)) {
            Some(at) => {
                held.remove(at);
                count.2 += u64::from(writes);
            }
            None => {
                count.1 += 1;
                count.2 += 1;
            }
        }
        held.push((volume, page));
        if held.len() > size {
            held.remove(0);
        }
    }
    counts
}

#[test]
fn volumes_add_up_to_the_result_and_are_those_of_a_naive_cache() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--policy", "lru,arc,belady", "--admission", "none,larc", "--size", "50,200", "--json"];
    let plain = parsed(&on(folder.path(), &requests(), &arguments));
    let mut found = parsed(&on(folder.path(), &requests(), &[&arguments[..], &["--by", "volume"]].concat()));
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "cache"]).stdout).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&found));
    for result in found["results"].as_array_mut().unwrap() {
        let volumes = result.as_object_mut().unwrap().remove("volumes").unwrap();
        let volumes = volumes.as_array().unwrap();
        assert_eq!(volumes.iter().map(|volume| &volume["volume"]).collect::<Vec<_>>(), ["4", "0", "7"]);
        for key in ["requests", "misses", "refused", "write_bytes"] {
            let sum: u64 = volumes.iter().map(|volume| volume[key].as_u64().unwrap()).sum();
            assert_eq!(Some(sum), result[key].as_u64(), "{key} of {result}");
        }
        for volume in volumes {
            let number = |key: &str| volume[key].as_f64().unwrap();
            assert!((number("miss_ratio") - number("misses") / number("requests")).abs() < 1e-12);
            // All accesses are whole pages.
            assert_eq!(volume["byte_miss_ratio"], volume["miss_ratio"]);
            let a_day = number("write_bytes") * 86_400.0 / 4_999.0;
            assert!((number("write_bytes_per_day") - a_day).abs() <= 1.0, "{volume}");
        }
        if result["policy"] == "lru" && result["admission"] == "none" {
            let expected = naive_lru(&requests(), result["size"].as_u64().unwrap() as usize);
            for volume in volumes {
                let name: u32 = volume["volume"].as_str().unwrap().parse().unwrap();
                let count = |key: &str| volume[key].as_u64().unwrap();
                let counts = (count("requests"), count("misses"), count("write_bytes") / 4096);
                assert_eq!(counts, expected[&name], "{volume}");
            }
        }
        assert!(result["admission"] == "none" || volumes.iter().all(|volume| volume["refused"].as_u64() > Some(0)));
    }
    // Nothing else changes, but for the command that repeats it.
    assert_eq!(found["command"].as_str().unwrap().replace(" --by volume", ""), plain["command"].as_str().unwrap());
    found["command"] = plain["command"].clone();
    assert_eq!(found, plain);
}

#[test]
fn people_get_a_row_for_each_volume_below_that_of_all() {
    let folder = tempfile::tempdir().unwrap();
    // Volume 1 reads a page again and again, volume 0 many pages once.
    let one = |number| if number % 2 == 0 { (1, 0, false) } else { (0, number, true) };
    let requests: Vec<Request> = (0..40).map(one).collect();
    let run = on(folder.path(), &requests, &["--policy", "fifo,lru", "--size", "5", "--by", "volume"]);
    let expected = [
        "40 accesses to 21 4 KiB pages; share of the accesses that miss",
        "",
        "4 KiB pages  cache size  of all  volume  accesses    fifo     lru  best",
        "-----------  ----------  ------  ------  --------  ------  ------  ---------",
        "5                20 KiB  23.8 %  all           40  0.6000  0.5250  lru",
        "                                 1             20  0.2000  0.0500  lru",
        "                                 0             20  1.0000  1.0000  fifo, lru",
        "",
    ];
    assert_eq!(run.stdout.lines().take(expected.len()).collect::<Vec<_>>(), expected, "{}", run.stderr);
    assert!(run.stdout.contains("\nShare of the accessed bytes that miss\n"), "{}", run.stdout);
    assert!(run.stdout.contains("\nWritten to the cache a day\n"), "{}", run.stdout);
    assert!(!run.stdout.contains("refused") && !run.stdout.contains("one volume"), "{}", run.stdout);
    on(folder.path(), &requests, &["--by", "volume", "-o", "cache.html"]);
    let page = std::fs::read_to_string(folder.path().join("cache.html")).unwrap();
    assert!(page.contains("What does each volume get out of the cache?"));
}

#[test]
fn one_volume_has_all() {
    let folder = tempfile::tempdir().unwrap();
    let requests: Vec<Request> = (0..100).map(|number| (3, number % 30, false)).collect();
    let arguments = ["--policy", "lru", "--size", "30", "--by", "volume"];
    let found = parsed(&on(folder.path(), &requests, &[&arguments[..], &["--json"]].concat()));
    let expected = json!([{
        "volume": "3", "requests": 100, "misses": 30, "refused": 0, "miss_ratio": 0.3, "byte_miss_ratio": 0.3,
        "write_bytes": 122_880, "write_bytes_per_day": (122_880.0 * 86_400.0 / 99.0_f64).round() as u64,
    }]);
    assert_eq!(found["results"][0]["volumes"], expected);
    let text = on(folder.path(), &requests, &arguments).stdout;
    assert!(text.contains("The trace has one volume, `3`: all is its own.\n"), "{text}");
}

/// Requests of a sample stand for others, so volumes add up but for rounding.
#[test]
fn samples_know_each_volume_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--policy", "lru", "--size", "40%", "--by", "volume", "--sample", "50%", "--json", "--seeds"];
    let found = parsed(&on(folder.path(), &requests(), &[&arguments[..], &["3"]].concat()));
    let result = &found["results"][0];
    let volumes = result["volumes"].as_array().unwrap();
    let sum = |key: &str| volumes.iter().map(|volume| volume[key].as_f64().unwrap()).sum::<f64>();
    let all = |key: &str| result[key].as_f64().unwrap();
    assert_eq!((volumes.len(), sum("requests")), (3, 5_000.0));
    assert!((sum("misses") - all("misses")).abs() <= 5.0, "{result}");
    assert!((sum("write_bytes") - all("write_bytes")).abs() <= 5.0 && all("misses") > 500.0, "{result}");
    // Some of twenty samples lack the only page of another volume.
    let mut requests = requests();
    requests.push((9, 1, false));
    let run = on(folder.path(), &requests, &[&arguments[..], &["20"]].concat());
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert!(run.stderr.contains("a sample of 50% has no objects of volume 9"), "{}", run.stderr);
    assert!(run.stderr.contains("sample more, or leave --by out"), "{}", run.stderr);
}

#[test]
fn what_is_no_volume_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let run = on(folder.path(), &[(0, 1, false)], &["--by", "disk"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("'disk'") && run.stderr.contains("volume"), "{}", run.stderr);
}
