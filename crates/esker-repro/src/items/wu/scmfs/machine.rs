//! What measures: this machine, or in tests one that is made up.

use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::Bytes;
use esker_fs_bench::{BenchError, Mode, Peers, Place, Rates, Way, Work, measure, memory_rate};

use super::System;
use crate::ReproduceError;

/// Runs workloads.
pub(super) trait Bench {
    /// Median rates of a workload in each system, or why there are none.
    ///
    /// # Errors
    /// The user stopped it.
    fn rates(&self, systems: &[System], work: &Work) -> Result<Vec<Result<Rates, String>>, ReproduceError>;

    /// Bytes per second that threads together copy out of memory of `bytes` each, by `piece`.
    ///
    /// # Errors
    /// The user stopped it.
    fn memory(&self, threads: usize, bytes: Bytes, piece: Bytes) -> Result<f64, ReproduceError>;
}

/// This machine, with file systems mounted for the purpose.
pub(super) struct Here<'a> {
    pub(super) peers: &'a Peers,
    pub(super) runs: u32,
    pub(super) cancel: &'a AtomicBool,
}

impl Here<'_> {
    fn place(&self, system: System) -> Result<Place, String> {
        let reason = |reason| format!("{}: {reason}", system.name());
        let mut place = self.peers.get(system.peer()).map_err(reason)?.clone();
        if let (System::ScmfsMetadata, Way::Library { mode, .. }) = (system, &mut place.way) {
            *mode = Mode::Metadata;
        }
        place.name = system.name().into();
        Ok(place)
    }
}

impl Bench for Here<'_> {
    fn rates(&self, systems: &[System], work: &Work) -> Result<Vec<Result<Rates, String>>, ReproduceError> {
        let places: Vec<Result<Place, String>> = systems.iter().map(|system| self.place(*system)).collect();
        let reached: Vec<Place> = places.iter().flatten().cloned().collect();
        let measured = measure(&reached, work, self.runs, self.cancel).map_err(|_| ReproduceError::Cancelled)?;
        let mut measured = reached.iter().zip(measured).map(|(place, found)| match found {
            Ok(measured) => Ok(measured.medians()),
            Err(error) => Err(reason(place, &error)),
        });
        let next = |place: Result<Place, String>| place.and_then(|_| measured.next().expect("each place was measured"));
        Ok(places.into_iter().map(next).collect())
    }

    fn memory(&self, threads: usize, bytes: Bytes, piece: Bytes) -> Result<f64, ReproduceError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(ReproduceError::Cancelled);
        }
        Ok(memory_rate(threads, bytes, piece, self.runs))
    }
}

fn reason(place: &Place, error: &BenchError) -> String {
    format!("{}: {error}", place.name)
}
