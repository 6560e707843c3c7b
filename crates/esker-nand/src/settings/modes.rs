//! Settings of write modes: how finely pages are programmed.

use esker_core::registry::Choice;
use esker_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DecodingStepSettings, EccCode};

/// Write modes: pages are programmed in coarse steps of voltage, which is fast and leaves more bit errors, or in fine
/// ones, which make later reads faster (Xia 2017, chapter 5). The drive's `timing` and `ecc` are those of the normal
/// mode. A mode that the policy does not use may be given all the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteModeSettings {
    /// The policy that chooses the mode of each page: one of `WRITE_MODE_POLICIES`.
    pub policy: Choice,
    /// Pages that are fast to program and slow to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_cost: Option<ModeSettings>,
    /// Pages between these two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium_cost: Option<ModeSettings>,
    /// Pages that are slow to program and fast to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_cost: Option<ModeSettings>,
}

/// Times and errors of pages that are programmed in one mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeSettings {
    /// Program of a page, from data register to cells.
    pub page_program: Nanos,
    /// Read of such a page from cells to data register, with all sensings that its code needs. Default: as
    /// `timing.page_read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_read: Option<Nanos>,
    /// Time in the decoder after the transfer, while the die can go on. Only without `ecc`, whose decoding steps give
    /// this time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub decode: Nanos,
    /// Raw bit-error rate of such pages, as a multiple of that of `ecc.raw_errors`. Only with `ecc`.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub raw_errors: f64,
    /// The code of such pages. Only with `ecc`. Default: that of `ecc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ModeCodeSettings>,
}

/// The code of pages that are programmed in one mode. Codewords have as many data bytes as those of `ecc`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeCodeSettings {
    /// The kind of code.
    pub code: EccCode,
    /// Parity bytes of a codeword, as `ecc.parity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity: Option<Bytes>,
    /// The decoding steps, one to eight, as `ecc.steps`.
    pub steps: Vec<DecodingStepSettings>,
}

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}
fn one() -> f64 {
    1.0
}
fn is_one(factor: &f64) -> bool {
    *factor == 1.0
}
