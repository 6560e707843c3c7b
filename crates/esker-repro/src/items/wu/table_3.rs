//! Wu 2011, tables III and IV: the operations of the workloads, and their mean sizes. The generators take them as they
//! are, so this only shows that they do.

use std::sync::atomic::Ordering;

use esker_core::Bytes;
use esker_sim::Experiment;
use esker_trace::{Operation, Record, Synthesiser};

use super::pair::{Pair, Placed};
use crate::{Claim, Context, Item, ItemFault, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/table-3",
    title: "Operations of the workloads, and their sizes (tables III and IV)",
    source: "Wu, dissertation, Texas A&M University, 2011, section III.C.2 (3.3.2), tables III and IV",
    sections: &["3.3.2"],
    run,
};

/// A workload of tables III and IV.
struct Published {
    preset: &'static str,
    reads: f64,
    writes: f64,
    read_bytes: f64,
    write_bytes: f64,
    /// Operations that are neither reads nor writes.
    others: f64,
}

const WORKLOADS: [Published; 2] = [
    Published {
        preset: "wu-dbench",
        reads: 5_315_377.0,
        writes: 1_690_616.0,
        read_bytes: 11_853.0,
        write_bytes: 25_720.0,
        others: 12_609_632.0,
    },
    Published {
        preset: "wu-netapp",
        reads: 43_044.0,
        writes: 47_626.0,
        read_bytes: 18_105.0,
        write_bytes: 6_204.0,
        others: 338_093.0,
    },
];

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    for (done, workload) in WORKLOADS.iter().enumerate() {
        (context.progress)(done as f64 / WORKLOADS.len() as f64);
        if context.cancel.load(Ordering::Relaxed) {
            return Err(ReproduceError::Cancelled);
        }
        let (share, read, write) = generated(item, context, workload.preset)?;
        for (what, published, measured) in [
            ("share of reads", workload.reads / (workload.reads + workload.writes), share),
            ("mean size of a read, bytes", workload.read_bytes, read),
            ("mean size of a write, bytes", workload.write_bytes, write),
        ] {
            let claim = format!("{}: {what}", workload.preset);
            let claim = Claim::within(item.name, &claim, published, measured, 0.02, "200,000 requests are drawn");
            claims.push(claim.by_construction("the generator is given the ratio and the sizes"));
        }
        claims.push(Claim::unreachable(
            item.name,
            &format!("{}: operations that neither read nor write", workload.preset),
            Some(workload.others),
            "names, attributes, locks and flushes: the generator has reads and writes alone",
        ));
    }
    Ok(claims.into())
}

/// The share of reads, and the mean sizes of reads and of writes in bytes.
fn generated(item: &Item, context: &Context<'_>, preset: &'static str) -> Result<(f64, f64, f64), ReproduceError> {
    let text = Pair::new(preset, Placed::Flash).text(200_000, 0, true);
    let experiment = Experiment::from_str(&text, item.name);
    let experiment = experiment.map_err(|error| ReproduceError::of(item, ItemFault::from(error)))?;
    let settings = experiment.workload.synthetic.expect("the file has a synthetic workload");
    let records = Synthesiser::new(&settings, Bytes::gib(4), context.seed).expect("presets can be made");
    let (reads, writes): (Vec<Record>, Vec<Record>) = records.partition(|record| record.operation == Operation::Read);
    let mean =
        |some: &[Record]| some.iter().map(|record| f64::from(record.length)).sum::<f64>() / some.len().max(1) as f64;
    Ok((reads.len() as f64 / (reads.len() + writes.len()) as f64, mean(&reads), mean(&writes)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn the_generators_have_the_published_mix_and_sizes() {
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        let outcome = run(&ITEM, &context).unwrap();
        let of = |verdict| outcome.claims.iter().filter(|claim| claim.verdict == verdict).count();
        assert_eq!((of(ClaimVerdict::Derived), of(ClaimVerdict::Unreachable)), (6, 2));
    }
}
