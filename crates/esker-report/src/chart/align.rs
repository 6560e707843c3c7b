//! Brings curves with different x values onto common x values, as the chart library needs them.

use super::style::{Scale, Shape};

/// The points of a curve, from left to right.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
}

/// The x values of all curves, in rising order, and the value of each curve at each of them; NaN if it has none.
pub(super) fn align(curves: &[(&Curve, Shape)], across: Scale, up: Scale) -> (Vec<f64>, Vec<Vec<f64>>) {
    let curves: Vec<(Curve, Shape)> = curves.iter().map(|(curve, shape)| (clean(curve, across, up), *shape)).collect();
    let mut places: Vec<f64> = curves.iter().flat_map(|(curve, _)| &curve.x).copied().collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let values = curves
        .iter()
        .map(|(curve, shape)| places.iter().map(|place| value_at(curve, *place, *shape, across, up)).collect())
        .collect();
    (places, values)
}

/// Keeps the points that the axes can show. Several points at one x become a rise just before it.
fn clean(curve: &Curve, across: Scale, up: Scale) -> Curve {
    let mut clean = Curve::default();
    for (&x, &y) in curve.x.iter().zip(&curve.y).filter(|(x, _)| has_place(**x, across)) {
        let y = if has_place(y, up) { y } else { f64::NAN };
        let points = clean.x.len();
        if points == 0 || clean.x[points - 1] != x {
            clean.x.push(x);
            clean.y.push(y);
            continue;
        }
        // The first value at this x moves slightly to the left, the last one stays.
        let before = x - x.abs() * 1e-9;
        if points == 1 || clean.x[points - 2] < before {
            clean.x.insert(points - 1, before);
            clean.y.push(y);
        } else {
            clean.y[points - 1] = y;
        }
    }
    clean
}

fn has_place(value: f64, scale: Scale) -> bool {
    value.is_finite() && (scale != Scale::Log || value > 0.0)
}

/// The value of a curve at an x: its last step, or its point there, or the straight line between the neighbours as the
/// axes space them.
fn value_at(curve: &Curve, place: f64, shape: Shape, across: Scale, up: Scale) -> f64 {
    let after = curve.x.partition_point(|x| *x <= place);
    let (Some(&left), Some(&right)) = (curve.x[..after].last(), curve.x.get(after)) else {
        let at_end = curve.x.last() == Some(&place);
        return if at_end { curve.y[after - 1] } else { f64::NAN };
    };
    let (from, to) = (curve.y[after - 1], curve.y[after]);
    if matches!(shape, Shape::Points | Shape::ManyPoints | Shape::Slots) {
        return if left == place { from } else { f64::NAN };
    }
    if shape != Shape::Line || left == place || to.is_nan() {
        return from;
    }
    let part = (spaced(place, across) - spaced(left, across)) / (spaced(right, across) - spaced(left, across));
    unspaced(spaced(from, up) + part * (spaced(to, up) - spaced(from, up)), up)
}

/// The position that an axis gives a value.
fn spaced(value: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Log => value.log10(),
        Scale::Nines => -(1.0 - value.min(0.999_99)).log10(),
    }
}

fn unspaced(at: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Linear => at,
        Scale::Log => 10f64.powf(at),
        Scale::Nines => 1.0 - 10f64.powf(-at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(x: &[f64], y: &[f64]) -> Curve {
        Curve { x: x.to_vec(), y: y.to_vec() }
    }

    #[test]
    fn lines_are_straight_as_the_axes_space_them() {
        let (one, other) = (curve(&[1.0, 100.0], &[0.0, 0.99]), curve(&[10.0, 1000.0], &[0.5, 0.5]));
        let curves = [(&one, Shape::Line), (&other, Shape::Line)];
        let (places, values) = align(&curves, Scale::Log, Scale::Nines);
        assert_eq!(places, [1.0, 10.0, 100.0, 1000.0]);
        assert!((values[0][1] - 0.9).abs() < 1e-12, "half of two nines is one: {:?}", values[0]);
        assert!(values[0][3].is_nan() && values[1][0].is_nan() && (values[1][2] - 0.5).abs() < 1e-12);
    }

    #[test]
    fn steps_last_until_the_next_one_and_gaps_stay_gaps() {
        let (coarse, fine) =
            (curve(&[0.0, 4.0, 8.0], &[1.0, f64::NAN, 3.0]), curve(&[0.0, 2.0, 6.0], &[5.0, 6.0, 7.0]));
        let (places, values) = align(&[(&coarse, Shape::Steps), (&fine, Shape::Area)], Scale::Linear, Scale::Linear);
        assert_eq!(places, [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(values[0][..2], [1.0, 1.0]);
        assert!(values[0][2].is_nan() && values[0][3].is_nan() && values[1][4].is_nan());
        assert_eq!((values[0][4], &values[1][..4]), (3.0, &[5.0, 6.0, 6.0, 7.0][..]));
    }

    #[test]
    fn points_stay_where_they_are() {
        let (one, other) = (curve(&[0.0, 2.0], &[1.0, 3.0]), curve(&[1.0, 2.0], &[5.0, 6.0]));
        let (places, values) = align(&[(&one, Shape::Points), (&other, Shape::Slots)], Scale::Linear, Scale::Linear);
        assert_eq!((places.as_slice(), values[0][0], values[0][2]), (&[0.0, 1.0, 2.0][..], 1.0, 3.0));
        assert!(values[0][1].is_nan() && values[1][0].is_nan());
        assert_eq!(values[1][1..], [5.0, 6.0]);
    }

    #[test]
    fn several_points_at_one_place_become_a_rise_and_zero_has_no_place_among_ratios() {
        let rise = curve(&[0.0, 100.0, 100.0, 100.0, 200.0], &[0.0, 0.1, 0.2, 0.3, 0.9]);
        let (places, values) = align(&[(&rise, Shape::Line)], Scale::Log, Scale::Linear);
        assert_eq!((places.len(), places[1], places[2]), (3, 100.0, 200.0));
        assert!(places[0] < 100.0 && places[0] > 99.999);
        assert_eq!(values[0], [0.1, 0.3, 0.9]);
        assert_eq!(align(&[], Scale::Log, Scale::Log), (vec![], vec![]));
    }
}
