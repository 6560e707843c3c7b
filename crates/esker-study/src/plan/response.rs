//! What response times the model expects of a plan: those of requests of which each comes right behind the one before,
//! so that write buffers are full, and none waits for another one.

use esker_plan::{Load, Plan};

use super::model::Model;
use super::moments::Moment;

/// Of the requests of a moment, this share may take longer than the 99th percentile.
const SLOWER: f64 = 0.01;

impl Model<'_> {
    /// The largest 99th percentile of the moments, in microseconds. It keeps the budget of the problem.
    pub(super) fn p99_us(&self, plan: &Plan, moments: &[Moment]) -> f64 {
        moments.iter().map(|moment| self.p99_us_in(plan, &moment.loads)).fold(0.0, f64::max)
    }

    fn p99_us_in(&self, plan: &Plan, loads: &[Load]) -> f64 {
        let classes = loads.iter().zip(&plan.shares);
        // Response times, and the number of requests that have them.
        let mut times: Vec<(f64, f64)> = classes.flat_map(|(load, shares)| self.times(load, shares)).collect();
        times.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut left = SLOWER * times.iter().map(|(_, requests)| requests).sum::<f64>();
        for (p99_us, requests) in times {
            left -= requests;
            if left < 0.0 {
                return p99_us;
            }
        }
        0.0
    }

    fn times(&self, load: &Load, shares: &[f64]) -> Vec<(f64, f64)> {
        let reads = (load.random_reads + load.sequential_reads) as f64;
        let writes = (load.random_writes + load.sequential_writes) as f64;
        let on_type = |(one, &share): (&super::types::PlanType<'_>, &f64)| {
            let [of_reads, of_writes] = one.times.alone_p99_us;
            [(of_reads, share * reads), (of_writes, share * writes)]
        };
        self.types.iter().zip(shares).filter(|(_, share)| **share > 0.0).flat_map(on_type).collect()
    }
}
