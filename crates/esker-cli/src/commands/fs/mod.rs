//! `esker fs`: SCMFS, a file system in memory that stays.

mod background;
mod bench;
mod check;
mod mkfs;
mod mount;
mod run;
mod stat;
mod unmount;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use esker_scm::{Durability, MapError, Moment};

use crate::args::{Common, FsCommand};
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(command: FsCommand, common: &Common) -> Result<ExitCode, Failure> {
    match command {
        FsCommand::Mkfs(arguments) => mkfs::run(&arguments),
        FsCommand::Mount(arguments) => mount::run(&arguments, common),
        FsCommand::Unmount(arguments) => unmount::run(&arguments),
        FsCommand::Stat(arguments) => stat::run(&arguments),
        FsCommand::Check(arguments) => check::run(&arguments),
        FsCommand::Run(arguments) => run::run(&arguments),
        FsCommand::Bench(arguments) => bench::run(&arguments),
    }
}

/// Why a pool cannot be mapped, and what to do.
fn unmappable(error: &MapError) -> Failure {
    match error {
        MapError::System { path, what, error, remedy } => {
            Failure::input(format!("{}: {what}: {error}", path.display())).with_hint(*remedy)
        }
        MapError::InUse(path) => Failure::input(format!("{}: another process uses this pool", path.display()))
            .with_hint("a pool is used by one process at a time; `esker fs stat` says where it is mounted"),
        MapError::NoFile(path) => Failure::input(format!("{}: not a file and not a DAX device", path.display()))
            .with_hint("give the path of a pool; `esker fs mkfs` makes one"),
        MapError::Empty(path) => Failure::input(format!("{}: this file is empty, and no pool", path.display()))
            .with_hint("`esker fs mkfs` makes a pool where there is no file yet"),
    }
}

/// What stores to a pool survive.
fn describe(durability: Durability, instruction: &str) -> String {
    match durability {
        Durability::Lines => format!("persistent memory, made durable by {instruction}"),
        Durability::VolatileLines => {
            "memory that is volatile: files survive processes, not a loss of power".to_string()
        }
        Durability::Msync => "a file on an ordinary device, made durable by msync".to_string(),
    }
}

#[expect(clippy::disallowed_methods, reason = "files have the times of the real world")]
fn now() -> Moment {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Moment(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// The path of a pool or directory from wherever a process works.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}
