//! Lifetime of the flash, and the load that it is for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A design under a load that has grown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrownLoad {
    /// How many times as fast requests arrive as in the trace.
    pub factor: f64,
    /// Whether every request was served.
    pub keeps_up: bool,
    /// 99th percentile of the response time in the busiest hour; absent if it cannot keep up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busiest_hour_p99_us: Option<f64>,
}

/// A load that empties the credits of a volume sooner or later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunsDry {
    /// How many times what the volume lets through for good the load asks for on average.
    pub times: f64,
    /// The same in words.
    pub reason: String,
}

/// Wear and cleaning of the flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endurance {
    /// Programs per page written by the host; absent if the host wrote nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_amplification: Option<f64>,
    /// Whether write amplification had settled, so that the lifetime may be judged.
    pub judged: bool,
    /// How that was found, or why it was not.
    pub basis: String,
    /// How often the trace was played for that.
    pub passes: u32,
    /// Bytes that the host writes per day, at the mean rate of the trace.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host_bytes_per_day: Option<f64>,
    /// Bytes that the host writes per day, as a multiple of the drive's capacity (`lifetime_capacity_bytes`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drive_writes_per_day: Option<f64>,
    /// Capacity that the lifetime is for: that of the drives as sold. Write amplification is that of the simulated
    /// part, which has the spare share of the whole drive.
    pub lifetime_capacity_bytes: u64,
    /// Years until the mean block reaches its rated erases, including growth.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lifetime_years: Option<f64>,
    /// Whether the lifetime reads "more than": it was cut off at its upper limit, or amplification could not be judged
    /// and that of random overwriting was taken, which is the worst.
    pub lifetime_is_lower_bound: bool,
    /// Where the trace is too short to tell how much is written a day: the years if it goes on around the clock, and if
    /// it does for eight hours a day.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lifetime_range_years: Option<[f64; 2]>,
    /// Host bytes written a day as a multiple of the capacity on sale, on average over the budgeted years.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drive_writes_per_day_asked: Option<f64>,
    /// Drive writes a day that the drive's maker warrants.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drive_writes_per_day_sold: Option<f64>,
    /// Whether it lasts for the budgeted years, and asks for no more writes than are warranted. Absent if too little is
    /// known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kept: Option<bool>,
    /// Rated erases per block that the life is judged by: those of the preset, or as many as the maker's warranty takes
    /// if these are more (`cycles_of_warranty`).
    pub rated_cycles: u64,
    /// Whether `rated_cycles` follow from the warranty: its bytes, written at random, take more erases than the preset
    /// assumes for such flash.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cycles_of_warranty: bool,
    /// Bytes of flash in all drives of the design as sold, including spare space.
    pub raw_bytes: u64,
    /// Bytes of whole flash pages that are programmed for each byte of the host, before amplification.
    pub page_bytes_per_byte: f64,
    /// Programs per page written by the host that the shorter life is judged by: `write_amplification`, or that of
    /// random overwriting where this could not be measured.
    pub lifetime_amplification: f64,
    /// Why a drive that is written no more than its maker warrants has a life below the warranty: a sentence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub below_warranty: Option<String>,
    /// Share of programs that cleaning caused.
    pub cleaning_share: f64,
    /// What it costs that the design itself writes data to its flash. Absent where it does not, and where that cannot
    /// be told: its policy had not settled, or its cache was not warm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub promotions: Option<Promotions>,
}

/// Data that a design itself writes to its flash, beside what the host writes there: extents that move there, or lines
/// that fill a cache. Only what goes on for good counts. They are amplified as the host's writes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Promotions {
    /// Bytes a day to the flash of one copy, at the mean rate of the trace.
    pub bytes_per_day: f64,
    /// These bytes over all that the flash takes.
    pub share_of_writes: f64,
    /// Share of all rated erases that these bytes use up in a day, with `lifetime_amplification`.
    pub life_share_per_day: f64,
    /// As `lifetime_years`, if these bytes were not written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lifetime_years_without: Option<f64>,
    /// Whether that was cut off at the upper limit of lifetimes.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub without_is_cut_off: bool,
}
