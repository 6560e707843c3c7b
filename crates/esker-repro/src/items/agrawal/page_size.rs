//! Agrawal 2008, section 4.3, "Page Size, Striping, and Interleaving": TPC-C with logical pages of a whole block.
//!
//! A logical page of 256 KiB lies on one die. Writes of 8 KiB read the rest of the page and program all of it. Blocks
//! then keep no page for their map, since all 64 hold data. The paper does not say whether a read fetches the whole
//! logical page. In the released simulator every request of a package is one whole logical page, so both are measured.

use esker_core::Bytes;
use esker_flash::SsdSettings;

use super::drives::baseline;
use super::workloads::{TPCC, response_ms};
use crate::traces::{self, PlannedRun};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/page-size",
    title: "TPC-C with logical pages of 4 and 256 KiB",
    source: "Agrawal et al., USENIX ATC 2008, section 4.3 (text)",
    sections: &["4.3"],
    run,
};

fn small(ssd: &mut SsdSettings) {
    ssd.block_summary = false;
}

fn large(ssd: &mut SsdSettings) {
    small(ssd);
    ssd.array.logical_page = Some(Bytes::kib(256));
}

fn whole(ssd: &mut SsdSettings) {
    large(ssd);
    ssd.array.whole_page_reads = true;
}

/// Busy share of the packages.
fn busy(results: &esker_results::RunResults) -> f64 {
    results.devices.values().filter_map(|device| device.utilisation.get("die")).fold(0.0f64, |a, b| a.max(*b))
}

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let workload = TPCC.settings(context).expect("it is made up");
    let plan = |change: fn(&mut SsdSettings)| PlannedRun::new(baseline().changed(change).system(), workload.clone());
    let small = traces::run(item, context, plan(small), (0, 3))?;
    let large = traces::run(item, context, plan(large), (1, 3))?;
    let whole = traces::run(item, context, plan(whole), (2, 3))?;
    let small_us = response_ms(&small) * 1e3;
    let mut claims =
        vec![TPCC.on(Claim::within(item.name, "4 KiB pages: mean response, us", 200.0, small_us, 0.10, ROUNDED))];
    for (reads, results) in [("reads of a part", large), ("reads of the whole page", whole)] {
        let large_ms = response_ms(&results);
        claims.extend([
            TPCC.on(Claim::at_least(
                item.name,
                &format!("256 KiB pages, {reads}: mean response, ms"),
                20.0,
                large_ms,
                "\"over 20 ms\"",
            )),
            TPCC.on(Claim::at_least(
                item.name,
                &format!("256 KiB pages, {reads}, over 4 KiB pages, mean response"),
                100.0,
                large_ms * 1e3 / small_us,
                "\"more than two orders of magnitude\"",
            )),
            Claim::beside(
                item.name,
                &format!("256 KiB pages, {reads}: busy share of the packages"),
                busy(&results),
                "\"can (barely) keep up\"",
            ),
        ]);
    }
    Ok(claims.into())
}

const ROUNDED: &str =
    "the paper rounds to hundreds; two reads of 130.6 us to a write of 305.6 us are 189 us without waiting";

#[cfg(test)]
mod tests {
    use super::super::workloads::tests::short;
    use super::*;

    #[test]
    fn writes_of_a_part_of_a_large_page_take_the_whole_page() {
        let run = |change: fn(&mut SsdSettings)| short(&ITEM, baseline().changed(change), 0).requests;
        assert!(run(large).write.response_time.mean_us > 20.0 * run(small).write.response_time.mean_us);
        assert!(run(whole).read.response_time.mean_us > 2.0 * run(large).read.response_time.mean_us);
    }
}
