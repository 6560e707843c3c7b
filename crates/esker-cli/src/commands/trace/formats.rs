//! `esker trace formats`.

use std::process::ExitCode;

use esker_trace::{FORMATS, FormatCapability};

use crate::failure::Failure;
use crate::output;
use crate::table::Table;

/// Lists the formats.
pub(super) fn run() -> Result<ExitCode, Failure> {
    let mut table = Table::new(&["format", "times", "responses", "written", "what it is"]);
    let yes = |holds: bool| if holds { "yes" } else { "no" };
    for format in FORMATS {
        table.row([
            format.name,
            yes(format.build.has_times()),
            yes(format.build.has_responses()),
            yes(format.can(FormatCapability::Write)),
            format.summary,
        ]);
    }
    output::print(&table.render())?;
    Ok(ExitCode::SUCCESS)
}
