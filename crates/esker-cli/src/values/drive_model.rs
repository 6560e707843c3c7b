//! Values of options about models of drives.

use esker_core::Bytes;

use super::{BadValue, size};

/// Parses a part of the name of a model, and a size: `MZQL21T9=3.5PB`.
pub(crate) fn model_size(text: &str) -> Result<(String, Bytes), BadValue> {
    let (model, value) = split(text, "write --rated MZQL21T9=3.5PB")?;
    match size(value)? {
        Bytes(0) => Err(BadValue::new("a drive that may be written nothing is no drive")),
        bytes => Ok((model, bytes)),
    }
}

/// Parses a part of the name of a model, and an amount of money: `MZQL21T9=740`.
pub(crate) fn model_price(text: &str) -> Result<(String, f64), BadValue> {
    let example = "write --price MZQL21T9=740";
    let (model, value) = split(text, example)?;
    let amount = value.parse::<f64>().ok().filter(|amount| (0.0..1e9).contains(amount));
    amount.map(|amount| (model, amount)).ok_or_else(|| BadValue::with_hint("that is no amount of money", example))
}

/// Models may have a `=` in their names, values have none.
fn split<'a>(text: &'a str, example: &str) -> Result<(String, &'a str), BadValue> {
    match text.rsplit_once('=') {
        Some((model, value)) if !model.trim().is_empty() => Ok((model.trim().to_string(), value.trim())),
        _ => Err(BadValue::with_hint("the model is missing", example)),
    }
}

/// Parses a number of years to look ahead.
pub(crate) fn horizon(text: &str) -> Result<f64, BadValue> {
    let years = text.trim().parse::<f64>().ok().filter(|years| (0.1..=50.0).contains(years));
    years.ok_or_else(|| BadValue::with_hint("it has to be from 0.1 to 50 years", "write --horizon 5"))
}
