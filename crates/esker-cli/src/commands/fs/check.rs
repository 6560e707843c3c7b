//! `esker fs check`.

use std::process::ExitCode;

use esker_core::words;
use esker_scm::{CheckReport, Mapped, check, repair};

use super::mount::unmountable;
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
        repair(&pool).map_err(|error| unmountable(path, &error))?
    } else {
        let pool = Mapped::open_to_look(path).map_err(|error| unmappable(&error))?;
        check(&pool).map_err(|error| unmountable(path, &error))?
    };
    output::print(&text(&report))?;
    Ok(if report.is_sound() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn text(report: &CheckReport) -> String {
    let mut text = format!(
        "{} inodes in use, {} of them directories\n",
        words::count(report.inodes),
        words::count(report.directories)
    );
    report.repaired.iter().for_each(|problem| text += &format!("repaired: {problem}\n"));
    report.problems.iter().for_each(|problem| text += &format!("{problem}\n"));
    if report.is_sound() {
        text += "sound\n";
    }
    text
}
