//! A figure redrawn: the published values beside ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One chart.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What it shows, with its number in the paper.
    pub title: String,
    /// One sentence on how to read it, or on what differs from the paper's.
    pub note: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What is drawn.
    pub curves: Vec<Curve>,
}

/// What an axis counts, and how it spaces it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// With the unit: "mean response, ms".
    pub label: String,
    /// How values are spaced.
    pub scale: Scale,
}

impl Axis {
    /// Equal distances are equal differences.
    pub fn linear(label: &str) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// Equal distances are equal ratios; values of zero are left out.
    pub fn logarithmic(label: &str) -> Self {
        Self { label: label.into(), scale: Scale::Logarithmic }
    }

    /// Names side by side, each with one bar per curve. Only for x; a point's x is the name's place, from 0.
    pub fn categories<'a>(label: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self { label: label.into(), scale: Scale::Categories { names } }
    }
}

/// How an axis spaces values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal ratios.
    Logarithmic,
    /// Names instead of numbers.
    Categories {
        /// In their order.
        names: Vec<String>,
    },
}

/// Points that belong together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// What it is of: "DFTL". The published curve of the same name gets the same colour.
    pub name: String,
    /// Whose values these are.
    pub source: Source,
    /// Places and values, in rising order of places.
    pub points: Vec<(f64, f64)>,
}

/// Whose values a curve shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The paper's.
    Published,
    /// Ours.
    Measured,
}

impl Curve {
    /// Values that the paper has.
    pub fn published(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), source: Source::Published, points: points.into_iter().collect() }
    }

    /// Values that were measured.
    pub fn measured(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), source: Source::Measured, points: points.into_iter().collect() }
    }

    /// Measured values, one for each category in its order.
    pub fn measured_bars(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        Self::measured(name, enumerated(values))
    }

    /// Published values, one for each category in its order; NaN where the paper has none.
    pub fn published_bars(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        Self::published(name, enumerated(values).filter(|(_, value)| value.is_finite()))
    }
}

fn enumerated(values: impl IntoIterator<Item = f64>) -> impl Iterator<Item = (f64, f64)> {
    values.into_iter().enumerate().map(|(place, value)| (place as f64, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_at_the_places_of_their_categories() {
        let bars = Curve::published_bars("page", [1.0, f64::NAN, 3.0]);
        assert_eq!(bars.points, [(0.0, 1.0), (2.0, 3.0)]);
        let axis = serde_json::to_value(Axis::categories("layer", ["page", "DFTL"])).unwrap();
        assert_eq!(axis["scale"], serde_json::json!({ "kind": "categories", "names": ["page", "DFTL"] }));
    }
}
