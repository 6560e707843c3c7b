//! How the servers of a fleet use their rated life, under each balancer.

use esker_results::fleet::{FleetResults, FleetRun, FleetSnapshot, FleetSpread};

use super::{Axis, Chart, Choice, Colour, Scale, Series, Shape, Unit};
use crate::columns::Columns;

/// Moments of which the servers are drawn in the order of their wear.
const MOMENTS: usize = 5;
/// With no more servers than this, each has a line over time; of more, nobody could tell them apart.
const LINES_MOST: usize = 64;
/// Points of a line over servers: more are no wider than a dot on the screen.
const POINTS_MOST: usize = 1000;

/// All charts of a fleet, those that compare balancers first.
pub(crate) fn of_fleet(results: &FleetResults, columns: &mut Columns) -> Vec<Chart> {
    let compared = COMPARED.iter().filter_map(|(name, title, help, of)| {
        let chart = Chart::new(*title, *help, since_the_beginning(), used(), by_balancer(results, *of));
        (!chart.choices[0].is_empty()).then_some((*name, Chart { wide: *name == "max", ..chart }))
    });
    let single = [("servers", each_server(results)), ("order", in_order(results))];
    let single = single.into_iter().filter(|(_, chart)| !chart.choices.is_empty());
    let stored = |(name, chart): (&str, Chart)| chart.stored("fleet", name, "", columns);
    compared.chain(single).map(stored).collect()
}

type Value = fn(&FleetSpread) -> f64;

/// What balancers are compared by, over time: name, title, help, value.
const COMPARED: [(&str, &str, &str, Value); 3] = [
    (
        "max",
        "When does the first server wear out?",
        "Rated life used by the server that has used most. Where a line reaches 100 %, the first server is worn out.",
        |spread| spread.max,
    ),
    ("p99", "How far are the most worn servers?", "Rated life that 99 of 100 servers have not used.", |spread| {
        spread.p99
    }),
    (
        "sd",
        "How unevenly do servers wear?",
        "Standard deviation of the rated life used. Where servers differ in age, it begins above zero.",
        |spread| spread.sd,
    ),
];

fn since_the_beginning() -> Axis {
    // Years have no ticks on the clock of traces.
    Axis::new("days since the beginning", Unit::Plain, Scale::Linear)
}

fn used() -> Axis {
    Axis::new("rated life used", Unit::Share, Scale::Linear)
}

fn days(snapshot: &FleetSnapshot) -> f64 {
    snapshot.at_ns as f64 / 86_400e9
}

fn by_balancer(results: &FleetResults, of: Value) -> Vec<Series> {
    let line = |(at, run): (usize, &FleetRun)| {
        let (x, y) = run.snapshots.iter().map(|snapshot| (days(snapshot), of(&snapshot.life_used))).unzip();
        Series::new(run.balancer.as_str(), Colour::Category(at), Shape::Line, x, y)
    };
    results.runs.iter().enumerate().filter_map(line).collect()
}

/// Each server over time or, of many, what a tenth, half, nine tenths and all of them have used at most.
fn each_server(results: &FleetResults) -> Chart {
    let few = results.runs.iter().all(|run| run.servers.len() <= LINES_MOST);
    let help = match few {
        true => "Rated life used by each server, from when it joined until it left.",
        false => "Rated life that a share of the servers has not exceeded.",
    };
    let lines = |run: &FleetRun| if few { lines_of_servers(run) } else { lines_of_shares(run) };
    let choices = results.runs.iter().map(|run| Choice::new(run.balancer.as_str(), lines(run)));
    let chart = Chart::new("How does each server wear?", help, since_the_beginning(), used(), Vec::new());
    Chart { choices: choices.filter(|choice| !choice.is_empty()).collect(), wide: true, ..chart }
}

fn lines_of_servers(run: &FleetRun) -> Vec<Series> {
    let line = |(at, server): (usize, &esker_results::fleet::FleetServer)| {
        let serves = |snapshot: &&FleetSnapshot| {
            snapshot.at_ns >= server.joined_ns && server.left_ns.is_none_or(|left| snapshot.at_ns <= left)
        };
        let point = |snapshot: &FleetSnapshot| Some((days(snapshot), *snapshot.life_used_by_server.get(at)?));
        let (x, y) = run.snapshots.iter().filter(serves).filter_map(point).unzip();
        Series::new(format!("{} {at}", server.group), Colour::Category(at), Shape::Line, x, y)
    };
    run.servers.iter().enumerate().filter_map(line).collect()
}

fn lines_of_shares(run: &FleetRun) -> Vec<Series> {
    let shares = [("the least worn", 0.0), ("a tenth", 0.1), ("half", 0.5), ("nine tenths", 0.9), ("all", 1.0)];
    let line = |(at, (label, share)): (usize, (&str, f64))| {
        let point = |snapshot: &FleetSnapshot| {
            let sorted = serving(run, snapshot);
            let last = sorted.len().checked_sub(1)?;
            Some((days(snapshot), sorted[(last as f64 * share).round() as usize]))
        };
        let (x, y) = run.snapshots.iter().filter_map(point).unzip();
        Series::new(label, Colour::Category(at), Shape::Line, x, y)
    };
    shares.into_iter().enumerate().filter_map(line).collect()
}

/// Rated life used by the servers that serve at a moment, the least first.
fn serving(run: &FleetRun, snapshot: &FleetSnapshot) -> Vec<f64> {
    let servers = run.servers.iter().zip(&snapshot.life_used_by_server);
    let serves = servers.filter(|(server, _)| server.left_ns.is_none_or(|left| left > snapshot.at_ns));
    let mut used: Vec<f64> = serves.map(|(_, used)| *used).collect();
    used.sort_by(f64::total_cmp);
    used
}

/// Servers in the order of their wear, at some moments.
fn in_order(results: &FleetResults) -> Chart {
    let choices = results.runs.iter().map(|run| {
        let count = run.snapshots.len();
        let wanted = |moment: usize| moment * count.saturating_sub(1) / (MOMENTS - 1);
        let mut moments: Vec<usize> = (0..MOMENTS).map(wanted).filter(|at| *at < count).collect();
        moments.dedup();
        let line = |(colour, at): (usize, usize)| {
            let snapshot = &run.snapshots[at];
            let label = match snapshot.at_ns {
                0 => "at the beginning".to_string(),
                _ => format!("after {}", esker_core::words::duration(snapshot.at_ns as f64 / 1e9)),
            };
            let (x, y) = thinned(&serving(run, snapshot)).unzip();
            Series::new(label, Colour::Category(colour), Shape::Line, x, y)
        };
        Choice::new(run.balancer.as_str(), moments.into_iter().enumerate().filter_map(line).collect())
    });
    let chart = Chart::new(
        "How many servers are how far?",
        "Servers that serve, the least worn first, at some moments. The flatter a line, the more even is the wear.",
        Axis::shares("share of the servers"),
        used(),
        Vec::new(),
    );
    Chart { choices: choices.filter(|choice| !choice.is_empty()).collect(), wide: true, ..chart }
}

/// Sorted values over the share of those that are no greater, the first and the last among them.
fn thinned(sorted: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    let last = sorted.len().saturating_sub(1);
    let points = sorted.len().min(POINTS_MOST);
    (0..points).map(move |point| {
        let at = point * last / points.saturating_sub(1).max(1);
        (at as f64 / last.max(1) as f64, sorted[at])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_lines_keep_their_ends() {
        let values: Vec<f64> = (0..2501).map(f64::from).collect();
        let points: Vec<(f64, f64)> = thinned(&values).collect();
        assert_eq!((points.len(), points[0], points[999]), (1000, (0.0, 0.0), (1.0, 2500.0)));
        assert!(points.is_sorted_by(|one, two| one < two));
        assert_eq!(thinned(&values[..3]).collect::<Vec<_>>(), [(0.0, 0.0), (0.5, 1.0), (1.0, 2.0)]);
        assert_eq!((thinned(&values[..1]).count(), thinned(&[]).count()), (1, 0));
    }

    #[test]
    fn each_server_has_a_line_while_they_can_be_told_apart() {
        for (servers, lines) in [(3, 3), (LINES_MOST, LINES_MOST), (LINES_MOST + 1, 5)] {
            let results = crate::samples::fleet(servers);
            let chart = serde_json::to_value(each_server(&results)).unwrap();
            assert_eq!(chart["choices"][0]["series"].as_array().unwrap().len(), lines, "{servers} servers");
        }
    }

    #[test]
    fn servers_that_have_left_are_not_drawn() {
        let mut results = crate::samples::fleet(4);
        results.runs[0].servers[3].left_ns = Some(results.runs[0].snapshots[1].at_ns);
        let of = |at: usize| serving(&results.runs[0], &results.runs[0].snapshots[at]).len();
        assert_eq!([of(0), of(1), of(2)], [4, 3, 3]);
        let mut columns = Columns::default();
        let charts: Vec<String> = of_fleet(&results, &mut columns).into_iter().map(|chart| chart.id).collect();
        assert_eq!(charts, ["fleet-max", "fleet-p99", "fleet-sd", "fleet-servers", "fleet-order"]);
    }
}
