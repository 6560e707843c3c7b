//! Works out what is known of a workload before any design is simulated.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use esker_results::study::{Budgets, Measured, Need};
use esker_sim::PreconditionedDrives;

use crate::busy::Busy;
use crate::endurance::Demand;
use crate::load::StudyWorkload;
use crate::offers::{Bounds, Offer, OfferInputs};
use crate::strain::Limits;
use crate::task::Task;
use crate::{Hooks, StudyError, StudySettings, budgets, kinds, need};

/// What is known of a workload before any design is simulated.
pub(crate) struct PreparedWorkload {
    pub(crate) measured: Option<Measured>,
    pub(crate) budgets: Budgets,
    pub(crate) busy: Option<Busy>,
    pub(crate) need: Need,
    pub(crate) demand: Demand,
    pub(crate) limits: Option<Limits>,
    /// Number of designs simulated.
    done: AtomicU64,
    /// The drives of its simulations.
    drives: Arc<PreconditionedDrives>,
}

impl PreparedWorkload {
    pub(crate) fn of(workload: &StudyWorkload, settings: &StudySettings) -> Result<Self, StudyError> {
        let timed = workload.has_times();
        let measured = workload.profile.measured.as_ref().map(|measured| Measured {
            all: measured.all,
            read: measured.read,
            write: measured.write,
            busiest_hour_p99_us: measured.busiest_hour.p99_us,
            requests: measured.requests,
        });
        let budgets = match timed {
            true => budgets::budgets(&settings.budgets, measured.as_ref()),
            false => settings.budgets.clone(),
        };
        let busy = || Busy::of(&workload.requests, &workload.profile, || workload.arrivals());
        let busy = timed.then(busy).transpose()?;
        let need = need::need(workload, &settings.data, budgets.years);
        Ok(Self {
            busy,
            need,
            demand: Demand::of(workload, budgets.growth_per_year, budgets.years),
            limits: timed.then(|| budgets::limits(&budgets)),
            measured,
            budgets,
            done: AtomicU64::new(0),
            drives: Arc::default(),
        })
    }

    /// Returns the task for simulations.
    pub(crate) fn task<'a>(
        &'a self,
        workload: &'a StudyWorkload,
        settings: &'a StudySettings,
        hooks: &'a Hooks<'a>,
    ) -> Task<'a> {
        let Self { busy, budgets, limits, done, drives, .. } = self;
        Task { workload, settings, busy: busy.as_ref(), budgets, limits: *limits, hooks, done, drives }
    }

    /// Returns the bounds that rule out offers without simulation.
    pub(crate) fn bounds(&self, workload: &StudyWorkload, settings: &StudySettings) -> Bounds {
        Bounds {
            bytes_per_s: self.busy.as_ref().map(|busy| {
                let stretches = std::iter::once(&busy.times.stretch).chain(&busy.times.by_bytes);
                stretches.map(|stretch| workload.bytes_per_s(stretch)).fold(0.0, f64::max)
            }),
            host_bytes_per_day: self.demand.bytes_per_day().map(|[fewest, _]| fewest),
            capacity_bytes: self.need.capacity_bytes.div_ceil(self.need.copies.max(1).into()),
            devices: self.budgets.devices,
            consumer: settings.consumer,
            limits: self.limits,
        }
    }

    /// Returns everything that can be bought for the workload.
    pub(crate) fn offers<'a>(
        &'a self,
        workload: &'a StudyWorkload,
        settings: &'a StudySettings,
        hooks: &'a Hooks<'a>,
    ) -> Result<Vec<Offer<'a>>, StudyError> {
        kinds::offers(&OfferInputs {
            need: &self.need,
            workload,
            stretch: self.busy.as_ref().map(|busy| &busy.times.stretch),
            utilisation: self.budgets.utilisation.unwrap_or(1.0),
            p99_us: self.budgets.p99_us,
            settings,
            hooks,
            drives: &self.drives,
        })
    }
}
