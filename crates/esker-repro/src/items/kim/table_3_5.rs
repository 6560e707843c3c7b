//! Kim 2009, tables 3.4 and 3.5: page map, DFTL and FAST under the Financial trace.
//!
//! The whole trace is not available. Its stand-in follows table 3.3 ([`super::workload`]). The first 10,000 requests of
//! Financial1, repeated, are shown for comparison if the user has them.

use std::num::NonZeroU32;

use esker_flash::{ParameterValue, SsdSettings};
use esker_results::{FlashReport, RunResults};
use esker_sim::{BeyondCapacity, WorkloadSettings};

use super::drive::{LAYERS, Setup, StandInRun, simulate};
use super::times;
use super::workload::FINANCIAL;
use crate::traces::{self, PaperTrace, PlannedRun};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-3.5",
    title: "Response times and cleaning of a page map, DFTL and FAST under Financial (with table 3.4)",
    source: "Kim, dissertation, Pennsylvania State University, 2009, sections 3.5.1 and 3.5.2, tables 3.4 and 3.5, \
        figure 3.10",
    sections: &["3.5.1", "3.5.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let workload = FINANCIAL.shortened(part);
    let mut claims = Vec::new();
    let mut runs = Vec::new();
    for (index, layer) in LAYERS.into_iter().enumerate() {
        runs.push(simulate(item, context, &Setup::new(&workload, layer, (index, PARTS)))?);
    }
    let late = Setup { change: &write_back_late, ..Setup::new(&workload, "DFTL", (LAYERS.len(), PARTS)) };
    let late = simulate(item, context, &late)?;
    claims.extend(written_late(item, &runs, &late).into_iter().map(|claim| claim.on_stand_in(FINANCIAL.stand_in)));
    claims.extend(on_stand_in(item, &runs).into_iter().map(|claim| claim.on_stand_in(FINANCIAL.stand_in)));
    claims.push(Claim::unreachable(
        item.name,
        "DFTL that writes its map back first, against the page map: mean response, at most half more",
        Some(1.42),
        HALF_MORE,
    ));
    claims.extend(on_head(item, context)?);
    Ok(claims.into())
}

fn write_back_late(ssd: &mut SsdSettings) {
    ssd.ftl.parameters.insert("late_write_back".to_string(), ParameterValue::Flag(true));
}

/// DFTL with map writes after the requests, which may be what the paper measured.
fn written_late(item: &Item, runs: &[StandInRun], late: &StandInRun) -> [Claim; 3] {
    [
        Claim::at_most(
            item.name,
            "DFTL with late write-back against the page map: mean response, at most half more",
            1.5,
            late.response_ms() / runs[0].response_ms(),
            "published 0.61 over 0.43 ms, 1.42",
        ),
        Claim::at_most(
            item.name,
            "DFTL with late write-back against FAST: mean response, at most three tenths of it",
            0.3,
            late.response_ms() / runs[2].response_ms(),
            "published 0.61 of 2.75 ms, 78 % below; 70 % or more asked for",
        ),
        Claim::compared(item.name, "DFTL with late write-back: mean device time, ms", 0.55, late.device_ms(), LATER),
    ]
}

fn on_stand_in(item: &Item, runs: &[StandInRun]) -> Vec<Claim> {
    let [page, dftl, fast] = runs else { unreachable!("one run for each of the three layers") };
    let compared = |claim, published, measured, reason| Claim::compared(item.name, claim, published, measured, reason);
    let mapping = dftl.flash.mapping.unwrap_or_default();
    let mut claims = Vec::new();
    for ((name, run), published) in
        [("page map", page), ("DFTL", dftl), ("FAST", fast)].into_iter().zip(times::of("Financial"))
    {
        let reason = |column: &str| match (name, column) {
            ("DFTL", _) => NOT_CHARGED,
            ("page map", "wait in the driver") => "table 3.5; bursts were chosen with it in view",
            _ => "table 3.5",
        };
        claims.extend(times::compared(item, name, published, run, reason));
    }
    claims.extend([
        Claim::at_most(
            item.name,
            "DFTL against FAST: mean response, at most three tenths of it",
            0.3,
            dftl.response_ms() / fast.response_ms(),
            "published 0.61 of 2.75 ms, 78 % below; 70 % or more asked for",
        ),
        Claim::none(item.name, "DFTL: full merges", dftl.flash.merges.full as f64, "table 3.4 has none"),
        compared(
            "FAST: full merges",
            8_865.0,
            fast.flash.merges.full as f64,
            "table 3.4; span, skew and log were chosen with it in view",
        ),
        Claim::share(
            item.name,
            "FAST: full merges of 20 data blocks or more, share",
            0.2,
            fast.share_of_merges(20),
            "figure 3.10; about a fifth",
        ),
        compared("FAST: erases", 151_180.0, fast.flash.erases as f64, "table 3.4"),
        compared("page map: erases", 10_111.0, page.flash.erases as f64, "table 3.4"),
        compared("DFTL: erases of data blocks", 10_176.0, mapping.data_erases as f64, "table 3.4"),
        compared("DFTL: erases of map blocks", 4_240.0, mapping.map_erases as f64, "table 3.4"),
        Claim::share(
            item.name,
            "DFTL: share of look-ups that hit",
            0.63,
            dftl.hit_ratio(),
            "section 3.5.1; skew and recency were chosen with it in view",
        ),
        compared("DFTL: (3) map reads for translation", 517_456.0, mapping.translation_reads as f64, "table 3.4"),
        compared("DFTL: (7) map writes for translation", 258_017.0, mapping.translation_writes as f64, "table 3.4"),
        compared("DFTL: (1) data reads while cleaning", 19_369.0, mapping.cleaning_data_reads as f64, "table 3.4"),
    ]);
    claims
}

const NOT_CHARGED: &str = "table 3.4's own map operations, (3) x 130.9 us + (7) x 405.9 us, come to 0.55 ms per \
                           request; table 3.5 has 0.16 ms more than the page map, so most of them were not charged to \
                           requests";
const HALF_MORE: &str = "table 3.4's map operations take 0.55 ms per request where each request waits for them, \
                         against 0.39 ms for its data: a ratio of 2.4, which a drive that charges them cannot go much \
                         below";

const LATER: &str = "table 3.4's map reads without those before a map write, (3) - (7), take 0.11 ms per request, so a \
                     page map's 0.39 ms become 0.50 where nobody waits for map writes; 0.39 + 0.55 where everybody \
                     does";
/// Number of runs on the stand-in and on the head of the trace.
const PARTS: usize = 2 * LAYERS.len() + 1;

/// The first requests of the real trace. Files are recognised by name alone.
const FINANCIAL_HEAD: PaperTrace =
    PaperTrace { title: "the head of Financial1", names: &["Financial1-first10k.spc", "Financial1-first10k.spc.zst"] };
const HEAD: &str = "the first 10,000 requests of Financial1, repeated";
/// This many passes have about as many requests as table 3.4.
const PASSES: NonZeroU32 = NonZeroU32::new(32).expect("it is not zero");
const DIFFERS: &str = "41 % of the head are reads, 45 % continue the request before, and it touches 29 MiB; the \
    paper's extract has 9 % and 2 %";

/// The drive and the layers of the table under the real trace's head.
fn on_head(item: &Item, context: &Context<'_>) -> Result<Vec<Claim>, ReproduceError> {
    const CLAIM: &str = "head of Financial1, DFTL against FAST: mean response below FAST's, share";
    let path = match FINANCIAL_HEAD.find(context) {
        Ok(path) => path,
        Err(missing) => return Ok(vec![Claim::unreachable(item.name, CLAIM, Some(0.78), &missing)]),
    };
    let mut runs = Vec::new();
    for (index, layer) in LAYERS.into_iter().enumerate() {
        let setup = Setup::new(&FINANCIAL, layer, (0, 1));
        let workload = WorkloadSettings {
            passes: Some(PASSES),
            beyond_capacity: BeyondCapacity::Dense,
            ..traces::workload(&path)
        };
        let plan = PlannedRun::new(setup.drive().system(), workload);
        runs.push(traces::run(item, context, plan, (LAYERS.len() + 1 + index, PARTS))?);
    }
    let response = |run: &RunResults| run.requests.all.response_time.mean_us / 1e3;
    let flash = |run: &RunResults| -> FlashReport {
        run.devices.values().find_map(|device| device.flash.clone()).unwrap_or_default()
    };
    let [page, dftl, fast] = [0, 1, 2].map(|layer| &runs[layer]);
    let hits = flash(dftl).mapping.and_then(|mapping| mapping.hit_ratio()).unwrap_or(f64::NAN);
    Ok([
        Claim::share(item.name, CLAIM, 0.78, 1.0 - response(dftl) / response(fast), DIFFERS),
        Claim::compared(item.name, "head of Financial1, page map: mean response, ms", 0.43, response(page), DIFFERS),
        Claim::compared(item.name, "head of Financial1, DFTL: mean response, ms", 0.61, response(dftl), DIFFERS),
        Claim::compared(item.name, "head of Financial1, FAST: mean response, ms", 2.75, response(fast), DIFFERS),
        Claim::share(item.name, "head of Financial1, DFTL: share of look-ups that hit", 0.63, hits, DIFFERS),
    ]
    .into_iter()
    .map(|claim| claim.on_stand_in(HEAD))
    .collect())
}

#[cfg(test)]
mod tests {
    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim() {
        assert_eq!(short(&ITEM, measure, 0.02).claims.len(), 26 + 9);
    }

    /// The figures in the explanations follow from the tables.
    #[test]
    fn what_is_said_of_table_3_4_follows_from_it() {
        let (requests, read_us, write_us) = (316_000.0, 130.9, 405.9);
        let map_ms = (517_456.0 * read_us + 258_017.0 * write_us) / requests / 1e3;
        assert!((map_ms - 0.55f64).abs() < 0.01, "{map_ms}");
        assert!(((0.39 + map_ms) / 0.39 - 2.4f64).abs() < 0.03);
        let first_reads_ms = (517_456.0 - 258_017.0) * read_us / requests / 1e3;
        assert!((first_reads_ms - 0.11f64).abs() < 0.005, "{first_reads_ms}");
        let pages_written = 10_111.0 * 64.0 - 15_573.0;
        assert!((pages_written / (requests * 0.91 * 4.38 / 2.0) - 1.0f64).abs() < 0.01, "{pages_written}");
        let one_page_ms = (0.91 * write_us + 0.09 * read_us) / 1e3;
        assert!((one_page_ms - 0.38f64).abs() < 0.005, "{one_page_ms}");
    }
}
