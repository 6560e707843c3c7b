//! How far is the model from real drives? The measure is the demerit figure of Ruemmler and Wilkes
//! (IEEE Computer, March 1994): the root mean square of the horizontal distance between the two
//! distribution functions of service times. Parameters are imported and used as they are.

use std::io::Read;
use std::path::Path;

use esker_core::{Bytes, Device, Lba, Nanos, Request, TagSlab};
use esker_disk::import::import;
use esker_disk::{Disk, DiskSettings};
use esker_testkit::reference_data;

/// One request of a validation run: what was asked, how long the real drive took, and the pause of the host after it.
#[derive(Clone, Copy, Debug)]
struct Measured {
    request: Request,
    service: Nanos,
    pause: Nanos,
}

/// Lines of `R|W word block sectors service_us pause_us`.
fn measured(path: &Path) -> Vec<Measured> {
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("readable");
    zstd::Decoder::new(file).and_then(|mut decoder| decoder.read_to_string(&mut text)).expect("zstd");
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [kind, _, block, sectors, service, pause] = words[..] else { panic!("`{line}` has not six columns") };
        let number = |word: &str| word.parse::<f64>().expect("a number");
        let (start, length) = (Lba(number(block) as u64), Bytes(number(sectors) as u64 * 512));
        Measured {
            request: if kind == "R" { Request::read(start, length) } else { Request::write(start, length) },
            service: Nanos::from_secs_f64(number(service) / 1e6),
            pause: Nanos::from_secs_f64(number(pause) / 1e6),
        }
    };
    text.lines().map(line).collect()
}

/// Serves the requests one after another with the host's pauses in between, as they were measured.
fn service_times(settings: &DiskSettings, requests: &[Measured]) -> Vec<Nanos> {
    let mut disk = Disk::new("disk", settings).unwrap();
    let mut tags = TagSlab::default();
    let (mut now, mut done) = (Nanos::ZERO, Vec::new());
    let mut times = Vec::new();
    for measured in requests {
        while disk.next_event() <= now {
            disk.advance(disk.next_event(), &mut done);
        }
        disk.submit(now, tags.insert(()), measured.request);
        while done.is_empty() {
            disk.advance(disk.next_event(), &mut done);
        }
        let completion = done.pop().unwrap();
        assert_eq!(completion.result, Ok(()));
        tags.remove(completion.tag);
        times.push(completion.at - now);
        now = completion.at + measured.pause;
    }
    times
}

/// The demerit figure in milliseconds: the sorted lists are compared item by item.
fn demerit(model: &[Nanos], real: &[Nanos]) -> f64 {
    let sorted = |times: &[Nanos]| {
        let mut times = times.to_vec();
        times.sort();
        times
    };
    let squares: f64 = sorted(model)
        .iter()
        .zip(&sorted(real))
        .map(|(model, real)| ((model.0 as f64 - real.0 as f64) / 1e6).powi(2))
        .sum();
    (squares / model.len() as f64).sqrt()
}

fn mean_ms(times: &[Nanos]) -> f64 {
    times.iter().map(|time| time.0 as f64 / 1e6).sum::<f64>() / times.len() as f64
}

/// Demerit and means over the requests that `which` chooses by index.
#[expect(clippy::print_stdout, reason = "`cargo test -p esker-disk met -- --nocapture` shows the figures")]
fn compare(name: &str, part: &str, model: &[Nanos], requests: &[Measured], which: impl Fn(usize) -> bool) -> f64 {
    let chosen: Vec<usize> = (0..requests.len()).filter(|&index| which(index)).collect();
    if chosen.is_empty() {
        return 0.0;
    }
    let model: Vec<Nanos> = chosen.iter().map(|&index| model[index]).collect();
    let real: Vec<Nanos> = chosen.iter().map(|&index| requests[index].service).collect();
    let (demerit, mean) = (demerit(&model, &real), mean_ms(&real));
    println!(
        "{name:<12} {part:<24} {:>6} requests  measured {mean:>7.3} ms  model {:>7.3} ms  demerit {demerit:.3} ms \
        ({:.1} %)",
        chosen.len(),
        mean_ms(&model),
        100.0 * demerit / mean
    );
    demerit
}

/// How a request lies to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lies {
    Sequential,
    Near,
    Far,
}

fn lies(requests: &[Measured], index: usize) -> Lies {
    let Some(before) = index.checked_sub(1) else { return Lies::Far };
    let (start, end) = (requests[index].request.start.0, requests[before].request.end_byte() / 512);
    match start.abs_diff(end) {
        0 => Lies::Sequential,
        1..=2_000 => Lies::Near,
        _ => Lies::Far,
    }
}

/// How far the sorted response times of a class may be from the measured ones: their root mean square difference, ms,
/// or as a share of the class's mean, whichever is more. Errors of classes may cancel over all requests, so each class
/// has this limit, too.
const CLASS_LIMIT_MS: f64 = 0.3;
const CLASS_LIMIT_SHARE: f64 = 0.03;

/// Classes that are further off, ms, with the cause as far as it is known. None may get worse.
const OUT: [(&str, &str, f64); 1] = [
    // 52 of 1,458 writes that go on where the last one ended miss a turn in the drive alone. DiskSim 4.0, with the same
    // files, has 0.419 ms here. No parameter tells why.
    ("hp_c2247a", "writes Sequential", 0.4),
];

fn class_limit(drive: &str, part: &str, mean_ms: f64) -> f64 {
    let out = OUT.iter().find(|(name, class, _)| *name == drive && *class == part);
    out.map_or(CLASS_LIMIT_MS.max(CLASS_LIMIT_SHARE * mean_ms), |(_, _, limit)| *limit)
}

/// Measured drives, buffer as their parameter files set it. DiskSim, with the same parameters, is said to come within
/// 0.268 ms (Atlas 10K), 0.107 ms (Cheetah 9LP) and 0.090 ms (C2247A) over all requests; of classes it has no figures.
#[test]
fn measured_drives_are_met_with_imported_parameters() {
    for (name, limit) in [("atlas10k", 0.268), ("cheetah9LP", 0.15), ("hp_c2247a", 0.15)] {
        let Some(folder) = reference_data("disks") else { return };
        let Some(trace) = reference_data(&format!("traces/hdd-measured-{name}.disksim-validate.zst")) else { return };
        let drive = import(&folder.join(format!("{name}.parv")), None, &|path| std::fs::read(path)).unwrap();
        let requests = measured(&trace);
        let times = service_times(&drive.settings, &requests);
        let held = |part: &str, which: &dyn Fn(usize) -> bool| {
            let demerit = compare(name, part, &times, &requests, which);
            let chosen = (0..requests.len()).filter(|&index| which(index)).map(|index| requests[index].service);
            let limit = class_limit(name, part, mean_ms(&chosen.collect::<Vec<_>>()));
            assert!(demerit <= limit, "{name}, {part}: {demerit} ms, expected at most {limit}");
        };
        for write in [false, true] {
            held(if write { "writes" } else { "reads" }, &|index| requests[index].request.kind.is_write() == write);
            for how in [Lies::Sequential, Lies::Near, Lies::Far] {
                let part = format!("{} {how:?}", if write { "writes" } else { "reads" });
                held(&part, &|index| requests[index].request.kind.is_write() == write && lies(&requests, index) == how);
            }
        }
        let all = compare(name, "all", &times, &requests, |_| true);
        assert!(all <= limit, "{name}: {all} ms, expected at most {limit}");
    }
}
