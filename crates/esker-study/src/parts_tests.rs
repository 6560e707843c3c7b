//! The part of a drive that studies simulate, beside the whole drive: the table of docs/studies.md.
//!
//! `ESKER_SOAK=20 cargo test -p esker-study --lib parts -- --nocapture` prints it.

use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_core::Bytes;
use esker_plan::{Catalogue, Market};
use esker_results::study::{Budgets, Candidate};
use esker_sim::{DeviceDescription, PreconditionKind, System};

use crate::brute_force_tests::{settings, traces};
use crate::offers::{Design, Offer};
use crate::prepare::Prepared;
use crate::simulate::simulate;
use crate::{Hooks, load};

/// The same drive with all of its blocks, as full as the part.
fn whole(offer: &Offer<'_>, part: &Design, utilisation: esker_core::Ratio) -> Design {
    let settings = offer.product.whole_drive(offer.capacity.bytes).unwrap().settings().clone();
    let drive = DeviceDescription::new(settings).preconditioned(PreconditionKind::Steady, utilisation);
    Design { system: System::single("ssd", drive).unwrap(), ..part.clone() }
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
fn parts_of_drives_do_like_whole_ones() {
    if esker_testkit::soak() == 1 {
        return;
    }
    println!("| trace | drive | p99, part | p99, whole | mean, part | mean, whole | amplification, part | whole |");
    println!("|---|---|--:|--:|--:|--:|--:|--:|");
    let names = ["Financial1-first10k.spc.zst", "cloudphysics-2h.vscsi.zst"];
    for trace in traces(&names) {
        let budgets = Budgets { years: 5.0, ..Budgets::default() };
        let settings = settings(&trace, Catalogue::builtin("current").unwrap(), Market::OnPremises, budgets);
        let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
        let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
        let workload = load::single(&settings.traces, &settings.read, &hooks).unwrap();
        let prepared = Prepared::of(&workload, &settings, &hooks).unwrap();
        let all = prepared.offers(&workload, &settings).unwrap();
        let task = prepared.task(&workload, &settings, &hooks);
        let active = Bytes(workload.map().footprint());
        for name in ["micron-5400-pro-240GB", "micron-5400-pro-960GB", "micron-7450-pro-960GB"] {
            let offer = all.iter().find(|offer| offer.name() == name).unwrap();
            let part = offer.design(active, settings.utilisation).unwrap();
            let whole = whole(offer, &part, settings.utilisation);
            let [part, whole] = [&part, &whole].map(|design| simulate(&task, design).unwrap().candidate);
            let response = |one: &Candidate| one.requests.as_ref().unwrap().all.response_time;
            let devices = |one: &Candidate| {
                let flash = one.devices.values().find_map(|device| device.flash.as_ref()).unwrap();
                flash.precondition.as_ref().map_or(1.0, |steady| steady.write_amplification)
            };
            println!(
                "| {} | {name} | {} | {} | {} | {} | {:.2} | {:.2} |",
                workload.name,
                esker_core::words::time(response(&part).p99_us),
                esker_core::words::time(response(&whole).p99_us),
                esker_core::words::time(response(&part).mean_us),
                esker_core::words::time(response(&whole).mean_us),
                devices(&part),
                devices(&whole),
            );
        }
    }
}
