//! How long flash operations take.

use esker_core::{Bytes, Nanos};

use crate::nand::Transfer;
use crate::{Geometry, SsdError, TimingSettings};

/// Longer times are refused, so that sums of many stay far from the end of `u64` nanoseconds.
const LONGEST: Nanos = Nanos::from_secs(60);

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
}

impl Timing {
    /// Checks `settings` and works out the transfers of `geometry`'s pages.
    pub fn new(settings: &TimingSettings, geometry: &Geometry) -> Result<Self, SsdError> {
        if settings.bus_rate.0 == 0 {
            return Err(SsdError::Zero { key: "timing.bus_rate" });
        }
        let timing = Self {
            page_read: settings.page_read,
            page_program: settings.page_program,
            block_erase: settings.block_erase,
            page_transfer: settings.bus_rate.time(geometry.raw_page_size()),
            sector_transfer: settings.bus_rate.time(Bytes::SECTOR),
        };
        for (key, found) in [
            ("timing.page_read", timing.page_read),
            ("timing.page_program", timing.page_program),
            ("timing.block_erase", timing.block_erase),
            ("timing.bus_rate (time of a page)", timing.page_transfer),
        ] {
            if found == Nanos::ZERO {
                return Err(SsdError::Zero { key });
            }
            if found > LONGEST {
                return Err(SsdError::TooLong { key, found, limit: LONGEST });
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
