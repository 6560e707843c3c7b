//! `esker fs stat`.

use std::path::Path;
use std::process::ExitCode;

use esker_core::words;
use esker_scm::{FileSystem, MapError, Mapped, Mode};
use esker_scm_mount::MountPoint;

use super::mount::unmountable;
use super::{describe, unmappable};
use crate::args::FsStatArguments;
use crate::failure::Failure;
use crate::output;

/// Says how full the pool is.
pub(super) fn run(arguments: &FsStatArguments) -> Result<ExitCode, Failure> {
    let text = match Mapped::open_to_look(&arguments.pool) {
        Ok(pool) => text_of(&arguments.pool, pool)?,
        Err(MapError::InUse(path)) => match MountPoint::of_pool(&path) {
            Ok(Some(point)) => text_of_mounted(&path, &point.directory)?,
            _ => return Err(unmappable(&MapError::InUse(path))),
        },
        Err(error) => return Err(unmappable(&error)),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn text_of(path: &Path, pool: Mapped) -> Result<String, Failure> {
    let kept = describe(pool.durability(), pool.instruction());
    let size = bytes(esker_scm::Persist::len(&pool));
    let failed = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    // What a crash has left in the log is read as a mount would leave it.
    let system = FileSystem::mount(pool, Mode::None).map_err(|error| unmountable(path, &error))?;
    let found = system.statistics().map_err(|error| failed(&error))?;
    Ok(format!(
        "{}: a pool of {size} on {kept}\n\
         data: {} of {} used, {} of null files\n\
         inodes: {} of at most {} used\n\
         not mounted\n",
        path.display(),
        bytes(found.capacity - found.free),
        bytes(found.capacity),
        bytes(found.null_files),
        words::count(found.inodes),
        words::count(found.inodes_max),
    ))
}

/// A mounted pool says itself how full it is.
fn text_of_mounted(path: &Path, directory: &Path) -> Result<String, Failure> {
    let shown = directory.display();
    let found = rustix::fs::statvfs(directory).map_err(|error| Failure::work(format!("{shown}: {error}")))?;
    let block = found.f_frsize;
    Ok(format!(
        "{}: a pool in use\n\
         data: {} of {} used\n\
         inodes: {} of at most {} used\n\
         mounted at {shown}\n",
        path.display(),
        bytes((found.f_blocks - found.f_bfree) * block),
        bytes(found.f_blocks * block),
        words::count(found.f_files - found.f_ffree),
        words::count(found.f_files),
    ))
}

fn bytes(bytes: u64) -> String {
    words::bytes(bytes as f64)
}
