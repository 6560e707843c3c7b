//! Draws records from a model.

use std::collections::BTreeMap;

use esker_core::{Nanos, Rng};

use super::fit::{Segment, TraceModel};
use super::gaps::GapDraw;
use super::runs::RunsDraw;
use super::walk::WalkDraw;
use crate::{Record, VolumeIndex};

/// Iterates over generated records: see [`TraceModel::generate`].
#[derive(Clone, Debug)]
pub struct GeneratedRecords<'a> {
    segments: &'a [Segment],
    scale: Scale,
    done: u64,
    rng: Rng,
    at: Nanos,
    gaps: (Cursor, GapDraw),
    walk: (Cursor, WalkDraw),
    volumes: BTreeMap<u32, (Cursor, Option<RunsDraw>)>,
}

/// How many records are generated for each fitted one.
#[derive(Clone, Copy, Debug)]
struct Scale {
    requests: u64,
    fitted: u64,
}

impl Scale {
    fn of(self, fitted: u64) -> u64 {
        (u128::from(self.requests) * u128::from(fitted) / u128::from(self.fitted.max(1))) as u64
    }
}

/// The progress of one kind of draw through the segments. Gaps, volumes and the runs of each volume progress
/// separately, because a run belongs to the segment in which it ends. So each of them uses exactly what was counted.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    next: usize,
    /// Sum of the counts of the segments so far.
    counted: u64,
    /// Number of draws after which the next segment is due; `drawn` of them were made.
    until: u64,
    drawn: u64,
}

impl Cursor {
    /// Called before each draw. Returns the segment to go on to, if one is due. `count` returns the number of counts in
    /// a segment.
    fn draw<'a>(
        &mut self,
        segments: &'a [Segment],
        scale: Scale,
        count: impl Fn(&Segment) -> u64,
    ) -> Option<&'a Segment> {
        let mut due = None;
        while self.drawn >= self.until
            && let Some(segment) = segments.get(self.next)
        {
            self.next += 1;
            let counted = count(segment);
            self.counted += counted;
            self.until = scale.of(self.counted);
            // If few records are asked for, whole segments may be skipped. The last one with any counts is kept, for
            // draws beyond the end.
            if counted > 0 {
                due = Some(segment);
            }
        }
        self.drawn += 1;
        due
    }
}

impl<'a> GeneratedRecords<'a> {
    pub(super) fn new(model: &'a TraceModel, requests: u64, seed: u64) -> Self {
        let fitted = model.requests();
        Self {
            segments: &model.segments,
            scale: Scale { requests: if fitted == 0 { 0 } else { requests }, fitted },
            done: 0,
            rng: Rng::derive(seed, "like"),
            at: Nanos::ZERO,
            gaps: Default::default(),
            walk: Default::default(),
            volumes: BTreeMap::new(),
        }
    }

    fn gap(&mut self) -> Nanos {
        let (cursor, draw) = &mut self.gaps;
        if let Some(segment) = cursor.draw(self.segments, self.scale, |segment| segment.gaps.count()) {
            *draw = GapDraw::new(&segment.gaps, draw);
        }
        draw.draw(&mut self.rng)
    }

    fn volume(&mut self) -> u32 {
        let (cursor, draw) = &mut self.walk;
        if let Some(segment) = cursor.draw(self.segments, self.scale, |segment| segment.walk.steps()) {
            *draw = WalkDraw::new(&segment.walk, draw.state());
        }
        draw.step(&mut self.rng)
    }
}

impl Iterator for GeneratedRecords<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        if self.done == self.scale.requests {
            return None;
        }
        if self.done > 0 {
            self.at = Nanos(self.at.0.saturating_add(self.gap().0));
        }
        self.done += 1;
        let volume = self.volume();
        let (cursor, draw) = self.volumes.entry(volume).or_default();
        let counts = |segment: &'_ Segment| segment.volumes.get(&volume).map_or(0, |counts| counts.requests());
        if let Some(segment) = cursor.draw(self.segments, self.scale, counts) {
            *draw = Some(RunsDraw::new(&segment.volumes[&volume]));
        }
        let draw = draw.as_mut().expect("a volume that was walked to has requests in some segment");
        Some(draw.draw(self.at, VolumeIndex(volume), &mut self.rng))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.scale.requests - self.done).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}
