//! Workloads that several points of a sweep share are read once.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

use crate::config::Experiment;
use crate::run_error::RunError;
use crate::workload::Workload;

/// Workloads by what determines them. One is kept as long as some point uses it.
pub(super) struct Workloads {
    by_settings: Mutex<BTreeMap<String, Arc<Mutex<Weak<Workload>>>>>,
    /// The one that was asked for last, which the next point likely wants too.
    latest: Mutex<Option<Arc<Workload>>>,
}

impl Workloads {
    pub(super) fn new() -> Self {
        Self { by_settings: Mutex::new(BTreeMap::new()), latest: Mutex::new(None) }
    }

    /// The workload of `experiment`, read now unless it is at hand. Two threads that want the same one wait for one
    /// reading; different ones are read side by side.
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
