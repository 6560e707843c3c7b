//! The text of a catalogue.

use std::path::{Path, PathBuf};

use esker_config::{ConfigError, ConfigText, FileKind, Finding, Node, Span};

use super::raw::RawCatalogue;
use super::{build, csv};
use crate::{Catalogue, CatalogueError, Product};

/// The text of a catalogue, which knows where the figures of each product were written. Whoever checks more of a
/// catalogue than its own rules, such as that its devices can be simulated, makes its errors with it.
#[derive(Debug)]
pub struct CatalogueText {
    name: String,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Toml(ConfigText),
    /// Comma-separated values.
    Csv(String),
}

impl CatalogueText {
    /// Parses a catalogue in TOML. `name` is its name in errors.
    pub fn toml(name: &str, text: &str) -> Result<Self, CatalogueError> {
        let config = ConfigText::parse(text, name)?;
        config.check_kind(FileKind::Catalogue)?;
        Ok(Self { name: name.to_string(), form: Form::Toml(config) })
    }

    /// A catalogue as a table of comma-separated values. `name` is its name in errors.
    pub fn csv(name: &str, text: &str) -> Self {
        Self { name: name.to_string(), form: Form::Csv(text.to_string()) }
    }

    /// Parses the text of a catalogue file: a table if its `name` ends in `.csv`, else TOML.
    pub fn of_file(name: &str, text: &str) -> Result<Self, CatalogueError> {
        if name.to_lowercase().ends_with(".csv") { Ok(Self::csv(name, text)) } else { Self::toml(name, text) }
    }

    /// Reads the catalogue. The settings of its products are not looked into: [`Product::settings`] is `None`.
    pub fn catalogue(&self) -> Result<Catalogue, CatalogueError> {
        match &self.form {
            Form::Toml(config) => {
                let raw: RawCatalogue = config.read()?;
                build(&self.name, raw, config).map_err(|error| self.located(error))
            }
            Form::Csv(table) => csv::csv(&self.name, table),
        }
    }

    /// The folder from which the paths of presets start: that of the file.
    pub fn folder(&self) -> PathBuf {
        Path::new(&self.name).parent().map(Path::to_path_buf).unwrap_or_default()
    }

    /// The table of the product's own settings of its device, if it has one. Its keys `source` and `assumed` say where
    /// they are from, and are no settings.
    pub fn device_table(&self, product: &Product) -> Option<&Node> {
        self.config()?.node(&["product", &product.name, "device"])
    }

    /// Where the dotted `key` was written, if it was.
    pub fn span(&self, key: &str) -> Option<&Span> {
        self.config()?.span(key)
    }

    fn config(&self) -> Option<&ConfigText> {
        match &self.form {
            Form::Toml(config) => Some(config),
            Form::Csv(_) => None,
        }
    }

    /// Returns the error with line and column of the finding, which is about a product.
    pub fn error(&self, finding: Finding) -> CatalogueError {
        match &self.form {
            Form::Toml(config) => config.error(finding),
            Form::Csv(_) => self.located(ConfigError::new(finding.key, *finding.problem)),
        }
    }

    /// Adds to `error` the position of its key, `product.NAME...`, or of the innermost table around it.
    pub fn located(&self, error: CatalogueError) -> CatalogueError {
        match &self.form {
            _ if !error.origin.is_empty() => error,
            Form::Toml(config) => config.located(error),
            Form::Csv(table) => csv::located(&self.name, table, error),
        }
    }
}
