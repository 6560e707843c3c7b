//! A design, ready to be simulated, and the interface of the ways of judging designs.

use std::fmt::Debug;

use esker_core::{Bytes, Nanos};
use esker_results::study::{Candidate, JudgedState};
use esker_results::{Report, Reporting};
use esker_sim::System;

use crate::busy::Busy;
use crate::endurance::FlashOnSale;
use crate::late_writes::LateWrites;
use crate::load::StudyWorkload;
use crate::run::DesignRun;
use crate::strain::{Limits, LoadSearch, Strain, StressResults};
use crate::task::Task;
use crate::{StudyError, StudySettings};

/// Stripe unit of a design with several devices.
pub(crate) const STRIPE: Bytes = Bytes::kib(64);

/// A design, ready to be simulated.
#[derive(Clone, Debug)]
pub(crate) struct Design {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) device_count: u32,
    pub(crate) system: System,
    /// Whether the design has nothing but disks: how far their arms move depends on where data lie.
    pub(crate) on_disks: bool,
    /// For rented volumes, everything that their times depend on. Volumes with equal limits are simulated once,
    /// whatever their size and whatever was ordered.
    pub(crate) limits: Option<String>,
    /// The flash of the devices as sold; `None` if no device wears.
    pub(crate) flash: Option<FlashOnSale>,
    pub(crate) judging: &'static dyn Judging,
}

impl Design {
    /// Returns a key that is equal for designs that are simulated alike, such as drives of two makers that differ in
    /// price alone.
    pub(crate) fn key(&self) -> String {
        self.limits.clone().unwrap_or_else(|| format!("{:?}", self.system))
    }

    /// The kind of the simulated device that requests go to.
    pub(crate) fn device_kind(&self) -> &'static str {
        self.system.devices()[self.system.target()].settings.kind().name
    }

    /// Plays the busiest stretches with random numbers from `seed`, under the load of the trace and under larger loads,
    /// on the design in the state in which it is judged. Returns `None` if the trace has no times.
    pub(crate) fn stressed(
        &self,
        task: &Task<'_>,
        seed: u64,
        search: LoadSearch,
    ) -> Result<Option<StressResults>, StudyError> {
        let (Some(busy), Some(limits)) = (task.busy, &task.limits) else { return Ok(None) };
        let settings = StudySettings { seed, ..task.settings.clone() };
        let task = &Task { settings: &settings, ..*task };
        self.judging.stressed(task, self, (busy, limits), search).map(Some)
    }
}

/// The results of the busy stretches on a design in the state in which it is judged.
pub(crate) struct PlayedStretches {
    pub(crate) strain: Strain,
    /// What the flash takes in the long run.
    pub(crate) late: LateWrites,
}

/// A way of judging designs: in which state, and how they get there. What some designs do depends on the requests that
/// they have served.
pub(crate) trait Judging: Debug + Sync {
    /// Returns the state of a design after its measured run, whose results are in `report`.
    fn state(&self, report: &Report) -> JudgedState;

    /// Whether what a design does depends on the requests that it has served.
    fn depends_on_history(&self) -> bool {
        self.state(&Report::default()).depends_on_history()
    }

    /// Returns from when on requests of the busiest hour count, which lasts from `from` to `to`.
    fn hour_from(&self, _workload: &StudyWorkload, from: Nanos, _to: Nanos) -> Nanos {
        from
    }

    /// Returns from when on requests of the measured run count instead of all requests, if there is such a time.
    fn late_from(&self, _workload: &StudyWorkload) -> Option<Nanos> {
        None
    }

    /// Plays the busy stretches if the measured run does not show them in the state that counts, and adds their results
    /// to `candidate`. Returns `None` also if the design cannot keep up.
    fn play_busy(
        &self,
        _task: &Task<'_>,
        _design: &Design,
        _candidate: &mut Candidate,
    ) -> Result<Option<PlayedStretches>, StudyError> {
        Ok(None)
    }

    /// Finds out what the flash takes late in the trace, if that is not what the host writes. `device` is the design
    /// after the measured run.
    fn late_writes(
        &self,
        _task: &Task<'_>,
        _design: &Design,
        _device: &dyn Reporting,
        played: Option<&PlayedStretches>,
        _candidate: &mut Candidate,
    ) -> Result<Option<LateWrites>, StudyError> {
        Ok(played.map(|played| played.late))
    }

    /// Finds the headroom by playing the busy stretches under larger loads. Adds that, and what else the stretches
    /// show, to `candidate`.
    fn headroom(
        &self,
        task: &Task<'_>,
        design: &Design,
        asked: (&Busy, &Limits),
        played: Option<PlayedStretches>,
        run: &mut DesignRun,
        candidate: &mut Candidate,
    ) -> Result<(), StudyError>;

    /// Plays the busiest stretches under the load of the trace and under larger loads, on new devices.
    fn stressed(
        &self,
        task: &Task<'_>,
        design: &Design,
        asked: (&Busy, &Limits),
        search: LoadSearch,
    ) -> Result<StressResults, StudyError>;
}
