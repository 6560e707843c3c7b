//! Lines on standard error as JSON, for programs that collect logs.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};

/// Whether all that is said on standard error is JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// From now on, each line on standard error is a JSON object.
pub(crate) fn say_in_json() {
    IS_JSON.store(true, Ordering::SeqCst);
}

/// The line for an event, if lines are JSON; for text otherwise `None`.
pub(crate) fn line(level: &impl Serialize, event: &Value) -> Option<String> {
    IS_JSON.load(Ordering::SeqCst).then(|| object(now(), level, event))
}

/// Says an error on standard error, if that is told in JSON. Returns whether it is.
pub(crate) fn tell_error(message: &str, hint: Option<&str>) -> bool {
    let event = json!({ "event": "error", "message": message, "hint": hint });
    let Some(line) = line(&"error", &event) else { return false };
    let _ = writeln!(std::io::stderr(), "{line}");
    true
}

#[expect(clippy::disallowed_methods, reason = "a log says when things happened")]
fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// The time and the level first, then what `event` has.
fn object(time: u128, level: &impl Serialize, event: &Value) -> String {
    let mut all = json!({ "time_unix_ns": u64::try_from(time).unwrap_or(u64::MAX), "level": level });
    if let (Value::Object(all), Value::Object(event)) = (&mut all, event) {
        all.extend(event.clone());
    }
    all.to_string()
}

#[cfg(test)]
mod tests {
    use esker_serve::{LogEvent, LogLevel};

    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let event = LogEvent::DeviceState { device: "a \"b\"\n".to_string(), state: "failed".to_string() };
        let line = object(7, &event.level(), &json!(event));
        assert!(!line.contains('\n'), "{line}");
        let read: Value = serde_json::from_str(&line).unwrap();
        let expected = json!({
            "time_unix_ns": 7, "level": LogLevel::Warning, "event": "device-state", "device": "a \"b\"\n",
            "state": "failed",
        });
        assert_eq!(read, expected);
    }
}
