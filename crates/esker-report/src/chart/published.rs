//! A figure of a paper, with published values beside measured ones.

use esker_results::reproduction as found;

use super::{Axis, Chart, Colour, Scale, Series, Shape, Unit};
use crate::columns::Columns;

/// The largest number of bars in a chart of half the page's width.
const BARS_NARROW: usize = 18;
/// With more points than this, marks would hide the line.
const MARKS_MAX: usize = 48;

/// The chart of `figure`; `None` if it has no points.
pub(crate) fn figure(figure: &found::Figure, prefix: &str, name: &str, columns: &mut Columns) -> Option<Chart> {
    let curves = &figure.curves;
    let x = axis(&figure.x);
    let bars = !x.names.is_empty();
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    let several = curves.iter().any(|curve| is_published(curve) != is_published(&curves[0]));
    let series: Vec<Series> = curves
        .iter()
        .enumerate()
        .filter_map(|(index, curve)| {
            let published = is_published(curve);
            let shift = if bars { slot(index, curves.len()) } else { 0.0 };
            let points = curve.points.iter().filter(|(place, value)| place.is_finite() && value.is_finite());
            let (x, y) = points.map(|(place, value)| (place + shift, *value)).unzip();
            let label = match (several || published, published) {
                (true, true) => format!("{}, published", names[index]),
                (true, false) => format!("{}, measured", names[index]),
                (false, _) => names[index].to_string(),
            };
            let colour = Colour::Category(colour(&names, index));
            let shape = match curve.points.len() {
                _ if bars => Shape::Slots,
                ..=MARKS_MAX => Shape::Points,
                _ => Shape::ManyPoints,
            };
            let key = format!("{prefix}-{name}: {label}");
            Some(Series::of_points(label, colour, shape, published, x, y)?.keyed(key))
        })
        .collect();
    let chart = Chart {
        wide: bars && x.names.len() * curves.len() > BARS_NARROW,
        padded: !bars,
        ..Chart::new(&figure.title, &figure.note, x, axis(&figure.y), series)
    };
    (!chart.choices[0].is_empty()).then(|| chart.stored(prefix, name, "", columns))
}

fn axis(axis: &found::Axis) -> Axis {
    let (scale, names) = match &axis.scale {
        found::Scale::Linear => (Scale::Linear, Vec::new()),
        found::Scale::Logarithmic => (Scale::Log, Vec::new()),
        found::Scale::Categories { names } => (Scale::Linear, names.clone()),
    };
    Axis { names, ..Axis::new(&axis.label, Unit::Plain, scale) }
}

fn is_published(curve: &found::Curve) -> bool {
    curve.source == found::Source::Published
}

/// The offset of a curve's bar from the middle of its category. The bars together fill four fifths of the category.
fn slot(index: usize, curves: usize) -> f64 {
    (index as f64 - (curves - 1) as f64 / 2.0) * 0.8 / curves as f64
}

/// Curves of one name have one colour. Colours follow the order in which names first appear.
fn colour(names: &[&str], index: usize) -> usize {
    let first = names.iter().position(|name| *name == names[index]).unwrap_or(index);
    (0..first).filter(|&before| !names[..before].contains(&names[before])).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_of_one_name_share_a_colour() {
        let names = ["page", "page", "DFTL", "FAST", "DFTL"];
        let colours: Vec<usize> = (0..names.len()).map(|index| colour(&names, index)).collect();
        assert_eq!(colours, [0, 0, 1, 2, 1]);
    }

    #[test]
    fn bars_of_a_category_stand_side_by_side_around_its_middle() {
        assert_eq!(slot(0, 1), 0.0);
        assert!((slot(0, 4) + 0.3).abs() < 1e-12 && (slot(3, 4) - 0.3).abs() < 1e-12);
    }

    #[test]
    fn a_figure_without_points_is_not_drawn() {
        let mut columns = Columns::default();
        let drawn = |points: &[(f64, f64)]| found::Figure {
            title: "t".into(),
            note: String::new(),
            x: found::Axis::linear("x"),
            y: found::Axis::linear("y"),
            curves: vec![found::Curve::measured("a", points.iter().copied())],
        };
        assert!(figure(&drawn(&[]), "p", "n", &mut columns).is_none());
        assert_eq!(figure(&drawn(&[(1.0, 2.0)]), "p", "n", &mut columns).unwrap().id, "p-n");
    }
}
