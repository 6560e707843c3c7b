//! Errors for people: what, where, and after `hint:` what to do.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Style};
use esker_core::Hint;

/// As clap shows its own errors and tips. Without a terminal, or with NO_COLOR, there are no colours.
const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Green.on_default();

/// Why a command did not succeed, with its exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// Bad usage or bad input: exit status 2.
    pub(crate) fn input(message: impl fmt::Display) -> Self {
        Self { code: 2, message: message.to_string(), hint: None }
    }

    /// The work failed: exit status 1.
    pub(crate) fn work(message: impl fmt::Display) -> Self {
        Self { code: 1, message: message.to_string(), hint: None }
    }

    /// Ctrl-C: exit status 130, as shells expect.
    pub(crate) fn cancelled() -> Self {
        Self { code: 130, message: "interrupted; nothing half-written was left".into(), hint: None }
    }

    /// The same with a remedy.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    #[cfg(test)]
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Prints it and gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        anstream::eprintln!("{ERROR}error:{ERROR:#} {}", self.message);
        if let Some(hint) = &self.hint {
            anstream::eprintln!("{HINT}hint:{HINT:#} {hint}");
        }
        ExitCode::from(self.code)
    }
}

/// Any error that may know a remedy is bad input, unless the command says otherwise.
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
        Self { code: 2, message, hint: error.hint() }
    }
}
