//! Reads JSON so that errors name the field.

use serde::de::DeserializeOwned;

/// Reads a value; the error has the path of the field that is wrong, for people, and line and column.
pub(crate) fn from_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, (String, serde_json::Error)> {
    let mut text = serde_json::Deserializer::from_slice(json);
    serde_path_to_error::deserialize(&mut text).map_err(|error| {
        let place = match error.path().to_string() {
            path if path == "." => "its top".to_string(),
            path => format!("`{path}`"),
        };
        (place, error.into_inner())
    })
}
