//! What a model is trained on and judged by: runs, each with the characteristics of its workload and what was measured.

use esker_results::profile::Profile;
use esker_results::{FlashReport, RunResults};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Significant digits of every number, so that a table of runs has all that a model was trained on.
const DIGITS: usize = 6;

/// What a workload is, and the drive that it meets: all that a model may know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Characteristics {
    /// Reads and writes per second.
    pub requests_per_s: f64,
    /// Reads, as a part of reads and writes.
    pub read_share: f64,
    /// Mean size of reads in bytes; 0 if there are none.
    pub read_bytes: f64,
    /// Mean size of writes in bytes; 0 if there are none.
    pub write_bytes: f64,
    /// Requests that begin where the one before ended, as a part of all.
    pub sequential_share: f64,
    /// Variance of the times between arrivals over their squared mean: 1 for Poisson arrivals, more for bursts.
    pub gap_variation: f64,
    /// Pages that hold data, as a part of the pages that the translation layer can use.
    pub fullness: f64,
    /// Bytes of a flash page.
    pub page_bytes: f64,
    /// Pages of an erase block.
    pub block_pages: f64,
}

/// What a run measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Mean response time in microseconds.
    pub response_us: f64,
    /// Busy share of the drive's busiest part.
    pub busy_share: f64,
    /// Programmed pages per page that the host wrote; 1 if it wrote none.
    pub write_amplification: f64,
    /// Erased blocks per second, of the whole drive.
    pub erases_per_s: f64,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its name.
    pub name: String,
    /// Its workload and its drive.
    pub characteristics: Characteristics,
    /// What it measured.
    pub measured: Measured,
}

/// Why a model can learn nothing from a run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoRun {
    /// The drive could not keep up: its response time is that of the length of the run.
    #[error("the drive saturated")]
    Saturated,
    /// It has no requests with times.
    #[error("its requests have no times")]
    NoTimes,
    /// The target is no solid-state drive.
    #[error("its target `{0}` is no solid-state drive with a page map, so there is nothing that the models describe")]
    NoDrive(String),
}

/// A number of [`Characteristics`] or [`Measured`] in a table: its name, and how it is read and set.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) of: fn(&Run) -> f64,
    pub(crate) set: fn(&mut Run, f64),
}

macro_rules! columns {
    ($($part:ident: $($name:ident)*;)*) => {
        &[$($(Column {
            name: stringify!($name),
            of: |run| run.$part.$name,
            set: |run, value| run.$part.$name = value,
        },)*)*]
    };
}

/// The columns of a table of runs, after the name.
pub(crate) static COLUMNS: &[Column] = columns! {
    characteristics: requests_per_s read_share read_bytes write_bytes sequential_share gap_variation fullness page_bytes
        block_pages;
    measured: response_us busy_share write_amplification erases_per_s;
};

/// The first of [`COLUMNS`] that is measured.
pub(crate) const MEASURED: usize = 9;

/// The drive of a run: its report, the bytes of a page, the pages of a block, and the filled share of its addresses if
/// it was filled beforehand.
struct Drive<'a> {
    flash: &'a FlashReport,
    page_bytes: f64,
    block_pages: f64,
    filled: Option<f64>,
}

impl Characteristics {
    /// Describes a workload with this profile on a drive that is full to `fullness`, with pages of `page_bytes` in
    /// blocks of `block_pages`.
    pub(crate) fn new(profile: &Profile, fullness: f64, page_bytes: f64, block_pages: f64) -> Result<Self, NoRun> {
        let (Some(duration), Some(gaps)) = (profile.duration_s.filter(|time| *time > 0.0), profile.inter_arrival)
        else {
            return Err(NoRun::NoTimes);
        };
        let requests = profile.read_requests + profile.write_requests;
        Ok(Self {
            requests_per_s: requests as f64 / duration,
            read_share: profile.read_requests as f64 / requests.max(1) as f64,
            read_bytes: profile.sizes.read_mean_bytes.unwrap_or(0.0),
            write_bytes: profile.sizes.write_mean_bytes.unwrap_or(0.0),
            sequential_share: profile.sequential_fraction,
            gap_variation: gaps.squared_coefficient_of_variation,
            fullness,
            page_bytes,
            block_pages,
        })
    }

    /// Describes the workload of `results`, which has this profile, and its drive. A drive that was not filled before
    /// the run is as full as the run leaves it.
    fn of(results: &RunResults, profile: &Profile) -> Result<Self, NoRun> {
        let Drive { flash, page_bytes, block_pages, filled } = drive_of(results)?;
        let host = flash.pages.host as f64;
        let touched = || (profile.footprint_bytes as f64 / page_bytes / host).min(1.0);
        let usable = flash.pages.data.saturating_sub(flash.pages.reserve).max(1) as f64;
        Self::new(profile, filled.unwrap_or_else(touched) * host / usable, page_bytes, block_pages)
    }
}

impl Run {
    /// Reads what `results` measured of a workload with this profile.
    pub fn of(name: &str, results: &RunResults, profile: &Profile) -> Result<Self, NoRun> {
        if results.saturated.is_some() {
            return Err(NoRun::Saturated);
        }
        let characteristics = Characteristics::of(results, profile)?;
        let flash = drive_of(results)?.flash;
        let busy = results.devices.values().flat_map(|device| device.utilisation_busiest.values());
        let measured = Measured {
            response_us: results.requests.all.response_time.mean_us,
            busy_share: busy.copied().fold(0.0, f64::max),
            write_amplification: flash.write_amplification.unwrap_or(1.0),
            erases_per_s: flash.erases as f64 / results.workload.duration_s,
        };
        let mut run = Self { name: name.to_string(), characteristics, measured };
        for column in COLUMNS {
            let value = rounded((column.of)(&run));
            (column.set)(&mut run, value);
        }
        Ok(run)
    }
}

/// Finds the drive in the results of a run, and its shape in their configuration.
fn drive_of(results: &RunResults) -> Result<Drive<'_>, NoRun> {
    let target = results.config["run"]["target"].as_str().unwrap_or_default();
    let settings = &results.config["device"][target];
    let none = || NoRun::NoDrive(target.to_string());
    let flash = results.devices.get(target).and_then(|device| device.flash.as_ref()).ok_or_else(none)?;
    let geometry = &settings["geometry"];
    let page_bytes = geometry["page_size"].as_str().and_then(|text| text.parse::<esker_core::Bytes>().ok());
    let filled = settings["utilisation"].as_str().and_then(|text| text.parse::<esker_core::Ratio>().ok());
    Ok(Drive {
        flash,
        page_bytes: page_bytes.ok_or_else(none)?.0 as f64,
        block_pages: geometry["pages_per_block"].as_f64().ok_or_else(none)?,
        filled: filled.map(esker_core::Ratio::as_f64),
    })
}

/// The value with [`DIGITS`] significant digits.
fn rounded(value: f64) -> f64 {
    // Through the text, which gives the number nearest to these digits.
    format!("{value:.*e}", DIGITS - 1).parse().expect("a number that was just written")
}
