//! Tells what happens while something is served.

use esker_serve::{Log, LogEvent, LogLevel};

use crate::output::tell;

/// Says on standard error what matters at least this much.
pub(super) struct ServerLog(pub(super) LogLevel);

impl Log for ServerLog {
    fn log(&mut self, event: &LogEvent) {
        if event.level() >= self.0 {
            tell(&event.level(), event);
        }
    }
}
