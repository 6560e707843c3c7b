//! How long flash operations take.

use esker_core::{Bytes, Nanos};

use crate::state::Transfer;
use crate::{Geometry, TimingSettings, ValueError};

/// Longer times are refused, so that sums of many stay far from the end of `u64` nanoseconds.
const LONGEST: Nanos = Nanos::from_secs(60);

/// Most decoding steps of a code.
pub const STEPS_MAX: usize = 8;

/// Times of the operations of one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Cells to data register.
    pub page_read: Nanos,
    /// Data register to cells.
    pub page_program: Nanos,
    /// Erase of a block.
    pub block_erase: Nanos,
    /// A page with its spare bytes over the bus.
    pub page_transfer: Nanos,
    /// One sector over the bus.
    pub sector_transfer: Nanos,
    /// What decoding a page takes.
    pub decoding: Decoding,
}

/// The steps that decode a page: nothing where bit errors are not modelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoding {
    /// Whether there are any.
    pub is_on: bool,
    /// In order. The first one has the sensing and the transfer of the read itself.
    pub steps: [DecodingStep; STEPS_MAX],
}

/// What a decoding step takes, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodingStep {
    /// Cells to register, all sensings of the step.
    pub sense: u64,
    /// Register to controller.
    pub transfer: u64,
    /// In the decoder, behind the last transfer. Decoders wait for nothing.
    pub decode: u64,
}

impl Decoding {
    /// Cell work and transfers of the steps behind the first one up to `more`, with the decoding between them.
    #[inline]
    pub fn repeated(&self, more: u8) -> u64 {
        (1..=more as usize)
            .map(|step| self.steps[step - 1].decode + self.steps[step].sense + self.steps[step].transfer)
            .sum()
    }
}

impl Timing {
    /// Checks `settings` and works out the transfers of `geometry`'s pages.
    pub fn new(settings: &TimingSettings, geometry: &Geometry) -> Result<Self, ValueError> {
        if settings.bus_rate.0 == 0 {
            return Err(ValueError::Zero { key: "timing.bus_rate" });
        }
        let timing = Self {
            page_read: settings.page_read,
            page_program: settings.page_program,
            block_erase: settings.block_erase,
            page_transfer: settings.bus_rate.time(geometry.raw_page_size()),
            sector_transfer: settings.bus_rate.time(Bytes::SECTOR),
            decoding: Decoding::default(),
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

    /// Time of `transfer` on the bus.
    #[inline(always)]
    pub fn transfer(&self, transfer: Transfer) -> Nanos {
        match transfer {
            Transfer::Page => self.page_transfer,
            Transfer::Sector => self.sector_transfer,
        }
    }
}
