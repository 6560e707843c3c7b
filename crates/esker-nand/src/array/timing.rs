//! Times of flash operations.

use esker_core::{Bytes, Nanos};

use crate::state::{Transfer, WRITE_MODES, WriteMode};
use crate::{BlockIndex, Geometry, TimingSettings, ValueError};

/// Longer times are refused, so that sums of many stay far from the end of `u64` nanoseconds.
const LONGEST: Nanos = Nanos::from_secs(60);

/// Upper bound of decoding steps of a code.
pub const STEPS_MAX: usize = 8;

/// Times of the operations of one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Read from cells to data register.
    pub page_read: Nanos,
    /// Program from data register to cells.
    pub page_program: Nanos,
    /// Erase of a block.
    pub block_erase: Nanos,
    /// Blocks that share one erase: the first of them takes the whole time, the others none.
    pub blocks_per_erase: u32,
    /// Transfer of a page with its spare bytes.
    pub page_transfer: Nanos,
    /// Transfer of one sector.
    pub sector_transfer: Nanos,
    /// Times of decoding.
    pub decoding: Decoding,
    /// Times of pages that are programmed in another mode than [`WriteMode::Normal`], by mode.
    pub other_modes: [ModeTiming; WRITE_MODES - 1],
}

/// Times of the pages of one write mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeTiming {
    /// Read from cells to data register, with all sensings of the first decoding step.
    pub page_read: Nanos,
    /// Program from data register to cells.
    pub page_program: Nanos,
    /// Times of decoding.
    pub decoding: Decoding,
}

/// The decoding steps of a page; off if bit errors are not modelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoding {
    /// Whether pages are decoded.
    pub is_on: bool,
    /// The steps in order. The first one includes the sensing and the transfer of the read itself.
    pub steps: [DecodingStep; STEPS_MAX],
}

/// Times of a decoding step, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodingStep {
    /// Cells to register: all sensings of the step.
    pub sense: u64,
    /// Register to controller.
    pub transfer: u64,
    /// In the decoder, after the last transfer. Decoders have no queue.
    pub decode: u64,
}

impl Decoding {
    /// Cell work and transfers of the steps after the first, up to step `more`, with the decoding in between.
    #[inline]
    pub fn repeated(&self, more: u8) -> u64 {
        (1..=more as usize)
            .map(|step| self.steps[step - 1].decode + self.steps[step].sense + self.steps[step].transfer)
            .sum()
    }
}

impl Timing {
    /// Checks `settings` and computes the transfer times of `geometry`'s pages.
    pub fn new(settings: &TimingSettings, geometry: &Geometry) -> Result<Self, ValueError> {
        if settings.bus_rate.0 == 0 {
            return Err(ValueError::Zero { key: "timing.bus_rate" });
        }
        if settings.blocks_per_erase == 0 {
            return Err(ValueError::Zero { key: "timing.blocks_per_erase" });
        }
        let timing = Self {
            page_read: settings.page_read,
            page_program: settings.page_program,
            block_erase: settings.block_erase,
            blocks_per_erase: settings.blocks_per_erase,
            page_transfer: settings.bus_rate.time(geometry.raw_page_size()),
            sector_transfer: settings.bus_rate.time(Bytes::SECTOR),
            decoding: Decoding::default(),
            other_modes: Default::default(),
        };
        for (key, found) in [
            ("timing.page_read", timing.page_read),
            ("timing.page_program", timing.page_program),
            ("timing.block_erase", timing.block_erase),
            ("timing.bus_rate (time of a page)", timing.page_transfer),
        ] {
            if found == Nanos::ZERO {
                return Err(ValueError::Zero { key });
            }
            if found > LONGEST {
                return Err(ValueError::TooLong { key, found, limit: LONGEST });
            }
        }
        Ok(timing)
    }

    /// Returns true if the erase of `block` takes time. See [`TimingSettings::blocks_per_erase`].
    #[inline(always)]
    pub fn erases(&self, block: BlockIndex) -> bool {
        self.blocks_per_erase == 1 || block.0.is_multiple_of(self.blocks_per_erase)
    }

    /// Returns the times of the pages of `mode`.
    #[inline]
    pub fn of_mode(&self, mode: WriteMode) -> ModeTiming {
        match mode {
            WriteMode::Normal => {
                ModeTiming { page_read: self.page_read, page_program: self.page_program, decoding: self.decoding }
            }
            other => self.other_modes[other as usize - 1],
        }
    }

    /// Returns the decoding steps of the pages of `mode`.
    #[inline]
    pub fn decoding_of(&self, mode: WriteMode) -> &Decoding {
        match mode {
            WriteMode::Normal => &self.decoding,
            other => &self.other_modes[other as usize - 1].decoding,
        }
    }

    /// Returns true if pages of any mode spend time in the decoder.
    pub fn decodes(&self) -> bool {
        self.decoding.is_on || self.other_modes.iter().any(|mode| mode.decoding.is_on)
    }

    /// Returns the bus time of `transfer`.
    #[inline(always)]
    pub fn transfer(&self, transfer: Transfer) -> Nanos {
        match transfer {
            Transfer::Page => self.page_transfer,
            Transfer::Sector => self.sector_transfer,
        }
    }
}
