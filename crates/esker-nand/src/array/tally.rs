//! Work of dies by kind and cause: steps and times.

use crate::array::Timing;
use crate::state::{CAUSES, WRITE_MODES, WriteMode};

/// Number of [`DieStep`]s.
pub(super) const STEPS: usize = 14;
/// Counts of steps, by [`WriteMode`], [`DieStep`] and [`crate::state::Cause`].
pub(super) type StepCounts = [u64; WRITE_MODES * STEPS * CAUSES];

/// What a die does between two scheduling decisions: cell work and transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DieStep {
    /// Cells to register to controller.
    #[default]
    Read = 0,
    /// Controller to register to cells.
    Program = 1,
    /// A program with only a sector transferred.
    ProgramSector = 2,
    /// Erase of a block.
    Erase = 3,
    /// The read of a copy over the bus.
    CopyOut = 4,
    /// The program of a copy over the bus.
    CopyIn = 5,
    /// Copy within a plane: read and program.
    CopyBack = 6,
    /// Copy within a plane, with the data also sent to the controller for a check.
    CopyBackChecked = 7,
    /// Cells to register, and one sector of it to the controller.
    ReadSector = 8,
    /// Another read of a page that was not decoded, for the next decoding step. Its time depends on that step.
    ReadAgain = 9,
    /// Page read to the register, changed there with data from the controller, and programmed in its plane.
    Rewrite = 10,
    /// Transfer to the controller of another unit of the flash page in the register.
    ReadHeld = 11,
    /// Transfer to the controller of one sector of a unit of the flash page in the register.
    ReadSectorHeld = 12,
    /// Transfer, for a copy over the bus, of a unit of the flash page in the register.
    CopyOutHeld = 13,
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From a register to the controller.
    #[default]
    Out,
    /// From the controller to a register.
    In,
}

impl DieStep {
    /// All steps, in the order of their numbers.
    pub const ALL: [Self; STEPS] = [
        Self::Read,
        Self::Program,
        Self::ProgramSector,
        Self::Erase,
        Self::CopyOut,
        Self::CopyIn,
        Self::CopyBack,
        Self::CopyBackChecked,
        Self::ReadSector,
        Self::ReadAgain,
        Self::Rewrite,
        Self::ReadHeld,
        Self::ReadSectorHeld,
        Self::CopyOutHeld,
    ];

    /// Returns the name of the step in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadSector => "read-sector",
            Self::ReadAgain => "read-again",
            Self::Program => "program",
            Self::ProgramSector => "program-sector",
            Self::Erase => "erase",
            Self::CopyOut => "copy-out",
            Self::CopyIn => "copy-in",
            Self::CopyBack => "copy-back",
            Self::CopyBackChecked => "checked-copy-back",
            Self::Rewrite => "rewrite",
            Self::ReadHeld => "read-from-register",
            Self::ReadSectorHeld => "read-sector-from-register",
            Self::CopyOutHeld => "copy-out-from-register",
        }
    }

    /// Returns a number for the command. Steps with the same command can be done by several planes at once.
    pub fn command(self) -> u32 {
        match self {
            Self::Read | Self::ReadSector | Self::CopyOut => 0,
            Self::Program | Self::ProgramSector | Self::CopyIn => 1,
            Self::Erase => 2,
            Self::CopyBack => 3,
            Self::CopyBackChecked => 4,
            Self::ReadAgain => 5,
            Self::Rewrite => 6,
            Self::ReadHeld | Self::ReadSectorHeld | Self::CopyOutHeld => 7,
        }
    }

    /// Returns the step to use if the register already holds the flash page; `None` if the step is not the first read
    /// of a page.
    pub fn held(self) -> Option<Self> {
        match self {
            Self::Read => Some(Self::ReadHeld),
            Self::ReadSector => Some(Self::ReadSectorHeld),
            Self::CopyOut => Some(Self::CopyOutHeld),
            _ => None,
        }
    }

    /// Returns true if the step leaves a page in the register, for the decoder or for other units of the page.
    pub fn leaves_page_in_register(self) -> bool {
        self.held().is_some() || matches!(self, Self::ReadHeld | Self::ReadSectorHeld | Self::CopyOutHeld)
    }

    /// Returns true if the step sends a whole page to the decoder.
    pub fn is_decoded(self) -> bool {
        matches!(self, Self::Read | Self::ReadHeld | Self::ReadAgain | Self::CopyOut | Self::CopyOutHeld)
    }

    /// Returns the direction of the step's transfer.
    pub fn direction(self) -> Direction {
        match self {
            Self::Program | Self::ProgramSector | Self::CopyIn | Self::Rewrite => Direction::In,
            _ => Direction::Out,
        }
    }

    /// Returns the step's cell work on a page of `mode`, in nanoseconds, if it is fixed.
    pub fn cells(self, timing: &Timing, mode: WriteMode) -> u64 {
        match self {
            Self::Read | Self::CopyOut => timing.of_mode(mode).page_read.0,
            // Spare areas have a code of their own, whatever the mode.
            Self::ReadSector => timing.page_read.0,
            Self::Program | Self::ProgramSector | Self::CopyIn => timing.of_mode(mode).page_program.0,
            Self::Erase => timing.block_erase.0,
            Self::CopyBack | Self::CopyBackChecked | Self::Rewrite => timing.page_read.0 + timing.page_program.0,
            Self::ReadAgain | Self::ReadHeld | Self::ReadSectorHeld | Self::CopyOutHeld => 0,
        }
    }

    /// Returns the step's bus time, in nanoseconds, if it is fixed.
    pub fn transfer(self, timing: &Timing) -> u64 {
        match self {
            Self::Read | Self::Program | Self::CopyOut | Self::CopyIn | Self::CopyBackChecked | Self::Rewrite => {
                timing.page_transfer.0
            }
            Self::ReadHeld | Self::CopyOutHeld => timing.page_transfer.0,
            Self::ProgramSector | Self::ReadSector | Self::ReadSectorHeld => timing.sector_transfer.0,
            Self::Erase | Self::CopyBack | Self::ReadAgain => 0,
        }
    }
}

/// Work of one kind for one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Number of steps.
    pub steps: u64,
    /// Cell work, ns.
    pub cells: u64,
    /// Transfers, ns.
    pub transfers: u64,
    /// Suspending and resuming, ns.
    pub interruptions: u64,
}

impl Done {
    /// Returns the busy time of dies, ns.
    pub fn busy(&self) -> u64 {
        self.cells + self.transfers + self.interruptions
    }
}

/// Work by kind and cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// By [`DieStep`], then by [`crate::state::Cause`].
    pub done: [[Done; CAUSES]; STEPS],
}

impl Tally {
    /// Computes the work from counts of steps, each of which takes its usual time.
    pub fn of_steps(steps: &StepCounts, timing: &Timing) -> Self {
        let mut tally = Self::default();
        for step in DieStep::ALL {
            for cause in 0..CAUSES {
                let done = &mut tally.done[step as usize][cause];
                for mode in WriteMode::ALL {
                    let steps = steps[(mode as usize * STEPS + step as usize) * CAUSES + cause];
                    done.steps += steps;
                    done.cells += steps * step.cells(timing, mode);
                    done.transfers += steps * step.transfer(timing);
                }
            }
        }
        tally
    }

    /// Returns the busy time of dies for one cause, ns.
    pub fn busy_for(&self, cause: usize) -> u64 {
        self.done.iter().map(|step| step[cause].busy()).sum()
    }

    /// Asserts that the parts add up to the total busy times of dies and buses.
    #[cfg(debug_assertions)]
    pub fn check(&self, die_busy: u64, bus_busy: u64) {
        let busy: u64 = (0..CAUSES).map(|cause| self.busy_for(cause)).sum();
        assert_eq!(busy, die_busy, "busy times of dies by kind and cause do not add up");
        let transfers: u64 = self.done.iter().flatten().map(|done| done.transfers).sum();
        assert_eq!(transfers, bus_busy, "busy times of buses by kind and cause do not add up");
    }
}
