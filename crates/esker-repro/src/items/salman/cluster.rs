//! Clusters of chapter 7: servers with a small drive each, simulated in full, and how their loads are run.
//!
//! Drives have the parameters of table 7.2. What it does not give is assumed, and was chosen in trial runs with
//! balancers of parameters by hand, before any claim was judged: drives of 16 MiB on two packages with buses of 40
//! MB/s, written once before the run as far as the cluster uses them. It uses 53 % of them; with more, the ring would
//! give some server more than it holds. A run has 68 epochs, as figures 7.3 and 7.10 have 68 hours. In an epoch a
//! twentieth of all data may be copied. A slice is one object: the thesis has slices of "4KB", which can only mean the
//! smallest.

use std::collections::BTreeMap;
use std::sync::Mutex;

use esker_results::{ClusterReport, RunResults};
use esker_sim::{Experiment, RunOptions, Workload};

use super::ior;
pub(super) use super::loads::Scale;
use super::loads::{self, Access, HPC, OBJECT};
use super::ycsb::CORES;
use crate::{Context, Item, ItemFault, ReproduceError};

/// Servers of most tests.
pub(super) const SERVERS: u32 = 50;
/// Epochs of a run.
pub(super) const EPOCHS: u64 = 68;
/// Blocks of each of a drive's two packages: 16 MiB with 15 % of spare space.
const BLOCKS: u32 = 37;
/// In an epoch, the data divided by this may be copied.
const COPIED_PART: u32 = 20;
/// Objects for each server: 53 % of the 64 that fit.
const OBJECTS: u64 = 34;

/// What is run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) load: Requests,
    pub(super) servers: u32,
    /// Objects of the cluster.
    pub(super) objects: u64,
    /// The balancer, as in an experiment.
    pub(super) balancer: String,
    pub(super) objects_per_slice: u32,
    pub(super) replicas: u32,
    /// Blocks of each of a drive's two packages.
    pub(super) blocks: u32,
    /// In an epoch, the data divided by this may be copied.
    pub(super) copied_part: u32,
    /// Servers that fail, each at the end of an epoch.
    pub(super) failures: Vec<(u32, u64)>,
    /// Epochs after which the run ends.
    pub(super) until: u64,
    pub(super) scale: Scale,
}

/// Whose requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requests {
    /// A place in [`TABLE`].
    Of(usize),
    /// A place in [`TABLE`]: its bytes in requests as large as an object, of which there are fewer.
    Whole(usize),
    /// A place in [`CORES`].
    Ycsb(usize),
}

impl Requests {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Of(place) | Self::Whole(place) => loads::TABLE[place].name,
            Self::Ycsb(core) => CORES[core].name,
        }
    }
}

impl Case {
    /// Fifty servers under a load of [`TABLE`].
    pub(super) fn of(load: usize, balancer: &str, scale: Scale) -> Self {
        Self {
            load: Requests::Of(load),
            servers: SERVERS,
            objects: OBJECTS * u64::from(SERVERS),
            balancer: balancer.to_string(),
            objects_per_slice: 1,
            replicas: 1,
            blocks: BLOCKS,
            copied_part: COPIED_PART,
            failures: Vec::new(),
            until: EPOCHS,
            scale,
        }
    }

    /// The case on another number of servers, each as full as before.
    pub(super) fn on_servers(self, servers: u32) -> Self {
        Self { servers, objects: OBJECTS * u64::from(servers), ..self }
    }

    /// Share of a drive that the cluster uses, percent.
    fn used(&self) -> f64 {
        let drives = f64::from(self.servers * 2 * self.blocks) / 1.15;
        (self.objects * u64::from(self.replicas)) as f64 / drives * 100.0
    }

    /// The requests in their order.
    pub(super) fn accesses(&self, item: &Item, context: &Context<'_>) -> Result<Vec<Access>, ReproduceError> {
        let Scale { fewer, seed } = self.scale;
        match self.load {
            Requests::Of(HPC) => Ok(ior::accesses(fewer)),
            Requests::Ycsb(core) => Ok(CORES[core].accesses(self.objects, fewer, seed)),
            Requests::Of(place) => loads::of_column(item, context, place, self.objects, self.scale),
            Requests::Whole(place) => {
                let whole =
                    |access: &Access| Access { offset: access.offset / OBJECT * OBJECT, length: OBJECT, ..*access };
                let all = loads::of_column(item, context, place, self.objects, self.scale)?;
                // As many bytes as the load has.
                let bytes: u64 = all.iter().map(|access| access.length).sum();
                Ok(all.iter().map(whole).take((bytes / OBJECT) as usize).collect())
            }
        }
    }

    /// The file of the experiment, with epochs of this many nanoseconds.
    fn text(&self, epoch: u64) -> String {
        let capacity = self.objects * OBJECT;
        // A migration has half an epoch for its copies. Off-loading first waits for writes, and copies what is left in
        // the last tenth.
        let (copies_after, share) = if self.balancer.contains("edm") { (50, 0.5) } else { (90, 0.1) };
        let rate = capacity as f64 / f64::from(self.copied_part) / (epoch as f64 * share / 1e9);
        let Self { servers, replicas, objects_per_slice, blocks, balancer, .. } = self;
        // The default of 4096 for fifty servers, and as many for each of others.
        let partitions = 4096 * servers / SERVERS;
        let failures = self.failures.iter().map(|(server, at)| {
            format!("[[run.events]]\nat = \"{}ns\"\ndevice = \"drive.{server}\"\nfail = true\n", at * epoch)
        });
        let failures: String = failures.collect();
        format!(
            "[workload]\n\
             trace = \"made up\"\n\
             [device.drive]\n\
             preset = \"samsung-k9xxg08-slc-32g\"\n\
             precondition = \"filled\"\n\
             utilisation = \"{:.0}%\"\n\
             geometry = {{ channels = 2, dies_per_package = 1, planes_per_die = 1, blocks_per_plane = {blocks} }}\n\
             [device.servers]\n\
             kind = \"cluster\"\n\
             child = \"drive\"\n\
             count = {servers}\n\
             replicas = {replicas}\n\
             object = \"256KiB\"\n\
             objects_per_slice = {objects_per_slice}\n\
             partitions = {partitions}\n\
             capacity = \"{capacity}B\"\n\
             epoch = \"{epoch}ns\"\n\
             copies_after = \"{copies_after}%\"\n\
             copied_bytes_per_second = \"{}B\"\n\
             balancer = {balancer}\n\
             [run]\n\
             target = \"servers\"\n\
             series = \"{epoch}ns\"\n\
             {failures}",
            self.used(),
            rate as u64,
        )
    }
}

/// What a run found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// Erases of each server in the run.
    pub(super) erases: Vec<f64>,
    /// Bytes written to each server, for requests and for copies.
    pub(super) written: Vec<f64>,
    /// Bytes that the host wrote.
    pub(super) host_written: u64,
    pub(super) response_ms: f64,
    pub(super) write_response_ms: f64,
    /// Mean response times of epochs.
    pub(super) responses_ms: Vec<f64>,
    pub(super) report: ClusterReport,
    /// Busy share of the busiest package of the cluster.
    pub(super) busiest: f64,
}

impl Found {
    fn of(results: &RunResults) -> Option<Self> {
        let report = results.devices.get("servers")?.cluster.clone()?;
        let mut erases = Vec::new();
        let mut busiest: f64 = 0.0;
        for server in 0..report.servers.len() {
            let drive = results.devices.get(&format!("drive.{server}"))?;
            erases.push(drive.flash.as_ref()?.erases as f64);
            busiest = busiest.max(drive.utilisation_busiest.get("die").copied().unwrap_or(0.0));
        }
        let written = report.servers.iter().map(|server| (server.written_bytes + server.copied_bytes) as f64);
        Some(Self {
            erases,
            written: written.collect(),
            host_written: results.workload.write_bytes,
            response_ms: results.requests.all.response_time.mean_us / 1e3,
            write_response_ms: results.requests.write.response_time.mean_us / 1e3,
            responses_ms: results.series.iter().map(|point| point.mean_us / 1e3).collect(),
            report,
            busiest,
        })
    }

    /// Standard deviation of the servers' erases.
    pub(super) fn erases_sd(&self) -> f64 {
        deviation(&self.erases)
    }

    pub(super) fn all_erases(&self) -> f64 {
        self.erases.iter().sum()
    }

    /// Objects moved by writes of the host or copied.
    pub(super) fn moved(&self) -> f64 {
        (self.report.objects_moved_by_requests + self.report.objects_copied) as f64
    }

    /// Standard deviation of the pages written to the servers.
    pub(super) fn pages_sd(&self) -> f64 {
        deviation(&self.written) / loads::PAGE as f64
    }

    /// Pages written to all servers.
    pub(super) fn all_pages(&self) -> f64 {
        self.written.iter().sum::<f64>() / loads::PAGE as f64
    }
}

/// The standard deviation of `values`, over all of them.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len().max(1) as f64).sqrt()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// What was found already: several figures show the same runs.
static FOUND: Mutex<BTreeMap<String, Found>> = Mutex::new(BTreeMap::new());

/// The runs of an item, one after the other.
pub(super) struct Runs<'a> {
    pub(super) item: &'a Item,
    context: &'a Context<'a>,
    all: usize,
    done: usize,
}

impl<'a> Runs<'a> {
    /// `all` is their number.
    pub(super) fn new(item: &'a Item, context: &'a Context<'a>, all: usize) -> Self {
        Self { item, context, all, done: 0 }
    }

    /// Runs a case, or returns what was found before.
    pub(super) fn run(&mut self, case: &Case) -> Result<Found, ReproduceError> {
        let key = format!("{case:?} {:?}", self.context.traces);
        let before = FOUND.lock().expect("no run panics").get(&key).cloned();
        let found = match before {
            Some(found) => found,
            None => self.simulate(case)?,
        };
        FOUND.lock().expect("no run panics").insert(key, found.clone());
        self.done += 1;
        Ok(found)
    }

    fn simulate(&self, case: &Case) -> Result<Found, ReproduceError> {
        let error = |fault: ItemFault| ReproduceError::of(self.item, fault);
        let mut records = loads::timed(&case.accesses(self.item, self.context)?, case.scale.seed);
        let epoch = (records.last().map_or(0, |record| record.at.0) / EPOCHS).max(1);
        records.truncate(
            records.partition_point(|record| record.at.0 < epoch.saturating_mul(case.until) || case.until == EPOCHS),
        );
        let text = case.text(epoch);
        let mut experiment = Experiment::from_str(&text, self.item.name).map_err(|fault| error(fault.into()))?;
        experiment.run.seed = case.scale.seed;
        let workload = Workload::from_records(records, vec!["0".to_string()]).map_err(|fault| error(fault.into()))?;
        let (done, all) = (self.done as f64, self.all as f64);
        let report = self.context.progress;
        let progress = |ended: u64, requests: u64| {
            report(((done + ended as f64 / requests.max(1) as f64) / all).min(1.0));
        };
        let options = RunOptions { progress: Some(&progress), ..self.context.run_options() };
        let results = esker_sim::run_workload(&experiment, &workload, &options).map_err(|fault| error(fault.into()))?;
        if results.saturated.is_some() {
            return Err(error(ItemFault::Saturated));
        }
        if results.requests.errors > 0 {
            return Err(error(ItemFault::RequestsFailed(results.requests.errors)));
        }
        Found::of(&results).ok_or_else(|| error(ItemFault::NotReported("servers")))
    }
}
