//! The intervals of a run's series as charts draw them: neighbours together where there are too many.

use std::collections::BTreeMap;

use esker_results::{Counters, PlacementReport, SeriesChild, SeriesPoint};

/// With more intervals than this, steps would be thinner than two pixels.
const INTERVALS_MAX: usize = 480;

/// Intervals, each made of as many neighbours of the series.
pub(super) struct Intervals {
    pub(super) points: Vec<SeriesPoint>,
    /// How many intervals of the series each is made of; of the last one, maybe fewer.
    pub(super) merged: usize,
}

impl Intervals {
    /// The intervals of `series`.
    pub(super) fn of(series: &[SeriesPoint]) -> Self {
        let merged = series.len().div_ceil(INTERVALS_MAX).max(1);
        Self { points: series.chunks(merged).map(together).collect(), merged }
    }

    /// All intervals but the last, which may be cut short, and the length of each; `None` if there are none.
    pub(super) fn whole(&self) -> Option<(&[SeriesPoint], f64)> {
        let [first, second, ..] = self.points.as_slice() else { return None };
        let length_s = second.start_s - first.start_s;
        (length_s > 0.0).then(|| (&self.points[..self.points.len() - 1], length_s))
    }
}

/// Neighbouring intervals as one: sums, means over all requests, the largest of the percentiles, and what holds at the
/// end of the last one.
fn together(points: &[SeriesPoint]) -> SeriesPoint {
    let [first, .., last] = points else { return points.first().cloned().unwrap_or_default() };
    let requests: u64 = points.iter().map(|point| point.requests).sum();
    let times: f64 = points.iter().map(|point| point.mean_us * point.requests as f64).sum();
    SeriesPoint {
        start_s: first.start_s,
        requests,
        bytes: points.iter().map(|point| point.bytes).sum(),
        mean_us: times / requests.max(1) as f64,
        p99_us: points.iter().map(|point| point.p99_us).fold(0.0, f64::max),
        backlog_requests: last.backlog_requests,
        utilisation: mean_utilisation(points),
        children: children_together(points, last),
        placement: last.placement.map(|_| moved_together(points)),
    }
}

fn mean_utilisation(points: &[SeriesPoint]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (resource, busy) in points.iter().flat_map(|point| &point.utilisation) {
        let (sum, count) = sums.entry(resource.clone()).or_default();
        (*sum, *count) = (*sum + busy, *count + 1.0);
    }
    sums.into_iter().map(|(resource, (sum, count))| (resource, sum / count)).collect()
}

fn children_together(points: &[SeriesPoint], last: &SeriesPoint) -> BTreeMap<String, SeriesChild> {
    let sum = |name: &str, of: fn(&SeriesChild) -> f64| -> f64 {
        points.iter().filter_map(|point| point.children.get(name)).map(of).sum()
    };
    let all: f64 = last.children.keys().map(|name| sum(name, |child| child.requests as f64)).sum();
    let child = |(name, last): (&String, &SeriesChild)| {
        let requests = sum(name, |child| child.requests as f64);
        let times = sum(name, |child| child.mean_us * child.requests as f64);
        let (share, mean_us) = (requests / all.max(1.0), times / requests.max(1.0));
        (name.clone(), SeriesChild { requests: requests as u64, share, mean_us, ..*last })
    };
    last.children.iter().map(child).collect()
}

fn moved_together(points: &[SeriesPoint]) -> PlacementReport {
    let moved = points.iter().filter_map(|point| point.placement.as_ref());
    moved.fold(PlacementReport::default(), |sum, moved| sum.plus(moved))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn few_intervals_stay_as_they_are() {
        let series = samples::run().series;
        let intervals = Intervals::of(&series);
        assert_eq!((intervals.merged, &intervals.points), (1, &series));
        assert_eq!(intervals.whole().unwrap().0.len(), series.len() - 1);
        assert!(Intervals::of(&series[..1]).whole().is_none() && Intervals::of(&[]).whole().is_none());
    }

    #[test]
    fn many_intervals_become_fewer_and_keep_their_sums() {
        let few = samples::run().series;
        let mut series: Vec<SeriesPoint> = few.iter().cycle().take(1001).cloned().collect();
        (0..).zip(&mut series).for_each(|(index, point)| point.start_s = f64::from(index));
        let intervals = Intervals::of(&series);
        assert_eq!((intervals.merged, intervals.points.len()), (3, 334));
        assert_eq!(intervals.whole().unwrap().1, 3.0);
        let sum = |points: &[SeriesPoint], of: fn(&SeriesPoint) -> u64| points.iter().map(of).sum::<u64>();
        let counts: [fn(&SeriesPoint) -> u64; 4] = [
            |point| point.requests,
            |point| point.bytes,
            |point| point.children["flash"].requests,
            |point| point.placement.unwrap().moved_bytes,
        ];
        assert!(counts.iter().all(|of| sum(&intervals.points, *of) == sum(&series, *of) && sum(&series, *of) > 0));
        let point = &intervals.points[1];
        assert!((point.children["flash"].share + point.children["disk"].share - 1.0).abs() < 1e-12);
        assert_eq!(point.children["flash"].held_extents, series[5].children["flash"].held_extents);
    }
}
