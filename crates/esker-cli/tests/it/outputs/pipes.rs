//! Exit statuses: 1 for a full disk, 2 for bad input; a closed pipe is no error.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use super::{Ground, Writing, is_root, skip, tool};

#[test]
fn a_full_device_ends_with_1_and_names_it() {
    for ground in Ground::each() {
        let Some(full) = ground.device("full", ["c", "1", "7"], "/dev/full") else { continue };
        ground.link(&full, "leads-to-full");
        for writing in Writing::on(&ground) {
            for out in ["leads-to-full", &*full].into_iter().take(if writing.is_study() { 1 } else { 2 }) {
                let error = ground.fails(1, &writing.to(out));
                assert!(error.contains(&format!("cannot write {out}: No space left on device")), "{error}");
            }
        }
    }
}

#[test]
fn printing_on_a_full_disk_ends_with_1() {
    let ground = Ground::new(None);
    for arguments in [
        &["devices"][..],
        &["devices", "--json"],
        &["devices", "tlc-data-centre"],
        &["trace", "formats"],
        &["trace", "info", "small.csv"],
        &["trace", "convert", "small.csv"],
        &["trace", "generate", "--requests", "100000", "-q"],
        &["mrc", "small.csv"],
        &["sim", "sim.toml"],
        &["sweep", "sweep.toml"],
        &["schema", "study"],
        &["completions", "bash"],
        &["reproduce", "agrawal/traces"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = crate::support::run(ground.command(arguments).stdout(full), &arguments.join(" ")).unwrap();
        assert_eq!(run.code, 1, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains("error: cannot write standard output: No space left"), "{}", run.stderr);
        // Errors and remarks that cannot be printed are no reason to panic.
        let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = crate::support::run(ground.command(arguments).stdout(full()).stderr(full()), "both").unwrap();
        assert_eq!(run.code, 1, "{arguments:?}");
    }
}

/// A pipe whose read end is closed.
fn closed_pipe() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let ground = Ground::new(None);
    for arguments in [
        &["devices"][..],
        &["devices", "--json"],
        &["trace", "formats"],
        &["trace", "info", "small.csv"],
        &["trace", "convert", "small.csv", "-q"],
        &["trace", "convert", "small.csv", "--to", "spc", "-q"],
        &["trace", "filter", "small.csv", "-o", "-", "-q"],
        &["trace", "generate", "--requests", "100000", "-q"],
        &["mrc", "small.csv", "--json"],
        &["sim", "sim.toml", "--json"],
        &["sweep", "sweep.toml", "-q"],
        &["schema", "results"],
        &["completions", "bash"],
        &["--help"],
        &["reproduce", "agrawal/traces", "-o", "-"],
        &["study", "small.csv", "-o", "report.html", "-q"],
    ] {
        let run = crate::support::run(ground.command(arguments).stdout(closed_pipe()), &arguments.join(" ")).unwrap();
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments:?}");
        if arguments[0] == "study" {
            continue;
        }
        let mut both = ground.command(arguments);
        let run = crate::support::run(both.stdout(closed_pipe()).stderr(closed_pipe()), "both").unwrap();
        assert_eq!(run.code, 0, "{arguments:?}, both closed");
    }
    assert!(ground.read("report.html").ends_with(b"</html>"), "what went to a file is there");
    let mut mistake = ground.command(&["trace", "info", "missing.csv"]);
    assert_eq!(crate::support::run(mistake.stderr(closed_pipe()), "a mistake").unwrap().code, 2);
}

#[test]
fn the_end_of_a_reader_ends_the_work() {
    let ground = Ground::new(None);
    // More requests than anyone would wait for.
    let requests = "100000000000";
    let mut command = ground.command(&["trace", "generate", "--requests", requests, "--to", "spc", "-q"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1000];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let run = child.wait_with_output().unwrap();
    assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
}

#[test]
fn a_full_file_system_keeps_the_old_file() {
    let ground = Ground::new(None);
    let mount = ground.path("small");
    fs::create_dir(&mount).unwrap();
    let shown = mount.display().to_string();
    if !(is_root() && tool("mount", &["-t", "tmpfs", "-o", "size=64k,mode=777", "none", &shown])) {
        return skip("mounting needs root and a kernel that lets it");
    }
    struct Mounted(String);
    impl Drop for Mounted {
        fn drop(&mut self) {
            tool("umount", &["--lazy", &self.0]);
        }
    }
    let mounted = Mounted(shown);
    let spec = b"requests = 50000\n";
    super::set_mode(ground.folder.path(), 0o755);
    for ground in Ground::each() {
        ground.write("spec.toml", spec);
        ground.link(&mounted.0, "mounted");
        for writing in Writing::quick() {
            let name = writing.name("mounted/there");
            fs::remove_file(ground.path(&name)).ok();
            // The old file leaves room for only a little more.
            let old = match writing.ending {
                "json" => format!("[\"{}\"]", "x".repeat(61_000)),
                "html" => format!("<!DOCTYPE html><meta name=\"generator\" content=\"esker 0\">{}", "x".repeat(61_000)),
                _ => " ".repeat(61_000),
            };
            write_once_there_is_room(&ground.path(&name), &old);
            ground.own(&name);
            let mut arguments = writing.to(&name);
            arguments.push("--force".into());
            if writing.ending == "csv" || writing.ending == "json" || writing.ending == "html" {
                fill(&ground.path("mounted/ballast"));
            }
            let error = ground.fails(1, &arguments);
            assert!(error.contains(&format!("{name}: No space left on device")), "{error}");
            assert!(ground.read(&name) == old.as_bytes(), "{name} did not stay as it was");
            let left = fs::read_dir(ground.path("mounted")).unwrap().count();
            fs::remove_file(ground.path("mounted/ballast")).ok();
            assert!(left <= 2, "a part of the new file was left");
            fs::remove_file(ground.path(&name)).unwrap();
        }
    }
}

/// Writes a file. A process that another test is just starting may hold the file before it open for a moment, although
/// it was removed.
fn write_once_there_is_room(path: &std::path::Path, text: &str) {
    for _ in 0..1000 {
        match fs::write(path, text) {
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            written => return written.unwrap(),
        }
    }
    panic!("{}: there is no room", path.display());
}

/// Fills up the remaining room.
fn fill(path: &std::path::Path) {
    use std::io::Write;
    let mut file = fs::File::create(path).unwrap();
    while file.write_all(&[0; 512]).is_ok() {}
}
