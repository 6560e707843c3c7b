//! Kim 2009, table 4.1: memory, flash and disks.

use super::single_page::read_and_write;
use crate::drive::Drive;
use crate::{Claim, Context, Item, ItemFault, ItemOutcome, ReproduceError};

use esker_sim::Experiment;

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-4.1",
    title: "Access times and prices of memory, flash and disks",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 4.1, table 4.1",
    sections: &["4.1"],
    run,
};

const SLC: &str = "samsung-k9xxg08-slc-32g";
const FAST_DISK: &str = "seagate-cheetah-15k5-146g";
/// Random reads of the disk.
const READS: u32 = 4_000;

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let (read, write) = read_and_write(item, context, &Drive::preset(SLC))?;
    let part = "a page of 4 KiB on other SLC flash of 2008";
    let reason = "table 4.1, whose values are those of another paper";
    let mut claims = Vec::new();
    for (claim, published, measured) in [("SSD: read, us", 45.0, read.us), ("SSD: write, us", 200.0, write.us)] {
        claims.push(Claim::compared(item.name, claim, published, measured, reason).on_stand_in(part));
    }
    let claim = "disk: random read, us";
    let claim = Claim::at_most(item.name, claim, 5_500.0, disk_us(item, context)?, "table 4.1: \"< 5500\"");
    claims.push(claim.on_stand_in("a disk of 15,000 rpm of 2007, one request of 4 KiB at a time over all of it"));
    let reason = "no device here is memory";
    claims.push(Claim::unreachable(item.name, "DRAM: access, us", Some(0.9), reason));
    for (medium, dollars) in [("DRAM", 125.0), ("SSD", 25.0), ("disk", 3.0)] {
        let reason = "prices of 2008; table 4.4 has 4.25 dollars for the SSD, and 1.50 and 0.12 for disks";
        claims.push(Claim::unreachable(item.name, &format!("{medium}: price, $/GB"), Some(dollars), reason));
    }
    Ok(claims.into())
}

fn disk_us(item: &Item, context: &Context<'_>) -> Result<f64, ReproduceError> {
    let error = |fault: ItemFault| ReproduceError::of(item, fault);
    let text = format!(
        "[workload]\nqueue_depth = 1\nsynthetic = {{ requests = {READS}, read_fraction = \"100%\", size = \"4KiB\" }}\n\
         [device.d]\npreset = \"{FAST_DISK}\"\n[run]\ntarget = \"d\"\nseed = {}\n",
        context.seed
    );
    let experiment = Experiment::from_str(&text, "the item's experiment").map_err(|fault| error(fault.into()))?;
    let options = context.run_options();
    let results = esker_sim::run(&experiment, &options).map_err(|fault| error(fault.into()))?;
    Ok(results.requests.all.response_time.mean_us)
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;

    #[test]
    fn what_can_be_measured_is_measured() {
        let outcome = outcome(&ITEM, run);
        let measured: Vec<f64> = outcome.claims.iter().filter_map(|claim| claim.measured).collect();
        assert_eq!((outcome.claims.len(), measured.len()), (7, 3));
        // Cells and transfers of a page; a mean seek and half a turn.
        assert!(measured[0] < measured[1] && measured[2] > 2_000.0, "{measured:?}");
    }
}
