//! Energy of flash operations.

use esker_core::{Energy, Power};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ValueError;

/// Energy that the array takes. Kim 2009, table 3.2, has 4.72 uJ for a read, 38.04 uJ for a program, 527.68 uJ for an
/// erase, all of them with transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnergySettings {
    /// A read from cells to data register, per flash page.
    pub page_read: Energy,
    /// A program from data register to cells, per flash page.
    pub page_program: Energy,
    /// Erase of a block of one plane.
    pub block_erase: Energy,
    /// The transfer of a flash page with its spare bytes. A sector takes its share of the bytes.
    #[serde(default)]
    pub page_transfer: Energy,
    /// A die while it neither works nor transfers.
    #[serde(default)]
    pub idle: Power,
}

/// With this limit, sums of 10^10 operations stay within 64 bits.
const MOST: Energy = Energy(1_000_000_000);
const MOST_IDLE: Power = Power(1_000_000_000);

impl EnergySettings {
    /// Refuses values whose sums would overflow 64 bits.
    pub(crate) fn check(&self) -> Result<(), ValueError> {
        for (key, found) in [
            ("array.energy.page_read", self.page_read),
            ("array.energy.page_program", self.page_program),
            ("array.energy.block_erase", self.block_erase),
            ("array.energy.page_transfer", self.page_transfer),
        ] {
            if found > MOST {
                return Err(ValueError::TooMuch { key, found: found.to_string(), limit: MOST.to_string() });
            }
        }
        if self.idle > MOST_IDLE {
            let key = "array.energy.idle";
            return Err(ValueError::TooMuch { key, found: self.idle.to_string(), limit: MOST_IDLE.to_string() });
        }
        Ok(())
    }
}
