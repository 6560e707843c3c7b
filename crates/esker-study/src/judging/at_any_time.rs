//! Judges designs that do the same at any time: all requests of the measured run count. They play the busiest stretches
//! in their state before the trace.

use esker_core::Ratio;
use esker_results::Report;
use esker_results::study::{Candidate, JudgedState};

use super::ready::{play_loads, under_load};
use crate::StudyError;
use crate::busy::Busy;
use crate::design::{Design, Judging, PlayedStretches};
use crate::run::DesignRun;
use crate::setup::set_up;
use crate::strain::{Limits, LoadSearch, StressResults};
use crate::task::Task;

/// Judges a design by all requests.
#[derive(Debug)]
pub(crate) struct AtAnyTime;

impl Judging for AtAnyTime {
    fn state(&self, _: &Report) -> JudgedState {
        JudgedState::Any
    }

    /// The response times of the stretches are those of the measured run. Only how busy the devices are is new.
    fn headroom(
        &self,
        task: &Task<'_>,
        _: &Design,
        asked: (&Busy, &Limits),
        _: Option<PlayedStretches>,
        run: &mut DesignRun,
        candidate: &mut Candidate,
    ) -> Result<(), StudyError> {
        let StressResults { first, headroom } = under_load(task, asked, &mut run.simulation)?;
        candidate.headroom = Some(headroom);
        let stretches = [(&mut candidate.busy, &first.busy), (&mut candidate.busy_by_bytes, &first.busy_by_bytes)];
        for (results, strained) in stretches {
            if let (Some(results), Some(strained)) = (results, strained) {
                results.resource.clone_from(&strained.resource);
                results.utilisation = strained.utilisation;
            }
        }
        Ok(())
    }

    fn stressed(
        &self,
        task: &Task<'_>,
        design: &Design,
        asked: (&Busy, &Limits),
        search: LoadSearch,
    ) -> Result<StressResults, StudyError> {
        play_loads(task, asked, search, || set_up(task, design, Ratio::ONE).map(Some))
    }
}
