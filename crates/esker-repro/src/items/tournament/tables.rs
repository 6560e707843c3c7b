//! Claims and figures.

use super::contestants::Side;
use super::measured::Measured;
use super::runs::{Played, PlayedCell};
use super::verdict::{Estimate, Row, Verdict};
use super::{Cell, Plan};
use crate::{Axis, Claim, Curve, Figure, Item, ItemOutcome};

/// Loads of each pair on which ours should beat every rival.
const LOADS_WANTED: f64 = 3.0;
const AIM: &str = "an aim of ours: 5 % more throughput or 5 % less p99 than each rival, no more than 2 % behind in the \
                   other one, and no more bytes written to flash";

/// Makes the claims and figures of `played`.
pub(super) fn outcome(item: &Item, plan: &Plan, played: &[Played]) -> ItemOutcome {
    let (mut claims, mut figures) = (Vec::new(), Vec::new());
    for (index, cell) in plan.cells().iter().enumerate() {
        let of_loads: Vec<(String, &PlayedCell)> =
            played.iter().filter_map(|one| Some((one.load.title(), one.cells.as_ref().ok()?.get(index)?))).collect();
        claims.extend(claims_of(item, cell, &of_loads));
        figures.extend(figures_of(cell, &of_loads, plan.seeds));
    }
    let missing = played.iter().filter_map(|one| Some((one.load.title(), one.cells.as_ref().err()?)));
    claims.extend(
        missing.map(|(load, reason)| Claim::unreachable(item.name, &format!("{load}: its rows"), None, reason)),
    );
    ItemOutcome { claims, figures }
}

fn claims_of(item: &Item, cell: &Cell, loads: &[(String, &PlayedCell)]) -> Vec<Claim> {
    let title = cell.title();
    let verdicts: Vec<(&String, Verdict)> =
        loads.iter().filter_map(|(load, played)| Some((load, Verdict::of(&played.rows)?))).collect();
    let won = verdicts.iter().filter(|(_, verdict)| verdict.beats_all()).count();
    let aim = format!("{title}: loads on which one of ours beats every rival, of {}", verdicts.len());
    let mut claims = vec![if (verdicts.len() as f64) < LOADS_WANTED {
        Claim::unreachable(item.name, &aim, None, "fewer loads than it asks for are there")
    } else {
        Claim::at_least(item.name, &aim, LOADS_WANTED, won as f64, AIM)
    }];
    let faster = verdicts.iter().filter(|(_, verdict)| verdict.faster).count();
    let aside = format!("{title}: loads on which one of ours is faster than every rival, flash bytes left aside");
    claims.push(Claim::beside(item.name, &aside, faster as f64, "the same margins"));
    for (load, verdict) in &verdicts {
        let Verdict { best, beaten, rivals, .. } = verdict;
        let reason = match verdict.unbeaten.as_slice() {
            [] => "it beats all of them".to_string(),
            unbeaten => format!("beside those that it does not beat, as parts of theirs: {}", unbeaten.join(", ")),
        };
        let claim = format!("{title}: {load}: rivals that `{best}` beats, of {rivals}");
        claims.push(Claim::beside(item.name, &claim, *beaten as f64, &reason));
    }
    for ((load, played), (_, verdict)) in loads.iter().zip(&verdicts) {
        let (Some(over), Some(split)) = (verdict.over_split, &played.best_split) else { continue };
        let claim = format!("{title}: {load}: throughput of `{}` over that of the best fixed split", verdict.best);
        claims.push(Claim::beside(item.name, &claim, over, &format!("that split has {split}")));
    }
    for (load, played) in loads {
        let absent = played.absent.iter().map(|(name, reason)| (format!("{title}: {load}: `{name}`"), reason));
        claims.extend(absent.map(|(claim, reason)| Claim::unreachable(item.name, &claim, None, reason)));
    }
    claims
}

/// A quantity of the tables: its name with its unit, and its value; `None` where a run has none.
type Quantity = (&'static str, fn(&Row) -> Option<Estimate>);

/// The estimate over the runs of one kind, if all of them have the value.
fn over(runs: &[Measured], value: impl Fn(&Measured) -> Option<f64>) -> Option<Estimate> {
    let values: Option<Vec<f64>> = runs.iter().map(value).collect();
    values.map(|values| Estimate::of(&values))
}

const QUANTITIES: [Quantity; 9] = [
    ("throughput, requests/s", |row| Some(row.requests_per_s())),
    ("mean response at 70 %, ms", |row| over(&row.open, |run| Some(run.mean_ms))),
    ("p99 at 70 %, ms", |row| over(&row.open, |run| Some(run.p99_ms))),
    ("bytes moved at 70 %, part of the host's", |row| over(&row.open, |run| Some(run.moved_bytes / run.host_bytes))),
    ("bytes moved in the closed loop, part of the host's", |row| {
        over(&row.closed, |run| Some(run.moved_bytes / run.host_bytes))
    }),
    ("bytes written to all flash in both runs, part of the host's", |row| {
        let host: f64 = row.closed.iter().chain(&row.open).map(|run| run.host_bytes).sum();
        let mean = row.flash_bytes() * row.closed.len() as f64 / host;
        Some(Estimate { mean, reach: 0.0 })
    }),
    ("bytes written to the fast device at 70 %, part of the host's", |row| over(&row.open, |run| written(run, 0))),
    ("bytes written to the slow device at 70 %, part of the host's", |row| over(&row.open, |run| written(run, 1))),
    ("life of the flash at 70 %, years", |row| over(&row.open, |run| run.life_years)),
];

/// Bytes programmed into a device that is flash, as a part of those of the host.
fn written(run: &Measured, device: usize) -> Option<f64> {
    Some(run.programmed_bytes.get(device)? / run.host_bytes)
}

/// A figure for each quantity: loads beside each other, and a curve for each contestant.
fn figures_of(cell: &Cell, loads: &[(String, &PlayedCell)], seeds: u64) -> Vec<Figure> {
    let title = cell.title();
    let mut figures = Vec::new();
    for (name, of) in QUANTITIES {
        figures.push(figure(&format!("{title}: {name}"), name, loads, |row| Some(of(row)?.mean)));
        if seeds > 1 {
            let title = format!("{title}: {name}, half of the 99 % interval over seeds");
            figures.push(figure(&title, name, loads, |row| Some(of(row)?.reach)));
        }
    }
    figures.retain(|figure| figure.curves.iter().any(|curve| !curve.points.is_empty()));
    figures
}

fn figure(title: &str, unit: &str, loads: &[(String, &PlayedCell)], of: impl Fn(&Row) -> Option<f64>) -> Figure {
    let mut curves: Vec<Curve> = Vec::new();
    for (x, (_, played)) in loads.iter().enumerate() {
        for row in &played.rows {
            let name = if row.side == Side::Ours { format!("{} (ours)", row.name) } else { row.name.clone() };
            let index = curves.iter().position(|curve| curve.name == name).unwrap_or_else(|| {
                curves.push(Curve::measured(&name, []));
                curves.len() - 1
            });
            curves[index].points.extend(of(row).map(|y| (x as f64, y)));
        }
    }
    Figure {
        title: title.to_string(),
        note: "Every contestant on every load; nothing is published to compare with.".into(),
        x: Axis::categories("load", loads.iter().map(|(load, _)| load.as_str())),
        y: Axis::linear(unit),
        curves,
    }
}
