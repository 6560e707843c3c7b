//! What dies were busy with: steps and times, by kind and cause.

use crate::array::Timing;
use crate::state::CAUSES;

/// Kinds of steps.
pub(super) const STEPS: usize = 14;

/// What a die does between two decisions, and what that takes: cell work and transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// Cells to register to controller.
    #[default]
    Read = 0,
    /// Controller to register to cells.
    Program = 1,
    /// The same with one sector.
    ProgramSector = 2,
    /// A block.
    Erase = 3,
    /// The read of a copy over the bus.
    CopyOut = 4,
    /// The program of a copy over the bus.
    CopyIn = 5,
    /// Read and program within a plane.
    CopyBack = 6,
    /// The same, with the data sent to the controller to be checked.
    CopyBackChecked = 7,
    /// Cells to register, and one sector of it to the controller.
    ReadSector = 8,
    /// A page that was not decoded, read again for the next decoding step. What it takes depends on that step.
    ReadAgain = 9,
    /// A page that is read to the register, changed there with data from the controller, and programmed in its plane.
    Rewrite = 10,
    /// Of a flash page that the register holds already, another unit to the controller.
    ReadHeld = 11,
    /// Of a flash page that the register holds already, one sector of a unit to the controller.
    ReadSectorHeld = 12,
    /// Of a flash page that the register holds already, a unit to be copied over the bus.
    CopyOutHeld = 13,
}

/// Which way data cross the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From a register to the controller.
    #[default]
    Out,
    /// From the controller to a register.
    In,
}

impl Step {
    /// All of them, in the order of their numbers.
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

    /// Its name in results.
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

    /// Steps with the same number are done by the same command, and so by several planes at once.
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

    /// The same step where the register holds the flash page already; `None` where it is no first reading of a page.
    pub fn held(self) -> Option<Self> {
        match self {
            Self::Read => Some(Self::ReadHeld),
            Self::ReadSector => Some(Self::ReadSectorHeld),
            Self::CopyOut => Some(Self::CopyOutHeld),
            _ => None,
        }
    }

    /// Whether a page is in the register after it, for the decoder or for other units of it.
    pub fn leaves_page_in_register(self) -> bool {
        self.held().is_some() || matches!(self, Self::ReadHeld | Self::ReadSectorHeld | Self::CopyOutHeld)
    }

    /// Whether a whole page goes to the decoder.
    pub fn is_decoded(self) -> bool {
        matches!(self, Self::Read | Self::ReadHeld | Self::ReadAgain | Self::CopyOut | Self::CopyOutHeld)
    }

    /// Which way its transfer goes, where it has one.
    pub fn direction(self) -> Direction {
        match self {
            Self::Program | Self::ProgramSector | Self::CopyIn | Self::Rewrite => Direction::In,
            _ => Direction::Out,
        }
    }

    /// Cell work, ns, where it is always the same.
    pub fn cells(self, timing: &Timing) -> u64 {
        match self {
            Self::Read | Self::ReadSector | Self::CopyOut => timing.page_read.0,
            Self::Program | Self::ProgramSector | Self::CopyIn => timing.page_program.0,
            Self::Erase => timing.block_erase.0,
            Self::CopyBack | Self::CopyBackChecked | Self::Rewrite => timing.page_read.0 + timing.page_program.0,
            Self::ReadAgain | Self::ReadHeld | Self::ReadSectorHeld | Self::CopyOutHeld => 0,
        }
    }

    /// Bus time, ns, where it is always the same.
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

/// Steps of one kind for one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// How many.
    pub steps: u64,
    /// Cell work, ns.
    pub cells: u64,
    /// Transfers, ns.
    pub transfers: u64,
    /// Suspending and resuming, ns.
    pub interruptions: u64,
}

impl Done {
    /// What dies were busy for, ns.
    pub fn busy(&self) -> u64 {
        self.cells + self.transfers + self.interruptions
    }
}

/// Steps by kind and cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// First by [`Step`], then by [`crate::state::Cause`].
    pub done: [[Done; CAUSES]; STEPS],
}

impl Tally {
    /// From counts alone, where each step takes what it takes alone.
    pub fn of_steps(steps: &[u64; STEPS * CAUSES], timing: &Timing) -> Self {
        let mut tally = Self::default();
        for step in Step::ALL {
            for cause in 0..CAUSES {
                let steps = steps[step as usize * CAUSES + cause];
                tally.done[step as usize][cause] = Done {
                    steps,
                    cells: steps * step.cells(timing),
                    transfers: steps * step.transfer(timing),
                    interruptions: 0,
                };
            }
        }
        tally
    }

    /// Busy time of dies for one cause, ns.
    pub fn busy_for(&self, cause: usize) -> u64 {
        self.done.iter().map(|step| step[cause].busy()).sum()
    }

    /// Asserts that the parts add up to what dies and buses were busy for in all.
    #[cfg(debug_assertions)]
    pub fn check(&self, die_busy: u64, bus_busy: u64) {
        let busy: u64 = (0..CAUSES).map(|cause| self.busy_for(cause)).sum();
        assert_eq!(busy, die_busy, "busy times of dies by kind and cause do not add up");
        let transfers: u64 = self.done.iter().flatten().map(|done| done.transfers).sum();
        assert_eq!(transfers, bus_busy, "busy times of buses by kind and cause do not add up");
    }
}
