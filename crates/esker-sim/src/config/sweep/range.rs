//! A range of values of a key, and random values within it.

use std::fmt;

use esker_config::{Finding, Node, Value, read};
use esker_core::Rng;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// Significant digits of values that are drawn without a `step`.
const DIGITS: i32 = 4;

/// `{ from = "2KiB", to = "64KiB", scale = "log", step = "2KiB" }`.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RangeSettings {
    from: Number,
    to: Number,
    #[serde(default)]
    scale: RangeScale,
    step: Option<Number>,
    draw: Option<String>,
}

/// How values are spread over a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RangeScale {
    /// Evenly.
    #[default]
    Linear,
    /// Their logarithms evenly: as many from 1 to 10 as from 10 to 100.
    Log,
}

/// A number as it was written: with a unit if it was a text, such as "2KiB".
#[derive(Clone, Debug, PartialEq)]
struct Number {
    value: f64,
    /// Empty if it was a text without a unit, `None` if it was a bare number.
    unit: Option<String>,
    is_whole: bool,
}

/// A range that was checked.
#[derive(Clone, Debug)]
pub(super) struct Range {
    from: f64,
    to: f64,
    scale: RangeScale,
    step: Option<f64>,
    unit: Option<String>,
    /// Ranges with the same name go up and down together.
    pub(super) draw: Option<String>,
}

impl Range {
    /// Whether a table of `[sweep]` is a range, and not a table with more keys to sweep.
    pub(super) fn is_range(node: &Node) -> bool {
        let plain = |node: &Node| !matches!(node.value, Value::Array(_) | Value::Table(_));
        let has = |key: &str| node.as_table().and_then(|table| table.get(key)).is_some_and(|entry| plain(&entry.node));
        has("from") || has("to")
    }

    /// Reads the range at `key`.
    pub(super) fn read(node: &Node, key: &str) -> Result<Self, Finding> {
        let RangeSettings { from, to, scale, step, draw } = read(node, key)?;
        let wrong = |message: String| Err(Finding::new(&node.at, key, message));
        if from.unit != to.unit || step.as_ref().is_some_and(|step| step.unit != from.unit) {
            return wrong("give `from`, `to` and `step` in the same unit, such as \"2KiB\" and \"64KiB\"".to_string());
        }
        if from.value >= to.value {
            return wrong(format!("`from` is {}, which is not less than `to`, {}", from.value, to.value));
        }
        if scale == RangeScale::Log && from.value <= 0.0 {
            return wrong(format!("a range with `scale = \"log\"` begins above 0, not at {}", from.value));
        }
        let whole = from.unit.is_none() && from.is_whole && to.is_whole;
        let step = step.map(|step| step.value).or(whole.then_some(1.0));
        if let Some(step) = step
            && !(step > 0.0 && multiples(from.value, to.value, step).is_some())
        {
            return wrong(format!("no multiple of `step`, {step}, lies between {} and {}", from.value, to.value));
        }
        Ok(Self { from: from.value, to: to.value, scale, step, unit: from.unit, draw })
    }

    /// Draws a value, as a file would have it.
    pub(super) fn draw(&self, rng: &mut Rng) -> Value {
        let at = rng.unit();
        let drawn = match self.scale {
            RangeScale::Linear => self.from + at * (self.to - self.from),
            RangeScale::Log => self.from * (self.to / self.from).powf(at),
        };
        let value = match self.step {
            Some(step) => {
                let (first, last) = multiples(self.from, self.to, step).expect("a range was checked");
                (drawn / step).round().clamp(first, last) * step
            }
            None => rounded(drawn).clamp(self.from, self.to),
        };
        // The shortest number that reads back as this one, without what a product with the step leaves behind.
        let value = format!("{value:.9}");
        let value = value.trim_end_matches('0').trim_end_matches('.');
        match &self.unit {
            Some(unit) => Value::String(format!("{value}{unit}")),
            None => Value::Number(value.to_string()),
        }
    }
}

/// The first and the last multiple of `step` from `from` to `to`, as numbers of steps.
fn multiples(from: f64, to: f64, step: f64) -> Option<(f64, f64)> {
    let (first, last) = ((from / step - 1e-9).ceil(), (to / step + 1e-9).floor());
    (first <= last).then_some((first, last))
}

/// The value with [`DIGITS`] significant digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10f64.powi(DIGITS - 1 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or one with its unit, such as \"2KiB\"")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number { value: value as f64, unit: None, is_whole: true })
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number { value: value as f64, unit: None, is_whole: true })
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number { value, unit: None, is_whole: false })
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
                let text = text.trim();
                let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
                let value = text[..split].replace('_', "").parse();
                let value = value.map_err(|_| E::custom(format!("`{text}` does not begin with a number")))?;
                Ok(Number { value, unit: Some(text[split..].trim().to_string()), is_whole: false })
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Result<Range, String> {
        let node = Node::parse(&format!("range = {text}")).unwrap();
        let table = node.as_table().unwrap();
        assert!(Range::is_range(&table["range"].node), "{text}");
        Range::read(&table["range"].node, "range").map_err(|finding| finding.problem.to_string())
    }

    fn drawn(text: &str) -> Vec<Value> {
        let (range, mut rng) = (range(text).unwrap(), Rng::new(1));
        (0..2_000).map(|_| range.draw(&mut rng)).collect()
    }

    fn numbers(values: &[Value], unit: &str) -> Vec<f64> {
        let number = |value: &Value| match value {
            Value::String(text) => text.strip_suffix(unit).unwrap().parse().unwrap(),
            Value::Number(text) if unit.is_empty() => text.parse().unwrap(),
            other => panic!("{other:?}"),
        };
        values.iter().map(number).collect()
    }

    #[test]
    fn values_lie_in_the_range_and_are_spread_by_its_scale() {
        let even = numbers(&drawn(r#"{ from = "40%", to = "90%" }"#), "%");
        assert!(even.iter().all(|value| (40.0..=90.0).contains(value)));
        let below = |values: &[f64], limit: f64| values.iter().filter(|value| **value < limit).count();
        assert!((900..1_100).contains(&below(&even, 65.0)), "half of them lie in the lower half");
        let log = numbers(&drawn(r#"{ from = 1.0, to = 10000.0, scale = "log" }"#), "");
        assert!((900..1_100).contains(&below(&log, 100.0)), "as many below 100 as above");
    }

    #[test]
    fn steps_are_kept_and_reach_both_ends() {
        let sizes = numbers(&drawn(r#"{ from = "2KiB", to = "7KiB", step = "0.5KiB" }"#), "KiB");
        assert!(sizes.iter().all(|size| (size * 2.0).fract() == 0.0 && (2.0..=7.0).contains(size)));
        assert!(sizes.contains(&2.0) && sizes.contains(&7.0));
        let whole = numbers(&drawn("{ from = 1, to = 3 }"), "");
        assert!([1.0, 2.0, 3.0].iter().all(|value| whole.contains(value)));
        assert!(whole.iter().all(|value| value.fract() == 0.0), "whole ends give whole numbers");
        let text = drawn(r#"{ from = "0.1s", to = "0.9s", step = "0.1s" }"#);
        assert!(
            text.iter().any(|value| matches!(value, Value::String(text) if text == "0.3s")),
            "not 0.30000000000004"
        );
    }

    #[test]
    fn what_is_no_range_says_why() {
        let message = |text: &str| range(text).unwrap_err();
        assert!(message(r#"{ from = "512B", to = "64KiB" }"#).contains("in the same unit"));
        assert!(message("{ from = 3, to = 3 }").contains("`from` is 3, which is not less than `to`, 3"));
        assert!(message(r#"{ from = 0, to = 3, scale = "log" }"#).contains("begins above 0"));
        assert!(message(r#"{ from = "5%", to = "9%", step = "10%" }"#).contains("no multiple of `step`"));
        assert!(message(r#"{ from = "1s", to = "9s", step = "0s" }"#).contains("no multiple of `step`, 0"));
        assert!(message(r#"{ from = "x", to = "9s" }"#).contains("does not begin with a number"));
        assert!(message(r#"{ from = 1, to = 2, steps = 3 }"#).contains("unknown key"));
        assert!(message(r#"{ from = 1 }"#).contains("to"));
    }
}
