//! Volumes over exports of NBD servers, from the command line.

use std::fs;
use std::path::Path;

use crate::support::{command, esker_ok, esker_refuses, run_to_its_end};

/// Runs `script` with the program as `esker`, while the volume `low.volume` is served. Returns what it printed.
fn while_served(folder: &Path, script: &str) -> String {
    let program = env!("CARGO_BIN_EXE_esker");
    let script = format!("set -e; esker() {{ '{program}' --quiet \"$@\"; }}\n{script}");
    let run = run_to_its_end(command(folder, &["volume", "serve", "low.volume", "--run", &script]), "serve");
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    run.stdout
}

fn low_volume() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    esker_ok(folder.path(), &["volume", "create", "low.volume", "--device", "disk=disk.img,32MiB"]);
    folder
}

#[test]
fn an_image_goes_into_a_volume_over_an_export_and_comes_out() {
    let folder = low_volume();
    let bytes: Vec<u8> = (0..3_000_000u32).map(|index| (index * 7 + index / 251) as u8).collect();
    fs::write(folder.path().join("in.img"), &bytes).unwrap();
    let said = while_served(
        folder.path(),
        "esker volume create high.volume --device far=\"$uri\" --device near=near.img,16MiB\n\
         esker volume copy high.volume --from in.img",
    );
    assert!(said.contains("far") && said.contains("near"), "{said}");
    let file = fs::read_to_string(folder.path().join("high.volume")).unwrap();
    assert!(file.contains("far = \"nbd+unix:///low?socket=/") && file.contains("near = \"near.img\""), "{file}");
    let said = while_served(
        folder.path(),
        "esker volume check high.volume; esker volume dump high.volume --only superblocks > dump.txt\n\
         esker volume copy high.volume --to out.img\n\
         esker volume replay high.volume --overwrite --set 'synthetic={requests=200,read_fraction=0.5}' > run.txt\n\
         mkdir -p other; cd other; esker volume check ../high.volume",
    );
    assert_eq!(said.matches("everything is there and whole").count(), 2, "{said}");
    let out = fs::read(folder.path().join("out.img")).unwrap();
    assert!(out[..bytes.len()] == bytes && out[bytes.len()..].iter().all(|&byte| byte == 0));
    // Without the server, a device is missing.
    let checked = crate::support::esker_in(folder.path(), &["volume", "check", "high.volume"]);
    assert_eq!(checked.code, 1, "{}{}", checked.stdout, checked.stderr);
    assert!(checked.stderr.contains("is not there; the volume is only read, without it"), "{}", checked.stderr);
}

#[test]
fn an_export_joins_a_volume() {
    let folder = low_volume();
    let said = while_served(
        folder.path(),
        "esker volume create home.volume --device first=first.img,16MiB\n\
         esker volume add-device home.volume --device far=\"$uri\"\n\
         esker volume grow home.volume\n\
         if esker volume add-device home.volume --device again=\"$uri\" 2> again.txt; then exit 9; fi\n\
         if esker volume grow home.volume --device far 2> grow.txt; then exit 9; fi\n\
         esker volume check home.volume",
    );
    assert!(said.contains("far has joined") && said.contains("everything is there and whole"), "{said}");
    let again = fs::read_to_string(folder.path().join("again.txt")).unwrap();
    assert!(again.contains("is far, a device of the volume"), "{again}");
    let grow = fs::read_to_string(folder.path().join("grow.txt")).unwrap();
    assert!(grow.contains("far is an export") && grow.contains("have a larger one join"), "{grow}");
}

#[test]
fn what_is_no_device_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let create = |devices: &[&'static str]| {
        let devices = devices.iter().flat_map(|device| ["--device", device]);
        esker_refuses(folder.path(), &["volume", "create", "x.volume"].into_iter().chain(devices).collect::<Vec<_>>())
    };
    let nobody = "far=nbd+unix:///disk?socket=/nowhere.sock";
    let refused = create(&[nobody]);
    assert!(refused.contains("cannot open far (nbd+unix:///disk?socket=/nowhere.sock)"), "{refused}");
    assert!(refused.contains("start the server, or correct the URI"), "{refused}");
    let refused = create(&[nobody, "near=nbd+unix:///disk?socket=%2Fnowhere.sock"]);
    assert!(refused.contains("is given twice"), "{refused}");
    let refused = create(&["far=nbds://host/"]);
    assert!(
        refused.contains("TLS needs a folder of certificates") && refused.contains("nbd+unix:///EXPORT?socket=/PATH"),
        "{refused}"
    );
    let file = "[devices]\na = \"nbd://host/x\"\nb = \"nbd://HOST:10809/x\"\n";
    fs::write(folder.path().join("twice.volume"), file).unwrap();
    let refused = esker_refuses(folder.path(), &["volume", "check", "twice.volume"]);
    assert!(refused.contains("a and b are one device: nbd://host:10809/x"), "{refused}");
}

#[test]
fn a_workload_runs_against_an_export() {
    let folder = low_volume();
    let said = while_served(
        folder.path(),
        "replay() { esker volume replay \"$uri\" --set 'synthetic={requests=500,read_fraction=0.5}' \"$@\"; }\n\
         if replay 2> refused.txt; then exit 9; fi\n\
         replay --overwrite --fill --depth 8 --json=run.json\n\
         replay --overwrite --depth 8",
    );
    assert!(said.contains("500 requests ("), "{said}");
    let refused = fs::read_to_string(folder.path().join("refused.txt")).unwrap();
    assert!(refused.contains("may hold data, which would be replaced") && refused.contains("--overwrite"), "{refused}");
    let run = fs::read_to_string(folder.path().join("run.json")).unwrap();
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    assert_eq!((&run["requests"]["all"]["count"], &run["requests"]["errors"]), (&500.into(), &0.into()), "{run}");
    assert!(run["config"]["export"].as_str().is_some_and(|uri| uri.starts_with("nbd+unix://")), "{run}");
    // What it wrote is on the volume: every 16 bytes say which request of which sector has written them.
    esker_ok(folder.path(), &["volume", "copy", "low.volume", "--to", "low.img"]);
    let image = fs::read(folder.path().join("low.img")).unwrap();
    let number = |at: usize| u64::from_le_bytes(image[at..at + 8].try_into().unwrap());
    let sectors = (0..image.len()).step_by(512);
    assert!(
        sectors.clone().all(|at| number(at + 8) == at as u64 / 512 && number(at) <= 500),
        "every sector was filled"
    );
    assert!(sectors.clone().any(|at| number(at) > 0), "some were written again");
    let error = esker_refuses(folder.path(), &["volume", "replay", "nbd+unix:///?socket=/nowhere", "--set", SMALL]);
    assert!(error.contains("start the server"), "{error}");
}

const SMALL: &str = "synthetic={requests=5}";
