//! What a run does, and what has happened in it.

use std::fmt;

use crate::disk::DiskFault;

/// What a run does. The seed decides everything else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Steps of each life: a request is sent, an operation of a disk is performed, or time passes.
    pub steps: u64,
    /// How many times the volume is opened.
    pub lives: u32,
    /// Whether a disk fails now and then.
    pub faults: bool,
    /// After which operations of a disk the power is also lost, in a copy of everything: what is left then has to be
    /// right, too.
    pub cuts: Cuts,
    /// In one step of this many, disks join, grow or leave, or more capacity is offered; never if it is zero.
    pub changes: u64,
    /// Whether all volumes are clusters. Else none is.
    pub clusters: bool,
    /// Copies that a cluster keeps of each slice; 0 is one copy, too. With several, a single disk fails in all lives,
    /// and nothing may be lost by that.
    pub copies: u8,
    /// A fault that the first disk has from the beginning, to see that the oracle finds it.
    pub wrong: DiskFault,
}

/// After which operations the power is lost in a copy of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cuts {
    /// None.
    #[default]
    Never,
    /// All.
    Always,
    /// Those that follow a write of a checkpoint, after which the journal before it may be used again. Such writes are
    /// slow, so that the journal is full by then.
    AfterCheckpoints,
}

/// What happened in a run, to see that it did what it should.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Volumes that are flash caches.
    pub caches: u64,
    /// Volumes that are clusters.
    pub clusters: u64,
    /// Slices that have moved from one disk to another.
    pub moves: u64,
    /// Volumes that are arrays.
    pub arrays: u64,
    /// Volumes that follow a map of ranges.
    pub mapped: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Losses of power.
    pub power_losses: u64,
    /// Deaths of the process, after which the operating system still has what was not flushed.
    pub kills: u64,
    /// Losses of power while the volume was being opened.
    pub cut_openings: u64,
    /// Losses of power after single operations, in copies.
    pub cuts: u64,
    /// Checkpoints that were complete.
    pub checkpoints: u64,
    /// Records that were read behind checkpoints.
    pub journal_records: u64,
    /// Times at which the volume was opened with a device missing.
    pub degraded: u64,
    /// Whether all devices that kept the journal have died.
    pub lost: u64,
    /// Disks that have joined.
    pub joined: u64,
    /// Disks that were drained and removed.
    pub removed: u64,
    /// Disks that have grown.
    pub grown: u64,
    /// Times at which more capacity was offered.
    pub offered: u64,
    /// Times at which the engine got new settings.
    pub set: u64,
    /// Changes that were refused.
    pub refused: u64,
    /// Disks that failed while others had copies.
    pub made_up_for: u64,
    /// Times at which the volume was opened with a disk that had failed before, and is there.
    pub known_failed: u64,
    /// Disks that were taken out as lost.
    pub given_up: u64,
    /// Slices that were copied anew after that.
    pub rebuilt: u64,
}

/// A promise that the volume has broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The seed of the run.
    pub seed: u64,
    /// The life in which it was seen.
    pub life: u32,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}, life {}: {}", self.seed, self.life, self.what)
    }
}

impl std::ops::AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        let Self {
            caches,
            clusters,
            moves,
            arrays,
            mapped,
            answered,
            power_losses,
            kills,
            cut_openings,
            cuts,
            checkpoints,
            journal_records,
            degraded,
            lost,
            joined,
            removed,
            grown,
            offered,
            set,
            refused,
            made_up_for,
            known_failed,
            given_up,
            rebuilt,
        } = other;
        self.caches += caches;
        self.clusters += clusters;
        self.moves += moves;
        self.arrays += arrays;
        self.mapped += mapped;
        self.answered += answered;
        self.power_losses += power_losses;
        self.kills += kills;
        self.cut_openings += cut_openings;
        self.cuts += cuts;
        self.checkpoints += checkpoints;
        self.journal_records += journal_records;
        self.degraded += degraded;
        self.lost += lost;
        self.joined += joined;
        self.removed += removed;
        self.grown += grown;
        self.offered += offered;
        self.set += set;
        self.refused += refused;
        self.made_up_for += made_up_for;
        self.known_failed += known_failed;
        self.given_up += given_up;
        self.rebuilt += rebuilt;
    }
}
