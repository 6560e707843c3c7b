//! Write modes and bit errors of a drive.

use esker_core::Nanos;
use esker_nand::Geometry;
use esker_nand::array::Timing;
use esker_nand::ecc::{self, Ecc};
use esker_nand::state::FlashState;

use crate::{SsdError, SsdSettings};

/// Adds the write modes and the bit errors that the settings ask for: makes `flash` keep the modes of its pages, and
/// sets the times of modes and of decoding. Returns the model of bit errors.
pub(super) fn add_modes_and_errors(
    settings: &SsdSettings,
    timing: &mut Timing,
    flash: &mut FlashState,
    host_pages: u32,
    seed: u64,
) -> Result<Option<Box<Ecc>>, SsdError> {
    let modes = settings.write_modes.as_ref();
    if let Some(modes) = modes {
        flash.keep_modes(esker_ftl::modes::build(&modes.policy, host_pages)?);
    }
    let mut decoder = None;
    if let Some(ecc) = &settings.ecc {
        timing.decoding = ecc::decoding(ecc, timing)?;
        let read = Geometry::new(&settings.wiring().layout().0, false)?;
        let mut judge = Ecc::new(ecc, modes, flash.geometry(), &read, seed)?;
        judge.start(Nanos::ZERO, flash);
        decoder = Some(Box::new(judge));
    }
    if let Some(modes) = modes {
        modes.set_times(timing, settings.ecc.as_ref())?;
    }
    Ok(decoder)
}
