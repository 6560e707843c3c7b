//! `esker fs mount`.

use std::path::Path;
use std::process::ExitCode;

use esker_scm::{FileSystem, FsError, Mapped, Mode, MountError};
use esker_scm_mount::{Mount, MountAtError, MountPoint, UnmountError};
use esker_serve::{tell_ready, tell_stopping};

use super::{background, describe, unmappable};
use crate::args::{Common, FsMode, FsMountArguments};
use crate::cancel;
use crate::failure::Failure;
use crate::output;

/// Mounts the pool, and serves it here or in the background.
pub(super) fn run(arguments: &FsMountArguments, common: &Common) -> Result<ExitCode, Failure> {
    if !arguments.foreground && !arguments.background {
        return background::start(arguments);
    }
    let pool = Mapped::open(&arguments.pool).map_err(|error| unmappable(&error))?;
    if arguments.populate {
        pool.populate(&arguments.pool).map_err(|error| unmappable(&error))?;
    }
    let kept = describe(pool.durability(), pool.instruction());
    let system = FileSystem::mount(pool, mode(arguments.mode)).map_err(|error| unmountable(&arguments.pool, &error))?;
    let mount = Mount::new(system, &arguments.pool, &arguments.directory).map_err(|error| refused(&error))?;
    let point = mount.point().clone();
    cancel::leaves("the directory may be left as a mount without a process: `esker fs unmount` takes it away");
    cancel::ends_by_itself(move || end(&point));
    // A signal that came before that woke nobody.
    if cancel::requested() {
        end(mount.point());
    }
    if arguments.background {
        background::say_ready()?;
    } else if !common.quiet {
        let (pool, directory) = (arguments.pool.display(), arguments.directory.display());
        output::remark(&format!("{pool} ({kept}) is mounted at {directory}"));
    }
    tell_ready();
    mount.serve().map_err(|error| Failure::work(format!("{}: {error}", arguments.pool.display())))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn mode(mode: FsMode) -> Mode {
    match mode {
        FsMode::None => Mode::None,
        FsMode::Metadata => Mode::Metadata,
        FsMode::Data => Mode::Data,
    }
}

/// Why a pool is not a file system that can be used.
pub(super) fn unmountable(pool: &Path, error: &MountError) -> Failure {
    match damage(error) {
        Some(damage) => Failure::input(format!("{}: {damage}", pool.display())).with_hint(advice(pool)),
        None => Failure::input(format!("{}: {error}", pool.display())),
    }
}

/// What to do about a damaged pool. It may be that a repair was tried already.
pub(super) fn advice(pool: &Path) -> String {
    format!("esker fs check --repair {}; what that cannot repair has to come out of a backup", pool.display())
}

/// What is damaged, if it is a pool that is damaged. What is to be done is another matter.
pub(super) fn damage(error: &MountError) -> Option<String> {
    match error {
        MountError::Header => Some("both copies of the pool's header are damaged".to_string()),
        MountError::File(FsError::Damaged(damage)) => Some(format!("damaged: {damage}")),
        _ => None,
    }
}

fn refused(error: &MountAtError) -> Failure {
    let failure = Failure::input(error);
    match error {
        MountAtError::NoFuse => failure.with_hint("as root: modprobe fuse; in a container, give it /dev/fuse"),
        MountAtError::NoHelper => failure.with_hint("as root: apt-get install fuse3; or mount as root"),
        MountAtError::Dead(directory) => failure.with_hint(format!("esker fs unmount {}", directory.display())),
        MountAtError::Directory { .. } => failure.with_hint("make the directory, or choose another"),
        MountAtError::System(_) => failure
            .with_hint("the directory has to be yours, and /dev/fuse open to you; in a container, mounting is a right"),
        MountAtError::File(_) => failure,
    }
}

/// A signal asks to end: unmounts, or has users served until they are done.
fn end(point: &MountPoint) {
    tell_stopping();
    let busy = match point.unmount() {
        Ok(()) => return,
        Err(error) => error,
    };
    output::remark(&described(&busy));
    if let UnmountError::Covered { .. } = busy {
        return output::remark("this ends when both are unmounted; a second signal ends it at once");
    }
    output::remark("they are served until they are done; a second signal ends this at once");
    if let Err(error) = point.detach() {
        output::remark(&error.to_string());
    }
}

/// The error with a line for each user.
pub(super) fn described(error: &UnmountError) -> String {
    let UnmountError::Busy { users, .. } = error else { return error.to_string() };
    let lines: Vec<String> = users.iter().map(|user| format!("\n  {user}")).collect();
    format!("{error}{}", if lines.is_empty() { String::new() } else { format!(":{}", lines.concat()) })
}
