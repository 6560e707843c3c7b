//! `esker model list`: the models that come with esker, and the forms.

use std::process::ExitCode;

use esker_model::{FORMS, SHIPPED};

use crate::failure::Failure;
use crate::output;
use crate::table::Table;

/// Prints both lists.
pub(super) fn run() -> Result<ExitCode, Failure> {
    let mut models = Table::new(&["model", "of", "form", "runs"]);
    for shipped in SHIPPED {
        let model = shipped.model();
        models.row([shipped.name.to_string(), shipped.summary.to_string(), model.form, model.runs.to_string()]);
    }
    let mut forms = Table::new(&["form", "what explains what"]);
    for form in FORMS {
        forms.row([form.name, form.summary]);
    }
    output::print(&format!("{}\n{}", models.render(), forms.render()))?;
    Ok(ExitCode::SUCCESS)
}
