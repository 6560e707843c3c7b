//! Reading a study tolerantly: what is absent is `None` or empty, never an error.

use serde_json::Value;

/// The value at `path`, keys joined by dots.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| value.get(key)).filter(|value| !value.is_null())
}

/// The finite number at `path`.
pub(crate) fn number(value: &Value, path: &str) -> Option<f64> {
    at(value, path)?.as_f64().filter(|number| number.is_finite())
}

/// The text at `path`.
pub(crate) fn text<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    at(value, path)?.as_str()
}

/// The entries of the array at `path`; none where there is no array.
pub(crate) fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// One number of each entry of the array at `path`, NaN where an entry has none.
pub(crate) fn column(value: &Value, path: &str, field: &str) -> Vec<f64> {
    list(value, path).iter().map(|entry| number(entry, field).unwrap_or(f64::NAN)).collect()
}
