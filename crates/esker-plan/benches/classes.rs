//! Classes of data: five million requests for 100 GB, half of them for a hundredth of it, over a day.

use esker_core::{Nanos, Rng};
use esker_plan::{ClassSettings, DataClasses};
use esker_testkit::Bench;
use esker_trace::{AreaSet, DenseMap, Operation, Record, Spool, VolumeIndex};

const REQUESTS: u64 = 5_000_000;
const BLOCKS: u64 = 100_000_000_000 / 4096;

fn spool() -> Spool {
    let requests = if std::env::var_os("ESKER_BENCH_SMOKE").is_some() { REQUESTS / 100 } else { REQUESTS };
    let mut rng = Rng::new(1);
    let record = |number: u64| Record {
        at: Nanos(number * (86_400_000_000_000 / REQUESTS)),
        offset: rng.below(if number.is_multiple_of(2) { BLOCKS } else { BLOCKS / 100 }) * 4096,
        length: 4096 << rng.below(5),
        volume: VolumeIndex(0),
        operation: if rng.chance(2, 3) { Operation::Read } else { Operation::Write },
        response: None,
    };
    Spool::from_records((0..requests).map(record), vec!["volume".to_string()]).expect("it is in memory")
}

fn main() {
    let spool = spool();
    Bench::new("33 classes of data").rate("requests", || {
        let mut areas = AreaSet::default();
        spool.records().for_each(|record| areas.add(&record));
        let found = DataClasses::of(DenseMap::new(&areas), &ClassSettings::kim_33(), || spool.records());
        let found = found.expect("sound settings");
        assert!(found.classes.len() > 3, "{} classes", found.classes.len());
        spool.len()
    });
}
