//! Small files with the names that documents print, and stand-ins for programs in pipelines with `esker`.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use esker_core::{Nanos, Rng};
use esker_testkit::Authority;
use esker_trace::{Operation, Record, TraceWriter, VolumeIndex};

use crate::support::{RECORDED_STUDY, esker_ok};

/// Traces: name, format, duration in hours. The ending selects the compression.
const TRACES: &[(&str, &str, u64)] = &[
    ("db.blkparse.zst", "blkparse", 1),
    ("day.csv.zst", "msr", 24),
    ("day1.csv.gz", "msr", 24),
    ("day2.csv.gz", "msr", 24),
    ("t.csv.gz", "msr", 1),
    ("huge.csv.zst", "alibaba", 1),
    ("web.spc.zst", "spc", 1),
    ("oltp.spc.zst", "spc", 1),
    ("oltp.lis", "arc", 1),
    ("p3.lis", "arc", 1),
    ("vm.vscsi", "vscsi", 1),
    // The output of `blktrace`.
    ("recorded.blktrace.0", "blktrace", 1),
];

const EXPERIMENT: &str = r#"
[workload]
synthetic = { requests = 500, arrivals = { kind = "poisson", rate = "100/s" } }

[device.station]
kind = "constant"
service_time = "1ms"
capacity = "1GiB"

[run]
target = "station"
"#;

const DEVICE: &str = "kind = \"constant\"\nservice_time = \"1ms\"\ncapacity = \"16MiB\"\n";
const PAIR: &str = include_str!("../../../../../examples/wu-pair.toml");

const CATALOGUE: &str = include_str!("../../../../esker-catalogue/catalogues/kim-2009.toml");

const RUNS: &str = include_str!("../../../../esker-model/models/kim-slc-unseen.csv");
const MODEL: &str = include_str!("../../../../esker-model/models/kim-slc.json");

/// A small drive in DiskSim's format: its file, and those that it names.
const DRIVE: &[(&str, &str)] = &[
    ("atlas10k.parv", include_str!("../../../../esker-disk/tests/disk/drive/small.parv")),
    ("small.diskspecs", include_str!("../../../../esker-disk/tests/disk/drive/small.diskspecs")),
    ("small.model", include_str!("../../../../esker-disk/tests/disk/drive/small.model")),
    ("small.seek", include_str!("../../../../esker-disk/tests/disk/drive/small.seek")),
    ("atlas10k.trace", "R Hit 100 8 5000.0 1000.0\nW Hit 108 8 700.5 30000.0\nR Miss 4000 2 9000.0 0.0\n"),
];

/// Two samples of the drives of a host.
const SAMPLES: [&str; 2] = [
    include_str!("../../../../esker-fleet/tests/host/july.json"),
    include_str!("../../../../esker-fleet/tests/host/september.json"),
];

const GRID: &str = "\n[sweep]\n\"device.station.service_time\" = [\"1ms\", \"2ms\", \"3ms\"]\n";

/// Programs before or after `esker` in pipelines.
const PROGRAMS: &[(&str, &str)] = &[
    ("blktrace", "#!/bin/sh\nexec cat recorded.blktrace.0\n"),
    // The test checks what it prints.
    ("jq", "#!/bin/sh\nexec cat\n"),
    // Real clients are tested elsewhere, where they are installed.
    ("nbdinfo", "#!/bin/sh\ntest -n \"$1\"\n"),
    ("nbdcopy", "#!/bin/sh\ntest -n \"$2\"\n"),
];

/// Writes all files into `folder`, and the programs into its folder `bin`.
pub(super) fn write(folder: &Path) {
    for (name, format, hours) in TRACES {
        let bytes = packed(name, trace(format, *hours));
        std::fs::write(folder.join(name), bytes).expect("the folder can be written");
    }
    let name = "cdn.oracleGeneral.zst";
    std::fs::write(folder.join(name), packed(name, accesses())).expect("the folder can be written");
    std::fs::write(folder.join("experiment.toml"), EXPERIMENT).expect("the folder can be written");
    std::fs::write(folder.join("light.csv"), esker_fleet::calibration::TABLE).unwrap();
    for (name, text) in [("fast.toml", DEVICE), ("slow.toml", DEVICE), ("wu-pair.toml", PAIR)] {
        std::fs::write(folder.join(name), text).expect("the folder can be written");
    }
    std::fs::write(folder.join("shop.toml"), CATALOGUE).expect("the folder can be written");
    std::fs::write(folder.join("grid.toml"), format!("{EXPERIMENT}{GRID}")).expect("the folder can be written");
    std::fs::write(folder.join("runs.csv"), RUNS).expect("the folder can be written");
    std::fs::write(folder.join("model.json"), MODEL).expect("the folder can be written");
    std::fs::copy(RECORDED_STUDY, folder.join("study.json")).expect("the folder can be written");
    std::fs::create_dir(folder.join("traces")).expect("the folder can be written");
    for (name, text) in DRIVE {
        std::fs::write(folder.join(name), text).expect("the folder can be written");
    }
    let several = ["QUANTUM_TORNADO_validate", "OTHER"].map(|name| DRIVE[1].1.replace("SMALL", name)).concat();
    std::fs::write(folder.join("3disks.parv"), several).expect("the folder can be written");
    esker_ok(folder, &["devices", "import", "atlas10k.parv", "-o", "atlas10k.toml"]);
    // There is room to grow, and to drain one device into the other.
    let settings = ["--set", "extent=64KiB", "--set", "capacity=4MiB"];
    let devices = ["--device", "flash=flash.img,8MiB", "--device", "disk=disk.img,32MiB"];
    esker_ok(folder, &[&["volume", "create", "home.volume"], &settings[..], &devices[..]].concat());
    esker_ok(folder, &["volume", "create", "db.volume", "--device", "db=db.img,16MiB"]);
    esker_ok(folder, &["fs", "mkfs", "home.pool", "--size", "8MiB"]);
    for name in ["old-disk.img", "old-disk.img.gz"] {
        std::fs::write(folder.join(name), packed(name, vec![7; 1 << 20])).expect("the folder can be written");
    }
    write_samples(folder);
    let bin = folder.join("bin");
    std::fs::create_dir(&bin).expect("the folder can be written");
    let authority = Authority::new("home");
    authority.write(&folder.join("pki"));
    authority.issue(&folder.join("pki"), "server", 1);
    for (name, script) in PROGRAMS {
        std::fs::write(bin.join(name), script).expect("the folder can be written");
        make_executable(&bin.join(name));
    }
    esker_ok(folder, &["sim", "experiment.toml", "--json=run.json"]);
    let only = ["--only", "samsung-983-zet,toshiba-mg10"];
    esker_ok(folder, &[&["plan", "db.blkparse.zst", "-q", "-o", "plan"], &only[..]].concat());
    for (name, device) in [("ranges.map", "flash"), ("mix.map", "ssd")] {
        let map = format!("start_bytes,length_bytes,device\n0,1048576,{device}\n");
        std::fs::write(folder.join(name), map).expect("the folder can be written");
    }
    link(Path::new(env!("CARGO_BIN_EXE_esker")), &bin.join("esker"));
    for shipped in ["examples", "samples"] {
        link(&super::collect::root().join(shipped), &folder.join(shipped));
    }
}

/// Samples of drives under the names of documents, and what Ceph printed.
fn write_samples(folder: &Path) {
    let smart = folder.join("smart");
    std::fs::create_dir(&smart).expect("the folder can be written");
    for (names, text) in [["monday.json", "2026-07-02.json"], ["friday.json", "2026-09-01.json"]].iter().zip(SAMPLES) {
        for name in names {
            std::fs::write(folder.join(name), text).expect("the folder can be written");
        }
        let ordered = text.replace("Samsung SSD 990 PRO 2TB", "SAMSUNG MZQL21T9HCJR-00A07");
        std::fs::write(smart.join(names[0]), ordered).expect("the folder can be written");
    }
    let recorded = super::collect::root().join("crates/esker-fleet/tests/ceph");
    for name in ["dumps", "ceph-dumps"] {
        link(&recorded, &folder.join(name));
    }
}

/// A trace of a cache, which none of our writers makes: seconds, object, bytes and no next access.
fn accesses() -> Vec<u8> {
    let mut rng = Rng::new(5);
    let access = |second: u32| {
        let mut bytes = second.to_le_bytes().to_vec();
        bytes.extend(rng.below(40).to_le_bytes());
        bytes.extend(4096u32.to_le_bytes());
        bytes.extend((-1i64).to_le_bytes());
        bytes
    };
    (0..200).flat_map(access).collect()
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
}

fn link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).expect("the folder can be written");
}

fn packed(name: &str, bytes: Vec<u8>) -> Vec<u8> {
    match name.rsplit_once('.') {
        Some((_, "zst")) => zstd::encode_all(bytes.as_slice(), 1).expect("memory can be written"),
        Some((_, "gz")) => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(&bytes).expect("memory can be written");
            packer.finish().expect("memory can be written")
        }
        _ => bytes,
    }
}

/// A few requests. Reads, because a study simulates them fastest.
fn trace(format: &str, hours: u64) -> Vec<u8> {
    const REQUESTS: u64 = 60;
    let volume = if format == "msr" { "prxy.0" } else { "8,0" };
    let shared = Shared::default();
    let mut writer = TraceWriter::create(format, Box::new(shared.clone()), &[volume.to_string()])
        .unwrap_or_else(|error| panic!("{format}: {error}"));
    let mut rng = Rng::new(5);
    for index in 0..REQUESTS {
        let record = Record {
            at: Nanos::from_secs(1_172_163_102 + index * hours * 3_600 / REQUESTS),
            offset: rng.below(256) * 4096,
            length: 4096,
            volume: VolumeIndex(0),
            operation: Operation::Read,
            response: None,
        };
        writer.push(&record).unwrap_or_else(|error| panic!("{format}: {error}"));
    }
    writer.finish().unwrap_or_else(|error| panic!("{format}: {error}"));
    std::mem::take(&mut *shared.0.lock().expect("no writer panics"))
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
