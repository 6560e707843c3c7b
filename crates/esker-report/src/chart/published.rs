//! A figure of a paper: published values beside measured ones.

use serde_json::Value;

use super::{Axis, Chart, Colour, Scale, Series, Shape, Unit};
use crate::columns::Columns;
use crate::json::{list, text};

/// Bars that fit into a chart of half the page's width.
const BARS_NARROW: usize = 18;
/// Beyond so many points their marks would hide the line.
const MARKS_MAX: usize = 48;

/// The chart of `figure` (`esker_repro::Figure`); `None` where it has no points.
pub(crate) fn figure(figure: &Value, prefix: &str, name: &str, columns: &mut Columns) -> Option<Chart> {
    let curves = list(figure, "curves");
    let mut x = axis(figure, "x");
    x.names = list(figure, "x.scale.names").iter().filter_map(|name| name.as_str().map(String::from)).collect();
    let bars = !x.names.is_empty();
    let names: Vec<&str> = curves.iter().map(|curve| text(curve, "name").unwrap_or_default()).collect();
    let several = curves.iter().any(|curve| is_published(curve) != is_published(&curves[0]));
    let series: Vec<Series> = curves
        .iter()
        .enumerate()
        .filter_map(|(index, curve)| {
            let published = is_published(curve);
            let points = list(curve, "points");
            let (x, y) = points
                .iter()
                .filter_map(|point| {
                    let place = point.get(0)?.as_f64()?;
                    let shift = if bars { slot(index, curves.len()) } else { 0.0 };
                    Some((place + shift, point.get(1)?.as_f64()?))
                })
                .unzip();
            let label = match (several || published, published) {
                (true, true) => format!("{}, published", names[index]),
                (true, false) => format!("{}, measured", names[index]),
                (false, _) => names[index].to_string(),
            };
            let colour = Colour::Category(colour(&names, index));
            let shape = match points.len() {
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
        ..Chart::new(
            text(figure, "title").unwrap_or_default(),
            text(figure, "note").unwrap_or_default(),
            x,
            axis(figure, "y"),
            series,
        )
    };
    (!chart.choices[0].is_empty()).then(|| chart.stored(prefix, name, "", columns))
}

fn axis(figure: &Value, which: &str) -> Axis {
    let logarithmic = text(figure, &format!("{which}.scale.kind")) == Some("logarithmic");
    let scale = if logarithmic { Scale::Log } else { Scale::Linear };
    Axis::new(text(figure, &format!("{which}.label")).unwrap_or_default(), Unit::Plain, scale)
}

fn is_published(curve: &Value) -> bool {
    text(curve, "source") == Some("published")
}

/// Where the bar of a curve stands beside the middle of its category, all of them filling four fifths of it.
fn slot(index: usize, curves: usize) -> f64 {
    (index as f64 - (curves - 1) as f64 / 2.0) * 0.8 / curves as f64
}

/// Curves of one name have one colour, in the order in which names first appear.
fn colour(names: &[&str], index: usize) -> usize {
    let first = names.iter().position(|name| *name == names[index]).unwrap_or(index);
    (0..first).filter(|&before| !names[..before].contains(&names[before])).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        let empty = json!({ "title": "t", "curves": [{ "name": "a", "source": "measured", "points": [] }] });
        assert!(figure(&empty, "p", "n", &mut columns).is_none());
        let one = json!({ "title": "t", "curves": [{ "name": "a", "source": "measured", "points": [[1.0, 2.0]] }] });
        assert_eq!(figure(&one, "p", "n", &mut columns).unwrap().id, "p-n");
    }
}
