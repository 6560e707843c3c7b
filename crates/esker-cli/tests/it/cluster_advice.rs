//! `esker cluster advise`, as users run it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{command, esker_in, esker_ok, esker_refuses};

/// Files of a folder of esker-fleet's tests, in a new folder.
fn copy_of(folder: &str) -> tempfile::TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../esker-fleet/tests").join(folder);
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

const CEPH: [&str; 8] =
    ["cluster", "advise", ".", "--rated=LAB-FLASH=100GB", "--price", "LAB-FLASH=100", "--budget", "1GiB"];

/// A user's host: four NVMe drives with 150, 196, 4.3 and 4.3 TB written, two samples two months apart. Within the five
/// years of a warranty nothing wears out. Within ten, one drive would have to be bought unless two of them change
/// places, and there is time until then.
#[test]
fn four_drives_that_are_written_unevenly() {
    let folder = copy_of("host");
    let host = esker_ok(folder.path(), &["cluster", "advise", "july.json", "september.json"]).stdout;
    insta::assert_snapshot!("host", &host);
    let ten = esker_ok(folder.path(), &["cluster", "advise", ".", "--horizon", "10"]).stdout;
    insta::assert_snapshot!("host_in_ten_years", &ten);
    // The page shows these answers.
    let page = include_str!("../../../../docs/advise.md");
    assert!(page.contains(&host) && page.contains(ten.split_once("\n\n").unwrap().1), "docs/advise.md has them");
    // The same drives, rated for a third of it.
    let poor = esker_ok(folder.path(), &["cluster", "advise", ".", "--rated", "990 PRO=400TB"]).stdout;
    insta::assert_snapshot!("host_of_poor_drives", poor);
}

#[test]
fn a_cluster_has_scripts_that_are_never_replaced() {
    let folder = copy_of("ceph");
    let run = |arguments: &[&str]| esker_ok(folder.path(), &[&CEPH, arguments].concat()).stdout;
    insta::assert_snapshot!("ceph", run(&["--script", "move.sh"]));
    insta::assert_snapshot!("ceph_script", fs::read_to_string(folder.path().join("move.sh")).unwrap());
    insta::assert_snapshot!("ceph_undo", fs::read_to_string(folder.path().join("move.sh.undo")).unwrap());
    let error = esker_refuses(folder.path(), &[&CEPH[..], &["--script", "move.sh", "--force"]].concat());
    assert!(error.contains("is there already"), "{error}");
    let error = esker_refuses(folder.path(), &[&CEPH[..], &["--script", "a.sh", "--undo", "move.sh.undo"]].concat());
    assert!(error.contains("is there already") && !folder.path().join("a.sh").exists(), "{error}");
    let found: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "advice"]).stdout).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&found), "{found}");
    assert_eq!(found["cluster"]["moves"].as_array().unwrap().len(), 10);
    // A shell accepts both.
    for script in ["move.sh", "move.sh.undo"] {
        let status = std::process::Command::new("sh").arg("-n").arg(folder.path().join(script)).status().unwrap();
        assert!(status.success());
    }
}

#[test]
fn nothing_is_written_where_nothing_should_move() {
    let folder = copy_of("ceph");
    fs::remove_file(folder.path().join("pg-dump-1.json")).unwrap();
    let run = esker_ok(folder.path(), &[&CEPH[..], &["--script", "move.sh"]].concat());
    assert!(run.stdout.contains("Cannot be judged: there is one `ceph pg dump` only"), "{}", run.stdout);
    assert!(!folder.path().join("move.sh").exists() && !folder.path().join("move.sh.undo").exists());
    assert!(run.stderr.contains("--script: no script was written"), "{}", run.stderr);
    assert!(run.stderr.contains("no such move is advised"), "{}", run.stderr);
    // Drives of a host are exchanged by whoever knows what uses them.
    let host = copy_of("host");
    let run = esker_ok(host.path(), &["cluster", "advise", ".", "--horizon", "10", "--script", "move.sh"]);
    assert!(run.stdout.contains("Exchange what /dev/nvme1 and /dev/nvme3 hold"), "{}", run.stdout);
    assert!(run.stderr.contains("exchange what they hold with what uses them"), "{}", run.stderr);
}

/// Broken, cut, foreign and old files: the edit of the good one, and what the program says.
const BROKEN: &[(&str, &str, &str)] = &[
    ("", "", "the file is empty"),
    ("}", "]", "is no JSON"),
    ("\"smartctl\"", "\"package\"", "neither a sample of a drive nor a dump of Ceph"),
    ("\"model_name\"", "\"other\"", "no drive has answered"),
    ("\"serial_number\"", "\"other\"", "no `serial_number`"),
    ("\"time_t\"", "\"other\"", "cannot be said when this was"),
    ("\"time_t\": 1", "\"time_t\": -1", "no time of this century"),
    ("\"data_units_written\": ", "\"data_units_written\": -", "expected a whole number"),
    ("\"data_units_written\": ", "\"data_units_written\": 99999999", "more than any drive"),
    ("\"power_on_hours\": ", "\"power_on_hours\": 0.5, \"x\": ", "expected a whole number"),
];

/// What leaves drives without a judgement.
const NOT_JUDGED: &[(&str, &str, &str)] = &[
    ("\"data_units_written\"", "\"other\"", "its health log has no `data_units_written`"),
    ("\"nvme_smart_health_information_log\"", "\"other\"", "its health log was not read"),
    ("\"NVMe\"", "\"ATA\"", "no counter of bytes written whose unit is known"),
    ("\"NVMe\"", "\"SCSI\"", "write.gigabytes_processed"),
    ("\"NVMe\"", "\"USB\"", "nothing is known of counters of the protocol"),
    ("\"data_units_written\": ", "\"data_units_written\": 9", "what was written goes backwards"),
    ("\"power_on_hours\": ", "\"power_on_hours\": 9", "its time under power goes backwards"),
    ("\"time_t\": 178", "\"time_t\": 179", "what was written goes backwards"),
    ("990 PRO", "unheard of", "--rated MODEL=BYTES"),
];

#[test]
fn broken_files_are_errors_with_place_and_remedy_and_what_cannot_be_judged_says_why() {
    let folder = copy_of("host");
    let good = fs::read_to_string(folder.path().join("july.json")).unwrap();
    let broken = |from: &str, to: &str| {
        let text = if from.is_empty() { String::new() } else { good.replacen(from, to, good.matches(from).count()) };
        assert!(text != good, "{from}");
        fs::write(folder.path().join("broken.json"), text).unwrap();
    };
    fs::write(folder.path().join("cut.json"), &good[..good.len() / 2]).unwrap();
    let error = esker_refuses(folder.path(), &["cluster", "advise", "cut.json"]);
    assert!(error.contains("cut.json: line ") && error.contains("the file is cut off"), "{error}");
    for (from, to, says) in BROKEN {
        broken(from, to);
        let error = esker_refuses(folder.path(), &["cluster", "advise", "broken.json", "september.json"]);
        assert!(
            error.contains("broken.json: ") && error.contains(says) && !error.contains("panicked"),
            "{from}: {error}"
        );
    }
    for (from, to, says) in NOT_JUDGED {
        broken(from, to);
        fs::copy(folder.path().join("september.json"), folder.path().join("other.json")).unwrap();
        if *from == "990 PRO" {
            let other = fs::read_to_string(folder.path().join("september.json")).unwrap().replace(from, to);
            let other = other.replace("\"percentage_used\": 1", "\"percentage_used\": ");
            fs::write(folder.path().join("other.json"), other).unwrap();
        }
        let text = esker_ok(folder.path(), &["cluster", "advise", "broken.json", "other.json"]).stdout;
        assert!(text.contains("cannot be judged") && text.contains(says), "{from}: {text}");
        assert!(!text.contains("Exchange"), "{text}");
    }
    let one = esker_ok(folder.path(), &["cluster", "advise", "july.json"]).stdout;
    assert!(one.contains("Cannot be judged: no drive can be judged") && one.contains("one sample only"), "{one}");
}

#[test]
fn paths_and_options_that_fit_nothing_are_refused() {
    let folder = copy_of("host");
    fs::create_dir(folder.path().join("empty")).unwrap();
    for (arguments, says) in [
        (&["missing.json"][..], "cannot be opened"),
        (&["empty"], "has no .json files"),
        (&["july.json", "--rated", "P4510=1PB"], "no drive is of this model"),
        (&["july.json", "--price", "990 PRO"], "the model is missing"),
        (&["july.json", "--rated", "990 PRO=0"], "no drive"),
        (&["july.json", "--horizon", "0"], "from 0.1 to 50 years"),
        (&["july.json", "--undo", "x"], "--script"),
    ] {
        let error = esker_in(folder.path(), &[&["cluster", "advise"], arguments].concat());
        assert!(error.code == 2 && error.stderr.contains(says), "{arguments:?}: {}", error.stderr);
    }
    // Samples may come through a pipe.
    let mut piped = command(folder.path(), &["cluster", "advise", "-", "september.json"]);
    piped.stdin(fs::File::open(folder.path().join("july.json")).unwrap());
    let run = crate::support::run(&mut piped, "cluster advise -").unwrap();
    assert!(run.code == 0 && run.stdout.contains("Nothing to do"), "{}{}", run.stdout, run.stderr);
}
