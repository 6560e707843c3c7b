//! Costs by closed form.

use esker_core::Bytes;
use esker_plan::{Catalogue, CloudVolume, Running, cloud_cost, owned_cost};

#[test]
fn gp3_to_the_cent() {
    let catalogue = Catalogue::builtin("current").unwrap();
    let volume = CloudVolume { size: Bytes::gib(500), operations_per_s: Some(6_000), bytes_per_s: Some(250 << 20) };
    let cost = cloud_cost(catalogue.product("aws-ebs-gp3").unwrap(), &volume, 1, 5.0);
    // 500 x 0.08 + 3,000 x 0.005 + 125 x 0.04.
    assert_eq!((cost.per_month.to_string(), cost.total.to_string()), ("60.00".into(), "3600.00".into()));
}

/// Kim 2009, section 4.5.4.2: 450 dollars and 114.7 dollars.
#[test]
fn the_high_end_disk_of_kim_costs_what_was_published() {
    let catalogue = Catalogue::builtin("kim-2009").unwrap();
    let running: &Running = &catalogue.running;
    let cost = owned_cost(catalogue.product("high-end-hdd").unwrap(), Bytes(300_000_000_000), 1, 0.3, running);
    assert_eq!(cost.purchase.to_string(), "450.00");
    assert_eq!(cost.power.to_string(), "114.7122");
}
