//! `esker fs mkfs`.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::ExitCode;

use esker_core::{Bytes, words};
use esker_scm::{Caller, FileSystem, Geometry, MapError, Mapped, Mode, MountError, PAGE, mkfs};

use super::{describe, now, unmappable};
use crate::args::FsMkfsArguments;
use crate::cancel;
use crate::failure::Failure;
use crate::output;

/// Makes the pool.
pub(super) fn run(arguments: &FsMkfsArguments) -> Result<ExitCode, Failure> {
    let path = &arguments.pool;
    match (std::fs::metadata(path), arguments.size) {
        (Err(error), Some(size)) if error.kind() == io::ErrorKind::NotFound => make_file(path, size.0)?,
        (Err(error), None) if error.kind() == io::ErrorKind::NotFound => {
            let failure = Failure::input(format!("{}: there is no such file or device", path.display()));
            return Err(failure.with_hint("to make the file, say how large: --size 8GiB"));
        }
        (Err(error), _) => return Err(Failure::input(format!("{}: {error}", path.display()))),
        (Ok(found), None) if found.file_type().is_char_device() => take_device(path, arguments.force)?,
        (Ok(found), _) if found.file_type().is_char_device() => {
            let failure = Failure::input(format!("{}: a device has a size of its own", path.display()));
            return Err(failure.with_hint("leave --size out"));
        }
        (Ok(_), _) => replace(path, arguments.force)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn make_file(path: &Path, size: u64) -> Result<(), Failure> {
    check_size(path, size)?;
    cancel::leaves("the beginning of a pool may be left");
    let pool = Mapped::create(path, size).map_err(|error| unmappable(&error))?;
    fill(path, &pool).inspect_err(|_| {
        // What cannot be removed stays as an empty file.
        let _ = std::fs::remove_file(path);
    })
}

fn check_size(path: &Path, size: u64) -> Result<(), Failure> {
    let refused = |what: &str| Failure::input(format!("{}: a pool of {} is too {what}", path.display(), Bytes(size)));
    let (least, most) = (Geometry::PAGES_MIN * PAGE, Geometry::PAGES_MAX * PAGE);
    match size {
        size if size < least => Err(refused("small").with_hint(format!("the least size is {}", Bytes(least)))),
        size if size > most => Err(refused("large").with_hint(format!("the largest size is {}", Bytes(most)))),
        _ => Ok(()),
    }
}

fn take_device(path: &Path, force: bool) -> Result<(), Failure> {
    if !force {
        let failure = Failure::input(format!("{}: what this device holds would be lost", path.display()));
        return Err(failure.with_hint("if that is meant, say --force"));
    }
    fill(path, &Mapped::open(path).map_err(|error| unmappable(&error))?)
}

/// Makes a new pool of an old one. Other files stay, whatever is said.
fn replace(path: &Path, force: bool) -> Result<(), Failure> {
    let is_pool = match Mapped::open_to_look(path) {
        Ok(old) => !matches!(FileSystem::mount(old, Mode::None), Err(MountError::NoPool)),
        Err(MapError::Empty(_)) => false,
        Err(error) => return Err(unmappable(&error)),
    };
    if !is_pool {
        let failure = Failure::input(format!("{}: a file that is not a pool is there already", path.display()));
        return Err(failure.with_hint("choose another path"));
    }
    if !force {
        let failure = Failure::input(format!("{}: a pool is there already", path.display()));
        return Err(failure.with_hint("to lose what it holds, say --force without --size"));
    }
    fill(path, &Mapped::open(path).map_err(|error| unmappable(&error))?)
}

fn fill(path: &Path, pool: &Mapped) -> Result<(), Failure> {
    let mut identity = [0; 16];
    rustix::rand::getrandom(&mut identity, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Failure::work(format!("no random numbers for the pool's identity: {error}")))?;
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let caller = Caller { user, group, groups: &[], now: now() };
    mkfs(pool, identity, &caller).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    let size = words::bytes(esker_scm::Persist::len(pool) as f64);
    let kept = describe(pool.durability(), pool.instruction());
    output::print(&format!("{}: a pool of {size} on {kept}\n", path.display()))
}
