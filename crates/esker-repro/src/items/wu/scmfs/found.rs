//! What was measured, and what follows from it.

use esker_fs_bench::{Rates, Work};

use super::{Part, System};

/// Measured rates of an item.
#[derive(Default)]
pub(super) struct Found {
    rates: Vec<(System, Work, Result<Rates, String>)>,
    memory: Vec<(usize, f64)>,
}

/// A value, or why there is none.
pub(super) type Value = Result<f64, String>;

impl Found {
    pub(super) fn add(&mut self, systems: &[System], work: &Work, rates: Vec<Result<Rates, String>>) {
        self.rates.extend(systems.iter().zip(rates).map(|(system, rates)| (*system, *work, rates)));
    }

    pub(super) fn add_memory(&mut self, threads: usize, rate: f64) {
        self.memory.push((threads, rate));
    }

    /// Bytes or transactions per second of a system.
    pub(super) fn rate(&self, system: System, work: &Work, part: Part) -> Value {
        let found = self.rates.iter().find(|(of, with, _)| *of == system && with == work);
        let (_, _, rates) = found.ok_or_else(|| format!("{} was not run", system.name()))?;
        rates.as_ref().map(|rates| rates[part.index()]).map_err(Clone::clone)
    }

    /// Bytes per second that this number of threads copies out of memory.
    pub(super) fn memory(&self, threads: usize) -> Value {
        let found = self.memory.iter().find(|(of, _)| *of == threads);
        found.map(|(_, rate)| *rate).ok_or_else(|| "memory was not read".into())
    }

    /// The geometric mean of a system's rates.
    pub(super) fn mean(&self, system: System, works: &[Work], part: Part) -> Value {
        let logs: Result<Vec<f64>, String> =
            works.iter().map(|work| self.rate(system, work, part).map(f64::ln)).collect();
        Ok((logs?.iter().sum::<f64>() / works.len() as f64).exp())
    }

    /// How many times as fast `one` is as `other`, in the geometric mean.
    pub(super) fn over(&self, (one, other): (System, System), works: &[Work], part: Part) -> Value {
        Ok(self.mean(one, works, part)? / self.mean(other, works, part)?)
    }

    /// The least of such ratios.
    pub(super) fn least_over(&self, (one, other): (System, System), works: &[Work], part: Part) -> Value {
        let ratio = |work| Ok(self.rate(one, work, part)? / self.rate(other, work, part)?);
        let ratios: Result<Vec<f64>, String> = works.iter().map(ratio).collect();
        Ok(ratios?.into_iter().fold(f64::INFINITY, f64::min))
    }

    /// The rate of one workload over the best of others.
    pub(super) fn over_best(&self, system: System, work: &Work, others: &[Work], part: Part) -> Value {
        let best: Result<Vec<f64>, String> = others.iter().map(|work| self.rate(system, work, part)).collect();
        Ok(self.rate(system, work, part)? / best?.into_iter().fold(0.0, f64::max))
    }

    /// The fastest system's rate over the slowest one's. All of them are needed.
    pub(super) fn spread(&self, systems: &[System], work: &Work, part: Part) -> Value {
        let rates: Result<Vec<f64>, String> = systems.iter().map(|system| self.rate(*system, work, part)).collect();
        let rates = rates?;
        Ok(rates.iter().copied().fold(0.0, f64::max) / rates.iter().copied().fold(f64::INFINITY, f64::min))
    }
}

/// "64 KiB", "16 MiB".
pub(super) fn record_name(kib: u64) -> String {
    if kib < 1024 { format!("{kib} KiB") } else { format!("{} MiB", kib / 1024) }
}
