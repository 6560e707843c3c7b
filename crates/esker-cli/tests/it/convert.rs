//! What `esker trace convert` and `filter` print if the other format holds less.

use crate::support::{esker_ok, esker_refuses};

const DISKMON: &str = "0\t0.5\t0\t0\tRead\t1\t8\n1\t0.500001\t0.0000005\t0\tRead\t9\t8\n2\t0.6\t3000\t0\tWrite\t9\t8\n";

fn folder(name: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), text).unwrap();
    folder
}

fn notes(folder: &std::path::Path, arguments: &[&str]) -> Vec<String> {
    let said = esker_ok(folder, &[&["trace"], arguments].concat()).stderr;
    said.lines().filter_map(|line| line.strip_prefix("note: ")).map(str::to_string).collect()
}

#[test]
fn every_loss_is_said_in_a_line() {
    let folder = folder("d.log", DISKMON);
    let convert = |from: &str, to: &str| notes(folder.path(), &["convert", from, "--to", to, "-o", to]);
    assert_eq!(
        convert("d.log", "msr"),
        [
            "1 response times below 100ns became unknown: that is what 0 means in `msr` (the first is record 1)",
            "1 volumes are called otherwise in `msr`: 0 is 0.0",
        ]
    );
    let srt = convert("d.log", "srt");
    assert!(srt[0].starts_with("1 response times were rounded down to 1"), "{srt:?}");
    assert!(srt[1].starts_with("1 response times were cut to 2147483647"), "{srt:?}");
    let spc = convert("d.log", "spc");
    assert_eq!(spc, ["3 response times were dropped: `spc` has none (the first is record 1)"]);
    let back = convert("spc", "diskmon");
    assert!(back[0].starts_with("3 requests have no response time and got 0"), "{back:?}");
    let quiet = esker_ok(folder.path(), &["trace", "convert", "d.log", "--to", "spc", "-o", "q", "--quiet"]);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn traces_without_times_and_swapped_completions_are_said() {
    let folder = folder("a.lis", "0 8 0 0\n8 8 0 1\n");
    let said = notes(folder.path(), &["convert", "a.lis", "--to", "spc", "-o", "s"]);
    assert_eq!(said, ["the trace has no times; all are 0 in `spc`, as if every request came at once"]);
    let text = "Timestamp,Response,IOType,LUN,Offset,Size\n1.0,0.5,R,0,0,4096\n1.1,0.1,R,0,0,4096\n";
    std::fs::write(folder.path().join("t.csv"), text).unwrap();
    let said = notes(folder.path(), &["convert", "t.csv", "--to", "wiscsee", "-o", "w"]);
    assert!(said[0].starts_with("2 response times read back as those of other requests"), "{said:?}");
    let read = notes(folder.path(), &["convert", "w", "--to", "systor", "-o", "back"]);
    assert!(read.iter().any(|note| note.starts_with("1 completions could be those of several requests")), "{read:?}");
}

#[test]
fn refusals_name_the_file_the_record_and_the_way_out() {
    let folder = folder("t.fio", "fio version 3 iolog\n0 f add\n0 f read 0 512\n1 f trim 0 512\n2 f write 100 1\n");
    let refuse = |arguments: &[&str]| esker_refuses(folder.path(), &[&["trace"], arguments].concat());
    let error = refuse(&["convert", "t.fio", "--to", "msr", "-o", "m"]);
    assert!(error.contains("t.fio: record 2: format `msr` cannot hold trims"), "{error}");
    assert!(error.contains("esker trace filter --kind read --kind write`, or write blkparse,"), "{error}");
    // The remedy in the hint works. Record numbers are those of the trace, not of its filtered rest.
    let left = ["filter", "t.fio", "--kind", "read", "--kind", "write", "-o", "m", "--to"];
    let said = notes(folder.path(), &[&left[..], &["msr"]].concat());
    assert_eq!(said[0], "1 volumes are called otherwise in `msr`: f is f.0");
    let error = refuse(&[&left[..7], &["n", "--to", "ssdsim"]].concat());
    assert!(error.contains("t.fio: record 3: format `ssdsim` cannot hold 1 bytes at byte 100"), "{error}");
}

#[test]
fn a_name_asks_for_compression_in_any_letters() {
    let folder = folder("d.log", DISKMON);
    for (name, begins) in [("a.spc.ZST", [0x28, 0xb5]), ("a.spc.zst", [0x28, 0xb5]), ("a.spc.Gz", [0x1f, 0x8b])] {
        esker_ok(folder.path(), &["trace", "convert", "d.log", "-o", name]);
        assert_eq!(std::fs::read(folder.path().join(name)).unwrap()[..2], begins, "{name}");
    }
}
