//! Agrawal 2008, section 4.3, "Page Size, Striping, and Interleaving": TPC-C with logical pages of a whole block.
//!
//! A logical page of 256 KiB lies on one die. Writes of 8 KiB read and program all of it; blocks keep no page for their map then, since
//! all 64 hold data.

use super::workloads::{TPCC, response_ms};
use crate::traces;
use crate::{Claim, Context, Item, Outcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/page-size",
    title: "TPC-C with logical pages of 4 and 256 KiB",
    source: "Agrawal et al., USENIX ATC 2008, section 4.3 (text)",
    run,
};

const EXPERIMENT: &str = include_str!("baseline.toml");
const SMALL: &[(&str, &str)] = &[("device.flash.block_summary", "false")];
const LARGE: &[(&str, &str)] =
    &[("device.flash.block_summary", "false"), ("device.flash.array.logical_page", "\"256KiB\"")];

fn run(item: &Item, context: &Context<'_>) -> Result<Outcome, ReproduceError> {
    let text = TPCC.experiment(EXPERIMENT, context).expect("it is made up");
    let small = traces::run(item, context, &text, SMALL, (0, 2))?;
    let large = traces::run(item, context, &text, LARGE, (1, 2))?;
    let busy = large.devices.values().filter_map(|device| device.utilisation.get("die")).fold(0.0f64, |a, b| a.max(*b));
    let (small_us, large_ms) = (response_ms(&small) * 1e3, response_ms(&large));
    let claims = vec![
        TPCC.on(Claim::within(item.name, "4 KiB pages: mean response, us", 200.0, small_us, 0.10, ROUNDED)),
        TPCC.on(Claim::at_least(item.name, "256 KiB pages: mean response, ms", 20.0, large_ms, "\"over 20 ms\"")),
        TPCC.on(Claim::at_least(
            item.name,
            "256 KiB pages over 4 KiB pages, mean response",
            100.0,
            large_ms * 1e3 / small_us,
            "\"more than two orders of magnitude\"",
        )),
        Claim::beside(item.name, "256 KiB pages: busy share of the packages", busy, "\"can (barely) keep up\""),
    ];
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
        let write_us = |keys| short(&ITEM, EXPERIMENT, keys).requests.write.response_time.mean_us;
        assert!(write_us(LARGE) > 20.0 * write_us(SMALL));
    }
}
