//! Judges designs of several products in which nothing moves: as those that do the same at any time, but of what the
//! host writes their flash takes only a part.

use esker_results::study::{Candidate, JudgedState};
use esker_results::{Report, Reporting};

use super::AtAnyTime;
use super::last_quarter::flash_pages;
use crate::StudyError;
use crate::busy::Busy;
use crate::design::{Design, Judging, PlayedStretches};
use crate::late_writes::LateWrites;
use crate::run::DesignRun;
use crate::strain::{Limits, LoadSearch, StressResults};
use crate::task::Task;

/// Judges a design by all requests, and its flash by those that reach it.
#[derive(Debug)]
pub(crate) struct InPlace;

impl Judging for InPlace {
    fn state(&self, report: &Report) -> JudgedState {
        AtAnyTime.state(report)
    }

    fn late_writes(
        &self,
        _: &Task<'_>,
        _: &Design,
        device: &dyn Reporting,
        _: Option<&PlayedStretches>,
        _: &mut Candidate,
    ) -> Result<Option<LateWrites>, StudyError> {
        Ok(Some(LateWrites { pages: flash_pages(&Report::of(device)) as f64, once_bytes: 0, promoted: None }))
    }

    fn headroom(
        &self,
        task: &Task<'_>,
        design: &Design,
        asked: (&Busy, &Limits),
        played: Option<PlayedStretches>,
        run: &mut DesignRun,
        candidate: &mut Candidate,
    ) -> Result<(), StudyError> {
        AtAnyTime.headroom(task, design, asked, played, run, candidate)
    }

    fn stressed(
        &self,
        task: &Task<'_>,
        design: &Design,
        asked: (&Busy, &Limits),
        search: LoadSearch,
    ) -> Result<StressResults, StudyError> {
        AtAnyTime.stressed(task, design, asked, search)
    }
}
