//! Checks that the search from the cheapest offer on misses nothing: simulating every offer, without bounds and
//! whatever its price, finds nothing cheaper that keeps the budgets.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_catalogue::{Catalogue, Market};
use esker_core::{Bytes, Ratio};
use esker_results::study::{Budgets, Candidate};
use esker_trace::ReadOptions;

use crate::choose::{Contender, Keeps, Life, NOISE};
use crate::judge::contender;
use crate::offers::{Offer, ruled_out};
use crate::prepare::PreparedWorkload;
use crate::search::{Search, SimulatedOffer};
use crate::strain::LoadSearch;
use crate::{DataSettings, Hooks, StudySettings, load};

pub(crate) fn settings(trace: &Path, catalogue: Catalogue, market: Market, budgets: Budgets) -> StudySettings {
    StudySettings {
        traces: vec![trace.to_path_buf()],
        read: ReadOptions::default(),
        together: false,
        budgets,
        running: catalogue.running.clone(),
        catalogue,
        in_use: Vec::new(),
        market,
        consumer: false,
        kinds: Vec::new(),
        plan: false,
        data: DataSettings { capacity: None, growth_per_year: 0.0, copies: 1, fill_limit: Ratio::percent(85) },
        utilisation: Ratio::percent(85),
        thorough: false,
        seed: 1,
        threads: 2,
        command: String::new(),
    }
}

/// Returns the catalogue `current` with only these products, each with at most `capacities` of its capacities.
fn part(names: &[&str], capacities: usize) -> Catalogue {
    let mut catalogue = crate::builtin_catalogue("current").unwrap().only(names).unwrap();
    catalogue.products.iter_mut().for_each(|product| product.capacities.truncate(capacities));
    catalogue
}

/// Compares the recommended design with a simulation of every cheaper offer of up to `count_max` devices. Returns the
/// number of these offers.
pub(crate) fn nothing_cheaper_keeps_the_budgets(settings: &StudySettings, count_max: u32) -> usize {
    let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
    let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
    let workload = load::single(&settings.traces, &settings.read, &hooks).unwrap();
    let prepared = PreparedWorkload::of(&workload, settings).unwrap();
    let (all, bounds) = (prepared.offers(&workload, settings, &hooks).unwrap(), prepared.bounds(&workload, settings));
    let PreparedWorkload { budgets, demand, .. } = &prepared;
    let task = prepared.task(&workload, settings, &hooks);
    let active = Bytes(workload.map().footprint());
    let search = || Search::new(&task, bounds, *demand, &settings.running, active);
    let found = search().market(settings.market, &all, true, usize::MAX).unwrap();
    let price = |candidate: &Candidate| candidate.cost.total;
    let limit = found.recommended().map_or(f64::INFINITY, price);
    // Offers that break a rule for classes, devices or endurance do not compete. What other bounds rule out is
    // simulated.
    let allowed = |offer: &&Offer<'_>| {
        let by = ruled_out(offer, &bounds).map_or(String::new(), |ruled| ruled.by);
        !matches!(by.as_str(), "class" | "devices" | "endurance")
    };
    let of_market = |offer: &&Offer<'_>| offer.market() == settings.market && offer.first().count <= count_max;
    // An offer that costs more when idle cannot cost less under load. Prices within a thousandth count as equal,
    // because devices that wait more take less electricity.
    let cheaper = |offer: &&Offer<'_>| offer.least_cost(&settings.running).as_f64() < limit * 0.999;
    let every: Vec<&Offer<'_>> = all.iter().filter(of_market).filter(allowed).filter(cheaper).collect();
    let mut by_force = search();
    for offers in every.chunks(2) {
        for SimulatedOffer { candidate, design, .. } in by_force.try_all(offers).unwrap() {
            if price(&candidate) >= limit * 0.999 {
                continue;
            }
            let Contender { keeps, life, .. } = contender(&candidate, budgets);
            if keeps != Keeps::Yes || !matches!(life, Life::None | Life::Kept) {
                continue;
            }
            let again = design.stressed(&task, settings.seed + 1, LoadSearch::Asked).unwrap().unwrap();
            let p99 = again.first.busy.map_or(f64::INFINITY, |busy| busy.response_time.p99_us);
            assert!(
                p99 > budgets.p99_us.unwrap() * (1.0 - NOISE),
                "{} keeps every budget at {}, and {:?} at {limit} is recommended",
                candidate.name,
                price(&candidate),
                found.recommended().map(|candidate| &candidate.name)
            );
        }
    }
    every.len()
}

/// Returns the paths of reference traces; empty if the reference data are not installed.
pub(crate) fn traces(names: &[&str]) -> Vec<PathBuf> {
    let folder = esker_testkit::reference_data("traces");
    folder.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).collect()
}

/// Budgets that the cheapest offer of all does not keep.
fn budgets() -> Budgets {
    Budgets { years: 5.0, p99_us: Some(400.0), ..Budgets::default() }
}

#[test]
fn of_six_products_nothing_cheaper_keeps_the_budgets() {
    let six = [
        "micron-7450-pro",
        "micron-5400-max",
        "samsung-pm9a3",
        "solidigm-d5-p5430",
        "toshiba-mg10",
        "seagate-exos-10e2400",
    ];
    for trace in traces(&["Financial1-first10k.spc.zst", "msr-prxy_0-first20k.csv.zst"]) {
        let tried =
            nothing_cheaper_keeps_the_budgets(&settings(&trace, part(&six, 2), Market::OnPremises, budgets()), 4);
        assert!(tried > 0, "{}: the cheapest of all was chosen, so that nothing was tried", trace.display());
    }
}

/// The whole catalogue, up to eight devices, six traces: for `make soak`.
#[test]
fn of_all_products_nothing_cheaper_keeps_the_budgets() {
    if esker_testkit::soak() == 1 {
        return;
    }
    let six = [
        "Financial1-first10k.spc.zst",
        "WebSearch1-first25k.spc.zst",
        "msr-prxy_0-first20k.csv.zst",
        "ycsb-rocksdb-10k.blkparse.zst",
        "tpcc-small.mqsim.zst",
        "sqlite-wal-ext4-5k.wiscsee.zst",
    ];
    let tried = traces(&six).into_iter().map(|trace| {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        nothing_cheaper_keeps_the_budgets(&settings(&trace, catalogue, Market::OnPremises, budgets()), 8)
    });
    let tried: Vec<usize> = tried.collect();
    assert!(tried.is_empty() || tried.iter().sum::<usize>() > 0, "the cheapest of all was always chosen");
}
