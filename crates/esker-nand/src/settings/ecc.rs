//! Bit errors of the cells, and the code that corrects them.

use esker_core::{Bytes, Nanos, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bit errors of the cells, and the code that corrects them. Every read of a page then takes as many decoding steps as
/// its errors need, and may fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EccSettings {
    /// The kind of code. It says how many parity bits correct how many errors.
    pub code: EccCode,
    /// Data that one codeword protects: a page, or a part of it.
    pub codeword: Bytes,
    /// Parity of one codeword; with its data it crosses the bus and has errors itself. Left out, the share of the
    /// page's spare bytes, or for "bch" what its first step needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity: Option<Bytes>,
    /// Decoding, step by step: what the first one cannot correct goes to the second, and so on. One to eight.
    pub steps: Vec<DecodingStepSettings>,
    /// How many errors the cells have.
    pub raw_errors: RawErrorSettings,
    /// Whether the number of errors of a page is drawn or expected.
    #[serde(default)]
    pub errors: ErrorCount,
    /// A page that the host reads is written again, elsewhere, when one of its codewords has more errors
    /// than this share of what the last step corrects (read reclaim). For layers that can `refresh`; left
    /// out, data are left where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_above: Option<Ratio>,
    /// How long before the start the data were programmed that are in flash then.
    #[serde(default)]
    pub retention_at_start: Nanos,
}

/// Which code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EccCode {
    /// Bose, Chaudhuri and Hocquenghem: t errors take m x t parity bits, where a codeword has less than 2^m bits.
    Bch,
    /// Low-density parity-check. What a step corrects is stated and not derived; no more than Shannon's limit for hard
    /// decisions allows in the first.
    Ldpc,
}

/// Whether the number of errors of a page is drawn or expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCount {
    /// Each bit is wrong with the probability that the model has, independently of others: binomial per codeword.
    #[default]
    Drawn,
    /// Every codeword has its mean number of errors. Reads then change their step all at once as cells age.
    Expected,
}

/// One decoding step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecodingStepSettings {
    /// Errors of a codeword that it corrects, counted as the first sensing sees them. More than the step before.
    pub corrects: u32,
    /// From the page's last byte on the bus until it is decoded, or known not to be.
    pub decode: Nanos,
    /// How often the cells are sensed for it, each time for `timing.page_read`: with other reference voltages, or with
    /// more of them for soft decisions. The first step has the read's own sensing.
    #[serde(default = "one")]
    pub sensings: u32,
    /// How often the page crosses the bus for it. The first step has the read's own transfer.
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
    /// Of a page that was just programmed, in a new block.
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
    /// What time is counted in.
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
