//! Classes of data: made of a workload's row, alone or with the classes of a trace.

use std::path::Path;

use esker_plan::{ClassSettings, DataClasses, Load, Sharing, demand};
use esker_sim::Workload as Opened;

use super::Workload;
use crate::traces::{PaperTrace, workload};
use crate::{Context, Item, ReproduceError};

/// Section 4.5.2: "95th percentile of peak bandwidth (measured every second)".
const QUANTILE: f64 = 0.95;

/// A class as the planner sees it.
#[derive(Clone, Debug)]
pub(in crate::items::kim) struct DataClass {
    pub(in crate::items::kim) name: String,
    pub(in crate::items::kim) gigabytes: f64,
    /// What it asks for, KB/s.
    pub(in crate::items::kim) bandwidth: f64,
    /// Mean size of its requests, KB.
    pub(in crate::items::kim) request: f64,
    /// Share of reads, 0 to 1.
    pub(in crate::items::kim) reads: f64,
}

impl DataClass {
    fn of(workload: &Workload, name: &str, gigabytes: f64, bandwidth: f64) -> Self {
        let (request, reads) = (workload.request, workload.reads / 100.0);
        Self { name: name.into(), gigabytes, bandwidth, request, reads }
    }
}

/// All hot data as one class, which is all that the table says. The cold data ask for nothing.
pub(in crate::items::kim) fn one_hot_class(workload: &Workload) -> Vec<DataClass> {
    vec![
        DataClass::of(workload, "hot", workload.hot, workload.bandwidth),
        DataClass::of(workload, "cold", workload.cold, 0.0),
    ]
}

/// The hot data as two classes of the same size, of which the hotter one has `share` (0.5 to 1) of the requests.
pub(in crate::items::kim) fn two_hot_classes(workload: &Workload, share: f64) -> Vec<DataClass> {
    let half = workload.hot / 2.0;
    vec![
        DataClass::of(workload, "hotter half", half, share * workload.bandwidth),
        DataClass::of(workload, "other half", half, (1.0 - share) * workload.bandwidth),
        DataClass::of(workload, "cold", workload.cold, 0.0),
    ]
}

/// The classes of a real trace.
pub(in crate::items::kim) struct Classified {
    found: DataClasses,
    /// Requests of each hot record, most first.
    of_hot_records: Vec<u64>,
}

impl Classified {
    /// Reads `trace`; `None`, with the reason, if it is not there.
    pub(in crate::items::kim) fn read(
        item: &Item,
        context: &Context<'_>,
        trace: &PaperTrace,
        settings: &ClassSettings,
    ) -> Result<Result<Self, String>, ReproduceError> {
        let path = match trace.find(context) {
            Ok(path) => path,
            Err(missing) => return Ok(Err(missing)),
        };
        let opened = Opened::open(&workload(&path), Path::new(""), context.seed, context.cancel);
        let opened = opened.map_err(|fault| ReproduceError::of(item, fault))?;
        let (traces, map) = (opened.traces().expect("it was read"), opened.dense_map().expect("it was read"));
        let found = DataClasses::of(map.clone(), settings, || traces.records());
        let found = found.expect("settings of this crate");
        let mut of_records = vec![0; found.of_records().len()];
        for record in traces.records() {
            let place = map.map(record.volume, record.offset).filter(|_| record.length > 0);
            place.into_iter().for_each(|place| of_records[(place / found.record.0) as usize] += 1);
        }
        let classes = of_records.into_iter().zip(found.of_records());
        let hot = classes.filter(|(_, class)| found.classes[**class as usize].bins.is_some());
        let mut of_hot_records: Vec<u64> = hot.map(|(requests, _)| requests).collect();
        of_hot_records.sort_unstable_by(|one, other| other.cmp(one));
        Ok(Ok(Self { found, of_hot_records }))
    }

    /// The classes of this trace with the sizes and the bandwidth of `workload`: each class has its share of the
    /// records, of hot and of cold ones, and requests that are smaller or larger than the mean as they are in the
    /// trace. Per class, it asks for its own 95th percentile of a second, as the trace does for that of all of them; if
    /// classes add up, for its share of the bytes.
    pub(in crate::items::kim) fn scaled(&self, workload: &Workload, sharing: Sharing) -> Vec<DataClass> {
        let classes = &self.found.classes;
        let all_bytes: u64 = classes.iter().map(|class| class.total.bytes()).sum();
        let busy = demand(classes.iter().map(|class| &class.seconds[..]), QUANTILE).bytes;
        let mean = mean_request(&self.total());
        let of = |class: &esker_plan::ClassOfData| {
            let of_kind = classes.iter().filter(|other| other.bins.is_some() == class.bins.is_some());
            let records: u64 = of_kind.map(|other| other.records).sum();
            let gigabytes = if class.bins.is_some() { workload.hot } else { workload.cold };
            let share = match sharing {
                Sharing::PerClass => demand([&class.seconds[..]], QUANTILE).bytes as f64 / busy as f64,
                Sharing::Summed => class.total.bytes() as f64 / all_bytes as f64,
            };
            DataClass {
                name: class.bins.map_or("cold".into(), |bins| bins.to_string()),
                gigabytes: gigabytes * class.records as f64 / records as f64,
                bandwidth: workload.bandwidth * share,
                request: workload.request * mean_request(&class.total) / mean,
                reads: class.total.read_bytes as f64 / class.total.bytes() as f64,
            }
        };
        classes.iter().map(of).collect()
    }

    /// The share of the requests for hot records that the hotter half of them has.
    pub(in crate::items::kim) fn on_hotter_half(&self) -> f64 {
        let (all, half) = (self.of_hot_records.iter().sum::<u64>(), self.of_hot_records.len() / 2);
        self.of_hot_records[..half].iter().sum::<u64>() as f64 / all as f64
    }

    /// What was asked of all classes.
    pub(in crate::items::kim) fn total(&self) -> Load {
        let mut total = Load::default();
        self.found.classes.iter().for_each(|class| total.add(&class.total));
        total
    }

    /// The 95th percentile of a second, KB/s.
    pub(in crate::items::kim) fn bandwidth(&self) -> f64 {
        demand(self.found.classes.iter().map(|class| &class.seconds[..]), QUANTILE).bytes as f64 / 1e3
    }

    /// Mean size of a request, KB.
    pub(in crate::items::kim) fn request(&self) -> f64 {
        mean_request(&self.total()) / 1e3
    }

    /// Number of records that are hot, and of all.
    pub(in crate::items::kim) fn records(&self) -> (u64, u64) {
        let of = |hot_only: bool| {
            let counted = self.found.classes.iter().filter(|class| !hot_only || class.bins.is_some());
            counted.map(|class| class.records).sum()
        };
        (of(true), of(false))
    }
}

/// Bytes.
fn mean_request(load: &Load) -> f64 {
    load.bytes() as f64 / load.requests().max(1) as f64
}

#[cfg(test)]
pub(in crate::items::kim) mod tests {
    use std::fmt::Write as _;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::super::{FINANCIAL, WORKLOADS};
    use super::*;
    use crate::items::kim::table_4_3;

    /// Runs `with` where a trace is called Financial1: a minute in which half of the requests are for one MiB of ten.
    pub(in crate::items::kim) fn with_a_trace<T>(with: impl FnOnce(&Context<'_>) -> T) -> T {
        let mut text = String::new();
        for number in 0..3_000_u64 {
            let record = if number % 2 == 0 { 0 } else { 1 + number % 9 };
            let sector = record * 2_048 + (number * 7) % 1_000;
            let operation = if number % 4 == 0 { 'r' } else { 'w' };
            writeln!(text, "0,{sector},4096,{operation},{:.6}", number as f64 / 50.0).unwrap();
        }
        // Asked for once: cold.
        (0..40_u64)
            .for_each(|number| writeln!(text, "0,{},4096,w,{:.6}", (100 + number) * 2_048, 61 + number).unwrap());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("Financial1-first10k.spc"), text).unwrap();
        let cancel = AtomicBool::new(false);
        with(&Context {
            seed: 1,
            traces: Some(folder.path().into()),
            progress: &|_| {},
            cancel: &cancel,
            drives: Arc::default(),
        })
    }

    #[test]
    fn a_scaled_trace_has_the_sizes_and_the_bandwidth_of_the_table() {
        let workload = &WORKLOADS[FINANCIAL];
        with_a_trace(|context| {
            let settings = ClassSettings::kim_33();
            let read = Classified::read(&table_4_3::ITEM, context, &crate::traces::FINANCIAL1, &settings);
            let read = read.unwrap().unwrap();
            assert_eq!(read.records(), (10, 50));
            // Of 3,000 requests the first record has 1,500, and each other 166 or 167.
            assert_eq!((read.on_hotter_half() * 3_000.0).round(), 1_500.0 + 4.0 * 167.0);
            let classes = read.scaled(workload, Sharing::Summed);
            let sum = |of: fn(&DataClass) -> f64| classes.iter().map(of).sum::<f64>();
            assert!((sum(|class| class.gigabytes) - workload.hot - workload.cold).abs() < 1e-6);
            assert!((sum(|class| class.bandwidth) - workload.bandwidth).abs() < 1e-6);
            let cold = classes.last().unwrap();
            assert!(cold.name == "cold" && (cold.gigabytes - workload.cold).abs() < 1e-6 && cold.reads == 0.0);
            // All requests of this trace are of one size.
            assert!(classes.iter().all(|class| (class.request - workload.request).abs() < 1e-9));
            let per_class = read.scaled(workload, Sharing::PerClass);
            assert!(per_class.iter().map(|class| class.bandwidth).sum::<f64>() >= workload.bandwidth);
        });
    }
}
