//! Write amplification and lifetime of a flash design.

use std::collections::BTreeMap;

use esker_core::{Bytes, words};
use esker_results::{DeviceReport, FlashReport, SettledResults, Settling};
use esker_sim::{SettleSettings, Simulation};

use crate::late_writes::LateWrites;
use crate::lifetime::{Wear, lifetime_years, load_of};
use crate::load::StudyWorkload;
use crate::promotions::promotions;
use crate::{DesignFault, Hooks, StudyError};
use esker_results::study::Endurance;

/// Traces shorter than this many seconds do not tell how much is written a day.
const SHORT: f64 = 600.0;
/// If the load of such a trace lasts eight hours a day, this is the share of a full day's writes.
const EIGHT_HOURS: f64 = 1.0 / 3.0;

/// The flash of a design as it is sold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlashOnSale {
    /// Bytes of flash in all its drives, including spare space.
    pub(crate) raw: Bytes,
    /// Capacity on sale of all its drives.
    pub(crate) capacity: Bytes,
    /// The makers' warranty for writes, if there is one.
    pub(crate) warranty: Option<Warranty>,
    /// Whether the catalogue states the rated erases of a block. If not, the preset assumes them.
    pub(crate) cycles_are_stated: bool,
}

/// Writes that makers warrant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Warranty {
    /// Host bytes a day.
    pub(crate) bytes_per_day: f64,
    /// How long the warranty lasts.
    pub(crate) years: f64,
}

impl FlashOnSale {
    /// Returns the rated erases of each block, and whether they follow from the warranty. A warranty is published,
    /// while the erases `of_preset` are assumed for a kind of flash. If writing what is warranted at random takes more
    /// erases, these count. `random` is the write amplification of random writes.
    pub(crate) fn rated_cycles(&self, of_preset: u64, random: f64) -> (u64, bool) {
        let warranted = self.warranty.map_or(0.0, |Warranty { bytes_per_day, years }| {
            bytes_per_day * 365.0 * years * random / self.raw.0.max(1) as f64
        });
        let warranted = warranted.ceil() as u64;
        let counts = !self.cycles_are_stated && warranted > of_preset;
        (if counts { warranted } else { of_preset }, counts)
    }
}

/// What the workload writes, and for how long the flash has to take it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    host_bytes_per_day: Option<f64>,
    /// Length of the trace, if it tells how much is written a day.
    seconds: Option<f64>,
    /// Whether the trace is too short to tell how much is written a day.
    short: bool,
    growth_per_year: f64,
    years: f64,
}

impl Demand {
    /// Returns the demand of a workload that goes on at its mean rate.
    pub(crate) fn of(workload: &StudyWorkload, growth_per_year: f64, years: f64) -> Self {
        let duration = workload.profile.duration_s.filter(|&seconds| workload.has_times() && seconds > 0.0);
        let host_bytes_per_day = duration.map(|seconds| workload.profile.write_bytes as f64 / seconds * 86_400.0);
        let short = duration.is_some_and(|seconds| seconds < SHORT);
        Self { host_bytes_per_day, seconds: duration, short, growth_per_year, years }
    }

    /// Returns this demand for flash that takes `bytes` in the time of the trace.
    fn of_flash(&self, bytes: f64) -> Self {
        Self { host_bytes_per_day: self.seconds.map(|seconds| bytes / seconds * 86_400.0), ..*self }
    }

    /// Returns the least and the most host bytes a day that the trace allows for, on average over the budgeted years.
    pub(crate) fn bytes_per_day(&self) -> Option<[f64; 2]> {
        let most = self.host_bytes_per_day? * load_of(self.years, self.growth_per_year) / self.years;
        Some([if self.short { most * EIGHT_HOURS } else { most }, most])
    }
}

/// The wear of the flash of a simulated design, whatever the size of the drives on sale.
#[derive(Clone, Debug)]
pub(crate) struct FlashWear {
    settled: SettledResults,
    settings: SettleSettings,
    /// Programs per page if a drive as full as this one is overwritten at random: no workload costs more.
    random: f64,
    rated_cycles: u64,
    /// Bytes of whole pages written per host byte, before amplification: a partial page costs a whole program.
    page_bytes_per_byte: f64,
    /// Where the flash does not take what the host writes, bytes of whole pages that it takes in the time of the trace,
    /// including moved extents and filled lines. They count instead of the host's bytes.
    on_flash: Option<f64>,
    /// Those of them that were promoted; `None` if nothing is, or if it cannot be told.
    promoted: Option<f64>,
}

/// Finds write amplification by going on after the measured run of a simulation, whose results are in `devices`. `late`
/// has the late writes to the flash if it does not take what the host writes.
pub(crate) fn flash_wear(
    workload: &StudyWorkload,
    simulation: &mut Simulation,
    devices: &BTreeMap<String, DeviceReport>,
    late: Option<&LateWrites>,
    hooks: &Hooks<'_>,
) -> Result<FlashWear, StudyError> {
    let drives: Vec<&FlashReport> = devices.values().filter_map(|device| device.flash.as_ref()).collect();
    let Some(drive) = drives.first() else { return Err(StudyError::design(DesignFault::NoFlash)) };
    let settled = simulation.settle(&workload.requests, Some(hooks.cancel)).map_err(StudyError::design)?;
    let settings = simulation.experiment().run.settle.clone();
    let Some((settled, settings)) = settled.zip(settings) else { return Err(StudyError::design(DesignFault::NoFlash)) };
    let host_pages: u64 = drives.iter().map(|drive| drive.pages.host).sum();
    let page_writes: u64 = drives.iter().map(|drive| drive.host_page_writes).sum();
    let sold: u64 = match late {
        Some(_) => devices.values().filter(|device| device.flash.is_some()).map(|device| device.capacity_bytes).sum(),
        None => simulation.device().capacity().0,
    };
    let page_bytes = sold as f64 / host_pages.max(1) as f64;
    let (on_flash, promoted) = late.map(|late| late.bytes_of_trace(page_writes, page_bytes)).unzip();
    Ok(FlashWear {
        random: drive.precondition.as_ref().map_or(1.0, |precondition| precondition.write_amplification).max(1.0),
        rated_cycles: drive.endurance_cycles,
        page_bytes_per_byte: match on_flash {
            Some(_) => 1.0,
            None => page_writes as f64 * page_bytes / workload.profile.write_bytes.max(1) as f64,
        },
        on_flash,
        promoted: promoted.flatten(),
        settled,
        settings,
    })
}

/// Judges the life of the drives on sale.
pub(crate) fn judge(flash_wear: &FlashWear, on_sale: &FlashOnSale, demand: &Demand) -> Endurance {
    let FlashWear { settled, random, on_flash, page_bytes_per_byte, .. } = flash_wear;
    let (rated_cycles, cycles_of_warranty) = on_sale.rated_cycles(flash_wear.rated_cycles, *random);
    let of_flash = on_flash.map(|bytes| demand.of_flash(bytes));
    let demand = of_flash.as_ref().unwrap_or(demand);
    let nothing = settled.outcome == Settling::NothingWritten;
    let measured = settled.write_amplification.filter(|&amplification| amplification > 0.0);
    let judged = nothing || settled.outcome.may_be_judged() && measured.is_some();
    let wear = |write_amplification: f64, share_of_day: f64| {
        demand.host_bytes_per_day.map(|bytes| Wear {
            raw: on_sale.raw,
            rated_cycles,
            write_amplification,
            host_bytes_per_day: bytes * share_of_day * page_bytes_per_byte,
            growth_per_year: demand.growth_per_year,
        })
    };
    let years = |amplification: f64, share_of_day: f64| wear(amplification, share_of_day).as_ref().map(lifetime_years);
    let promoted = flash_wear.promoted.and_then(|bytes| demand.of_flash(bytes).host_bytes_per_day);
    let least = if demand.short { EIGHT_HOURS } else { 1.0 };
    let (worst, best) = if judged { (measured.unwrap_or(1.0), measured.unwrap_or(1.0)) } else { (*random, 1.0) };
    let (lowest, highest) = (years(worst, 1.0), years(best, least));
    let capacity = on_sale.capacity.0.max(1) as f64;
    let per_day = demand.bytes_per_day();
    let kept = lowest.zip(highest).zip(per_day).and_then(|(((lowest, _), (highest, _)), asked)| {
        let warranted = on_sale.warranty.map_or(f64::INFINITY, |warranty| warranty.bytes_per_day);
        is_kept([lowest, highest], asked, demand.years, warranted)
    });
    let number = lowest.filter(|_| !demand.short);
    let below_warranty = lowest.zip(per_day).zip(on_sale.warranty).and_then(|(((years, _), [_, most]), warranty)| {
        let costs = Costs { page_bytes_per_byte: *page_bytes_per_byte, amplification: worst, random: *random };
        below_warranty(years, most, &warranty, &costs, rated_cycles)
    });
    Endurance {
        write_amplification: if judged { measured } else { None },
        judged,
        basis: basis(settled, &flash_wear.settings, *random),
        passes: settled.passes,
        host_bytes_per_day: demand.host_bytes_per_day,
        drive_writes_per_day: demand.host_bytes_per_day.map(|bytes| bytes / capacity),
        lifetime_capacity_bytes: on_sale.capacity.0,
        lifetime_years: number.map(|(years, _)| years),
        lifetime_is_lower_bound: number.is_some_and(|(_, bounded)| bounded || !judged),
        lifetime_range_years: lowest.zip(highest).filter(|_| demand.short).map(|((low, _), (high, _))| [low, high]),
        drive_writes_per_day_asked: per_day.map(|[_, most]| most / capacity),
        drive_writes_per_day_sold: on_sale.warranty.map(|warranty| warranty.bytes_per_day / capacity),
        kept,
        rated_cycles,
        cycles_of_warranty,
        raw_bytes: on_sale.raw.0,
        page_bytes_per_byte: *page_bytes_per_byte,
        lifetime_amplification: worst,
        below_warranty,
        cleaning_share: settled.cleaning_share,
        promotions: promoted.zip(wear(worst, 1.0)).map(|(bytes, wear)| promotions(bytes, &wear, demand.short)),
    }
}

/// Returns whether a drive that lasts between `lowest` and `highest` years, and has to take between `fewest` and `most`
/// bytes a day, lasts `years` years and is written at most `warranted` bytes a day; `None` if that cannot be told.
fn is_kept([lowest, highest]: [f64; 2], [fewest, most]: [f64; 2], years: f64, warranted: f64) -> Option<bool> {
    if lowest >= years && most <= warranted {
        Some(true)
    } else if highest < years || fewest > warranted {
        Some(false)
    } else {
        None
    }
}

/// What one host byte costs a drive.
struct Costs {
    page_bytes_per_byte: f64,
    amplification: f64,
    /// The amplification of random overwriting. The warranty is assumed to hold for it.
    random: f64,
}

/// Says why a drive that is written no more than its maker warrants lasts less than the warranty; `None` if it lasts as
/// long, or is written more.
fn below_warranty(
    years: f64,
    bytes_per_day: f64,
    warranty: &Warranty,
    costs: &Costs,
    rated_cycles: u64,
) -> Option<String> {
    // A life that is less than an hour too short is rounded.
    if bytes_per_day > warranty.bytes_per_day || years >= warranty.years * (1.0 - 1e-5) {
        return None;
    }
    let Costs { page_bytes_per_byte, amplification, random } = *costs;
    let mut causes = Vec::new();
    if page_bytes_per_byte > 1.01 {
        causes.push(format!(
            "requests fill whole pages only in part, so that each byte written programs {}",
            words::factor(page_bytes_per_byte)
        ));
    }
    if amplification > random * 1.01 {
        let [is, random] = [amplification, random].map(|times| words::amplification(Some(times)));
        causes.push(format!("write amplification is {is}, above the {random} of random overwriting"));
    }
    if causes.is_empty() {
        causes.push(format!("the catalogue rates its blocks for {} erases", words::count(rated_cycles)));
    }
    Some(format!(
        "It is written no more than its maker warrants for {}, and lasts {} all the same: {}.",
        words::years(warranty.years),
        words::years(years),
        causes.join("; ")
    ))
}

/// Explains in the report how write amplification was found, or why it could not be.
fn basis(settled: &SettledResults, settings: &SettleSettings, random: f64) -> String {
    let (passes, capacities) = (settled.passes, words::factor(settled.capacities_written));
    let instead = format!(
        "Life is judged as if all were written at random, which costs {} programs a page.",
        words::amplification(Some(random))
    );
    match settled.outcome {
        Settling::NothingWritten => "The trace writes nothing.".to_string(),
        Settling::OnePassIsEnough => format!("The trace writes the design's host capacity {capacities} times."),
        Settling::Settled => format!(
            "The trace's writes were repeated {passes} times ({capacities} host capacities), until write amplification \
            settled within {}.",
            words::percent(settings.within.as_f64())
        ),
        Settling::NotSettled => format!(
            "Too few writes to judge write amplification: {passes} passes wrote {capacities} times the host capacity \
            and it had not settled. {instead}"
        ),
        Settling::MostlyBuffered => format!(
            "Too few writes to judge write amplification: the trace writes less than ten times what the write buffer \
            holds, and repeated it would overwrite itself there. {instead}"
        ),
        Settling::TooFewWrites => format!(
            "Too few writes to judge write amplification: it would take {} passes of the trace to write the host \
            capacity once. {instead}",
            words::count((1.0 / settled.capacities_written) as u64)
        ),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Wear of a drive, and writes to it, in round figures.
    pub(crate) struct WearFigures {
        pub(crate) bytes_per_day: f64,
        /// Programs per page of random overwriting.
        pub(crate) random: f64,
        /// Programs per page that were measured; `None` if too little was written.
        pub(crate) amplification: Option<f64>,
        pub(crate) page_bytes_per_byte: f64,
    }

    impl Default for WearFigures {
        fn default() -> Self {
            Self { bytes_per_day: 1e12, random: 2.0, amplification: Some(1.5), page_bytes_per_byte: 1.0 }
        }
    }

    /// Judges drives that have 5,000 erases by their preset, for five years.
    pub(crate) fn judge_worn(on_sale: &FlashOnSale, worn: &WearFigures) -> Endurance {
        let settled = SettledResults {
            outcome: if worn.amplification.is_some() { Settling::Settled } else { Settling::TooFewWrites },
            write_amplification: worn.amplification,
            cleaning_share: 0.0,
            passes: 1,
            capacities_written: 1.0,
        };
        let flash_wear = FlashWear {
            settled,
            settings: SettleSettings::default(),
            random: worn.random,
            rated_cycles: 5_000,
            page_bytes_per_byte: worn.page_bytes_per_byte,
            on_flash: None,
            promoted: None,
        };
        let demand = Demand {
            host_bytes_per_day: Some(worn.bytes_per_day),
            seconds: Some(86_400.0),
            short: false,
            growth_per_year: 0.0,
            years: 5.0,
        };
        judge(&flash_wear, on_sale, &demand)
    }

    #[test]
    fn erases_are_those_of_the_preset_the_warranty_or_the_catalogue() {
        let warranty = Some(Warranty { bytes_per_day: 3e12, years: 5.0 });
        let flash = FlashOnSale {
            raw: Bytes(1_000_000_000_000),
            capacity: Bytes(1_000_000_000_000),
            warranty,
            cycles_are_stated: false,
        };
        // 3 x 1,825 drive writes at 2 programs a page.
        assert_eq!(flash.rated_cycles(5_000, 2.0), (10_950, true));
        assert_eq!(flash.rated_cycles(20_000, 2.0), (20_000, false));
        assert_eq!(FlashOnSale { warranty: None, ..flash }.rated_cycles(5_000, 2.0), (5_000, false));
        assert_eq!(FlashOnSale { cycles_are_stated: true, ..flash }.rated_cycles(5_000, 2.0), (5_000, false));
    }
}
