//! Errors for people: what is wrong and where, and after `hint:` what to do.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Style};
use clap::{Command, CommandFactory};
use esker_core::Hint;

use crate::args::Arguments;
use crate::cancel;

/// The colours of clap's own errors and tips. There are none without a terminal, or with NO_COLOR.
const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Green.on_default();

/// Why a command failed, with its exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// A wrong command line or wrong input: exit status 2.
    pub(crate) fn input(message: impl fmt::Display) -> Self {
        Self { code: 2, message: message.to_string(), hint: None }
    }

    /// An error of the work: exit status 1.
    pub(crate) fn work(message: impl fmt::Display) -> Self {
        Self { code: 1, message: message.to_string(), hint: None }
    }

    /// Ended by Ctrl-C or another signal: exit status 130 or that of the signal, as shells expect.
    pub(crate) fn cancelled() -> Self {
        Self { code: cancel::status(), message: "interrupted; nothing half-written was left".into(), hint: None }
    }

    /// The reader of the output went away: not an error, and nothing is printed.
    pub(crate) fn closed_pipe() -> Self {
        Self { code: 0, message: String::new(), hint: None }
    }

    /// Whether the reader of the output went away.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.code == 0
    }

    /// Adds a hint, which is printed below the error.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint, if `--json FILE` with a blank may be the cause.
    pub(crate) fn with_hint_about_json(self) -> Self {
        match json_with_a_blank(std::env::args_os()) {
            Some(hint) if self.code == 2 => self.with_hint(hint),
            _ => self,
        }
    }

    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    #[cfg(test)]
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Prints the error, with its hint on a line below. Returns the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        if !self.is_closed_pipe() {
            // A closed standard error is no further error.
            let mut stderr = anstream::stderr();
            let _ = writeln!(stderr, "{ERROR}error:{ERROR:#} {}", self.message);
            if let Some(hint) = &self.hint {
                let _ = writeln!(stderr, "{HINT}hint:{HINT:#} {hint}");
            }
        }
        ExitCode::from(self.code)
    }
}

/// Converts any error with an optional hint: wrong input, unless the error states that the work failed.
impl<E: Error + Hint> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            source = cause.source();
        }
        Self { code: if error.work_failed() { 1 } else { 2 }, message, hint: error.hint() }
    }
}

/// The hint about `--json FILE`, if FILE looks like a path for JSON.
pub(crate) fn json_with_a_blank(words: impl Iterator<Item = OsString>) -> Option<String> {
    let words: Vec<OsString> = words.collect();
    let behind = words.windows(2).find(|pair| pair[0] == "--json").map(|pair| pair[1].to_string_lossy())?;
    let is_option = behind.starts_with('-') && behind != "-";
    let is_json = behind.to_lowercase().ends_with(".json");
    if is_option || (behind != "-" && !is_json && Path::new(&*behind).exists()) {
        None
    } else if behind == "-" {
        Some("`--json` by itself prints on standard output".into())
    } else if is_command(&Arguments::command(), &behind) {
        Some(format!(
            "`--json` by itself prints on standard output; `{behind}` is a command, which stands in front of options"
        ))
    } else {
        Some(format!("to write JSON to a file say `--json={behind}`, with `=`"))
    }
}

/// Whether a command of the program has this name.
fn is_command(program: &Command, name: &str) -> bool {
    program.get_subcommands().any(|command| command.get_name() == name || is_command(command, name))
}
