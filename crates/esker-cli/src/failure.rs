//! Errors for people: what is wrong and where, and after `hint:` what to do.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Style};
use esker_core::Hint;

use crate::cancel;
use crate::log_lines::tell_error;

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
        Self { code: cancel::status(), message: format!("interrupted; {}", cancel::left()), hint: None }
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

    /// Whether the input was wrong, or the arguments were.
    pub(crate) fn is_about_input(&self) -> bool {
        self.code == 2
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    #[cfg(test)]
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Prints the error, with its hint on a line below. Returns the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        if !self.is_closed_pipe() && !tell_error(&self.message, self.hint.as_deref()) {
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
