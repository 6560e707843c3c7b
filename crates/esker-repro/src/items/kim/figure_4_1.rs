//! Kim 2009, figure 4.1 with table 4.2: an SSD and a disk side by side, and how long the SSD lasts.

use super::tested::{Asked, DISK, SSD_FAST, SSD_PAGE, Tested};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-4.1",
    title: "Throughput and latency of an SSD and a disk, and the life of the SSD (with table 4.2)",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 4.2, figure 4.1, table 4.2",
    sections: &["4.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// The paper has its flash in pages of 2 KB; requests here have two of them, as the paper gives no size.
const KIB: u32 = 4;
const TESTED: [Tested; 3] = [SSD_PAGE, SSD_FAST, DISK];
/// Share of reads in percent, and whether requests are sequential.
const PATTERNS: [(&str, u32, bool); 4] =
    [("Seq. Rd.", 100, true), ("Rand. Rd.", 100, false), ("Seq. Wr.", 0, true), ("Rand. Wr.", 0, false)];
const RANDOM_READS: usize = 1;
const RANDOM_WRITES: usize = 3;
/// Writes of a page of 2 KB in a second.
const RATES: [u32; 4] = [10, 20, 40, 80];
/// How many times the capacity of table 4.2 is that of the drive that is simulated: 16 GB of 256 MB.
const PARTS: f64 = 64.0;
/// As many that are not measured write the flash once over.
const REQUESTS: u64 = 64_000;
const DISK_YEARS: f64 = 5.0;

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let some = |requests: u64| (requests as f64 * part).ceil() as u64;
    let runs = TESTED.len() * PATTERNS.len() + RATES.len();
    let (mut rates, mut times) = (Vec::new(), Vec::new());
    for (at, tested) in TESTED.iter().enumerate() {
        let (mut of_rates, mut of_times) = (Vec::new(), Vec::new());
        for (index, (_, reads_percent, sequential)) in PATTERNS.into_iter().enumerate() {
            let asked = Asked { reads_percent, sequential, kib: KIB, requests: some(REQUESTS), rate: None };
            let results = tested.measure(item, context, &asked, (at * PATTERNS.len() + index, runs))?;
            of_rates.push(results.throughput.requests_per_s * f64::from(KIB) * 1024.0 / 1e6);
            of_times.push(results.requests.all.response_time.mean_us / 1e3);
        }
        rates.push(of_rates);
        times.push(of_times);
    }
    let mut life = Vec::new();
    for (at, rate) in RATES.into_iter().enumerate() {
        let asked = Asked { reads_percent: 0, sequential: false, kib: 2, requests: some(REQUESTS), rate: Some(rate) };
        let results = SSD_PAGE.measure(item, context, &asked, (runs - RATES.len() + at, runs))?;
        let flash = results.devices.into_values().find_map(|device| device.flash).unwrap_or_default();
        life.push((f64::from(rate), PARTS * flash.projected_lifetime_years.unwrap_or(f64::NAN)));
    }
    let claims = claims(item, &rates, &life);
    Ok(ItemOutcome { claims, figures: figures(&rates, &times, life) })
}

fn claims(item: &Item, rates: &[Vec<f64>], life: &[(f64, f64)]) -> Vec<Claim> {
    let order = |claim: &str, values: &[(&str, f64)], reason: &str| {
        let claim = Claim::descending(item.name, claim, values, reason);
        claim.on_stand_in(&format!("{}; {}", SSD_PAGE.stand_in, DISK.stand_in))
    };
    let worse = "section 4.2: \"an SSD can perform worse than the HDD\"";
    let low = "section 4.2: \"the low throughput offered by SSDs to random write-dominated workloads\"";
    let mut claims = vec![order(
        "random writes: the disk is faster than an SSD with log blocks, MB/s",
        &[("disk", rates[2][RANDOM_WRITES]), ("SSD, FAST", rates[1][RANDOM_WRITES])],
        worse,
    )];
    for (tested, rates) in TESTED.iter().zip(rates).take(2) {
        let values = [("random reads", rates[RANDOM_READS]), ("random writes", rates[RANDOM_WRITES])];
        claims.push(order(&format!("{}: random writes are slower than reads, MB/s", tested.name), &values, low));
    }
    let names: Vec<String> = life.iter().map(|(rate, _)| format!("{rate} a second")).collect();
    let values: Vec<(&str, f64)> = names.iter().map(String::as_str).zip(life.iter().map(|(_, years)| *years)).collect();
    let reason = "section 4.2: \"degrading lifetime with increased write-intensity\"";
    let claim = Claim::descending(item.name, "years that the SSD lasts, fewer with more writes", &values, reason);
    claims.push(claim.by_construction("twice the writes are twice the erases, but for what cleaning does"));
    let claim = "writes of 2 KB a second with which the SSD lasts as long as a disk, five years";
    let reason = "section 4.2 takes five years; SLC of 100,000 erases; the paper's curve is not in the text";
    let (rate, years) = life[life.len() - 1];
    claims.push(Claim::beside(item.name, claim, rate * years / DISK_YEARS, reason));
    let reason = "of \"certain SSDs\", those with a write buffer; the stand-in has none";
    claims.push(Claim::unreachable(item.name, "random reads slower than random writes on certain SSDs", None, reason));
    claims
}

fn figures(rates: &[Vec<f64>], times: &[Vec<f64>], life: Vec<(f64, f64)>) -> Vec<Figure> {
    let bars = |title: &str, y: &str, values: &[Vec<f64>]| Figure {
        title: title.into(),
        note: "Requests of 4 KiB, one at a time; the paper's values are not in the text.".into(),
        x: Axis::categories("requests", PATTERNS.map(|(name, ..)| name)),
        y: Axis::logarithmic(y),
        curves: TESTED
            .iter()
            .zip(values)
            .map(|(tested, values)| Curve::measured_bars(tested.name, values.iter().copied()))
            .collect(),
    };
    let five_years = RATES.map(|rate| (f64::from(rate), DISK_YEARS));
    let lasts = Figure {
        title: "Figure 4.1 (d): lifetime".into(),
        note: "16 GB of SLC that can be erased 100,000 times, of which a 64th is simulated.".into(),
        x: Axis::logarithmic("writes of 2 KB a second"),
        y: Axis::logarithmic("years"),
        curves: vec![Curve::measured("SSD", life), Curve::published("disk", five_years)],
    };
    vec![
        bars("Figure 4.1 (a), (c): throughput", "MB/s", rates),
        bars("Figure 4.1 (b): access latency", "mean response, ms", times),
        lasts,
    ]
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_curve() {
        let outcome = outcome(&ITEM, |item, context| measure(item, context, 0.2));
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (6, 8));
        // Half a turn of 6 ms and a seek at least.
        let disk = &outcome.figures[1].curves[2].points;
        assert!(disk[RANDOM_READS].1 > 4.0, "{disk:?}");
    }
}
