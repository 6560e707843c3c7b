//! Programs that know nothing of the library.

use crate::ground::Ground;
use crate::shim::with_library;
use std::fs;
use std::io::Write;
use std::process::Command;

/// What a program said; none, with a remark, if it is not installed.
fn say(command: &mut Command, what: &str) -> Option<String> {
    match command.output() {
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{what}: {}\n{error}", output.status);
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let _ = writeln!(std::io::stderr(), "skipped: {what} is not installed");
            None
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

#[test]
fn a_shell_pipes_and_redirects() {
    let Some(ground) = Ground::new() else { return };
    let script = r#"
        set -e
        i=0
        while [ $i -lt 500 ]; do echo "line $((i * 7919 % 500))"; i=$((i + 1)); done >numbers
        sort -k2 -n numbers >sorted
        cat sorted | grep -c 'line 4' >count
        exec 3<>sorted
        read -r first <&3
        echo "$first" "$(wc -l <numbers)" "$(cat count)"
        cp -p numbers copy && cmp numbers copy && mv copy moved && rm numbers
        (echo in a child) >>moved
        tail -n 1 moved
        dd if=moved of=direct bs=512 conv=fsync 2>/dev/null && cmp moved direct
        ls
    "#;
    let shell = with_library("sh").args(["-c", script]).current_dir(ground.path("")).output().unwrap();
    let (said, error) = (String::from_utf8_lossy(&shell.stdout), String::from_utf8_lossy(&shell.stderr));
    assert_eq!(said, "line 0 500 111\nin a child\ncount\ndirect\nmoved\nsorted\n", "{error}");
}

#[test]
fn sqlite_keeps_what_several_processes_write() {
    let Some(mut ground) = Ground::new() else { return };
    let path = ground.path("base");
    for mode in ["delete", "wal"] {
        let begin = format!(
            "PRAGMA journal_mode = {mode}; DROP TABLE IF EXISTS t; CREATE TABLE t (process, number); PRAGMA mmap_size;"
        );
        if say(with_library("sqlite3").arg(&path).arg(begin), "sqlite3").is_none() {
            return;
        }
        let mut writers = Vec::new();
        for writer in 0..3 {
            let inserts: String = (0..40).map(|number| format!("INSERT INTO t VALUES ({writer}, {number});")).collect();
            // One of them goes through the kernel.
            let mut command = if writer == 0 { Command::new("sqlite3") } else { with_library("sqlite3") };
            command.arg("-cmd").arg(".timeout 60000").arg(&path).arg(inserts);
            writers.push(command.spawn().unwrap());
        }
        for mut writer in writers {
            assert!(writer.wait().unwrap().success());
        }
        let query = "SELECT count(*), sum(number) FROM t; PRAGMA integrity_check;";
        assert_eq!(say(with_library("sqlite3").arg(&path).arg(query), "sqlite3").unwrap(), "120|2340\nok\n");
        assert_eq!(say(Command::new("sqlite3").arg(&path).arg(query), "sqlite3").unwrap(), "120|2340\nok\n");
    }
    ground.remount();
}

#[test]
fn git_makes_clones_and_checks() {
    let Some(ground) = Ground::new() else { return };
    let git = |folder: &str, arguments: &[&str]| {
        let mut command = with_library("git");
        command.current_dir(ground.path(folder)).args(["-c", "user.name=x", "-c", "user.email=x@example.org"]);
        say(command.args(arguments).env("HOME", ground.path("")).env("GIT_CONFIG_NOSYSTEM", "1"), "git")
    };
    if git("", &["init", "-q", "first"]).is_none() {
        return;
    }
    for file in 0..50 {
        let text = (0..file * 20).map(|line| format!("{file} {line}\n")).collect::<String>();
        fs::write(ground.path(&format!("first/file {file}")), text).unwrap();
    }
    git("first", &["add", "."]).unwrap();
    git("first", &["commit", "-q", "-m", "x"]).unwrap();
    git("", &["clone", "-q", "first", "second"]).unwrap();
    git("second", &["fsck", "--strict"]).unwrap();
    git("second", &["gc", "-q"]).unwrap();
    assert_eq!(git("second", &["status", "--porcelain"]).unwrap(), "");
    assert_eq!(fs::read(ground.path("first/file 49")).unwrap(), fs::read(ground.path("second/file 49")).unwrap());
}
