//! Tells what happens while something is served.

use std::fmt;

use esker_serve::{Log, LogEvent, LogLevel};

use serde::Serialize;

use crate::output::tell;

/// Says on standard error what matters at least this much.
pub(super) struct ServerLog(pub(super) LogLevel);

impl Log for ServerLog {
    fn log(&mut self, export: Option<&str>, event: &LogEvent) {
        if event.level() >= self.0 {
            tell(&event.level(), &Told { event, export });
        }
    }
}

/// An event, with the export that it is about if there are several.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    event: &'a LogEvent,
    #[serde(skip_serializing_if = "Option::is_none")]
    export: Option<&'a str>,
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.export {
            Some(export) => write!(f, "{export}: {}", self.event),
            None => self.event.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_names_its_export_where_there_are_several() {
        let event = &LogEvent::DeviceState { device: "flash".to_string(), state: "failed".to_string() };
        let (one, several) = (Told { event, export: None }, Told { event, export: Some("home") });
        assert_eq!(
            (one.to_string(), several.to_string().as_str()),
            (event.to_string(), "home: device flash is failed")
        );
        assert_eq!(serde_json::json!(one), serde_json::json!(event));
        let expected =
            serde_json::json!({"event": "device-state", "device": "flash", "state": "failed", "export": "home"});
        assert_eq!(serde_json::json!(several), expected);
    }
}
