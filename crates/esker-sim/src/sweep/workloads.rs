//! A cache of workloads: those that several points of a sweep share are read once.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

use crate::config::Experiment;
use crate::run_error::RunError;
use crate::workload::Workload;

/// Workloads by the settings that determine them. A workload is kept while some point uses it.
pub(super) struct Workloads {
    by_settings: Mutex<BTreeMap<String, Arc<Mutex<Weak<Workload>>>>>,
    /// The last workload, which the next point is likely to need.
    latest: Mutex<Option<Arc<Workload>>>,
}

impl Workloads {
    pub(super) fn new() -> Self {
        Self { by_settings: Mutex::new(BTreeMap::new()), latest: Mutex::new(None) }
    }

    /// Returns the workload of `experiment`, and reads it unless it is cached. Two threads that need the same workload
    /// share one reading; different ones are read in parallel.
    pub(super) fn of(&self, experiment: &Experiment, cancel: &AtomicBool) -> Result<Arc<Workload>, RunError> {
        let settings = serde_json::json!([experiment.workload, experiment.run.seed]).to_string();
        let slot = self.by_settings.lock().expect("no thread panicked").entry(settings).or_default().clone();
        let mut slot = slot.lock().expect("no thread panicked");
        let workload = match slot.upgrade() {
            Some(workload) => workload,
            None => {
                let workload = Arc::new(experiment.open_workload(cancel)?);
                *slot = Arc::downgrade(&workload);
                workload
            }
        };
        *self.latest.lock().expect("no thread panicked") = Some(workload.clone());
        Ok(workload)
    }
}
