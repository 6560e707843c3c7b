//! The hybrids of chapter III: a flash drive and disks of 15,000 rpm as one volume of extents of 128 KiB.
//!
//! Processes are requests of one stream that are under way at a time, as many as processes: so were the stand-ins of
//! the devices fitted to table V. The paper's cache of 100 extents in memory, which all its systems have, is not there.
//! All data have their places before the run, so that policies balance by moves alone; in the paper, new files do most
//! of that.

use esker_results::RunResults;
use esker_sim::Experiment;

use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemFault, ReproduceError};

/// What the claims of these items were measured on.
pub(super) const STAND_IN: &str = "reads and writes with the mix and the mean sizes of tables III and IV, on stand-ins \
                                   of the devices, without the memory cache of 100 extents";

/// Requests before measuring starts, and measured ones: as in `examples/wu-pair.toml`. With 40,000 and 20,000, the
/// first trial, the shares of `wardrop` had not settled.
const WARM_UP: u64 = 60_000;
const MEASURED: u64 = 30_000;

/// Counts of processes, for items that go through several.
pub(super) const PROCESSES: [u32; 3] = [1, 4, 10];

/// Where data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// On the flash drive alone, without a hybrid.
    Flash,
    /// On the disk alone; several disks are stripes, RAID-0.
    Disks,
    /// A fixed share of the extents on flash, percent; the disks have equal parts of the rest.
    Split(u32),
    /// The same number of extents on each device.
    Stripes,
    /// By our policy for equal response times.
    Wardrop,
    /// A fixed share of the extents on flash, in thousandths: those that [`Placed::Wardrop`] has there at this share.
    /// All are there before the run, and none moves.
    Drawn(u32),
    /// By equation 3.1 with the constants of the paper and a period of one second.
    Published,
}

/// Both policies, by their names in claims.
pub(super) const POLICIES: [(&str, Placed); 2] =
    [("wardrop", Placed::Wardrop), ("wardrop-published", Placed::Published)];

/// A flash drive: its preset and its state before the run.
pub(super) type Drive = (&'static str, &'static str);
pub(super) const INTEL: Drive = ("intel-x25m-80g", "steady");
pub(super) const INTEL_FILLED: Drive = ("intel-x25m-80g", "filled");
pub(super) const TRANSCEND: Drive = ("transcend-ts16gssd25s-16g", "filled");
pub(super) const MEMORIGHT: Drive = ("memoright-gt-32g", "filled");

/// A hybrid and its load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) workload: &'static str,
    pub(super) processes: u32,
    pub(super) flash: Drive,
    pub(super) disks: u32,
    pub(super) placed: Placed,
}

impl Pair {
    /// One Intel drive and one disk under ten processes of this workload.
    pub(super) fn new(workload: &'static str, placed: Placed) -> Self {
        Self { workload, processes: 10, flash: INTEL, disks: 1, placed }
    }

    /// The policy of the hybrid.
    fn policy(&self) -> String {
        match self.placed {
            Placed::Flash | Placed::Disks | Placed::Stripes => r#"{ kind = "static-split" }"#.to_string(),
            Placed::Split(percent) => {
                let parts = std::iter::once(percent * self.disks).chain((0..self.disks).map(|_| 100 - percent));
                let divisor = parts.clone().fold(0, greatest_divisor);
                let weights: Vec<u32> = parts.map(|part| part / divisor).collect();
                format!("{{ kind = \"static-split\", weights = {weights:?} }}")
            }
            Placed::Wardrop => r#"{ kind = "wardrop" }"#.to_string(),
            Placed::Drawn(share) => {
                let weights = [share, 1000 - share];
                format!("{{ kind = \"wardrop\", weights = {weights:?}, interval = \"1000000s\" }}")
            }
            Placed::Published => r#"{ kind = "wardrop-published" }"#.to_string(),
        }
    }

    /// The file of the experiment; `fresh` flash is as from the factory.
    pub(super) fn text(&self, requests: u64, warm_up: u64, fresh: bool) -> String {
        let (preset, precondition) = if fresh { (self.flash.0, "none") } else { self.flash };
        let disks: Vec<String> = (0..self.disks).map(|disk| format!("disk{disk}")).collect();
        let tables: String =
            disks.iter().map(|disk| format!("[device.{disk}]\npreset = \"fujitsu-mba3073np-73g\"\n")).collect();
        let all: Vec<String> = std::iter::once("flash".to_string()).chain(disks.clone()).collect();
        let children = if self.placed == Placed::Disks { &disks } else { &all };
        let policy = self.policy();
        let target = match self.placed {
            Placed::Flash | Placed::Split(100) => "flash",
            Placed::Disks | Placed::Split(0) if self.disks == 1 => "disk0",
            _ => "volume",
        };
        // Devices that are not below the target are never built.
        let volume = match target {
            "volume" => format!(
                "[device.volume]\n\
                 kind = \"hybrid\"\n\
                 children = {children:?}\n\
                 extent = \"128KiB\"\n\
                 capacity = \"8GiB\"\n\
                 policy = {policy}\n"
            ),
            _ => String::new(),
        };
        // Shares that a policy asks for are in the series alone.
        let series = if self.placed == Placed::Wardrop { "series = \"10s\"\n" } else { "" };
        format!(
            "[workload]\n\
             queue_depth = {}\n\
             [workload.synthetic]\n\
             preset = \"{}\"\n\
             requests = {}\n\
             [device.flash]\n\
             preset = \"{preset}\"\n\
             precondition = \"{precondition}\"\n\
             {tables}{volume}\
             [run]\n\
             target = \"{target}\"\n\
             warm_up_requests = {warm_up}\n\
             {series}",
            self.processes,
            self.workload,
            requests + warm_up,
        )
    }
}

fn greatest_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}

/// Measurements of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub(super) mb_per_s: f64,
    /// Mean response time.
    pub(super) latency_ms: f64,
    /// Share of the host's requests that the flash drive served, percent.
    pub(super) flash_percent: f64,
    /// Bytes of moved extents per byte of the host.
    pub(super) moved: f64,
    /// Share of the extents that the policy wants on flash at the end, percent, if it says so.
    pub(super) target_percent: Option<f64>,
    /// Mean response time of the host's requests to the flash drive over that of those to the first disk; of a hybrid.
    pub(super) flash_over_disk: Option<f64>,
    /// Mean distance of the first disk's seeks; of a hybrid with one.
    pub(super) seek_cylinders: Option<f64>,
}

impl Measured {
    fn of(results: &RunResults, placed: Placed) -> Self {
        let volume = results.devices.get("volume");
        let child = volume.and_then(|volume| volume.children.get("flash"));
        let alone = if matches!(placed, Placed::Flash | Placed::Split(100)) { 100.0 } else { 0.0 };
        let bytes = results.workload.read_bytes + results.workload.write_bytes;
        let moved = volume.and_then(|volume| volume.placement.as_ref()).map_or(0, |placement| placement.moved_bytes);
        let target = results.series.last().and_then(|point| point.children.get("flash")?.target_share);
        let disk = volume.and_then(|volume| volume.children.get("disk0"));
        let ratio = child.zip(disk).map(|(flash, disk)| flash.response_time.mean_us / disk.response_time.mean_us);
        let seeks = results.devices.get("disk0").and_then(|disk| disk.disk.as_ref());
        Self {
            mb_per_s: results.throughput.bytes_per_s / 1e6,
            latency_ms: results.requests.all.response_time.mean_us / 1e3,
            flash_percent: child.map_or(alone, |child| child.share * 100.0),
            moved: moved as f64 / bytes.max(1) as f64,
            target_percent: target.map(|share| share * 100.0),
            flash_over_disk: ratio.filter(|ratio| ratio.is_finite()),
            seek_cylinders: seeks.map(|disk| disk.mean_seek_cylinders),
        }
    }
}

/// One of the measurements.
pub(super) type Quantity = fn(&Measured) -> f64;

/// The runs of an item, one after the other.
pub(super) struct Runs<'a> {
    pub(super) item: &'a Item,
    context: &'a Context<'a>,
    /// Part of the requests. Less than all is for tests, which also spare themselves the aging of the drives.
    part: f64,
    all: usize,
    done: usize,
}

impl<'a> Runs<'a> {
    /// `all` is their number.
    pub(super) fn new(item: &'a Item, context: &'a Context<'a>, part: f64, all: usize) -> Self {
        Self { item, context, part, all, done: 0 }
    }

    pub(super) fn run(&mut self, pair: Pair) -> Result<Measured, ReproduceError> {
        let error = |fault: ItemFault| ReproduceError::of(self.item, fault);
        let some = |count: u64| (count as f64 * self.part).ceil() as u64;
        let text = pair.text(some(MEASURED), some(WARM_UP), self.part < 1.0);
        let mut experiment = Experiment::from_str(&text, self.item.name).map_err(|fault| error(fault.into()))?;
        experiment.run.seed = self.context.seed;
        let results = self.context.run(self.item, &experiment, (self.done, self.all))?;
        self.done += 1;
        Ok(Measured::of(&results, pair.placed))
    }

    /// Runs each of `systems` with each of `processes`.
    pub(super) fn curves(
        &mut self,
        pair: Pair,
        systems: &[(&'static str, Placed)],
        processes: &[u32],
    ) -> Result<Vec<System>, ReproduceError> {
        let mut curves = Vec::new();
        for &(name, placed) in systems {
            let points = processes.iter().map(|&processes| self.run(Pair { processes, placed, ..pair }));
            curves.push(System { name, points: points.collect::<Result<_, _>>()? });
        }
        Ok(curves)
    }
}

/// One of several systems, by count of processes.
pub(super) struct System {
    pub(super) name: &'static str,
    pub(super) points: Vec<Measured>,
}

impl System {
    /// With most processes.
    pub(super) fn last(&self) -> Measured {
        *self.points.last().expect("there are counts of processes")
    }

    pub(super) fn named(&self, of: Quantity) -> (&'static str, f64) {
        (self.name, of(&self.last()))
    }
}

/// Throughput and latency of `systems` against processes.
pub(super) fn figures(title: &str, systems: &[System], processes: &[u32]) -> Vec<Figure> {
    let axes: [(&str, Quantity); 2] =
        [("throughput, MB/s", |point| point.mb_per_s), ("mean latency, ms", |point| point.latency_ms)];
    let figure = |(label, of): (&str, Quantity)| Figure {
        title: format!("{title}: {label}"),
        note: "The paper's curves are not in the text; what it says of them is held as claims.".into(),
        x: Axis::linear("processes"),
        y: Axis::linear(label),
        curves: systems.iter().map(|system| curve(system, processes, of)).collect(),
    };
    axes.into_iter().map(figure).collect()
}

/// One system's curve against processes.
pub(super) fn curve(system: &System, processes: &[u32], of: Quantity) -> Curve {
    let points = processes.iter().zip(&system.points).map(|(&processes, point)| (f64::from(processes), of(point)));
    Curve::measured(system.name, points)
}

/// Marks a claim on latency. With a fixed number of requests always under way, latency is that number over the
/// throughput.
pub(super) fn by_littles_law(claim: Claim) -> Claim {
    claim.by_construction("Little's law: latency is processes over throughput, which has a claim of its own")
}

/// What a policy moved; nothing is published to compare with.
pub(super) fn moved(item: &Item, policy: &System) -> Claim {
    let claim = format!("{}: moved bytes per byte of the host, at most processes", policy.name);
    Claim::beside(item.name, &claim, policy.last().moved, "the text has no value")
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::{ClaimVerdict, ItemOutcome};

    pub(in crate::items::wu) type Measure = fn(&Item, &Context<'_>, f64) -> Result<ItemOutcome, ReproduceError>;

    /// The outcome of `measure` on a hundredth of the requests, with drives as from the factory. Asserts that every
    /// claim belongs to the item and is one on stand-ins, and that every figure has points.
    pub(in crate::items::wu) fn short(item: &Item, measure: Measure) -> ItemOutcome {
        let cancel = AtomicBool::new(false);
        let progress = |share: f64| assert!((0.0..=1.0).contains(&share));
        let context = Context { seed: 1, traces: None, progress: &progress, cancel: &cancel, drives: Arc::default() };
        let outcome = measure(item, &context, 0.01).unwrap();
        for claim in &outcome.claims {
            let allowed = [ClaimVerdict::StandIn, ClaimVerdict::Unreachable, ClaimVerdict::Derived];
            // What was fitted was fitted to whole runs.
            assert!(claim.item == item.name && (allowed.contains(&claim.verdict) || claim.fitted), "{claim:?}");
            crate::items::check_claim(claim);
        }
        for figure in &outcome.figures {
            assert!(figure.curves.iter().all(|curve| !curve.points.is_empty()), "{}", figure.title);
        }
        outcome
    }

    #[test]
    fn the_file_names_the_devices_and_the_split() {
        let pair = Pair { disks: 4, ..Pair::new("wu-dbench", Placed::Split(80)) };
        let text = pair.text(20, 10, false);
        assert!(text.contains("weights = [16, 1, 1, 1, 1]") && text.contains("requests = 30\n"), "{text}");
        assert!(text.contains(r#"children = ["flash", "disk0", "disk1", "disk2", "disk3"]"#), "{text}");
        let text = Pair { placed: Placed::Disks, ..pair }.text(20, 10, false);
        assert!(text.contains(r#"children = ["disk0", "disk1", "disk2", "disk3"]"#), "{text}");
        let text = Pair { placed: Placed::Drawn(378), disks: 1, ..pair }.text(20, 10, false);
        assert!(
            text.contains(r#"kind = "wardrop", weights = [378, 622], interval"#) && !text.contains("series"),
            "{text}"
        );
        for (placed, target) in [(Placed::Split(0), "disk0"), (Placed::Split(100), "flash"), (Placed::Flash, "flash")] {
            let text = Pair { placed, disks: 1, ..pair }.text(20, 10, false);
            assert!(text.contains(&format!("target = \"{target}\"")) && !text.contains("[device.volume]"), "{text}");
        }
    }

    #[test]
    fn an_interrupted_run_says_so() {
        let cancel = AtomicBool::new(true);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        let mut runs = Runs::new(&super::super::figure_13::ITEM, &context, 0.5, 1);
        let run = runs.run(Pair::new("wu-netapp", Placed::Wardrop));
        assert!(matches!(run, Err(ReproduceError::Cancelled)));
    }
}
