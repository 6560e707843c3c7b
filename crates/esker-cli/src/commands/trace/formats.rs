//! `esker trace formats`.

use std::process::ExitCode;

use esker_trace::FORMATS;

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
            yes(format.has_times()),
            yes(format.has_responses()),
            yes(format.can_be_written()),
            format.summary,
        ]);
    }
    output::print(&table.render())?;
    Ok(ExitCode::SUCCESS)
}
