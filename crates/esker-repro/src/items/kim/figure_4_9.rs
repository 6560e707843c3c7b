//! Kim 2009, figure 4.9: mixes at lower prices, with and without electricity, as requests arrive faster.

use esker_plan::{ClassSettings, Sharing};

use super::mixplan::{
    Classified, Costs, DataClass, FINANCIAL, HIGH_END, LOW_END, Planning, SSD, TPC_H, WORKLOADS, Workload, io_drive,
    one_hot_class,
};
use crate::traces::FINANCIAL1;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-4.9",
    title: "Mixes at lower prices of disks and drives, with and without electricity",
    source: "Kim, dissertation, Pennsylvania State University, 2009, sections 4.5.5.1 and 4.5.5.2, figure 4.9",
    sections: &["4.5.5.1", "4.5.5.2"],
    run,
};

/// Times the arrival rate. The text names 1 and 8.
const SPEEDS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// Dollars for each GB of SSD, high-end disk and low-end disk, and of the ioDrive: 4, 1.5, 1 and 8 times that of the
/// low-end disk (caption of figure 4.9).
const LOW_END_PRICE: f64 = 0.12;
const PRICES: [f64; 3] = [4.0 * LOW_END_PRICE, 1.5 * LOW_END_PRICE, LOW_END_PRICE];
const IO_DRIVE_PRICE: f64 = 8.0 * LOW_END_PRICE;
const IO_DRIVE: usize = 3;
/// Power of the ioDrive with its supplement, W: assumed.
const IO_DRIVE_WATTS: f64 = 10.0;
const DEVICES: [(usize, &str); 4] =
    [(SSD, "SSD"), (HIGH_END, "high-end disk"), (LOW_END, "low-end disk"), (IO_DRIVE, "ioDrive")];
const BOTH: [Costs; 2] = [Costs::PurchaseAndElectricity, Costs::Purchase];

fn planning(costs: Costs, ssd_rate: f64, io_drive_watts: f64) -> Planning {
    let mut planning = Planning { costs, ..Planning::published(Sharing::PerClass) };
    for (device, price) in planning.devices.iter_mut().zip(PRICES) {
        device.purchase = device.gigabytes * price;
    }
    planning.devices[SSD].read_rate *= ssd_rate;
    planning.devices[SSD].write_rate *= ssd_rate;
    planning.devices.push(io_drive(IO_DRIVE_PRICE, io_drive_watts));
    planning
}

/// The classes of a workload.
type Classes<'a> = dyn Fn(&Workload) -> Vec<DataClass> + 'a;

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let one = "all hot data in one class, an ioDrive of ours, mean seeks of 3.5 and 8.9 ms";
    let mut outcome = mixes(item, context, "one hot class", one, &one_hot_class)?;
    match Classified::read(item, context, &FINANCIAL1, &ClassSettings::kim_33())? {
        Ok(classified) => {
            let classes = |workload: &Workload| classified.scaled(workload, Sharing::PerClass);
            let head = "the classes of Financial1 for both workloads, an ioDrive of ours, mean seeks of 3.5 and 8.9 ms";
            let of_head = mixes(item, context, "classes of Financial1", head, &classes)?;
            outcome.claims.extend(of_head.claims);
            outcome.figures.extend(of_head.figures);
        }
        Err(missing) => {
            let claim = "classes of Financial1: all claims of the figure";
            outcome.claims.push(Claim::unreachable(item.name, claim, None, &missing));
        }
    }
    let (claims, figure) = io_drive_range(item, context)?;
    outcome.claims.extend(claims);
    outcome.figures.push(figure);
    Ok(outcome)
}

/// Counts of devices by costs, workload and speed.
fn mixes(
    item: &Item,
    context: &Context<'_>,
    name: &str,
    stand_in: &str,
    classes: &Classes<'_>,
) -> Result<ItemOutcome, ReproduceError> {
    let mut counts = Vec::new();
    for costs in BOTH {
        let planning = planning(costs, 1.0, IO_DRIVE_WATTS);
        let mut of_costs = Vec::new();
        for at in [FINANCIAL, TPC_H] {
            for speed in SPEEDS {
                of_costs.push(planning.cheapest(&classes(&WORKLOADS[at].times(speed)), context)?.counts);
            }
        }
        counts.push(of_costs);
    }
    let claims = claims(item, name, &counts);
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(stand_in)).collect();
    let parts = [("(a): installation and recurring cost", &counts[0]), ("(b): installation cost only", &counts[1])];
    let figures = parts.map(|(part, counts)| figure(&format!("Figure 4.9 {part}, {name}"), counts));
    Ok(ItemOutcome { claims, figures: figures.into() })
}

fn claims(item: &Item, name: &str, counts: &[Vec<Vec<u32>>]) -> Vec<Claim> {
    let [with_electricity, purchase] = counts else { unreachable!("two ways to count costs") };
    let (first, eight) = (0, SPEEDS.len() - 1);
    let exact = |what: &str, published: f64, measured: u32, reason: &str| {
        Claim::within_absolute(item.name, &format!("{name}: {what}"), published, measured.into(), 0.0, reason)
    };
    let one = "section 4.5.5.1, of figure 4.9(a): 1 SSD and 6 low-end disks";
    let mut claims = vec![
        exact("Financial 1x, SSDs", 1.0, with_electricity[first][SSD], one),
        exact("Financial 1x, low-end disks", 6.0, with_electricity[first][LOW_END], one),
    ];
    let out = "section 4.5.5.2: \"employing high-end HDDs becomes economically inviable when the recurring costs are \
               considered\"";
    for (workload, of_workload) in [("Financial", 0..SPEEDS.len()), ("TPC-H", SPEEDS.len()..2 * SPEEDS.len())] {
        let most = |counts: &[Vec<u32>]| counts[of_workload.clone()].iter().map(|counts| counts[HIGH_END]).max();
        let most = |counts: &[Vec<u32>]| f64::from(most(counts).unwrap_or(0));
        let claim = |costs: &str| format!("{name}: {workload}, most high-end disks of any speed, {costs}");
        claims.push(Claim::none(item.name, &claim("with electricity"), most(with_electricity), out));
        claims.push(Claim::at_least(item.name, &claim("purchase alone"), 1.0, most(purchase), out));
    }
    let eight = &with_electricity[SPEEDS.len() + eight];
    let text = "section 4.5.5.1: \"1 FusionIO's device, 1 SSD, and 2 low-end HDD\"";
    for (device, published) in [(IO_DRIVE, 1.0), (SSD, 1.0), (LOW_END, 2.0)] {
        let what = format!("TPC-H 8x, {}s", DEVICES.iter().find(|(at, _)| *at == device).map_or("", |(_, name)| name));
        claims.push(exact(&what, published, eight[device], text));
    }
    claims
}

fn figure(title: &str, counts: &[Vec<u32>]) -> Figure {
    let names: Vec<String> =
        ["Financial", "TPC-H"].iter().flat_map(|name| SPEEDS.map(|speed| format!("{name} {speed}x"))).collect();
    let bars = |(device, name): (usize, &str)| {
        Curve::measured_bars(name, counts.iter().map(move |counts| f64::from(counts[device])))
    };
    Figure {
        title: title.into(),
        note: "Prices for each GB: high-end disk 1.5, SSD 4, ioDrive 8 times that of the low-end disk.".into(),
        x: Axis::categories("workload and speed", names.iter().map(String::as_str)),
        y: Axis::linear("devices"),
        curves: DEVICES.map(bars).into(),
    }
}

/// Parts of its data-sheet rate that an SSD gives, percent.
const RATES: [u32; 20] = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100];

/// With which SSDs and which ioDrives TPC-H at eight times its rate is planned as published.
fn io_drive_range(item: &Item, context: &Context<'_>) -> Result<(Vec<Claim>, Figure), ReproduceError> {
    let workload = WORKLOADS[TPC_H].times(8.0);
    let classes = one_hot_class(&workload);
    let (mut claims, mut curves) = (Vec::new(), Vec::new());
    let ways = [(BOTH[0], 3.0), (BOTH[0], 10.0), (BOTH[0], 25.0), (BOTH[1], 0.0)];
    for (costs, watts) in ways {
        let way = match costs {
            Costs::PurchaseAndElectricity => format!("with electricity, ioDrive of {watts} W"),
            Costs::Purchase => "purchase alone".to_string(),
        };
        let (mut points, mut as_published) = (Vec::new(), 0.0);
        for percent in RATES {
            let planning = planning(costs, f64::from(percent) / 100.0, watts);
            let plan = planning.cheapest(&classes, context)?;
            let rate = planning.devices[SSD].kilobytes_per_s(workload.request, workload.reads / 100.0) / 1e3;
            points.push((rate, plan.count(IO_DRIVE)));
            as_published += f64::from(u8::from(plan.counts == [1, 0, 2, 1]));
        }
        let claim = format!("TPC-H 8x, {way}: rates of the SSD of {} with the published mix", RATES.len());
        let reason = "at its data-sheet rate two SSDs carry all of TPC-H 8x, and cost less than an ioDrive: it has no \
                      place unless an SSD gives a fraction of that";
        claims.push(Claim::beside(item.name, &claim, as_published, reason));
        curves.push(Curve::measured(&way, points));
    }
    let figure = Figure {
        title: "ioDrives of TPC-H at eight times its rate".into(),
        note: "By what one SSD really gives; its data sheet has 205 MB/s for these requests. Published: one ioDrive."
            .into(),
        x: Axis::linear("rate of the SSD, MB/s"),
        y: Axis::linear("ioDrives in the cheapest mix"),
        curves,
    };
    Ok((claims, figure))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::super::mixplan::tests::with_a_trace;
    use super::*;

    #[test]
    fn electricity_puts_high_end_disks_out() {
        let outcome = outcome(&ITEM, run);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (14, 3));
        let measured = |of: &str| outcome.claims.iter().find(|claim| claim.claim.contains(of)).unwrap().measured;
        assert_eq!(measured("Financial, most high-end disks of any speed, with electricity"), Some(0.0));
        assert!(measured("Financial, most high-end disks of any speed, purchase alone") >= Some(1.0));
    }

    #[test]
    fn the_classes_of_a_trace_are_planned_too() {
        let outcome = outcome(&ITEM, |item, _| with_a_trace(|context| run(item, context)));
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (22, 5));
    }
}
