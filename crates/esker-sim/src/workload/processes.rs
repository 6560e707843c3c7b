//! Independent streams of a synthetic workload, one per process.

use std::cell::Cell;
use std::num::NonZeroU32;

use esker_core::{Arrival, Bytes, Nanos, Processes, Ratio, Request, Rng};
use esker_results::LeftOut;
use esker_trace::SyntheticSettings;

use super::address::Addresses;
use super::arrivals::{Arrivals, Records};
use super::{Source, Workload, WorkloadError, synthesiser};

impl Workload {
    /// Returns `count` processes that send its requests to a target of `capacity`, with `think_time` between the end of
    /// one and the next. The first process draws the same requests as [`Workload::arrivals`] has; the others have seeds
    /// of their own. Panics if the workload is a trace, which is one stream; configurations are checked earlier.
    pub fn processes<'a>(
        &'a self,
        capacity: Bytes,
        count: NonZeroU32,
        think_time: Nanos,
        left_out: &'a Cell<LeftOut>,
    ) -> Result<Processes<impl Iterator<Item = Request> + use<'a>>, WorkloadError> {
        let Source::Synthetic { settings, seed } = &self.source else { panic!("a trace has no processes") };
        let capacity = Bytes(capacity.0 / Bytes::SECTOR.0 * Bytes::SECTOR.0);
        let first_seed = settings.seed.unwrap_or(*seed);
        let streams = (0..count.get()).map(|process| {
            let seed = match process {
                0 => first_seed,
                _ => Rng::derive(first_seed, &format!("process {process}")).next_u64(),
            };
            let settings = SyntheticSettings { seed: Some(seed), ..(**settings).clone() };
            let records = synthesiser(&settings, capacity, seed)?.beginning_at(process, count.get());
            let records = Records::Synthetic(Box::new(records));
            let arrivals = Arrivals {
                // Any process may come to send all of them.
                records: records.take(usize::try_from(self.head).unwrap_or(usize::MAX)),
                shifts: &[],
                time_scale: Ratio::ONE,
                addresses: Addresses::AsTheyAre,
                capacity,
                marks: &self.marks,
                left_out,
                rest: None,
            };
            Ok(arrivals.map(|Arrival { request, .. }| request))
        });
        Ok(Processes::new(streams.collect::<Result<_, _>>()?, think_time, self.head))
    }
}
