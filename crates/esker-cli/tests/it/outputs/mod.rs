//! What is written where: no input and no file of another kind is ever replaced; devices and FIFOs are written to; a
//! file appears as a whole or not at all. For every command that writes, as root (if the tests run as root) and as
//! another user.

mod accepted;
mod formats;
mod pipes;
mod refused;
mod whole;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{RECORDED_STUDY, Run, folder_with_trace, run};

/// The user without rights: "nobody".
const NOBODY: u32 = 65_534;

/// A command that writes a file; `OUT` stands for its name.
struct Writing {
    arguments: &'static [&'static str],
    /// Inputs of the command.
    inputs: &'static [&'static str],
    /// Ending of the output's name.
    ending: &'static str,
}

/// Every command that writes, once for each of its outputs. Quick ones come first.
const WRITING: &[Writing] = &[
    Writing { arguments: &["trace", "info", "small.csv", "--json=OUT"], inputs: &["small.csv"], ending: "json" },
    Writing {
        arguments: &["trace", "convert", "small.csv", "--to", "msr", "-o", "OUT"],
        inputs: &["small.csv"],
        ending: "csv",
    },
    Writing {
        arguments: &["trace", "filter", "small.csv", "--to", "msr", "--head", "9", "--output", "OUT"],
        inputs: &["small.csv"],
        ending: "csv",
    },
    Writing {
        arguments: &["trace", "generate", "--like", "small.csv", "--to", "msr", "-o", "OUT"],
        inputs: &["small.csv"],
        ending: "csv",
    },
    Writing {
        arguments: &["trace", "generate", "--spec", "spec.toml", "--to", "ssdsim", "-o", "OUT"],
        inputs: &["spec.toml"],
        ending: "txt",
    },
    Writing { arguments: &["mrc", "small.csv", "--json=OUT"], inputs: &["small.csv"], ending: "json" },
    Writing { arguments: &["cache", "small.csv", "--json=OUT"], inputs: &["small.csv"], ending: "json" },
    Writing { arguments: &["cache", "small.csv", "-o", "OUT"], inputs: &["small.csv"], ending: "html" },
    Writing {
        arguments: &["sim", "sim.toml", "--no-cost", "--json=OUT"],
        inputs: &["sim.toml", "small.csv"],
        ending: "json",
    },
    Writing {
        arguments: &["sim", "sim.toml", "--no-cost", "-o", "OUT"],
        inputs: &["sim.toml", "small.csv"],
        ending: "html",
    },
    Writing {
        arguments: &["sweep", "sweep.toml", "-o", "points", "--json=OUT"],
        inputs: &["sweep.toml", "small.csv", "other.csv"],
        ending: "json",
    },
    Writing { arguments: &["report", "study.json", "-o", "OUT"], inputs: &["study.json"], ending: "html" },
    Writing { arguments: &["devices", "--json=OUT"], inputs: &[], ending: "json" },
    Writing { arguments: &["reproduce", "agrawal/traces", "-o", "OUT"], inputs: &[], ending: "html" },
    Writing { arguments: &["reproduce", "agrawal/traces", "--json=OUT"], inputs: &[], ending: "json" },
    Writing { arguments: &["study", "small.csv", "--no-cost", "-o", "OUT"], inputs: &["small.csv"], ending: "html" },
    Writing {
        arguments: &["study", "small.csv", "--no-cost", "-o", "beside.html", "--json=OUT"],
        inputs: &["small.csv"],
        ending: "json",
    },
];

impl Writing {
    /// The arguments with `out` as the output, and `--quiet`.
    fn to(&self, out: &str) -> Vec<String> {
        self.arguments.iter().map(|word| word.replace("OUT", out)).chain(["--quiet".to_string()]).collect()
    }

    /// Refuses a trace that is there already as its output: it may be a recording, and only `--force` replaces it.
    fn again(&self, out: &str) -> Vec<String> {
        let is_trace = self.arguments[0] == "trace" && self.arguments[1] != "info";
        self.to(out).into_iter().chain(is_trace.then(|| "--force".to_string())).collect()
    }

    /// A valid name for the output.
    fn name(&self, stem: &str) -> String {
        format!("{stem}.{}", self.ending)
    }

    /// The commands that take only a moment.
    fn quick() -> impl Iterator<Item = &'static Writing> {
        WRITING.iter().filter(|writing| !writing.is_study())
    }

    /// The quick commands and, on the first ground, a study, which takes seconds.
    fn on(ground: &Ground) -> impl Iterator<Item = &'static Writing> {
        let study = WRITING.iter().find(|writing| writing.is_study() && ground.user.is_none());
        Self::quick().chain(study)
    }

    fn is_study(&self) -> bool {
        self.arguments[0] == "study"
    }
}

/// A folder with the inputs of the commands above, and the user who works in it.
struct Ground {
    folder: tempfile::TempDir,
    user: Option<u32>,
}

impl Ground {
    fn new(user: Option<u32>) -> Self {
        let folder = folder_with_trace(60);
        let ground = Self { folder, user };
        fs::copy(ground.path("small.csv"), ground.path("other.csv")).unwrap();
        let workload = "[workload]\ntrace = \"small.csv\"\nbeyond_capacity = \"wrap\"\n";
        let rest =
            "[device.d]\nkind = \"constant\"\nservice_time = \"1ms\"\ncapacity = \"1GiB\"\n[run]\ntarget = \"d\"\n";
        ground.write("sim.toml", format!("{workload}{rest}"));
        let sweep = "[sweep]\nworkload.trace = [\"small.csv\", \"other.csv\"]\n";
        ground.write("sweep.toml", format!("{workload}{rest}{sweep}"));
        ground.write("spec.toml", "requests = 100\n");
        fs::copy(RECORDED_STUDY, ground.path("study.json")).unwrap();
        ground.own(".");
        for name in ["small.csv", "other.csv", "sim.toml", "sweep.toml", "spec.toml", "study.json"] {
            ground.own(name);
        }
        ground
    }

    /// A ground for the user who runs the tests and, if that is root, one for a user without root's rights.
    fn each() -> Vec<Self> {
        let mut all = vec![Self::new(None)];
        if is_root() {
            let reachable = Self::new(Some(NOBODY)).esker(&["--version"]).is_some_and(|run| run.code == 0);
            if reachable {
                all.push(Self::new(Some(NOBODY)));
            } else {
                skip("the program cannot be run by another user from where it was built");
            }
        }
        all
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
        self.own(name);
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Gives `name` to the user of this ground.
    fn own(&self, name: &str) {
        if let Some(user) = self.user {
            std::os::unix::fs::lchown(self.path(name), Some(user), Some(user)).unwrap();
        }
    }

    fn link(&self, target: &str, link: &str) {
        std::os::unix::fs::symlink(target, self.path(link)).unwrap();
        self.own(link);
    }

    fn command(&self, arguments: &[impl AsRef<str>]) -> Command {
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        let mut command = crate::support::command(self.folder.path(), &arguments);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// Runs the program, if the user may.
    fn esker(&self, arguments: &[impl AsRef<str>]) -> Option<Run> {
        let shown = arguments.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" ");
        run(&mut self.command(arguments), &shown).ok()
    }

    fn succeeds(&self, arguments: &[impl AsRef<str>]) -> Run {
        let run = self.esker(arguments).expect("the program starts");
        assert_eq!(run.code, 0, "{}: {}", self.shown(arguments), run.stderr);
        self.no_rest(arguments);
        run
    }

    /// Runs the program and expects one error with this exit status. It must not name a temporary file or leave one
    /// behind.
    fn fails(&self, code: i32, arguments: &[impl AsRef<str>]) -> String {
        let run = self.esker(arguments).expect("the program starts");
        assert_eq!(run.code, code, "{}: {}{}", self.shown(arguments), run.stdout, run.stderr);
        self.one_error(&run.stderr, arguments);
        run.stderr
    }

    fn one_error(&self, said: &str, arguments: &[impl AsRef<str>]) {
        assert_eq!(said.matches("error:").count(), 1, "{}: {said}", self.shown(arguments));
        assert!(!said.contains(".esker-") && !said.contains("panicked"), "{said}");
        self.no_rest(arguments);
    }

    fn no_rest(&self, arguments: &[impl AsRef<str>]) {
        let rest: Vec<String> = self.names().into_iter().filter(|name| name.starts_with('.')).collect();
        assert_eq!(rest, [""; 0], "left behind by {}", self.shown(arguments));
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn shown(&self, arguments: &[impl AsRef<str>]) -> String {
        let words = arguments.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" ");
        format!("esker {words} (user {})", self.user.unwrap_or_else(|| rustix::process::geteuid().as_raw()))
    }

    /// A ground on which a faulty program cannot do harm outside the folder: that of "nobody", if possible.
    fn harmless() -> Self {
        Self::each().pop().expect("there is one at least")
    }

    /// A device of this number in the folder, so that a faulty program does not destroy the system's own. Without
    /// root's rights nothing can destroy that, so `other` is returned.
    fn device(&self, name: &str, number: [&str; 3], other: &'static str) -> Option<String> {
        let path = self.path(name).display().to_string();
        let [kind, major, minor] = number;
        let made = is_root() && tool("mknod", &["-m", "666", &path, kind, major, minor]);
        // If the file system does not support devices, the node exists but cannot be opened.
        if made && fs::OpenOptions::new().write(true).open(&path).is_ok() {
            return Some(name.to_string());
        }
        if is_root() && self.user.is_none() {
            skip("devices as root need a file system and rights that allow them");
            return None;
        }
        Some(other.to_string())
    }

    /// Makes a file that esker would never write.
    fn something(&self, name: &str) -> &'static [u8] {
        let bytes = b"Dear diary,\nnothing happened today.\n";
        self.write(name, bytes);
        bytes
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[expect(clippy::print_stderr, reason = "a test says what it left out")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// Runs a tool of the system; false if it is missing or fails.
fn tool(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn give(path: &Path, user: u32, group: u32) {
    chown(path, Some(user), Some(group)).unwrap();
}
