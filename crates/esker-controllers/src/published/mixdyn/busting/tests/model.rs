//! Fragmentation busting once more, as simply as can be.

use std::ops::Range;

use esker_core::{DeviceState, Nanos, Request, RequestKind};
use esker_tier::{DeviceView, MoveOutcome};

use super::{EXTENTS, IDLE, SMALL};

/// A mistake of the model, which the comparison has to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    /// Reads do not count as uses.
    IgnoresReads,
    /// Small writes count wherever they begin.
    TakesSequential,
    /// Random writes count whatever their size.
    TakesLarge,
    /// An extent stays in pieces when it is written anew in large ones.
    KeepsRewritten,
    /// Ends of all writes are remembered.
    RemembersAllStreams,
    /// All that is in pieces is due.
    MovesAll,
    /// As much as was written is due, even if little of it is left.
    IgnoresWhatIsLeft,
    /// What the host has taken to the disk is still due.
    CountsRedirected,
    /// A host that is back does not stop it.
    GoesOn,
    /// Idleness begins when a request comes, not when it ends.
    IgnoresEnds,
    /// Goes on after a disk without room.
    IgnoresRoom,
}

/// What the model knows of an extent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    in_pieces: bool,
    pub(super) device: Option<u16>,
    used: u64,
}

/// The rules as simply as can be: everything is searched.
#[derive(Debug)]
pub(super) struct Model {
    mistake: Option<Mistake>,
    percent: u64,
    pub(super) extents: [Extent; EXTENTS as usize],
    uses: u64,
    ends: Vec<u64>,
    /// Hundredths of extents.
    due: u64,
    used_at: Nanos,
    under_way: u32,
    /// Whether this idle period has begun, and whether nothing more moves in it.
    begun: bool,
    stopped: bool,
    pub(super) moving: Option<u32>,
    pub(super) without_room: u64,
}

impl Model {
    pub(super) fn new(percent: u64, mistake: Option<Mistake>) -> Self {
        Self {
            mistake,
            percent,
            extents: Default::default(),
            uses: 0,
            ends: Vec::new(),
            due: 0,
            used_at: Nanos::ZERO,
            under_way: 0,
            begun: false,
            stopped: false,
            moving: None,
            without_room: 0,
        }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// Those that may move, least recently used first.
    fn listed(&self) -> Vec<u32> {
        let listed = |extent: &u32| self.of(*extent).in_pieces && self.of(*extent).device == Some(0);
        let mut listed: Vec<u32> = (0..EXTENTS).filter(listed).collect();
        listed.sort_by_key(|extent| self.of(*extent).used);
        listed
    }

    pub(super) fn of(&self, extent: u32) -> Extent {
        self.extents[extent as usize]
    }

    fn touch(&mut self, extent: u32) {
        self.uses += 1;
        self.extents[extent as usize].used = self.uses;
    }

    pub(super) fn placed(&mut self, extent: u32, device: Option<u16>) {
        let before = self.of(extent);
        self.extents[extent as usize].device = device;
        self.extents[extent as usize].in_pieces &= device.is_some();
        if before.device == device || !before.in_pieces {
            return;
        }
        if device == Some(0) {
            self.touch(extent);
            self.due += self.percent;
        } else if (before.device, device) == (Some(0), Some(1))
            && self.moving != Some(extent)
            && !self.is(Mistake::CountsRedirected)
        {
            self.due = self.due.saturating_sub(self.percent);
        }
    }

    pub(super) fn requested(&mut self, now: Nanos, request: &Request, extents: Range<u32>) {
        (self.used_at, self.under_way) = (now, self.under_way + 1);
        if !self.is(Mistake::GoesOn) {
            (self.begun, self.stopped) = (false, false);
        }
        if request.kind == RequestKind::Read && !self.is(Mistake::IgnoresReads) {
            extents.for_each(|extent| self.touch(extent));
        } else if matches!(request.kind, RequestKind::Write { .. }) {
            let remembered = if self.is(Mistake::RemembersAllStreams) { usize::MAX } else { 16 };
            let last = &self.ends[self.ends.len().saturating_sub(remembered)..];
            let found = last.iter().position(|end| *end == request.start.byte_offset());
            let is_random = found.is_none() || self.is(Mistake::TakesSequential);
            let is_small = request.length.0 <= SMALL || self.is(Mistake::TakesLarge);
            if let Some(found) = found {
                self.ends.remove(self.ends.len().saturating_sub(remembered) + found);
            }
            self.ends.push(request.end_byte());
            for extent in extents {
                self.touch(extent);
                let of = &mut self.extents[extent as usize];
                let keeps = self.mistake == Some(Mistake::KeepsRewritten) && of.in_pieces;
                of.in_pieces = (is_small && is_random) || keeps;
                if is_small && is_random && of.device == Some(0) {
                    self.due += self.percent;
                }
            }
        }
    }

    pub(super) fn ended(&mut self, now: Nanos) {
        self.under_way -= 1;
        if !self.is(Mistake::IgnoresEnds) {
            self.used_at = now;
        }
    }

    /// Takes the end of a move, and returns the next extent to move.
    pub(super) fn moved(&mut self, outcome: MoveOutcome, devices: &[DeviceView; 2]) -> Option<u32> {
        let extent = self.moving.take()?;
        match outcome {
            MoveOutcome::Done => self.due = self.due.saturating_sub(100),
            MoveOutcome::NothingToDo => {
                self.due = self.due.saturating_sub(100);
                self.touch(extent);
            }
            MoveOutcome::Failed => {
                self.stopped = self.begun;
                self.touch(extent);
            }
            MoveOutcome::NoRoom | MoveOutcome::Held => self.stopped = self.begun && !self.is(Mistake::IgnoresRoom),
        }
        self.next(devices)
    }

    fn next(&mut self, devices: &[DeviceView; 2]) -> Option<u32> {
        let is_due = self.due >= 100 || self.is(Mistake::MovesAll);
        let works = devices[0].state != DeviceState::Failed;
        if !self.begun || self.stopped || self.moving.is_some() || !is_due || !works {
            return None;
        }
        let oldest = *self.listed().first()?;
        if devices[1].free_extents == 0 {
            self.stopped = true;
            self.without_room += 1;
            return None;
        }
        self.moving = Some(oldest);
        self.moving
    }

    /// Lets time pass, and returns when which extent begins to move.
    pub(super) fn wait(&mut self, until: Nanos, devices: &[DeviceView; 2]) -> Option<(Nanos, u32)> {
        let idle_at = self.used_at + IDLE;
        if self.begun || self.under_way > 0 || idle_at > until || self.due < 100 {
            return None;
        }
        self.begun = true;
        if !self.is(Mistake::IgnoresWhatIsLeft) {
            self.due = self.due.min(self.percent * self.listed().len() as u64);
        }
        Some((idle_at, self.next(devices)?))
    }
}
