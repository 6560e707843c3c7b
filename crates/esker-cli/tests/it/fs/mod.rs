//! `esker fs`: pools made, looked at, mounted and unmounted.

mod bench;
mod mounts;
mod ordinary_user;

use std::fs;

use crate::support::{esker_in, esker_ok, esker_refuses};

#[test]
fn a_pool_is_made_checked_and_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let made = esker_ok(folder.path(), &["fs", "mkfs", "a.pool", "--size", "8MiB"]).stdout;
    assert!(made.starts_with("a.pool: a pool of 8 MiB on "), "{made}");
    let before = fs::read(folder.path().join("a.pool")).unwrap();
    let stat = esker_ok(folder.path(), &["fs", "stat", "a.pool"]).stdout;
    assert!(stat.contains("\ninodes: 1 of at most ") && stat.ends_with("\nnot mounted\n"), "{stat}");
    let check = esker_ok(folder.path(), &["fs", "check", "a.pool"]).stdout;
    assert_eq!(check, "1 inodes in use, 1 of them directories\nsound\n");
    assert!(fs::read(folder.path().join("a.pool")).unwrap() == before, "looking changes nothing");
}

#[test]
fn damage_is_found_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    esker_ok(folder.path(), &["fs", "mkfs", "a.pool", "--size", "8MiB"]);
    let path = folder.path().join("a.pool");
    let mut bytes = fs::read(&path).unwrap();
    // A bit of the second copy of the header.
    bytes[4096 + 20] ^= 4;
    fs::write(&path, &bytes).unwrap();
    let run = esker_in(folder.path(), &["fs", "check", "a.pool"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stdout.contains("copy 1 of the header is damaged"), "{}", run.stdout);
    let repaired = esker_ok(folder.path(), &["fs", "check", "a.pool", "--repair"]).stdout;
    assert!(repaired.ends_with("repaired: copy 1 of the header is damaged\nsound\n"), "{repaired}");
}

#[test]
fn nothing_that_is_there_is_replaced_but_a_pool_with_force() {
    let folder = tempfile::tempdir().unwrap();
    let refuses = |arguments: &[&str]| esker_refuses(folder.path(), &[&["fs"], arguments].concat());
    assert!(refuses(&["mkfs", "a.pool"]).contains("--size 8GiB"));
    assert!(refuses(&["mkfs", "a.pool", "--size", "1KiB"]).contains("too small"));
    assert!(refuses(&["mkfs", "missing/a.pool", "--size", "8MiB"]).contains("missing/a.pool"));
    fs::write(folder.path().join("diary"), "Dear diary\n".repeat(100_000)).unwrap();
    for arguments in [&["mkfs", "diary", "--size", "8MiB"][..], &["mkfs", "diary", "--force"], &["mkfs", "diary"]] {
        let error = refuses(arguments);
        assert!(error.contains("not a pool is there already"), "{error}");
    }
    assert!(fs::read_to_string(folder.path().join("diary")).unwrap() == "Dear diary\n".repeat(100_000));
    esker_ok(folder.path(), &["fs", "mkfs", "a.pool", "--size", "8MiB"]);
    let before = fs::read(folder.path().join("a.pool")).unwrap();
    assert!(refuses(&["mkfs", "a.pool", "--size", "8MiB"]).contains("--force"));
    assert!(fs::read(folder.path().join("a.pool")).unwrap() == before);
    esker_ok(folder.path(), &["fs", "mkfs", "a.pool", "--force"]);
    assert!(fs::read(folder.path().join("a.pool")).unwrap() != before, "it has a new identity");
    for command in ["stat", "check", "mount"] {
        let mut arguments = vec![command, "diary"];
        arguments.extend((command == "mount").then_some("."));
        assert!(refuses(&arguments).contains("not a pool"), "{command}");
    }
    assert!(refuses(&["unmount", "."]).contains("no pool is mounted there"));
}

#[test]
fn sizes_that_no_pool_has_are_refused_before_a_file_is_made() {
    let folder = tempfile::tempdir().unwrap();
    for (size, what, limit) in
        [("0", "too small", "256KiB"), ("255KiB", "too small", "256KiB"), ("100TiB", "too large", "1TiB")]
    {
        let error = esker_refuses(folder.path(), &["fs", "mkfs", "a.pool", "--size", size]);
        assert!(error.contains(what) && error.contains(limit), "{error}");
        assert!(!folder.path().join("a.pool").exists(), "{size}");
    }
}

#[test]
fn a_fifo_is_no_pool_and_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.path().join("fifo")).status().unwrap().success());
    for command in [&["mkfs", "--force"][..], &["check"], &["check", "--repair"], &["stat"]] {
        let error = esker_refuses(folder.path(), &[&["fs"], command, &["fifo"]].concat());
        assert!(error.contains("not a file and not a DAX device"), "{command:?}: {error}");
    }
}

#[test]
fn what_cannot_be_repaired_has_to_come_out_of_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    esker_ok(folder.path(), &["fs", "mkfs", "a.pool", "--size", "8MiB"]);
    let path = folder.path().join("a.pool");
    let mut bytes = fs::read(&path).unwrap();
    // More than a bit of both copies of the header.
    for at in [20, 40, 4096 + 20, 4096 + 40] {
        bytes[at] ^= 0xff;
    }
    fs::write(&path, &bytes).unwrap();
    let check = esker_in(folder.path(), &["fs", "check", "a.pool"]);
    assert!(check.code == 1 && check.stderr.contains("hint: esker fs check --repair a.pool; "), "{}", check.stderr);
    let repair = esker_in(folder.path(), &["fs", "check", "a.pool", "--repair"]);
    assert!(repair.code == 1 && repair.stderr.contains("cannot be repaired"), "{}", repair.stderr);
    assert!(!repair.stderr.contains("--repair") && repair.stderr.contains("out of a backup"), "{}", repair.stderr);
    let mount = esker_refuses(folder.path(), &["fs", "mount", "a.pool", "."]);
    assert!(mount.contains("what that cannot repair has to come out of a backup"), "{mount}");
}
