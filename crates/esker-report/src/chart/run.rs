//! Charts of one run over time. Each answers one question about the target or its children.

use esker_results::{PlacementReport, RunResults, SeriesChild, SeriesPoint};

use super::run_intervals::Intervals;
use super::{Axis, Chart, Colour, Mark, Scale, Series, Shape, Unit, close_steps};
use crate::columns::Columns;
use crate::run_event::RunEvent;

/// All charts, in the order of the page: name, section, and how it is made if there are data for it.
static CHARTS: &[RunChart] = &[
    ("requests", "time", requests),
    ("bytes", "time", bytes),
    ("response", "time", response),
    ("backlog", "time", backlog),
    ("utilisation", "time", utilisation),
    ("shares", "children", shares),
    ("child-response", "children", child_response),
    ("held", "children", held),
    ("moved", "children", moved),
    ("redirected", "children", redirected),
];

type RunChart = (&'static str, &'static str, fn(&Source<'_>) -> Option<Chart>);

/// A line of moves: its label, and what it counts.
type MoveLine = (&'static str, fn(&PlacementReport) -> u64);

/// Where these charts take their data from.
struct Source<'a> {
    intervals: Intervals,
    /// Names of the target's children, in the order of their colours.
    names: &'a [&'a str],
}

/// The charts of a run; none if it has no series. `events` are marked in each.
pub(crate) fn of_run(results: &RunResults, names: &[&str], events: &[RunEvent], columns: &mut Columns) -> Vec<Chart> {
    let source = Source { intervals: Intervals::of(&results.series), names };
    let made = CHARTS.iter().filter_map(|(name, section, make)| Some((name, section, make(&source)?)));
    let mut charts: Vec<Chart> = made
        .map(|(name, section, chart)| {
            let mark = |event: &RunEvent| Mark { axis: "x", value: event.at_s, label: event.what.clone() };
            Chart { marks: events.iter().map(mark).collect(), ..chart }.stored("run", name, section, columns)
        })
        .collect();
    fill_rows(&mut charts);
    charts
}

/// Makes charts wide that would stand alone in a row of two.
fn fill_rows(charts: &mut [Chart]) {
    // Charts of half the width since the last full row.
    let mut halves = 0;
    for index in 0..charts.len() {
        let ends = |next: Option<&Chart>| next.is_none_or(|next| next.wide || next.section != charts[index].section);
        halves = if charts[index].wide { 0 } else { halves + 1 };
        if ends(charts.get(index + 1)) {
            charts[index].wide |= halves % 2 == 1;
            halves = 0;
        }
    }
}

impl Source<'_> {
    fn points(&self) -> &[SeriesPoint] {
        &self.intervals.points
    }

    /// A step line of one value of each interval; NaN where it has none.
    fn steps(&self, label: &str, colour: usize, shape: Shape, value: impl Fn(&SeriesPoint) -> f64) -> Option<Series> {
        self.over(self.points(), label, colour, shape, value)
    }

    /// Makes a step line of what each interval counted, per second. The last interval, which the end of the run cuts
    /// short, is left out.
    fn rates(&self, label: &str, colour: usize, shape: Shape, count: impl Fn(&SeriesPoint) -> u64) -> Option<Series> {
        let (whole, length_s) = self.intervals.whole()?;
        self.over(whole, label, colour, shape, |point| count(point) as f64 / length_s)
    }

    fn over(
        &self,
        points: &[SeriesPoint],
        label: &str,
        colour: usize,
        shape: Shape,
        value: impl Fn(&SeriesPoint) -> f64,
    ) -> Option<Series> {
        let starts: Vec<f64> = points.iter().map(|point| point.start_s).collect();
        let values: Vec<f64> = points.iter().map(value).collect();
        let (x, y) = close_steps(&starts, &values);
        Series::new(label, Colour::Category(colour), shape, x, y)
    }

    /// One line for each child.
    fn of_children(&self, value: impl Fn(&SeriesChild) -> Option<f64>) -> Vec<Series> {
        let line = |(index, &name): (usize, &&str)| {
            let value = |point: &SeriesPoint| point.children.get(name).and_then(&value).unwrap_or(f64::NAN);
            Some(self.steps(name, index, Shape::Steps, value)?.keyed(format!("child {name}")))
        };
        self.names.iter().enumerate().filter_map(line).collect()
    }

    /// Returns lines of moves per second; none if nothing moved.
    fn of_moves(&self, lines: &[MoveLine]) -> Vec<Series> {
        let line = |(index, (label, count)): (usize, &MoveLine)| {
            let of = |point: &SeriesPoint| point.placement.as_ref().map_or(0, count);
            self.points().iter().any(|point| of(point) > 0).then_some(())?;
            self.rates(label, index, Shape::Steps, of)
        };
        lines.iter().enumerate().filter_map(line).collect()
    }

    fn help(&self, text: &str) -> String {
        match self.intervals.merged {
            1 => text.to_string(),
            merged => format!("{text} Each step is {merged} intervals of the series."),
        }
    }

    /// A chart over the time of the run, if it has lines.
    fn chart(&self, title: &str, help: &str, y: Axis, series: Vec<Series>) -> Option<Chart> {
        let x = Axis::new("time since the start of the run", Unit::Elapsed, Scale::Linear);
        let group = Some("time".to_string());
        (!series.is_empty()).then(|| Chart { group, ..Chart::new(title, self.help(help), x, y, series) })
    }
}

fn per_second(label: &str) -> Axis {
    Axis::new(label, Unit::PerSecond, Scale::Linear)
}

fn requests(source: &Source<'_>) -> Option<Chart> {
    let line = source.rates("requests", 0, Shape::Area, |point| point.requests);
    let help = "Requests that ended in each interval, per second.";
    source.chart("How many requests are answered?", help, per_second("requests per second"), line.into_iter().collect())
}

fn bytes(source: &Source<'_>) -> Option<Chart> {
    let line = source.rates("bytes", 0, Shape::Area, |point| point.bytes);
    let y = Axis::new("bytes per second", Unit::BytesPerSecond, Scale::Linear);
    let help = "Bytes that the host read and wrote in each interval, per second.";
    source.chart("How much data do they carry?", help, y, line.into_iter().collect())
}

fn response(source: &Source<'_>) -> Option<Chart> {
    let of = |value: fn(&SeriesPoint) -> f64| {
        move |point: &SeriesPoint| if point.requests > 0 { value(point) } else { f64::NAN }
    };
    let lines = [
        source.steps("mean", 0, Shape::Steps, of(|point| point.mean_us)),
        source.steps("p99", 1, Shape::Steps, of(|point| point.p99_us)),
    ];
    let y = Axis::new("response time", Unit::Micros, Scale::Log);
    let help = match source.intervals.merged {
        1 => "Of the requests that ended in each interval, the mean, and what 99 of 100 took at most.",
        _ => "Of the requests that ended in each interval, the mean; p99 is the largest of those of the intervals.",
    };
    let chart = source.chart("How long do requests take?", help, y, lines.into_iter().flatten().collect())?;
    Some(Chart { wide: true, ..chart })
}

fn backlog(source: &Source<'_>) -> Option<Chart> {
    source.points().iter().any(|point| point.backlog_requests > 0).then_some(())?;
    let line = source.steps("waiting", 0, Shape::Area, |point| point.backlog_requests as f64);
    let y = Axis::new("requests", Unit::Count, Scale::Linear);
    let help = "Requests that had arrived and that the device had not taken yet, at the end of each interval.";
    source.chart("How many requests wait in front of the device?", help, y, line.into_iter().collect())
}

fn utilisation(source: &Source<'_>) -> Option<Chart> {
    let mut resources: Vec<&String> = source.points().iter().flat_map(|point| point.utilisation.keys()).collect();
    resources.sort_unstable();
    resources.dedup();
    let line = |(index, resource): (usize, &String)| {
        // Work counts in full when it begins, so a value can exceed one.
        let busy = |point: &SeriesPoint| point.utilisation.get(resource).map_or(f64::NAN, |busy| busy.min(1.0));
        Some(source.steps(resource, index, Shape::Steps, busy)?.keyed(format!("resource {resource}")))
    };
    let lines: Vec<Series> = resources.into_iter().enumerate().filter_map(line).collect();
    let help = "Busy share of each kind of resource of the target and all below it, mean over all of the kind.";
    source.chart("What is busy?", help, Axis::shares("busy share"), lines)
}

fn shares(source: &Source<'_>) -> Option<Chart> {
    let mut lines = source.of_children(|child| Some(child.share));
    let targets: Vec<Series> = source
        .of_children(|child| child.target_share)
        .into_iter()
        .map(|line| line.dashed(|label| format!("{label}, target")))
        .collect();
    let help = match targets.is_empty() {
        true => "The part of the host's requests that each child answered.",
        false => {
            "The part of the host's requests that each child answered (solid), and what its policy aims at (dashed)."
        }
    };
    lines.extend(targets);
    let chart = source.chart("Who answers the requests?", help, Axis::shares("share of requests"), lines)?;
    Some(Chart { wide: true, ..chart })
}

fn child_response(source: &Source<'_>) -> Option<Chart> {
    let lines = source.of_children(|child| Some(child.mean_us).filter(|_| child.requests > 0));
    let y = Axis::new("mean response time", Unit::Micros, Scale::Log);
    let help = "From sending a request to a child until its end, mean over each interval.";
    source.chart("How long does each child take?", help, y, lines)
}

fn held(source: &Source<'_>) -> Option<Chart> {
    let lines = source.of_children(|child| child.held_bytes.map(|bytes| bytes as f64));
    let y = Axis::new("bytes", Unit::Bytes, Scale::Linear);
    let help = "Extents of the host on each child, in bytes, at the end of each interval.";
    source.chart("How much does each child hold?", help, y, lines)
}

fn moved(source: &Source<'_>) -> Option<Chart> {
    let lines = source.of_moves(&[
        ("moved", |moved| moved.moved_bytes),
        ("to a second place", |moved| moved.mirrored_bytes),
        ("copied", |moved| moved.copied_bytes),
    ]);
    let y = Axis::new("bytes per second", Unit::BytesPerSecond, Scale::Linear);
    let help = "Bytes of the extents that were moved or have got a second copy, and what copies have read for that: of \
                an extent, only what was ever written is copied.";
    source.chart("How much is moved?", help, y, lines)
}

fn redirected(source: &Source<'_>) -> Option<Chart> {
    let lines = source.of_moves(&[("redirected writes", |moved| moved.redirected_writes)]);
    let help = "Writes of the host that took an extent to another child, so that nothing had to be copied.";
    source.chart("How many writes are redirected?", help, per_second("writes per second"), lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_chart_stands_alone_in_a_row_of_two() {
        let chart = |(section, wide): &(&'static str, bool)| {
            let axis = || Axis::shares("x");
            Chart { section, wide: *wide, ..Chart::new("", "", axis(), axis(), Vec::new()) }
        };
        let filled = |list: &[(&'static str, bool)]| -> Vec<bool> {
            let mut charts: Vec<Chart> = list.iter().map(chart).collect();
            fill_rows(&mut charts);
            charts.iter().map(|chart| chart.wide).collect()
        };
        assert_eq!(filled(&[("a", false), ("a", false), ("a", true), ("a", false)]), [false, false, true, true]);
        assert_eq!(filled(&[("a", false), ("b", false), ("b", false), ("b", false)]), [true, false, false, true]);
        assert_eq!(filled(&[("a", false), ("a", true), ("b", true)]), [true, true, true]);
    }
}
