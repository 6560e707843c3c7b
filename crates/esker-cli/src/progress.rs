//! Progress of long work on standard error: a bar with the time left, on a terminal only.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that other threads may move. Hidden when quiet or when standard error is no terminal.
#[derive(Clone, Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for work that is measured in `unit`s ("B" for bytes).
    pub(crate) fn new(quiet: bool, unit: &str) -> Self {
        let visible = !quiet && std::io::stderr().is_terminal();
        let target = if visible { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let template = match unit {
            "B" => "{msg:28!} {bar:32} {bytes}/{total_bytes} {bytes_per_sec} ETA {eta}".to_string(),
            "%" => "{msg:28!} {bar:32} {percent}% ETA {eta}".to_string(),
            _ => format!("{{msg:28!}} {{bar:32}} {{human_pos}}/{{human_len}} {unit} ETA {{eta}}"),
        };
        bar.set_style(ProgressStyle::with_template(&template).expect("the templates above are valid"));
        bar.enable_steady_tick(Duration::from_millis(250));
        Self(bar)
    }

    /// What is being done.
    pub(crate) fn say(&self, message: &str) {
        self.0.set_message(message.to_string());
    }

    /// `done` of `total`.
    pub(crate) fn set(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
