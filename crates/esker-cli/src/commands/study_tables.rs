//! What commands write of a study beside its report: tables, and the arithmetic of a design.

use esker_core::did_you_mean;
use esker_results::study::StudyReport;

use crate::args::TableArguments;
use crate::failure::Failure;
use crate::output::{self, Content, NewFolders, Output, Outputs};

/// Where tables go.
pub(crate) struct TableOutputs {
    tables: Vec<Output>,
    markdown: Option<Output>,
    /// Dropped last, when the tables are in their place or were given up.
    _folders: Option<NewFolders>,
}

impl TableOutputs {
    /// Claims the outputs, before any work, for a study of `workloads` workloads.
    pub(crate) fn claim(arguments: &TableArguments, workloads: usize, outputs: &mut Outputs) -> Result<Self, Failure> {
        let mut tables = Vec::new();
        let folders = arguments.csv.as_deref().map(NewFolders::of);
        if let Some(folder) = &arguments.csv {
            if folder.is_file() {
                return Err(Failure::input(format!("--csv {0}: {0} is a file, not a folder", folder.display()))
                    .with_hint("name a folder, which is made if it is missing: every table is a file in it"));
            }
            std::fs::create_dir_all(folder).map_err(|fault| {
                Failure::input(format!("{}: is no folder to write tables to: {fault}", folder.display()))
            })?;
            for name in esker_report::table_names(workloads) {
                tables.push(outputs.claim("", &folder.join(format!("{name}.csv")), Content::StudyTable)?);
            }
        }
        let markdown = arguments.markdown.as_deref();
        let markdown = markdown.map(|path| outputs.claim("--markdown", path, Content::Markdown)).transpose()?;
        Ok(Self { tables, markdown, _folders: folders })
    }

    /// Whether standard output is taken.
    pub(crate) fn take_standard_output(&self) -> bool {
        self.markdown.as_ref().is_some_and(Output::is_standard_output)
    }

    /// Writes the tables.
    pub(crate) fn write(self, study: &StudyReport) -> Result<(), Failure> {
        if !self.tables.is_empty() {
            for (output, table) in self.tables.into_iter().zip(esker_report::tables(study)) {
                output.write_text(&table.csv())?;
            }
        }
        self.markdown.map_or(Ok(()), |output| output.write_text(&esker_report::markdown(study)))
    }
}

/// Prints the arithmetic of the designs that were asked for.
pub(crate) fn explain(arguments: &TableArguments, study: &StudyReport) -> Result<(), Failure> {
    for name in &arguments.explain {
        let Some(text) = esker_report::explain(study, name) else {
            let hint = match did_you_mean(name, esker_report::design_names(study)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "the table of designs has their names; those that were ruled out are in the report".into(),
            };
            return Err(Failure::input(format!("no design of the study is called `{name}`")).with_hint(hint));
        };
        output::print(&format!("{text}\n"))?;
    }
    Ok(())
}
