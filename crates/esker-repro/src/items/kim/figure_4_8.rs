//! Kim 2009, figure 4.8: the cheapest mix for each workload of table 4.3.

use esker_plan::{ClassSettings, Sharing};

use super::mixplan::{
    ASSUMED, Classified, FINANCIAL, HIGH_END, LOW_END, MSR, MixPlan, Planning, SSD, TPC_H, WORKLOADS, Workload,
    one_hot_class, two_hot_classes,
};
use crate::traces::FINANCIAL1;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-4.8",
    title: "The cheapest mix of devices for each workload, and over which seeks and skews it holds",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 4.5.4.1, figure 4.8",
    sections: &["4.5.4.1"],
    run,
};

/// The two workloads whose counts the text has, with the published number of low-end disks. Each has one SSD.
const PUBLISHED: [(usize, f64); 2] = [(FINANCIAL, 6.0), (TPC_H, 2.0)];
const SRC1: &str = "/src1";
/// Mean seeks of the low-end disk, ms.
const SEEKS: [f64; 8] = [8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
const FORMS: [(Sharing, &str); 2] = [(Sharing::PerClass, "per class"), (Sharing::Summed, "summed")];

const EXACT: &str = "section 4.5.4.1: a number of devices, exact";
const NOT_BY_HEAT: &str = "the skew of single records; classes by reads, size and intensity put hotter and less hot \
                           records together, so that theirs is less";
const ONE_CLASS: &str = "all hot data in one class, which is all that table 4.3 says";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    let planning = Planning::published(Sharing::PerClass);
    let mut plans = Vec::new();
    for (at, workload) in WORKLOADS.iter().enumerate() {
        plans.push(planning.cheapest(&one_hot_class(workload), context)?);
        (context.progress)(0.2 * at as f64 / WORKLOADS.len() as f64);
    }
    claims.extend(msr_claims(item, context, &planning, &plans)?);
    for (at, disks) in PUBLISHED {
        claims.extend(large_claims(item, context, &WORKLOADS[at], disks)?);
    }
    let factors = exceptions(context, &planning)?;
    claims.push(src1_place(item, &factors));
    (context.progress)(0.4);
    let (of_head, by_seek) = head_claims(item, context)?;
    claims.extend(of_head);
    let mut figures = vec![mixes(&plans), exceptions_figure(&factors), thresholds(item, context, &mut claims)?];
    if !by_seek.is_empty() {
        figures.push(Figure {
            title: "SSDs with the classes of Financial1".into(),
            note: "Published: 1 SSD for both workloads, with seeks that the paper does not give.".into(),
            x: Axis::linear("mean seek of the low-end disk, ms"),
            y: Axis::linear("SSDs in the cheapest mix"),
            curves: by_seek,
        });
    }
    Ok(ItemOutcome { claims, figures })
}

/// "Low-end HDD can replace high-end HDD in MSR traces except in src1".
fn msr_claims(
    item: &Item,
    context: &Context<'_>,
    planning: &Planning,
    plans: &[MixPlan],
) -> Result<Vec<Claim>, ReproduceError> {
    let others = (MSR..WORKLOADS.len()).filter(|&at| WORKLOADS[at].name != SRC1);
    let (volumes, met) = (others.clone().count(), others.filter(|&at| is_low_end_alone(&plans[at])).count());
    let claim = "MSR volumes but src1 whose cheapest mix is low-end disks alone";
    let mut claims = vec![Claim::within_absolute(item.name, claim, volumes as f64, met as f64, 0.0, EXACT)];
    for at in (MSR..WORKLOADS.len()).filter(|&at| WORKLOADS[at].name == SRC1) {
        let high_end = planning.only(HIGH_END).cheapest(&one_hot_class(&WORKLOADS[at]), context)?;
        let reason = format!(
            "\"except in src1\", which does not follow from tables 4.3 and 4.4: {} low-end disks cost {:.2} dollars, \
             {} high-end ones {:.2}; its bandwidth is a hundredth of what one disk gives, and no unit of bandwidth \
             makes src1 the one exception",
            plans[at].counts[LOW_END], plans[at].cost, high_end.counts[0], high_end.cost
        );
        let low_end_alone = f64::from(u8::from(is_low_end_alone(&plans[at])));
        let claim = "src1: low-end disks alone are the cheapest (1: they are)";
        claims.push(Claim::none(item.name, claim, low_end_alone, &reason));
    }
    Ok(claims)
}

fn is_low_end_alone(plan: &MixPlan) -> bool {
    plan.counts[SSD] == 0 && plan.counts[HIGH_END] == 0
}

fn large_claims(
    item: &Item,
    context: &Context<'_>,
    workload: &Workload,
    disks: f64,
) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = Vec::new();
    let count = |what: &str, published: f64, measured: f64, reason: &str| {
        let name = format!("{}, {what}", workload.name);
        Claim::within_absolute(item.name, &name, published, measured, 0.0, reason)
    };
    let by_capacity = Planning::published(Sharing::PerClass).cheapest(&one_hot_class(&workload.times(0.0)), context)?;
    claims.push(count("capacity alone: low-end disks", disks, by_capacity.count(LOW_END), EXACT));
    for (sharing, form) in FORMS {
        let plan = Planning::published(sharing).cheapest(&one_hot_class(workload), context)?;
        let disks = count(&format!("{form}: low-end disks"), disks, plan.count(LOW_END), EXACT);
        let ssds = count(&format!("{form}: SSDs"), 1.0, plan.count(SSD), EXACT);
        let stand_in = format!("{ONE_CLASS}; {ASSUMED}");
        claims.extend([disks, ssds].map(|claim| claim.on_stand_in(&stand_in)));
    }
    Ok(claims)
}

/// By which factor the bandwidth of each volume of MSR has to be larger before low-end disks alone are no longer the
/// cheapest mix.
fn exceptions(context: &Context<'_>, planning: &Planning) -> Result<Vec<(&'static str, f64)>, ReproduceError> {
    let mut factors = Vec::new();
    for workload in &WORKLOADS[MSR..] {
        // Powers of ten between which it lies.
        let (mut least, mut most) = (0.0, 8.0);
        while most - least > 1e-3 {
            let middle = f64::midpoint(least, most);
            let plan = planning.cheapest(&one_hot_class(&workload.times(10_f64.powf(middle))), context)?;
            *(if is_low_end_alone(&plan) { &mut least } else { &mut most }) = middle;
        }
        factors.push((workload.name, 10_f64.powf(most)));
    }
    Ok(factors)
}

fn src1_place(item: &Item, factors: &[(&'static str, f64)]) -> Claim {
    let of_src1 = factors.iter().find(|(name, _)| *name == SRC1).map_or(f64::NAN, |(_, factor)| *factor);
    let mut before: Vec<_> = factors.iter().filter(|(_, factor)| *factor < of_src1).collect();
    before.sort_by(|one, other| one.1.total_cmp(&other.1));
    let names: Vec<&str> = before.iter().map(|(name, _)| *name).collect();
    let reason = format!(
        "the first if src1 were the one exception; bandwidths in a unit {} times as large, whichever it is, make \
         exceptions of {} first",
        esker_core::words::published(of_src1.round()),
        names.join(", ")
    );
    let claim = "place of src1 among the MSR volumes whose bandwidths grow alike until low-end disks alone will not do";
    Claim::compared(item.name, claim, 1.0, (before.len() + 1) as f64, &reason)
}

/// The plans with the classes of the real trace.
fn head_claims(item: &Item, context: &Context<'_>) -> Result<(Vec<Claim>, Vec<Curve>), ReproduceError> {
    let read = Classified::read(item, context, &FINANCIAL1, &ClassSettings::kim_33())?;
    let (mut claims, mut curves) = (Vec::new(), Vec::new());
    let skew = "Financial1: percent of the requests for hot records on the hotter half of them";
    claims.push(match &read {
        Ok(classified) => Claim::beside(item.name, skew, 100.0 * classified.on_hotter_half(), NOT_BY_HEAT),
        Err(missing) => Claim::unreachable(item.name, skew, None, missing),
    });
    for (at, disks) in PUBLISHED {
        let workload = &WORKLOADS[at];
        for (sharing, form) in FORMS {
            let name = |what: &str| format!("{}, {form}, classes of Financial1: {what}", workload.name);
            let (ssds, low_end) = (name("SSDs"), name("low-end disks"));
            let classified = match &read {
                Ok(classified) => classified,
                Err(missing) => {
                    claims.push(Claim::unreachable(item.name, &ssds, Some(1.0), missing));
                    claims.push(Claim::unreachable(item.name, &low_end, Some(disks), missing));
                    continue;
                }
            };
            let classes = classified.scaled(workload, sharing);
            let plan = Planning::published(sharing).cheapest(&classes, context)?;
            for (claim, published, measured) in [(ssds, 1.0, plan.count(SSD)), (low_end, disks, plan.count(LOW_END))] {
                let claim = Claim::within_absolute(item.name, &claim, published, measured, 0.0, EXACT);
                claims.push(claim.on_stand_in(&format!("{}; {ASSUMED}", stand_in(at))));
            }
            let mut points = Vec::new();
            for seek in SEEKS {
                points.push((seek, with_seek(sharing, seek).cheapest(&classes, context)?.count(SSD)));
            }
            let held = points.iter().filter(|(_, ssds)| *ssds == 1.0).count();
            let held_name = name(&format!("mean seeks of 8, 9 to 15 ms with which it is 1 SSD, of {}", SEEKS.len()));
            claims.push(Claim::beside(item.name, &held_name, held as f64, "the paper's seeks are not published"));
            curves.push(Curve::measured(&format!("{}, {form}", workload.name), points));
        }
    }
    Ok((claims, curves))
}

fn stand_in(workload: usize) -> &'static str {
    match workload {
        FINANCIAL => "the classes of Financial1, of which there may be the first requests only",
        _ => "the classes of Financial1: those of TPC-H cannot be had",
    }
}

fn with_seek(sharing: Sharing, seek: f64) -> Planning {
    let mut planning = Planning::published(sharing);
    planning.devices[LOW_END] = planning.devices[LOW_END].clone().with_seek(seek);
    planning
}

/// The least share of the requests on the hotter half of the hot data with which the published plan holds, by seek.
fn thresholds(item: &Item, context: &Context<'_>, claims: &mut Vec<Claim>) -> Result<Figure, ReproduceError> {
    let mut curves = Vec::new();
    for (at, disks) in PUBLISHED {
        let workload = &WORKLOADS[at];
        for (sharing, form) in FORMS {
            let mut points = Vec::new();
            for seek in SEEKS {
                let planning = with_seek(sharing, seek);
                let (mut least, mut most) = (0.5, 1.0);
                while most - least > 1e-4 {
                    let middle = f64::midpoint(least, most);
                    let plan = planning.cheapest(&two_hot_classes(workload, middle), context)?;
                    *(if plan.counts == [1, 0, disks as u32] { &mut most } else { &mut least }) = middle;
                }
                points.push((seek, 100.0 * most));
            }
            let ends = [points[0], points[points.len() - 1]];
            for (seek, share) in ends {
                let claim = format!(
                    "{}, {form}, mean seek {seek} ms: least part of the requests on the hotter half with which 1 SSD \
                     is enough, percent",
                    workload.name
                );
                claims.push(Claim::beside(
                    item.name,
                    &claim,
                    share,
                    "of the hot data; the paper's skew is not published",
                ));
            }
            curves.push(Curve::measured(&format!("{}, {form}", workload.name), points));
        }
    }
    Ok(Figure {
        title: "The skew that the published mixes need".into(),
        note: "Above a curve the mix is the published one, 1 SSD and 6 or 2 low-end disks; below it has more SSDs."
            .into(),
        x: Axis::linear("mean seek of the low-end disk, ms"),
        y: Axis::linear("requests on the hotter half of the hot data, percent"),
        curves,
    })
}

fn mixes(plans: &[MixPlan]) -> Figure {
    let of = |device: usize| plans.iter().map(move |plan| plan.count(device));
    let published = |of: &dyn Fn(f64) -> f64| {
        let value =
            |at: usize| PUBLISHED.iter().find(|(known, _)| *known == at).map_or(f64::NAN, |(_, disks)| of(*disks));
        (0..WORKLOADS.len()).map(value).collect::<Vec<_>>()
    };
    Figure {
        title: "Figure 4.8: economical storage configurations".into(),
        note: "With all hot data in one class, per class. The text has counts for Financial and TPC-H only.".into(),
        x: Axis::categories("workload", WORKLOADS.map(|workload| workload.name)),
        y: Axis::linear("devices"),
        curves: vec![
            Curve::published_bars("SSD", published(&|_| 1.0)),
            Curve::measured_bars("SSD", of(SSD)),
            Curve::measured_bars("high-end disk", of(HIGH_END)),
            Curve::published_bars("low-end disk", published(&|disks| disks)),
            Curve::measured_bars("low-end disk", of(LOW_END)),
        ],
    }
}

fn exceptions_figure(factors: &[(&'static str, f64)]) -> Figure {
    Figure {
        title: "Bandwidth at which low-end disks alone are no longer the cheapest".into(),
        note: "Times the bandwidths of table 4.3. If src1 were the one exception, its bar would be the lowest.".into(),
        x: Axis::categories("volume", factors.iter().map(|(name, _)| *name)),
        y: Axis::logarithmic("times the published bandwidth"),
        curves: vec![Curve::measured_bars("low-end disks alone", factors.iter().map(|(_, factor)| *factor))],
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::super::mixplan::tests::with_a_trace;
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn without_a_trace_its_claims_are_unreachable() {
        let outcome = outcome(&ITEM, run);
        let unreachable = outcome.claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Unreachable).count();
        assert_eq!((outcome.claims.len(), unreachable, outcome.figures.len()), (30, 9, 3));
        let measured = |of: &str| outcome.claims.iter().find(|claim| claim.claim.contains(of)).unwrap().measured;
        assert_eq!(measured("MSR volumes but src1"), Some(12.0));
        assert_eq!(measured("Financial, capacity alone"), Some(6.0));
        assert_eq!(measured("TPC-H, summed: SSDs"), Some(2.0));
    }

    #[test]
    fn the_classes_of_a_trace_are_planned() {
        let outcome = outcome(&ITEM, |item, _| with_a_trace(|context| run(item, context)));
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (34, 4));
        assert!(outcome.claims.iter().all(|claim| claim.verdict != ClaimVerdict::Unreachable));
    }
}
