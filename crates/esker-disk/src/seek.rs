//! How long the arm takes to move over a distance.

use esker_core::Nanos;

use crate::{DiskError, SeekFormula, SeekSettings};

/// Seek time by distance in cylinders, including settling on the track.
#[derive(Clone, Debug)]
pub struct SeekCurve(CurveForm);

#[derive(Clone, Debug)]
enum CurveForm {
    /// Measured points by rising distance, joined and continued by straight lines.
    Points(Vec<(u32, Nanos)>),
    Formula(SeekFormula),
}

/// Longer than any arm takes.
const SEEK_MAX: Nanos = Nanos::from_secs(10);

impl SeekCurve {
    /// Checks `settings` for a disk with `cylinders` cylinders.
    ///
    /// # Errors
    /// Points that are not in rising order, or times beyond 10 s.
    pub fn new(settings: &SeekSettings, cylinders: u32) -> Result<Self, DiskError> {
        let curve = match settings {
            SeekSettings::Points(points) => {
                if points.is_empty() || points[0].0 == 0 || points.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
                    return Err(DiskError::SeekPoints);
                }
                Self(CurveForm::Points(points.clone()))
            }
            SeekSettings::Formula(formula) => Self(CurveForm::Formula(formula.clone())),
        };
        let listed = match settings {
            SeekSettings::Points(points) => points.clone(),
            SeekSettings::Formula(formula) => (1..).zip(formula.first.iter().copied()).collect(),
        };
        if let Some((distance, time)) = listed.iter().find(|(_, time)| *time > SEEK_MAX) {
            return Err(DiskError::SeekTime { distance: *distance, time: *time, limit: SEEK_MAX });
        }
        // The formula rises on both of its pieces, so the ends of the pieces bound it.
        let split = match settings {
            SeekSettings::Formula(formula) => formula.split.saturating_sub(1).clamp(1, cylinders),
            SeekSettings::Points(_) => 1,
        };
        for distance in [split, cylinders] {
            let time = curve.time(distance);
            if time > SEEK_MAX {
                return Err(DiskError::SeekTime { distance, time, limit: SEEK_MAX });
            }
        }
        Ok(curve)
    }

    /// Returns the seek time over `distance` cylinders; zero for distance zero.
    #[inline]
    pub fn time(&self, distance: u32) -> Nanos {
        if distance == 0 {
            return Nanos::ZERO;
        }
        match &self.0 {
            CurveForm::Points(points) => interpolate(points, distance),
            CurveForm::Formula(formula) => formula.time(distance),
        }
    }

    /// Returns the mean seek time between two uniformly random cylinders of `cylinders`, equal ones included: the sum
    /// over distances d of 2 (n - d) / n^2 times the curve.
    pub fn mean(&self, cylinders: u32) -> Nanos {
        let total: u128 = (1..cylinders)
            .map(|distance| 2 * u128::from(cylinders - distance) * u128::from(self.time(distance).0))
            .sum();
        Nanos((total / (u128::from(cylinders) * u128::from(cylinders))) as u64)
    }
}

impl SeekFormula {
    /// Returns the time over `distance` cylinders, at least one.
    fn time(&self, distance: u32) -> Nanos {
        if let Some(&measured) = self.first.get(distance as usize - 1) {
            return measured;
        }
        if distance < self.split {
            // Square roots and products of doubles are the same on every machine (IEEE 754).
            let root = f64::from(distance).sqrt() * self.b.0 as f64 / 1e3;
            Nanos(self.a.0.saturating_add(root as u64))
        } else {
            let line = u128::from(self.e.0) * u128::from(distance) / 1_000;
            Nanos(self.c.0.saturating_add(u64::try_from(line).unwrap_or(u64::MAX)))
        }
    }
}

/// Returns the value at `distance` on the line through the two points around it. Before the first point, the time of
/// that point holds; beyond the last point, the last line continues, but never falls.
fn interpolate(points: &[(u32, Nanos)], distance: u32) -> Nanos {
    let after = points.partition_point(|(point, _)| *point <= distance);
    if after == 0 || points.len() == 1 {
        return points[0].1;
    }
    let (left, right) = (points[after.min(points.len() - 1) - 1], points[after.min(points.len() - 1)]);
    // Times of points are at most ten seconds (checked), so products fit into 64 bits for all distances of real disks.
    let (run, along) = (i64::from(right.0 - left.0), i64::from(distance - left.0));
    let (start, rise) = (left.1.0 as i64, right.1.0 as i64 - left.1.0 as i64);
    if after == points.len() && rise < 0 {
        return right.1;
    }
    let time = match rise.checked_mul(along) {
        Some(product) => i128::from(start) + i128::from(product / run),
        None => i128::from(start) + i128::from(rise) * i128::from(along) / i128::from(run),
    };
    Nanos(u64::try_from(time).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Picoseconds;

    #[test]
    fn points_are_met_and_joined_by_lines() {
        let points = vec![(1, Nanos(500)), (11, Nanos(1_500)), (21, Nanos(1_000))];
        let curve = SeekCurve::new(&SeekSettings::Points(points), 100).unwrap();
        let times: Vec<u64> = [0, 1, 2, 11, 16, 21, 99].iter().map(|&distance| curve.time(distance).0).collect();
        assert_eq!(times, [0, 500, 600, 1_500, 1_250, 1_000, 1_000]);
    }

    #[test]
    fn the_formula_changes_at_its_split() {
        let formula = SeekFormula {
            a: Nanos::from_micros(861),
            b: Picoseconds(21_843_000),
            split: 8_700,
            c: Nanos::from_micros(2_349),
            e: Picoseconds(63_470),
            first: vec![],
        };
        let curve = SeekCurve::new(&SeekSettings::Formula(formula), 72_170).unwrap();
        assert_eq!(curve.time(100), Nanos(861_000 + 218_430));
        assert_eq!(curve.time(10_000), Nanos(2_349_000 + 634_700));
        // The fit's published mean over uniform pairs: 3.79 ms (reference fit of the Cheetah 15K.5).
        assert!((curve.mean(72_170).as_micros_f64() - 3_790.0).abs() < 20.0, "{}", curve.mean(72_170));
    }

    #[test]
    fn disorder_and_eternity_are_refused() {
        let points = |list: &[(u32, u64)]| {
            SeekSettings::Points(list.iter().map(|&(distance, time)| (distance, Nanos(time))).collect())
        };
        for bad in [&[][..], &[(0, 1)], &[(2, 1), (2, 2)], &[(5, 1), (2, 2)], &[(1, u64::MAX)], &[(1, 0), (2, 1 << 40)]]
        {
            assert!(SeekCurve::new(&points(bad), 1 << 20).is_err(), "{bad:?}");
        }
    }
}
