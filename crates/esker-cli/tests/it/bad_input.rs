//! Bad input: one clear error with what, where and a remedy; exit status 2; no files left behind.

use std::path::Path;

use crate::support::{esker_refuses, folder_with_trace};

fn with(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).expect("the folder can be written");
    }
    folder
}

fn study_refuses(folder: &Path, trace: &str) -> String {
    esker_refuses(folder, &["study", trace, "-o", "report.html"])
}

#[test]
fn an_empty_file() {
    let folder = with(&[("empty.csv", b"")]);
    let error = study_refuses(folder.path(), "empty.csv");
    assert!(error.contains("empty.csv") && error.contains("empty"), "{error}");
}

#[test]
fn a_file_that_is_not_there() {
    let folder = with(&[]);
    let error = study_refuses(folder.path(), "nowhere.csv");
    assert!(error.contains("nowhere.csv") && error.contains("No such file"), "{error}");
}

#[test]
fn binary_garbage() {
    let mut rng = esker_core::Rng::new(3);
    let garbage: Vec<u8> = (0..100_000).map(|_| rng.next_u64() as u8).collect();
    let folder = with(&[("garbage.bin", &garbage)]);
    let error = study_refuses(folder.path(), "garbage.bin");
    assert!(error.contains("garbage.bin") && error.contains("hint:"), "{error}");
}

#[test]
fn a_truncated_zst() {
    let folder = folder_with_trace(20_000);
    let whole = std::fs::read(folder.path().join("small.csv")).unwrap();
    let packed = zstd::encode_all(whole.as_slice(), 3).unwrap();
    std::fs::write(folder.path().join("cut.csv.zst"), &packed[..packed.len() * 2 / 3]).unwrap();
    let error = study_refuses(folder.path(), "cut.csv.zst");
    assert!(error.contains("cut.csv.zst") && error.contains("cut off"), "{error}");
}

#[test]
fn times_that_go_back_too_far() {
    let folder = with(&[("back.spc", b"0,0,4096,r,100.0\n0,8,4096,w,101.0\n0,16,4096,r,2.0\n")]);
    let error = study_refuses(folder.path(), "back.spc");
    assert!(error.contains("back.spc:3") && error.contains("hint:"), "{error}");
}

#[test]
fn a_broken_line_names_its_place() {
    let folder = with(&[("bad.spc", b"0,0,4096,r,0.0\n0,8,4096,w,0.1\n0,eight,4096,w,0.2\n0,8,4096,w,0.3\n")]);
    let error = study_refuses(folder.path(), "bad.spc");
    assert!(error.contains("bad.spc:3") && error.contains("eight"), "{error}");
}

#[test]
fn a_misspelt_key() {
    let folder = with(&[(
        "typo.toml",
        b"[workload]\n\
        synthetic = { requests = 10, size = \"4KiB\" }\n\
        \n\
        [device.d]\n\
        kind = \"constant\"\n\
        servise_time = \"1ms\"\n\
        capacity = \"1GiB\"\n\
        \n\
        [run]\n\
        target = \"d\"\n",
    )]);
    let error = esker_refuses(folder.path(), &["sim", "typo.toml"]);
    assert!(
        error.contains("typo.toml:6:1") && error.contains("servise_time") && error.contains("service_time"),
        "{error}"
    );
}

#[test]
fn a_value_without_its_unit() {
    let folder = with(&[(
        "unit.toml",
        b"[workload]\n\
        synthetic = { requests = 10, size = \"4KiB\" }\n\
        \n\
        [device.d]\n\
        kind = \"constant\"\n\
        service_time = 25\n\
        capacity = \"1GiB\"\n\
        \n\
        [run]\n\
        target = \"d\"\n",
    )]);
    let error = esker_refuses(folder.path(), &["sim", "unit.toml"]);
    assert!(error.contains("unit.toml:6") && error.contains("needs a unit"), "{error}");
}

#[test]
fn an_impossible_geometry() {
    let folder = with(&[(
        "impossible.toml",
        b"[workload]\n\
        synthetic = { requests = 10, size = \"4KiB\" }\n\
        \n\
        [device.ssd]\n\
        kind = \"ssd\"\n\
        preset = \"samsung-k9xxg08-slc-32g\"\n\
        over_provisioning = \"2%\"\n\
        cleaning = { threshold = \"5%\" }\n\
        \n\
        [run]\n\
        target = \"ssd\"\n",
    )]);
    let error = esker_refuses(folder.path(), &["sim", "impossible.toml"]);
    assert!(error.contains("impossible.toml:") && error.contains("hint:"), "{error}");
}

#[test]
fn a_format_that_does_not_exist() {
    let folder = folder_with_trace(10);
    let error = esker_refuses(folder.path(), &["trace", "info", "small.csv", "--format", "mrs"]);
    assert!(error.contains("mrs") && error.contains("msr"), "{error}");
}

#[test]
fn a_report_that_cannot_be_written() {
    let folder = folder_with_trace(10);
    let error = esker_refuses(folder.path(), &["study", "small.csv", "-o", "no/such/folder/report.html"]);
    assert!(error.contains("no/such/folder/report.html"), "{error}");
}

/// The parameters of write modes: which value, where, and what is allowed.
#[test]
fn write_modes_out_of_range() {
    for (parameter, value, range) in [("m", "6", "-5 to 5"), ("m", "-6", "-5 to 5"), ("n", "-1", "0 to 5")] {
        let experiment = format!(
            "[workload]\nsynthetic = {{ requests = 10 }}\n[device.ssd]\nkind = \"ssd\"\npreset = \"xia-mlc-32g\"\n\
             geometry.blocks_per_plane = 32\n[device.ssd.write_modes]\n\
             policy = {{ kind = \"differentiated\", {parameter} = {value} }}\nlow_cost = {{ page_program = \"650us\", \
             page_read = \"145us\" }}\n[run]\ntarget = \"ssd\"\n"
        );
        let folder = with(&[("modes.toml", experiment.as_bytes())]);
        let error = esker_refuses(folder.path(), &["sim", "modes.toml"]);
        let said = [parameter, value, range, "modes.toml:8:"].iter().all(|part| error.contains(part));
        assert!(said, "{parameter} = {value}: {error}");
    }
}
