//! Figures: published values beside measured ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One chart.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What the chart shows, with the number of the figure in the paper.
    pub title: String,
    /// One sentence on how to read it, or on differences from the paper's figure.
    pub note: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// An axis: its quantity and its spacing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The quantity with its unit: "mean response, ms".
    pub label: String,
    /// How values are spaced along the axis.
    pub scale: Scale,
}

impl Axis {
    /// An axis with equal distances for equal differences.
    pub fn linear(label: &str) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// An axis with equal distances for equal ratios. Values of zero are left out.
    pub fn logarithmic(label: &str) -> Self {
        Self { label: label.into(), scale: Scale::Logarithmic }
    }

    /// An axis of names, each with one bar per curve. Only for x: the x of a point is the index of its name.
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
        /// The names in their order.
        names: Vec<String>,
    },
}

/// Points that belong together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Name of the curve: "DFTL". A published and a measured curve of the same name have the same colour.
    pub name: String,
    /// Whether the values are published or measured.
    pub source: Source,
    /// Pairs of x and y, by rising x.
    pub points: Vec<(f64, f64)>,
}

/// Origin of a curve's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// From the paper.
    Published,
    /// From our run.
    Measured,
}

impl Curve {
    /// A curve of published values.
    pub fn published(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), source: Source::Published, points: points.into_iter().collect() }
    }

    /// A curve of measured values.
    pub fn measured(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), source: Source::Measured, points: points.into_iter().collect() }
    }

    /// Measured values, one for each category in order.
    pub fn measured_bars(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        Self::measured(name, enumerated(values))
    }

    /// Published values, one for each category in order; NaN if the paper has none.
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
