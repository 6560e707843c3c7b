//! Workloads made up by the characteristics of Kim's chapter 5, on the drive of the shipped model.

use esker_core::{Bytes, Ratio};
use esker_model::Run;
use esker_sim::{Experiment, PreconditionKind, RunOptions, RunSettings, WorkloadSettings};
use esker_trace::{ArrivalPattern, Rate, SizePattern, SyntheticSettings, WeightedSize};

use crate::drive::Drive;
use crate::{Context, Item, ItemFault, ReproduceError};

/// Pages of the flash of `examples/ssd-model.toml`, those that its host can address, and bytes of a page.
const FLASH_PAGES: f64 = 131_072.0;
const HOST_PAGES: f64 = 127_139.0;
const PAGE: u64 = 2048;

/// The characteristics of a workload.
#[derive(Clone, Copy, Debug)]
pub(super) struct MadeUp {
    pub(super) name: &'static str,
    pub(super) reads_percent: u64,
    pub(super) sequential: f64,
    /// Mean size in sectors of 512 bytes.
    pub(super) sectors: f64,
    /// Data, as a part of the flash.
    pub(super) utilisation: f64,
    /// Mean time between arrivals, ms.
    pub(super) gap_ms: f64,
    pub(super) requests: u64,
}

impl MadeUp {
    /// Two neighbouring numbers of whole pages, with weights that give the mean size.
    fn sizes(&self) -> SizePattern {
        let pages = self.sectors * 512.0 / PAGE as f64;
        let (less, part) = (pages.floor() as u64, (pages.fract() * 1e3).round() as u32);
        let weighted = |pages: u64, weight: u32| WeightedSize { size: Bytes(pages * PAGE), weight };
        SizePattern::Mixture(vec![weighted(less, 1_000 - part), weighted(less + 1, part)])
    }

    fn experiment(&self, seed: u64) -> Result<Experiment, ItemFault> {
        let filled = self.utilisation * FLASH_PAGES / HOST_PAGES;
        let mut drive = Drive::preset("kim-slc-32g").changed(|ssd| ssd.geometry.blocks_per_plane = 2048);
        (drive.precondition, drive.utilisation) = (PreconditionKind::Steady, Ratio::from_f64(filled));
        // A thousandth less, so that no request goes beyond what is filled.
        let footprint = Bytes((0.999 * filled * HOST_PAGES) as u64 * PAGE);
        // As many to age the drive as to measure.
        let synthetic = SyntheticSettings {
            read_fraction: Ratio::percent(self.reads_percent),
            size: self.sizes(),
            sequential_fraction: Ratio::from_f64(self.sequential),
            footprint: Some(footprint),
            alignment: Some(Bytes(PAGE)),
            arrivals: Some(ArrivalPattern::Poisson { rate: Rate::per_10_000_seconds((1e7 / self.gap_ms) as u64) }),
            ..SyntheticSettings::new(2 * self.requests)
        };
        let workload = WorkloadSettings { synthetic: Some(synthetic), ..WorkloadSettings::default() };
        let run = RunSettings { seed, warm_up_requests: self.requests, ..RunSettings::default() };
        Ok(Experiment::of(drive.system(), workload, run)?)
    }

    /// Simulates it as part `part.0` of `part.1` of the item.
    pub(super) fn simulate(
        &self,
        item: &Item,
        context: &Context<'_>,
        part: (usize, usize),
    ) -> Result<Run, ReproduceError> {
        let error = |fault: ItemFault| ReproduceError::of(item, fault);
        let experiment = self.experiment(context.seed).map_err(error)?;
        let progress = |ended: u64, all: u64| {
            (context.progress)((part.0 as f64 + ended as f64 / all.max(1) as f64) / part.1 as f64);
        };
        let options = RunOptions { progress: Some(&progress), ..context.run_options() };
        let results = esker_sim::run(&experiment, &options).map_err(|fault| error(fault.into()))?;
        let profile = experiment.profile(context.cancel).map_err(|fault| error(fault.into()))?;
        Run::of(self.name, &results, &profile).map_err(|_| error(ItemFault::Saturated))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use crate::{Context, Item, ItemOutcome, ReproduceError};

    /// The outcome of `measure`, of which every claim belongs to the item and every figure has points.
    pub(in crate::items::kim) fn outcome(
        item: &Item,
        measure: impl Fn(&Item, &Context<'_>) -> Result<ItemOutcome, ReproduceError>,
    ) -> ItemOutcome {
        let cancel = AtomicBool::new(false);
        let progress = |share| assert!((0.0..=1.0).contains(&share));
        let context = Context { seed: 1, traces: None, progress: &progress, cancel: &cancel, drives: Arc::default() };
        let outcome = measure(item, &context).unwrap();
        for claim in &outcome.claims {
            assert_eq!(claim.item, item.name);
            crate::items::check_claim(claim);
            assert!(claim.measured.is_none_or(f64::is_finite), "{}", claim.claim);
        }
        for figure in &outcome.figures {
            assert!(figure.curves.iter().all(|curve| !curve.points.is_empty()), "{}", figure.title);
        }
        outcome
    }
}
