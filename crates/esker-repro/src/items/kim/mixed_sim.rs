//! Runs of MixedSim (Kim 2009, chapter 5): flash and a disk as one store, by `examples/mixed-sim.toml`.

use esker_results::RunResults;
use esker_sim::{Experiment, Workload};

use crate::{Context, Item, ItemFault, ReproduceError};

const EXAMPLE: &str = include_str!("../../../../../examples/mixed-sim.toml");
/// Blocks of 1 GiB of flash, and erase cycles of each in table 5.5.
const BLOCKS: u64 = 8_192;
pub(super) const CYCLES: f64 = 1e4;
const SECONDS_OF_A_YEAR: f64 = 365.25 * 86_400.0;

/// What claims about these runs were measured on.
pub(super) const STAND_IN: &str = "requests made up by table 5.3, in bursts, on extents of 4 KiB, which writes replace \
                                   as a whole";

/// A workload of table 5.3, with the bursts that its stand-in of chapter 3 has.
#[derive(Clone, Copy, Debug)]
pub(super) struct MixedLoad {
    pub(super) name: &'static str,
    reads: &'static str,
    /// Two sizes in KiB, with weights that give the mean size.
    sizes: [(u32, u32); 2],
    sequential: &'static str,
    arrivals: &'static str,
    /// Data: 1 to 1,000 MiB.
    data_mib: u64,
}

pub(super) const FINANCIAL: MixedLoad = MixedLoad {
    name: "Financial",
    reads: "9%",
    sizes: [(4, 905), (8, 95)],
    sequential: "2%",
    arrivals: r#"rate = "7.49/s", on = "60ms", off = "1s""#,
    data_mib: 600,
};
/// With as few erases as in table 5.6.
pub(super) const HALF: MixedLoad = MixedLoad { name: "Financial, half the data", data_mib: 300, ..FINANCIAL };
pub(super) const CELLO: MixedLoad = MixedLoad {
    name: "Cello99",
    reads: "35%",
    sizes: [(4, 772), (8, 228)],
    sequential: "1%",
    arrivals: r#"rate = "24.38/s", on = "20ms", off = "300ms""#,
    data_mib: 600,
};

pub(super) const TPC_H: MixedLoad = MixedLoad {
    name: "TPC-H",
    reads: "95%",
    sizes: [(12, 795), (16, 205)],
    sequential: "18%",
    arrivals: r#"rate = "6.43/s", on = "50ms", off = "500ms""#,
    data_mib: 600,
};

/// A policy for the store, by its name in claims and its table.
pub(super) type StorePolicy = (&'static str, &'static str);

pub(super) const DISK: StorePolicy = ("disk", r#"{ kind = "fast-first", order = [1] }"#);
pub(super) const FLASH: StorePolicy = ("flash", r#"{ kind = "fast-first" }"#);
pub(super) const MIXDYN: StorePolicy = ("MixDyn", r#"{ kind = "mixdyn" }"#);
pub(super) const BETTER_DISK: StorePolicy =
    ("MixDyn with a better disk model", r#"{ kind = "mixdyn", disk_model = "marginal" }"#);
pub(super) const MARGINAL: StorePolicy =
    ("MixDyn by marginal cost", r#"{ kind = "mixdyn", flash_model = "marginal", disk_model = "marginal" }"#);

/// Measurements of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MixedRun {
    pub(super) response_ms: f64,
    /// Of the flash.
    pub(super) erases_per_s: f64,
    /// Share of the requests to devices that went to the flash.
    pub(super) flash_share: f64,
    /// Share of the host's writes that went to another device than the one that held their data.
    pub(super) redirected: f64,
    pub(super) life_years: f64,
}

/// The runs of an item, one after the other.
pub(super) struct MixedRuns<'a> {
    item: &'a Item,
    context: &'a Context<'a>,
    /// Part of the requests that are measured. Less than all is for tests.
    part: f64,
    all: usize,
    done: usize,
}

impl<'a> MixedRuns<'a> {
    /// `all` is their number.
    pub(super) fn new(item: &'a Item, context: &'a Context<'a>, part: f64, all: usize) -> Self {
        Self { item, context, part, all, done: 0 }
    }

    /// As many runs for each seed.
    pub(super) fn of_seeds(item: &'a Item, context: &'a Context<'a>, part: f64, for_each: usize) -> Self {
        let runs = Self::new(item, context, part, for_each);
        Self { all: for_each * runs.seeds() as usize, ..runs }
    }

    /// Number of seeds: one is enough to see that there are all claims.
    pub(super) fn seeds(&self) -> u64 {
        if self.part < 1.0 { 1 } else { 5 }
    }

    /// Runs `load` on the store with this many quarters of a GiB of flash; `seed` is added to that of the item.
    pub(super) fn run(
        &mut self,
        load: MixedLoad,
        policy: StorePolicy,
        quarters: u64,
        seed: u64,
    ) -> Result<MixedRun, ReproduceError> {
        let blocks = BLOCKS * quarters / 4;
        let experiment = self.experiment(&StoreSetUp { blocks, ..StoreSetUp::new(load, policy.1) }, seed)?;
        Ok(measured(&self.results(&experiment, None)?, blocks))
    }

    /// Makes an experiment of `set_up`; `seed` is added to that of the item.
    pub(super) fn experiment(&self, set_up: &StoreSetUp<'_>, seed: u64) -> Result<Experiment, ReproduceError> {
        let made = Experiment::from_str(&set_up.text(self.part), self.item.name);
        let mut experiment = made.map_err(|fault| ReproduceError::of(self.item, ItemFault::from(fault)))?;
        experiment.run.seed = self.context.seed + seed;
        Ok(experiment)
    }

    /// Runs `experiment`, with the requests of `workload` if there is one.
    pub(super) fn results(
        &mut self,
        experiment: &Experiment,
        workload: Option<&Workload>,
    ) -> Result<RunResults, ReproduceError> {
        let part = (self.done, self.all);
        self.done += 1;
        match workload {
            Some(workload) => self.context.run_workload(self.item, experiment, workload, part),
            None => self.context.run(self.item, experiment, part),
        }
    }
}

/// What differs from the example.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreSetUp<'a> {
    pub(super) load: MixedLoad,
    /// The policy's table.
    pub(super) policy: &'a str,
    pub(super) blocks: u64,
    pub(super) data_kib: u64,
    /// Half of them warm up.
    pub(super) requests: u64,
    /// More keys of the flash and of the run.
    pub(super) flash: &'a str,
    pub(super) run: &'a str,
}

impl<'a> StoreSetUp<'a> {
    pub(super) fn new(load: MixedLoad, policy: &'a str) -> Self {
        let data_kib = load.data_mib * 1024;
        Self { load, policy, blocks: BLOCKS, data_kib, requests: 300_000, flash: "", run: "" }
    }

    /// The file of the experiment, with `part` of the requests.
    fn text(&self, part: f64) -> String {
        let Self { load, policy, blocks, data_kib, .. } = self;
        let [small, large] = load.sizes.map(|(kib, weight)| format!("{{ size = \"{kib}KiB\", weight = {weight} }}"));
        let warm_up = (self.requests as f64 * part / 2.0) as u64;
        let changes = [
            ("requests = ", format!("requests = {}", 2 * warm_up)),
            ("read_fraction = ", format!("read_fraction = \"{}\"", load.reads)),
            ("size = ", format!("size = [{small}, {large}]")),
            ("sequential_fraction = ", format!("sequential_fraction = \"{}\"", load.sequential)),
            ("arrivals = ", format!("arrivals = {{ kind = \"bursty\", {} }}", load.arrivals)),
            ("footprint = ", format!("footprint = \"{data_kib}KiB\"")),
            ("capacity = ", format!("capacity = \"{data_kib}KiB\"")),
            ("utilisation = ", format!("utilisation = \"{}%\"", load.data_mib / 10)),
            ("geometry = ", format!("geometry = {{ blocks_per_plane = {blocks} }}\n{}", self.flash)),
            ("policy = ", format!("policy = {policy}")),
            ("warm_up_requests = ", format!("warm_up_requests = {warm_up}\n{}", self.run)),
        ];
        let experiment = EXAMPLE.split("[sweep]").next().unwrap_or(EXAMPLE);
        let changed = |line: &str| {
            let change = changes.iter().find(|(key, _)| line.starts_with(key));
            change.map_or(line.to_string(), |(_, changed)| changed.clone())
        };
        experiment.lines().map(changed).collect::<Vec<_>>().join("\n")
    }
}

/// Returns erases of the flash per second.
pub(super) fn erases_per_s(results: &RunResults) -> f64 {
    let flash = results.devices.get("flash").and_then(|flash| flash.flash.as_ref());
    let seconds = results.requests.all.count as f64 / results.throughput.requests_per_s;
    flash.map_or(0, |of| of.erases) as f64 / seconds
}

fn measured(results: &RunResults, blocks: u64) -> MixedRun {
    let store = results.devices.get("store");
    let erases_per_s = erases_per_s(results);
    let redirected = store.and_then(|store| store.placement.as_ref()).map_or(0, |of| of.redirected_writes);
    MixedRun {
        response_ms: results.requests.all.response_time.mean_us / 1e3,
        erases_per_s,
        flash_share: store.and_then(|store| store.children.get("flash")).map_or(0.0, |flash| flash.share),
        redirected: redirected as f64 / results.workload.write_requests.max(1) as f64,
        life_years: blocks as f64 * CYCLES / erases_per_s / SECONDS_OF_A_YEAR,
    }
}
