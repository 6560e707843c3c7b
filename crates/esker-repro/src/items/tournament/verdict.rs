//! Who is better than whom.

use esker_model::Problem;

use super::contestants::Side;
use super::measured::Measured;

/// The runs of one contestant on one load and one pair.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) side: Side,
    /// With requests always under way, one for each seed.
    pub(super) closed: Vec<Measured>,
    /// With Poisson arrivals, one for each seed.
    pub(super) open: Vec<Measured>,
}

/// Throughput or p99 has to be better by this factor.
const BETTER: f64 = 1.05;
/// The other one may be worse by this factor.
const AS_GOOD: f64 = 0.98;

/// A mean over seeds, and half the width of its 99 % interval; zero if there is one seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    pub(super) reach: f64,
}

impl Estimate {
    /// The estimate of `values`, one for each seed.
    pub(super) fn of(values: &[f64]) -> Self {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        // Without any deviation there is no t to take the interval from.
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            return Self { mean, reach: 0.0 };
        }
        let problem = Problem {
            terms: vec!["mean"],
            rows: vec![vec![1.0]; values.len()],
            values: values.to_vec(),
            weights: vec![1.0; values.len()],
        };
        let reach = problem.solve().map_or(0.0, |fit| fit.coefficients[0].high_99 - fit.coefficients[0].estimate);
        Self { mean, reach }
    }
}

impl Row {
    /// Requests per second of the closed loop.
    pub(super) fn requests_per_s(&self) -> Estimate {
        Estimate::of(&self.closed.iter().map(|run| run.requests_per_s).collect::<Vec<_>>())
    }

    /// Bytes written to all flash in both runs, the mean over seeds.
    pub(super) fn flash_bytes(&self) -> f64 {
        let both = self.closed.iter().chain(&self.open).map(Measured::flash_bytes);
        both.sum::<f64>() / self.closed.len().max(1) as f64
    }

    /// By which factor its throughput is above that of `other`.
    fn throughput_gain(&self, other: &Self) -> Estimate {
        let gains = self.closed.iter().zip(&other.closed).map(|(own, other)| own.requests_per_s / other.requests_per_s);
        Estimate::of(&gains.collect::<Vec<_>>())
    }

    /// By which factor the p99 of `other` is above its own.
    fn p99_gain(&self, other: &Self) -> Estimate {
        let gains = self.open.iter().zip(&other.open).map(|(own, other)| other.p99_ms / own.p99_ms);
        Estimate::of(&gains.collect::<Vec<_>>())
    }

    /// Returns true if it is better than `rival`: faster, without more bytes written to flash.
    pub(super) fn beats(&self, rival: &Self) -> bool {
        self.is_faster(rival) && self.flash_bytes() <= rival.flash_bytes()
    }

    /// Returns true if it has more throughput or a shorter p99 by 5 %, by more than chance, and the other one is not
    /// worse by more than 2 %.
    fn is_faster(&self, rival: &Self) -> bool {
        let (throughput, p99) = (self.throughput_gain(rival), self.p99_gain(rival));
        let better = |gain: Estimate| gain.mean >= BETTER && gain.mean - gain.reach > 1.0;
        let as_good = |gain: Estimate| gain.mean >= AS_GOOD;
        better(throughput) && as_good(p99) || better(p99) && as_good(throughput)
    }

    /// Compares it with `rival` in words: throughput, p99 and bytes written to flash, as parts of the rival's.
    fn beside(&self, rival: &Self) -> String {
        let percent = |part: f64| format!("{:.0} %", part * 100.0);
        let flash = match rival.flash_bytes() {
            0.0 => "some where that wrote none".to_string(),
            bytes => percent(self.flash_bytes() / bytes),
        };
        let (throughput, p99) = (self.throughput_gain(rival).mean, 1.0 / self.p99_gain(rival).mean);
        format!("{} (throughput {}, p99 {}, flash bytes {flash})", rival.name, percent(throughput), percent(p99))
    }
}

/// The best policy of ours on one load and one pair, and what it does beside rivals.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    /// Its name.
    pub(super) best: String,
    pub(super) beaten: usize,
    pub(super) rivals: usize,
    /// Whether one of ours is faster than every rival, whatever it wrote to flash.
    pub(super) faster: bool,
    /// Its throughput over that of the best fixed split, if there is one.
    pub(super) over_split: Option<f64>,
    /// The rivals that it does not beat, with how it compares.
    pub(super) unbeaten: Vec<String>,
}

impl Verdict {
    /// Judges `rows`. The best of ours beats most rivals; of several, it has the most throughput. `None` if none of
    /// ours ran.
    pub(super) fn of(rows: &[Row]) -> Option<Self> {
        let rivals: Vec<&Row> = rows.iter().filter(|row| row.side == Side::Rival).collect();
        let beaten = |row: &Row| rivals.iter().filter(|rival| row.beats(rival)).count();
        let ours = || rows.iter().filter(|row| row.side == Side::Ours);
        let best = ours().max_by(|one, other| {
            let throughput = |row: &Row| row.requests_per_s().mean;
            beaten(one).cmp(&beaten(other)).then(throughput(one).total_cmp(&throughput(other)))
        })?;
        let split = rows.iter().find(|row| row.name == super::contestants::BEST_SPLIT);
        Some(Self {
            best: best.name.clone(),
            beaten: beaten(best),
            rivals: rivals.len(),
            faster: !rivals.is_empty() && ours().any(|row| rivals.iter().all(|rival| row.is_faster(rival))),
            over_split: split.map(|split| best.throughput_gain(split).mean),
            unbeaten: rivals.iter().filter(|rival| !best.beats(rival)).map(|rival| best.beside(rival)).collect(),
        })
    }

    /// Returns true if it beats every rival.
    pub(super) fn beats_all(&self) -> bool {
        self.rivals > 0 && self.beaten == self.rivals
    }
}
