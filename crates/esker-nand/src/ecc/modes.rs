//! Times and codes of the pages of each write mode.

use esker_core::Nanos;

use super::code::decoding;
use crate::array::{Decoding, DecodingStep, ModeTiming, Timing};
use crate::state::{WRITE_MODES, WriteMode};
use crate::{EccSettings, ModeCodeSettings, ModeSettings, ValueError, WriteModeSettings};

/// Longer times are refused, so that sums of many stay far from the end of `u64` nanoseconds.
const LONGEST: Nanos = Nanos::from_secs(60);
/// Upper bound of [`ModeSettings::raw_errors`].
const MOST_ERRORS: f64 = 1e6;

impl WriteModeSettings {
    /// Returns the settings of `mode` if they are given. Those of the normal mode are the drive's own.
    pub fn of(&self, mode: WriteMode) -> Option<&ModeSettings> {
        match mode {
            WriteMode::Normal => None,
            WriteMode::LowCost => self.low_cost.as_ref(),
            WriteMode::MediumCost => self.medium_cost.as_ref(),
            WriteMode::HighCost => self.high_cost.as_ref(),
        }
    }

    /// Sets the times of all modes in `timing`, which has those of the normal mode.
    pub fn set_times(&self, timing: &mut Timing, ecc: Option<&EccSettings>) -> Result<(), ValueError> {
        for mode in WriteMode::ALL.into_iter().skip(1) {
            timing.other_modes[mode as usize - 1] = match self.of(mode) {
                Some(settings) => settings.times(mode, timing, ecc)?,
                None => timing.of_mode(WriteMode::Normal),
            };
        }
        Ok(())
    }
}

impl ModeSettings {
    fn times(&self, mode: WriteMode, timing: &Timing, ecc: Option<&EccSettings>) -> Result<ModeTiming, ValueError> {
        let [program, read, decode, errors, code] = keys(mode);
        let page_read = self.page_read.unwrap_or(timing.page_read);
        for (key, found) in [(program, self.page_program), (read, page_read)] {
            if found == Nanos::ZERO {
                return Err(ValueError::Zero { key });
            }
        }
        for (key, found) in [(program, self.page_program), (read, page_read), (decode, self.decode)] {
            if found > LONGEST {
                return Err(ValueError::TooLong { key, found, limit: LONGEST });
            }
        }
        if !(0.0..=MOST_ERRORS).contains(&self.raw_errors) {
            return Err(ValueError::Parameter {
                key: errors.to_string(),
                expected: format!("a factor from 0 to {MOST_ERRORS}"),
                found: self.raw_errors.to_string(),
            });
        }
        let Some(ecc) = ecc else {
            let given = [(errors, self.raw_errors != 1.0), (code, self.code.is_some())];
            if let Some((key, _)) = given.into_iter().find(|(_, given)| *given) {
                return Err(excludes(
                    key,
                    "no `ecc`",
                    "without `ecc` pages have no errors",
                    "leave it out, or add `ecc`",
                ));
            }
            let step = DecodingStep { sense: page_read.0, transfer: timing.page_transfer.0, decode: self.decode.0 };
            let mut decoding = Decoding { is_on: self.decode > Nanos::ZERO, ..Decoding::default() };
            decoding.steps[0] = step;
            return Ok(ModeTiming { page_read, page_program: self.page_program, decoding });
        };
        if self.decode > Nanos::ZERO {
            let reason = "the steps of the code say how long decoding takes";
            return Err(excludes(decode, "`ecc`", reason, "leave it out, and set `decode` of the steps"));
        }
        let own = self.ecc(ecc);
        let mut steps = decoding(&own, timing).map_err(|error| unusable(code, &self.code, error))?;
        steps.steps[0].sense = page_read.0;
        Ok(ModeTiming { page_read, page_program: self.page_program, decoding: steps })
    }

    /// Returns the settings of the code for pages of this mode, apart from their raw errors.
    fn ecc(&self, ecc: &EccSettings) -> EccSettings {
        match &self.code {
            None => ecc.clone(),
            Some(own) => EccSettings { code: own.code, parity: own.parity, steps: own.steps.clone(), ..ecc.clone() },
        }
    }
}

/// Returns, for each mode, the settings of its code and the factor of its raw errors.
pub(crate) fn codes(modes: Option<&WriteModeSettings>, ecc: &EccSettings) -> [(EccSettings, f64); WRITE_MODES] {
    WriteMode::ALL.map(|mode| match modes.and_then(|modes| modes.of(mode)) {
        Some(settings) => (settings.ecc(ecc), settings.raw_errors),
        None => (ecc.clone(), 1.0),
    })
}

/// Turns an error in the code of `mode` into one that names the mode's keys, if the mode has a code of its own.
pub(crate) fn fault_of_code(mode: WriteMode, modes: Option<&WriteModeSettings>, error: ValueError) -> ValueError {
    match modes.and_then(|modes| modes.of(mode)) {
        Some(settings) => unusable(keys(mode)[4], &settings.code, error),
        None => error,
    }
}

fn unusable(key: &'static str, own: &Option<ModeCodeSettings>, error: ValueError) -> ValueError {
    match own {
        None => error,
        Some(_) => ValueError::Parameter {
            key: key.to_string(),
            expected: format!("a code without this fault: {}", error.to_string().replace("`ecc.", "`code.")),
            found: "a code that cannot be used".to_string(),
        },
    }
}

fn excludes(key: &'static str, second: &str, reason: &str, remedy: &str) -> ValueError {
    ValueError::Contradiction {
        keys: vec![key, "ecc"],
        first: format!("`{key}`"),
        second: second.to_string(),
        reason: reason.to_string(),
        remedy: remedy.to_string(),
    }
}

/// Returns the dotted keys of the program, read, decoding, errors and code of `mode`.
fn keys(mode: WriteMode) -> [&'static str; 5] {
    macro_rules! keys {
        ($mode:literal) => {
            [
                concat!("write_modes.", $mode, ".page_program"),
                concat!("write_modes.", $mode, ".page_read"),
                concat!("write_modes.", $mode, ".decode"),
                concat!("write_modes.", $mode, ".raw_errors"),
                concat!("write_modes.", $mode, ".code"),
            ]
        };
    }
    match mode {
        WriteMode::Normal => ["timing.page_program", "timing.page_read", "ecc.steps", "ecc.raw_errors", "ecc"],
        WriteMode::LowCost => keys!("low_cost"),
        WriteMode::MediumCost => keys!("medium_cost"),
        WriteMode::HighCost => keys!("high_cost"),
    }
}
