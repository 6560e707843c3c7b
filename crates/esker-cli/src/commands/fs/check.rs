//! `esker fs check`.

use std::path::Path;
use std::process::ExitCode;

use esker_core::words;
use esker_scm::{CheckReport, Mapped, MountError, check, repair};

use super::mount::{advice, damage, unmountable};
use super::unmappable;
use crate::args::FsCheckArguments;
use crate::cancel;
use crate::failure::Failure;
use crate::output;

/// Says whether the pool is sound, and repairs it if that is asked for.
pub(super) fn run(arguments: &FsCheckArguments) -> Result<ExitCode, Failure> {
    let path = &arguments.pool;
    let report = if arguments.repair {
        cancel::leaves("a part of the repair may be done: run it again");
        let pool = Mapped::open(path).map_err(|error| unmappable(&error))?;
        repair(&pool).map_err(|error| unrepaired(path, &error))?
    } else {
        let pool = Mapped::open_to_look(path).map_err(|error| unmappable(&error))?;
        check(&pool).map_err(|error| unsound(path, &error))?
    };
    output::print(&text(&report, arguments.repair))?;
    Ok(if report.is_sound() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Why a pool cannot be checked to its end: it is none, or its beginning is damaged.
fn unsound(path: &Path, error: &MountError) -> Failure {
    match damage(error) {
        Some(damage) => Failure::work(format!("{}: {damage}", path.display())).with_hint(advice(path)),
        None => broken(path, error),
    }
}

/// Why a repair has ended before its end.
fn unrepaired(path: &Path, error: &MountError) -> Failure {
    match damage(error) {
        Some(damage) => {
            Failure::work(format!("{}: {damage}; this cannot be repaired", path.display())).with_hint(BACKUP)
        }
        None => broken(path, error),
    }
}

fn broken(path: &Path, error: &MountError) -> Failure {
    match error {
        MountError::NoPool | MountError::Version(_) => unmountable(path, error),
        _ => Failure::work(format!("{}: {error}", path.display())),
    }
}

const BACKUP: &str = "copy the pool out of a backup";

fn text(report: &CheckReport, is_repair: bool) -> String {
    let mut text = format!(
        "{} inodes in use, {} of them directories\n",
        words::count(report.inodes),
        words::count(report.directories)
    );
    report.repaired.iter().for_each(|problem| text += &format!("repaired: {problem}\n"));
    report.problems.iter().for_each(|problem| text += &format!("{problem}\n"));
    if report.is_sound() {
        text += "sound\n";
    } else if is_repair {
        text += &format!("this cannot be repaired: {BACKUP}\n");
    }
    text
}
