//! Mounts. They need /dev/fuse, and root: as anybody else, these tests say so and end.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{command, esker_in, esker_ok};

const PATIENCE: Duration = Duration::from_secs(120);

/// Whether this process may mount.
pub(super) fn may_mount() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0);
    let can = is_root && File::options().read(true).write(true).open("/dev/fuse").is_ok();
    if !can {
        let mut stderr = std::io::stderr();
        let _ = writeln!(stderr, "skipped: mounting needs root and /dev/fuse");
    }
    can
}

/// A folder with a pool and a directory to mount it at, which is unmounted in the end, whatever happens.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Ground {
        // On a disk each change would wait for it.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let ground = Ground(folder.unwrap());
        fs::create_dir(ground.path("mnt")).unwrap();
        esker_ok(ground.0.path(), &["fs", "mkfs", "a.pool", "--size", "64MiB"]);
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn ok(&self, arguments: &[&str]) -> String {
        esker_ok(self.0.path(), &[&["fs"], arguments].concat()).stdout
    }

    fn refused(&self, code: i32, arguments: &[&str]) -> String {
        let run = esker_in(self.0.path(), &[&["fs"], arguments].concat());
        assert_eq!(run.code, code, "{arguments:?}: {}", run.stderr);
        run.stderr
    }

    /// Mounts in the foreground, and waits until the directory can be used.
    fn serve(&self) -> Child {
        let child = command(self.0.path(), &["fs", "mount", "a.pool", "mnt", "--foreground"]).spawn().unwrap();
        wait_until("it is mounted", || self.is_mounted());
        child
    }

    fn is_mounted(&self) -> bool {
        let mnt = self.path("mnt");
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts.lines().any(|line| line.split(' ').nth(4) == mnt.to_str())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if self.is_mounted() {
            let _ = Command::new("umount").arg("-l").arg(self.path("mnt")).status();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test is bounded in time")]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn ended(child: &mut Child) -> Option<i32> {
    let mut code = None;
    wait_until("the process ends", || {
        code = child.try_wait().unwrap();
        code.is_some()
    });
    code.unwrap().code()
}

fn said(child: &mut Child) -> String {
    std::io::read_to_string(child.stderr.take().unwrap()).unwrap()
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
}

/// A process with a file of the mount open, that works there.
fn user(ground: &Ground) -> Child {
    let script = "exec 3<held; echo; exec sleep 1000";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(ground.path("mnt")).stdout(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let mut line = [0];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
    child
}

#[test]
fn what_is_written_is_there_after_the_next_mount() {
    if !may_mount() {
        return;
    }
    let ground = Ground::new();
    let (file, folder) = (ground.path("mnt/file"), ground.path("mnt/folder"));
    for mode in ["none", "metadata", "data"] {
        ground.ok(&["mount", "a.pool", "mnt", "--mode", mode]);
        assert!(ground.ok(&["stat", "a.pool"]).contains("\nmounted at "));
        assert!(ground.refused(2, &["mount", "a.pool", "mnt"]).contains("another process uses this pool"));
        assert!(ground.refused(2, &["check", "a.pool"]).contains("another process uses this pool"));
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number * 7 / 3) as u8).collect();
        fs::write(&file, &bytes).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::rename(&file, folder.join("there")).unwrap();
        ground.ok(&["unmount", "mnt"]);
        assert!(!folder.exists());
        assert!(ground.ok(&["check", "a.pool"]).ends_with("sound\n"));
        ground.ok(&["mount", "a.pool", "mnt"]);
        assert!(fs::read(folder.join("there")).unwrap() == bytes, "mode {mode}");
        fs::remove_dir_all(&folder).unwrap();
        ground.ok(&["unmount", "mnt"]);
    }
}

#[test]
fn after_kill_9_all_names_are_there_and_the_dead_mount_is_taken_away() {
    if !may_mount() {
        return;
    }
    let ground = Ground::new();
    let mut child = ground.serve();
    for number in 0..500 {
        fs::write(ground.path(&format!("mnt/{number}")), format!("file {number}")).unwrap();
    }
    fs::rename(ground.path("mnt/7"), ground.path("mnt/seven")).unwrap();
    fs::remove_file(ground.path("mnt/8")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ground.refused(2, &["mount", "a.pool", "mnt"]).contains("esker fs unmount"));
    ground.ok(&["unmount", "mnt"]);
    assert!(ground.ok(&["check", "a.pool"]).ends_with("sound\n"));
    ground.ok(&["mount", "a.pool", "mnt"]);
    assert_eq!(fs::read_dir(ground.path("mnt")).unwrap().count(), 499);
    assert_eq!(fs::read_to_string(ground.path("mnt/seven")).unwrap(), "file 7");
    assert_eq!(fs::read_to_string(ground.path("mnt/499")).unwrap(), "file 499");
    ground.ok(&["unmount", "mnt"]);
}

#[test]
fn signals_unmount() {
    if !may_mount() {
        return;
    }
    let ground = Ground::new();
    for (number, name) in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().enumerate() {
        let mut child = ground.serve();
        fs::write(ground.path(&format!("mnt/{number}")), "there").unwrap();
        signal(&child, name);
        assert_eq!(ended(&mut child), Some(0), "{}", said(&mut child));
        assert!(!ground.is_mounted());
    }
    ground.ok(&["mount", "a.pool", "mnt"]);
    assert_eq!(fs::read_dir(ground.path("mnt")).unwrap().count(), 3);
    ground.ok(&["unmount", "mnt"]);
}

#[test]
fn who_uses_a_mount_is_named_and_served_until_done() {
    if !may_mount() {
        return;
    }
    let ground = Ground::new();
    let mut child = ground.serve();
    fs::write(ground.path("mnt/held"), "held").unwrap();
    let mut user = user(&ground);
    let named = format!("process {} (sleep) has a file open, works in ", user.id());
    let error = ground.refused(1, &["unmount", "mnt"]);
    assert!(error.contains("is in use:\n  ") && error.contains(&named), "{error}");
    assert!(ground.is_mounted());
    signal(&child, Signal::SIGTERM);
    wait_until("the directory is free", || !ground.is_mounted());
    let held = PathBuf::from(format!("/proc/{}/fd/3", user.id()));
    assert_eq!(fs::read_to_string(&held).unwrap(), "held");
    assert!(child.try_wait().unwrap().is_none());
    user.kill().unwrap();
    user.wait().unwrap();
    assert_eq!(ended(&mut child), Some(0));
    let said = said(&mut child);
    assert!(said.contains(&named) && said.contains("they are served until they are done"), "{said}");
    assert!(ground.ok(&["check", "a.pool"]).ends_with("sound\n"));
}

#[test]
fn a_second_signal_ends_a_mount_that_is_in_use() {
    if !may_mount() {
        return;
    }
    let ground = Ground::new();
    let mut child = ground.serve();
    fs::write(ground.path("mnt/held"), "held").unwrap();
    let mut user = user(&ground);
    signal(&child, Signal::SIGTERM);
    wait_until("the directory is free", || !ground.is_mounted());
    signal(&child, Signal::SIGTERM);
    assert_eq!(ended(&mut child), Some(143), "{}", said(&mut child));
    user.kill().unwrap();
    user.wait().unwrap();
    assert!(ground.ok(&["check", "a.pool"]).ends_with("sound\n"));
}

#[test]
fn mistakes_are_explained() {
    if !may_mount() {
        return;
    }
    let ground = Ground::new();
    let refused = |directory: &str| ground.refused(2, &["mount", "a.pool", directory]);
    assert!(refused("missing").contains("make the directory"));
    assert!(refused("a.pool").contains("ot a directory"));
    assert!(!ground.is_mounted());
    assert!(Path::new("/dev/fuse").exists());
}

#[test]
fn run_reaches_the_pool_by_the_library() {
    let missing = esker_in(Path::new("."), &["fs", "run", "--library", "none.so", "--", "true"]);
    assert!(missing.code == 2 && missing.stderr.contains("none.so") && missing.stderr.contains("make build"));
    // It is built for the tests of its crate.
    let library = Path::new(env!("CARGO_BIN_EXE_esker")).parent().unwrap().join("deps/libesker_scm_preload.so");
    if !may_mount() || !library.exists() {
        return;
    }
    let library = library.to_str().unwrap();
    let ground = Ground::new();
    ground.ok(&["mount", "a.pool", "mnt"]);
    let run = |script: &str| ground.ok(&["run", "--library", library, "--", "sh", "-c", script]);
    // The shell's own file is a placeholder to the kernel, so nothing of the pool is open there.
    let found = run("exec 5>mnt/a; echo written >&5; readlink /proc/$$/fd/5; cat mnt/a");
    assert!(found.ends_with("\nwritten\n"), "{found}");
    assert_eq!(fs::read(ground.path("mnt/a")).unwrap(), b"written\n");
    let error = ground.refused(2, &["run", "--library", library, "--", "no-such-program"]);
    assert!(error.contains("no-such-program"), "{error}");
    ground.ok(&["unmount", "mnt"]);
    assert!(ground.ok(&["check", "a.pool"]).ends_with("sound\n"));
}

#[test]
fn programs_that_run_are_ended_by_signals() {
    let run =
        |script: &str| esker_in(Path::new("."), &["fs", "run", "--library", "/dev/null", "--", "sh", "-c", script]);
    let blocked = "exec grep SigBlk /proc/self/status";
    let expected = Command::new("sh").args(["-c", blocked]).output().unwrap();
    assert_eq!(run(blocked).stdout.as_bytes(), expected.stdout);
    for name in ["INT", "TERM", "HUP"] {
        let ended = run(&format!("kill -{name} $$; echo it goes on"));
        assert_eq!((ended.code, &*ended.stdout), (-1, ""), "{name}: by the signal");
    }
    // The largest size of a file, in 512 bytes.
    let folder = tempfile::tempdir().unwrap();
    let large = format!("ulimit -c 0; ulimit -f 8; head -c 8192 /dev/zero >{}/a; echo $?", folder.path().display());
    assert_eq!(run(&large).stdout, "153\n", "128 and the number of the signal");
}

#[test]
fn a_populated_pool_has_all_of_its_memory() {
    if !may_mount() {
        return;
    }
    let ground = Ground::new();
    let taken = || fs::metadata(ground.path("a.pool")).unwrap().blocks() * 512;
    assert!(taken() < 8 << 20, "a pool takes memory as it fills");
    ground.ok(&["mount", "a.pool", "mnt", "--populate"]);
    assert_eq!(taken(), 64 << 20);
    fs::write(ground.path("mnt/a"), "x").unwrap();
    ground.ok(&["unmount", "mnt"]);
    // Memory that is not there is refused before the directory is mounted.
    let small = ground.path("small");
    fs::create_dir(&small).unwrap();
    assert!(
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=16m", "none"]).arg(&small).status().unwrap().success()
    );
    let (made, mounted) = (
        esker_in(&small, &["fs", "mkfs", "b.pool", "--size", "64MiB"]),
        esker_in(ground.0.path(), &["fs", "mount", "small/b.pool", "mnt", "--populate"]),
    );
    assert!(Command::new("umount").arg("-l").arg(&small).status().unwrap().success());
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(mounted.code == 2 && mounted.stderr.contains("cannot have all of its memory"), "{}", mounted.stderr);
    assert!(!ground.is_mounted());
}
