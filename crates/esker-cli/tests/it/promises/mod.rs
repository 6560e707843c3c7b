//! What esker promises of every command, whatever it is called with: no input is replaced, nor what is not its own, and
//! a signal ends it. The commands come from tests/files.txt, which is held against the arguments themselves.

mod inputs;
mod kinds;
mod memory;
mod signals;

use std::fs;
use std::path::PathBuf;

use esker_testkit::Authority;

use crate::support::{RECORDED_STUDY, Run, esker_in, esker_ok, folder_with_trace};

/// Every option of every command that takes a file.
const TABLE: &str = include_str!("../../files.txt");

/// A command that writes; `OUT` stands for the file.
struct Writing {
    /// The row of the table.
    row: &'static str,
    arguments: &'static [&'static str],
    /// All that it reads, also what files that it reads name.
    inputs: &'static [&'static str],
    /// If `OUT` is a folder, a file that is written there.
    inside: Option<&'static str>,
}

const fn file(row: &'static str, arguments: &'static [&'static str], inputs: &'static [&'static str]) -> Writing {
    Writing { row, arguments, inputs, inside: None }
}

const fn folder(
    row: &'static str,
    arguments: &'static [&'static str],
    inputs: &'static [&'static str],
    inside: &'static str,
) -> Writing {
    Writing { row, arguments, inputs, inside: Some(inside) }
}

/// To measure all products takes a plan half a minute.
const FEW: &str = "--only=micron-5400-pro,toshiba-mg10";
const SHOP: &[&str] = &["small.csv", "shop.toml", "small.toml"];
const SIM: &[&str] = &["sim.toml", "small.csv", "disk.toml"];
const SWEEP: &[&str] = &["sweep.toml", "small.csv", "disk.toml", "second.toml"];
const DRIVE: &[&str] = &["small.parv", "small.diskspecs", "small.model", "small.seek"];
/// The trace is named in the experiment and not read.
const MEASURED: &[&str] = &["experiment.toml", "small.toml", "small.csv", "measured"];

const MODEL: &[&str] = &["model.json", "runs.csv"];
const PREDICT: &[&str] = &["model", "predict", "model.json", "small.csv", "--fullness", "50%", "--json=OUT"];

const FS_BENCH: &[&str] =
    &["fs", "bench", ".", "--work", "transfer", "--record", "4KiB", "--file", "64KiB", "--runs", "1", "--json=OUT"];

const FLEET: &str = "[data]\nslices = 200\n[[group]]\nname = \"a\"\ncount = 5\ncapacity = \"100GB\"\n\
                     endurance = \"60TB\"\n[load]\nbytes_per_day = \"1TB\"\n[run]\nduration = \"9d\"\n";
const ADVISE_SCRIPT: &[&str] =
    &["cluster", "advise", "ceph.json", "--rated=LAB=100GB", "--price=LAB=100", "--budget=1GiB", "--script", "OUT"];
const ADVISE_UNDO: &[&str] = &[
    "cluster",
    "advise",
    "ceph.json",
    "--rated=LAB=100GB",
    "--price=LAB=100",
    "--budget=1GiB",
    "--script=new.sh",
    "--undo",
    "OUT",
];

const VOLUME: &[&str] = &["small.volume", "small.img"];
const REPLAY: &[&str] = &[
    "volume",
    "replay",
    "small.volume",
    "small.csv",
    "--set",
    "beyond_capacity=wrap",
    "--depth",
    "8",
    "--overwrite",
    "--json=OUT",
];

const WRITING: &[Writing] = &[
    file("study --output", &["study", "small.csv", "--catalogue", "shop.toml", "-o", "OUT"], SHOP),
    file("study --json", &["study", "small.csv", "--catalogue", "shop.toml", "-o", "new.html", "--json=OUT"], SHOP),
    file(
        "study --markdown",
        &["study", "small.csv", "--catalogue", "shop.toml", "-o", "new.html", "--markdown", "OUT"],
        SHOP,
    ),
    folder(
        "study --csv",
        &["study", "small.csv", "--catalogue", "shop.toml", "-o", "new.html", "--csv", "OUT"],
        SHOP,
        "answers.csv",
    ),
    folder(
        "plan --output",
        &["plan", "small.csv", FEW, "--catalogue", "shop.toml", "-o", "OUT"],
        SHOP,
        "experiment.toml",
    ),
    file("plan --report", &["plan", "small.csv", FEW, "--catalogue", "shop.toml", "--report", "OUT"], SHOP),
    file("plan --json", &["plan", "small.csv", FEW, "--catalogue", "shop.toml", "--json=OUT"], SHOP),
    file("report --output", &["report", "study.json", "-o", "OUT"], &["study.json"]),
    file("report --markdown", &["report", "study.json", "-o", "new.html", "--markdown", "OUT"], &["study.json"]),
    folder("report --csv", &["report", "study.json", "-o", "new.html", "--csv", "OUT"], &["study.json"], "answers.csv"),
    file("trace info --json", &["trace", "info", "small.csv", "--json=OUT"], &["small.csv"]),
    file("trace convert --output", &["trace", "convert", "small.csv", "--to", "msr", "-o", "OUT"], &["small.csv"]),
    file("trace filter --output", &["trace", "filter", "small.csv", "--to", "msr", "-o", "OUT"], &["small.csv"]),
    file(
        "trace generate --output",
        &["trace", "generate", "--like", "small.csv", "--to", "msr", "-o", "OUT"],
        &["small.csv"],
    ),
    file(
        "trace generate --output",
        &["trace", "generate", "--spec", "spec.toml", "--to", "msr", "-o", "OUT"],
        &["spec.toml"],
    ),
    file("sim --json", &["sim", "sim.toml", "--json=OUT"], SIM),
    file("sim --output", &["sim", "sim.toml", "-o", "OUT"], SIM),
    file("sweep --json", &["sweep", "sweep.toml", "-o", "points", "--json=OUT"], SWEEP),
    folder("sweep --output", &["sweep", "sweep.toml", "-o", "OUT"], SWEEP, "sweep.csv"),
    file("model train --output", &["model", "train", "runs.csv", "-o", "OUT"], &["runs.csv"]),
    file("model train --table", &["model", "train", "runs.csv", "-o", "new.json", "--table", "OUT"], &["runs.csv"]),
    file("model evaluate --json", &["model", "evaluate", "model.json", "runs.csv", "--json=OUT"], MODEL),
    file("model predict --json", PREDICT, &["model.json", "small.csv"]),
    file("mrc --json", &["mrc", "small.csv", "--json=OUT"], &["small.csv"]),
    file("cache --output", &["cache", "small.csv", "-o", "OUT"], &["small.csv"]),
    file("cache --json", &["cache", "small.csv", "--json=OUT"], &["small.csv"]),
    file("cluster advise --json", &["cluster", "advise", "july.json", "--json=OUT"], &["july.json"]),
    file("cluster advise --script", ADVISE_SCRIPT, &["ceph.json"]),
    file("cluster advise --undo", ADVISE_UNDO, &["ceph.json"]),
    file("cluster calibrate --output", &["cluster", "calibrate", "--every=99", "-o", "OUT"], &[]),
    file("devices --json", &["devices", "--catalogue", "shop.toml", "--json=OUT"], &["shop.toml", "small.toml"]),
    file("devices import --output", &["devices", "import", "small.parv", "-o", "OUT"], DRIVE),
    file(
        "devices measure --output",
        &["devices", "measure", "--simulated", "experiment.toml", "-o", "OUT"],
        &["experiment.toml", "small.toml", "small.csv"],
    ),
    file("validate --output", &["validate", "experiment.toml", "--measured", "measured", "-o", "OUT"], MEASURED),
    file("validate --json", &["validate", "experiment.toml", "--measured", "measured", "--json=OUT"], MEASURED),
    file("reproduce --output", &["reproduce", "agrawal/traces", "--traces", "traces", "-o", "OUT"], PAPER),
    file("reproduce --json", &["reproduce", "agrawal/traces", "--traces", "traces", "--json=OUT"], PAPER),
    file("fs bench --json", FS_BENCH, &[]),
    file("cluster sim --output", &["cluster", "sim", "fleet.toml", "-o", "OUT"], &["fleet.toml"]),
    file("cluster sim --json", &["cluster", "sim", "fleet.toml", "--json=OUT"], &["fleet.toml"]),
    folder("man FOLDER", &["man", "OUT"], &[], "esker.1"),
    file("volume create VOLUME", &["volume", "create", "OUT", "--device", "a=fresh.img,4MiB"], &[]),
    file("volume copy --to", &["volume", "copy", "small.volume", "--to", "OUT"], VOLUME),
    file(
        "volume serve --record",
        &["volume", "serve", "small.volume", "--run", "true", "--record-as", "msr", "--record", "OUT"],
        VOLUME,
    ),
    file(
        "emulate --record",
        &["emulate", "samsung-sp2504c-250g", "--run", "true", "--record-as", "msr", "--record", "OUT"],
        &[],
    ),
    file(
        "volume serve --record",
        &[
            "volume",
            "serve",
            "small.volume",
            "--tls-certificates=pki",
            "--run=true",
            "--record-as=msr",
            "--record",
            "OUT",
        ],
        CERTIFICATES,
    ),
    file(
        "emulate --record",
        &["emulate", "disk.toml", "--tls-certificates=pki", "--run=true", "--record-as=msr", "--record", "OUT"],
        CERTIFICATES,
    ),
    file("volume replay --json", REPLAY, &["small.volume", "small.img", "small.csv"]),
];
const CERTIFICATES: &[&str] = &["pki/server-cert.pem", "pki/server-key.pem", "pki/ca-cert.pem", "pki/ca-crl.pem"];
const PAPER: &[&str] = &["traces/tpcc-small.mqsim"];

/// Commands that read, by the row of the table; `IN` stands for the file.
const READING: &[(&str, &[&str])] = &[
    ("study TRACE", &["study", "IN", "-o", "new.html"]),
    ("study --catalogue", &["study", "small.csv", "--catalogue", "IN", "-o", "new.html"]),
    ("plan TRACE", &["plan", "IN", FEW]),
    ("plan --catalogue", &["plan", "small.csv", FEW, "--catalogue", "IN"]),
    ("report RESULTS.json", &["report", "IN", "-o", "new.html"]),
    ("trace info TRACE", &["trace", "info", "IN"]),
    ("trace convert TRACE", &["trace", "convert", "IN", "-o", "new.esker"]),
    ("trace filter TRACE", &["trace", "filter", "IN", "-o", "new.esker"]),
    ("trace generate --like", &["trace", "generate", "--like", "IN", "-o", "new.esker"]),
    ("trace generate --spec", &["trace", "generate", "--spec", "IN", "-o", "new.esker"]),
    ("sim FILE.toml", &["sim", "IN"]),
    ("sweep FILE.toml", &["sweep", "IN"]),
    ("model train RUNS", &["model", "train", "IN", "-o", "new.json"]),
    ("model evaluate MODEL", &["model", "evaluate", "IN", "runs.csv"]),
    ("model evaluate RUNS", &["model", "evaluate", "kim-slc", "IN"]),
    ("model predict MODEL", &["model", "predict", "IN", "small.csv", "--fullness", "50%"]),
    ("model predict TRACE", &["model", "predict", "kim-slc", "IN", "--fullness", "50%"]),
    ("mrc TRACE", &["mrc", "IN"]),
    ("cache TRACE", &["cache", "IN"]),
    ("cluster advise PATH", &["cluster", "advise", "IN"]),
    ("cluster calibrate --table", &["cluster", "calibrate", "--table", "IN"]),
    ("devices --catalogue", &["devices", "--catalogue", "IN"]),
    ("devices check FILE", &["devices", "check", "IN"]),
    ("devices import FILE", &["devices", "import", "IN", "-o", "new.toml"]),
    ("devices measure DEVICE", &["devices", "measure", "--simulated", "IN", "-o", "new.toml"]),
    ("cluster sim FLEET.toml", &["cluster", "sim", "IN"]),
    ("emulate DEVICE", &["emulate", "IN", "--run", "true"]),
    ("validate DEVICE", &["validate", "IN", "--measured", "measured"]),
    ("validate --measured", &["validate", "small.toml", "--measured", "IN"]),
    ("volume add-device VOLUME", &["volume", "add-device", "IN", "--device", "a=fresh.img"]),
    ("volume check VOLUME", &["volume", "check", "IN"]),
    ("volume copy VOLUME", &["volume", "copy", "IN", "--to", "new.img"]),
    ("volume copy --from", &["volume", "copy", "small.volume", "--from", "IN"]),
    ("volume create --map", &["volume", "create", "new.volume", "--device", "a=fresh.img,4MiB", "--map", "IN"]),
    ("volume drain VOLUME", &["volume", "drain", "IN", "a"]),
    ("volume dump VOLUME", &["volume", "dump", "IN"]),
    ("volume grow VOLUME", &["volume", "grow", "IN"]),
    ("volume remove-device VOLUME", &["volume", "remove-device", "IN", "a"]),
    ("volume replay VOLUME", &["volume", "replay", "IN", "small.csv"]),
    ("volume replay TRACE", &["volume", "replay", "small.volume", "IN"]),
    ("volume serve VOLUME", &["volume", "serve", "IN"]),
    ("volume set --map", &["volume", "set", "small.volume", "--map", "IN"]),
    ("volume set VOLUME", &["volume", "set", "IN", "--pause"]),
];

/// The rows of the table that do this.
fn rows(what: &str) -> Vec<&'static str> {
    let rows = TABLE.lines().filter_map(|line| line.split_once(": "));
    rows.filter(|(_, does)| *does == what).map(|(row, _)| row).collect()
}

#[test]
fn every_command_of_the_table_is_tried() {
    let sorted = |mut names: Vec<&'static str>| {
        names.sort_unstable();
        names.dedup();
        names
    };
    // It records block devices, of which no test has one: `trace_record` has a program in blktrace's place.
    let elsewhere = ["trace record --output"];
    let written = WRITING.iter().map(|writing| writing.row).chain(elsewhere).collect();
    assert_eq!(sorted(written), rows("writes"));
    assert_eq!(sorted(READING.iter().map(|(row, _)| *row).collect()), rows("reads"));
    // What is in these folders is among the inputs of `WRITING`.
    assert_eq!(
        rows("reads in a folder"),
        ["emulate --tls-certificates", "reproduce --traces", "volume serve --tls-certificates"]
    );
}

/// A folder with all that the commands read.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        let ground = Self(folder_with_trace(60));
        for (name, text) in [
            ("small.parv", include_str!("../../../../esker-disk/tests/disk/drive/small.parv")),
            ("small.diskspecs", include_str!("../../../../esker-disk/tests/disk/drive/small.diskspecs")),
            ("small.model", include_str!("../../../../esker-disk/tests/disk/drive/small.model")),
            ("july.json", include_str!("../../../../esker-fleet/tests/host/july.json")),
            ("small.seek", include_str!("../../../../esker-disk/tests/disk/drive/small.seek")),
            ("measured", "R Hit 100 8 5000.0 1000.0\nR Hit 108 8 700.5 30000.0\nW Miss 4000 2 9000.0 0.0\n"),
            ("disk.toml", "kind = \"constant\"\nservice_time = \"1ms\"\ncapacity = \"1GiB\"\n"),
            ("second.toml", "kind = \"constant\"\nservice_time = \"2ms\"\ncapacity = \"1GiB\"\n"),
            ("spec.toml", "requests = 100\n"),
            ("fleet.toml", FLEET),
            ("runs.csv", include_str!("../../../../esker-model/models/kim-slc-unseen.csv")),
            ("model.json", include_str!("../../../../esker-model/models/kim-slc.json")),
        ] {
            fs::write(ground.path(name), text).unwrap();
        }
        esker_ok(ground.0.path(), &["devices", "import", "small.parv", "-o", "small.toml", "-q"]);
        let experiment = |preset: &str| {
            format!(
                "[workload]\ntrace = \"small.csv\"\nbeyond_capacity = \"wrap\"\n[device.d]\npreset = \"{preset}\"\n\
                 [run]\ntarget = \"d\"\n"
            )
        };
        let sweep = experiment("disk.toml") + "[sweep]\ndevice.d.preset = [\"disk.toml\", \"second.toml\"]\n";
        let shop = include_str!("../../../../esker-catalogue/catalogues/kim-2009.toml")
            .replace("preset = \"seagate-cheetah-15k5-146g\"", "preset = \"small.toml\"");
        for (name, text) in [
            ("sim.toml", experiment("disk.toml")),
            ("experiment.toml", experiment("small.toml")),
            ("sweep.toml", sweep),
            ("shop.toml", shop),
        ] {
            fs::write(ground.path(name), text).unwrap();
        }
        let authority = Authority::new("promises");
        authority.write(&ground.path("pki"));
        authority.issue(&ground.path("pki"), "server", 1);
        authority.revoke(&ground.path("pki"), 2);
        // One document after the other, as `cat` makes of dumps.
        let ceph = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../esker-fleet/tests/ceph");
        let files = fs::read_dir(ceph).unwrap().map(|entry| entry.unwrap().path());
        let dumps = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        fs::write(ground.path("ceph.json"), dumps.map(|path| fs::read_to_string(path).unwrap()).collect::<String>())
            .unwrap();
        fs::create_dir(ground.path("traces")).unwrap();
        fs::write(ground.path("traces/tpcc-small.mqsim"), "1000 0 8 8 1\n").unwrap();
        fs::copy(RECORDED_STUDY, ground.path("study.json")).unwrap();
        esker_ok(ground.0.path(), &["volume", "create", "small.volume", "--device", "small=small.img,4MiB"]);
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[String]) -> Run {
        esker_in(self.0.path(), &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Runs the program and expects one error of bad input, and that nothing new is left.
    fn refuses(&self, arguments: &[String]) -> String {
        let before = self.names();
        let run = self.run(arguments);
        assert_eq!(run.code, 2, "esker {}: {}{}", arguments.join(" "), run.stdout, run.stderr);
        assert_eq!(run.stderr.matches("error:").count(), 1, "{}", run.stderr);
        assert_eq!(self.names(), before, "esker {}", arguments.join(" "));
        run.stderr
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Writing {
    /// The arguments with `out` as the output.
    fn to(&self, out: &str) -> Vec<String> {
        self.arguments.iter().map(|word| word.replace("OUT", out)).chain(["--quiet".to_string()]).collect()
    }

    /// Makes the place where the output goes: its name for the command, and the path of the file.
    fn place(&self, ground: &Ground, name: &str) -> (String, PathBuf) {
        match self.inside {
            None => (name.to_string(), ground.path(name)),
            Some(inside) => {
                fs::create_dir_all(ground.path("tables")).unwrap();
                ("tables".to_string(), ground.path("tables").join(inside))
            }
        }
    }
}
