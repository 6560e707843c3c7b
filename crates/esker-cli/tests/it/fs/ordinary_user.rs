//! A pool made, mounted, used and unmounted by an ordinary user. Root becomes one, if `fusermount3` is there.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::{Run, run};

/// The user and group that own nothing.
const NOBODY: u32 = 65_534;

/// A folder of the user's, with a copy of the program: where it was built, others may not look.
struct Home {
    folder: tempfile::TempDir,
    user: u32,
}

impl Home {
    /// `None`, and why on standard error, where no ordinary user can mount.
    fn new() -> Option<Home> {
        let has_helper = Command::new("fusermount3").arg("--version").stdout(Stdio::null()).status().is_ok();
        let is_open_to_all = fs::metadata("/dev/fuse").is_ok_and(|found| found.mode() & 0o006 == 0o006);
        if !has_helper || !is_open_to_all {
            let _ = writeln!(std::io::stderr(), "skipped: it needs fusermount3, and a /dev/fuse that is open to all");
            return None;
        }
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let myself = fs::metadata("/proc/self").unwrap().uid();
        let user = if myself == 0 { NOBODY } else { myself };
        fs::create_dir(folder.path().join("mnt")).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_esker"), folder.path().join("esker")).unwrap();
        if myself == 0 {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
            for path in [folder.path(), &folder.path().join("mnt")] {
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        Some(Home { folder, user })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program in this folder, run by the user.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let program = if program == "esker" { self.path("esker") } else { program.into() };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).env("NO_COLOR", "1").env("HOME", self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            // A group set of root's is dropped with its user.
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn runs(&self, program: &str, arguments: &[&str]) -> Run {
        run(&mut self.command(program, arguments), &arguments.join(" ")).expect("the program starts")
    }

    fn ok(&self, program: &str, arguments: &[&str]) -> String {
        let run = self.runs(program, arguments);
        assert_eq!(run.code, 0, "{program} {arguments:?}: {}", run.stderr);
        run.stdout
    }

    /// A process of the user's that has a file of the mount open.
    fn holder(&self) -> Child {
        let mut command = self.command("sh", &["-c", "cd mnt; exec 3<held; echo; exec sleep 1000"]);
        let mut child = command.spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.command("esker", &["fs", "unmount", "mnt"]).output();
        let _ = self.command("fusermount3", &["-u", "-z", "mnt"]).output();
    }
}

#[test]
fn mounts_uses_and_unmounts() {
    let Some(home) = Home::new() else { return };
    home.ok("esker", &["fs", "mkfs", "a.pool", "--size", "64MiB"]);
    home.ok("esker", &["fs", "mount", "a.pool", "mnt"]);
    let script = "echo held >held && mkdir folder && ln held folder/link && mv folder/link name && rm -r folder";
    home.ok("sh", &["-c", &format!("cd mnt && {script} && chmod 640 name")]);
    let found = home.ok("stat", &["-c", "%u %a %h %s", "mnt/name"]);
    assert_eq!(found, format!("{} 640 2 5\n", home.user));
    // Files that only root could make are refused, as anywhere.
    assert_ne!(home.runs("chown", &["0", "mnt/name"]).code, 0);
    assert_ne!(home.runs("mknod", &["mnt/device", "b", "7", "0"]).code, 0);

    let mut holder = home.holder();
    let refused = home.runs("esker", &["fs", "unmount", "mnt"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let named = format!("process {} (sleep) has a file open, works in ", holder.id());
    assert!(refused.stderr.contains("is in use:\n  ") && refused.stderr.contains(&named), "{}", refused.stderr);
    holder.kill().unwrap();
    holder.wait().unwrap();

    home.ok("esker", &["fs", "unmount", "mnt"]);
    assert!(home.ok("esker", &["fs", "check", "a.pool"]).ends_with("sound\n"));
    home.ok("esker", &["fs", "mount", "a.pool", "mnt"]);
    assert_eq!(home.ok("cat", &["mnt/name"]), "held\n");
    home.ok("esker", &["fs", "unmount", "mnt"]);
    // What belongs to root stays out of reach.
    if home.user == NOBODY {
        fs::copy(home.path("a.pool"), home.path("root.pool")).unwrap();
        fs::set_permissions(home.path("root.pool"), fs::Permissions::from_mode(0o600)).unwrap();
        let refused = home.runs("esker", &["fs", "mount", "root.pool", "mnt"]);
        assert!(refused.code == 2 && refused.stderr.contains("root.pool"), "{}", refused.stderr);
    }
}
