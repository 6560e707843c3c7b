//! Settings of bit errors and of the error-correcting code.

use esker_core::{Bytes, Nanos, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bit errors of the cells, and the code that corrects them. A read then takes as many decoding steps as its page's
/// errors need, and may fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EccSettings {
    /// The kind of code. It relates parity bits to the number of errors that can be corrected.
    pub code: EccCode,
    /// Data bytes of a codeword: a page, or an equal part of one.
    pub codeword: Bytes,
    /// Parity bytes of a codeword. They cross the bus with the data, and have errors themselves. Default: a share of
    /// the page's spare bytes, or for "bch" what the first decoding step needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity: Option<Bytes>,
    /// The decoding steps, one to eight. What a step cannot correct goes to the next.
    pub steps: Vec<DecodingStepSettings>,
    /// How many errors the cells have.
    pub raw_errors: RawErrorSettings,
    /// Whether the number of errors of a page is drawn or expected.
    #[serde(default)]
    pub errors: ErrorCount,
    /// A page that the host reads is rewritten elsewhere if one of its codewords has more errors than this share of
    /// what the last step corrects (read reclaim). Needs a layer that can `refresh`. Without it, data are never
    /// rewritten for their errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_above: Option<Ratio>,
    /// Age of the data that are in flash at the start.
    #[serde(default)]
    pub retention_at_start: Nanos,
}

/// The kind of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EccCode {
    /// Bose, Chaudhuri and Hocquenghem: t errors take m x t parity bits, where a codeword has less than 2^m bits.
    Bch,
    /// Low-density parity-check. The number of errors that a step corrects is given, not derived. The first step must
    /// stay within Shannon's limit for hard decisions.
    Ldpc,
}

/// Whether the number of errors of a page is drawn or expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCount {
    /// Each bit is wrong with the model's probability, independently of others: binomial per codeword.
    #[default]
    Drawn,
    /// Every codeword has the mean number of errors. As cells age, all reads then change their step at the same time.
    Expected,
}

/// One decoding step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecodingStepSettings {
    /// Errors of a codeword that the step corrects, as counted by the first sensing. More than the step before.
    pub corrects: u32,
    /// Time from the page's last byte on the bus until it is decoded, or found to be undecodable.
    pub decode: Nanos,
    /// How often the cells are sensed for the step, each time for `timing.page_read`: with other reference voltages, or
    /// with more of them for soft decisions. For the first step, this is the read's own sensing.
    #[serde(default = "one")]
    pub sensings: u32,
    /// How often the page crosses the bus for the step. For the first step, this is the read's own transfer.
    #[serde(default = "one")]
    pub transfers: u32,
}

fn one() -> u32 {
    1
}

/// Share of wrong bits of a page: `fresh` + `wear` x c^`wear_exponent` + `retention` x c^`retention_wear_exponent` x
/// t^`retention_exponent` + `disturb` x c^`disturb_wear_exponent` x r^`disturb_exponent`, with the erases c of its
/// block, the time t since it was programmed, and the mean reads r of a page of its block since the erase (the form of
/// Kim, Choi and Min, "Design Tradeoffs for SSD Reliability", USENIX FAST 2019, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawErrorSettings {
    /// Error rate of a page that was just programmed, in a new block.
    pub fresh: f64,
    /// Factor of wear.
    #[serde(default)]
    pub wear: f64,
    /// Exponent of the erases.
    #[serde(default)]
    pub wear_exponent: f64,
    /// Factor of retention.
    #[serde(default)]
    pub retention: f64,
    /// Exponent of the erases in the term of retention.
    #[serde(default)]
    pub retention_wear_exponent: f64,
    /// Exponent of time.
    #[serde(default)]
    pub retention_exponent: f64,
    /// Unit of time in the term of retention.
    #[serde(default = "day")]
    pub retention_unit: Nanos,
    /// Factor of read disturb.
    #[serde(default)]
    pub disturb: f64,
    /// Exponent of the erases in the term of read disturb.
    #[serde(default)]
    pub disturb_wear_exponent: f64,
    /// Exponent of the reads.
    #[serde(default)]
    pub disturb_exponent: f64,
}

fn day() -> Nanos {
    Nanos::from_secs(86_400)
}
