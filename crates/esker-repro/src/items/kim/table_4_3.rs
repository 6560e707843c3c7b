//! Kim 2009, table 4.3: the workloads of the planner, beside heads of two real traces.

use esker_plan::ClassSettings;

use super::mixplan::{Classified, FINANCIAL, MSR, WORKLOADS, Workload};
use crate::traces::{FINANCIAL1, PRXY_0, PaperTrace};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-4.3",
    title: "Workloads of the planner beside two real traces",
    source: "Kim, dissertation, Pennsylvania State University, 2009, sections 4.5.1 and 4.5.2, table 4.3",
    sections: &["4.5.1", "4.5.2"],
    run,
};

const PROXY: &str = "/proxy";
const SCALED: &str = "table 4.3, whose Financial is scaled in a way that is not published";
const ONE_VOLUME: &str = "table 4.3; prxy_0 is one of the two volumes of that server";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = vec![slow_volumes(item)];
    claims.extend(beside_trace(item, context, &WORKLOADS[FINANCIAL], &FINANCIAL1, SCALED)?);
    for workload in WORKLOADS.iter().filter(|workload| workload.name == PROXY) {
        claims.extend(beside_trace(item, context, workload, &PRXY_0, ONE_VOLUME)?);
    }
    Ok(claims.into())
}

/// Hot data are asked for more than once a second, each record of them. So a volume with hot data asks for more than
/// one request of its mean size.
fn slow_volumes(item: &Item) -> Claim {
    let too_slow = WORKLOADS[MSR..].iter().filter(|workload| workload.bandwidth < workload.request);
    let claim = "MSR volumes with hot data and less than one request of mean size a second";
    let reason = "hot is what is asked for more than once a second (section 4.5.2), so the bandwidths cannot be KB/s";
    Claim::beside(item.name, claim, too_slow.count() as f64, reason)
}

fn beside_trace(
    item: &Item,
    context: &Context<'_>,
    workload: &Workload,
    trace: &PaperTrace,
    reason: &str,
) -> Result<Vec<Claim>, ReproduceError> {
    let hot_share = 100.0 * workload.hot / (workload.hot + workload.cold);
    let rows = [
        ("mean request, KB", workload.request),
        ("reads, percent", workload.reads),
        ("hot data, percent", hot_share),
        ("a busy second (95 of 100 ask for less), KB/s", workload.bandwidth),
    ];
    let name = |what: &str| format!("{}: {what}", workload.name);
    let found = match Classified::read(item, context, trace, &ClassSettings::kim_33())? {
        Ok(found) => found,
        Err(missing) => {
            let unreachable = |(what, published)| Claim::unreachable(item.name, &name(what), Some(published), &missing);
            return Ok(rows.map(unreachable).into());
        }
    };
    let (load, (hot, all)) = (found.total(), found.records());
    let reads = (load.random_reads + load.sequential_reads) as f64 / load.requests() as f64;
    let measured = [found.request(), 100.0 * reads, 100.0 * hot as f64 / all as f64, found.bandwidth()];
    let claim = |((what, published), measured): ((&str, f64), f64)| match what.ends_with("percent") {
        true => Claim::percent(item.name, &name(what), published, measured, reason),
        false => Claim::compared(item.name, &name(what), published, measured, reason),
    };
    let claims = rows.into_iter().zip(measured).map(claim);
    Ok(claims.map(|claim| claim.on_stand_in(&format!("{}, as a whole or its first requests", trace.title))).collect())
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::super::mixplan::tests::with_a_trace;
    use super::*;

    #[test]
    fn sizes_of_the_table_add_up() {
        let totals = [2763, 900, 1359, 1883, 430, 39, 80, 88, 555, 101, 108, 22, 441, 509, 102];
        assert_eq!(WORKLOADS.map(|workload| (workload.hot + workload.cold) as u32), totals);
    }

    #[test]
    fn a_trace_is_measured_where_there_is_one() {
        let outcome = outcome(&ITEM, |item, _| with_a_trace(|context| run(item, context)));
        let measured = |of: &str| outcome.claims.iter().find(|claim| claim.claim.starts_with(of)).unwrap().measured;
        assert_eq!(outcome.claims.len(), 9);
        assert_eq!(measured("MSR volumes"), Some(12.0));
        assert_eq!(measured("Financial: mean request"), Some(4.096));
        // 10 of 50 records.
        assert_eq!(measured("Financial: hot data"), Some(20.0));
        // 50 requests a second.
        assert_eq!(measured("Financial: a busy second"), Some(204.8));
        assert_eq!(measured("/proxy: mean request"), None);
    }
}
