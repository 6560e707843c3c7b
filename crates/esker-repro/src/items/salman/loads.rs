//! Stand-ins for the loads of table 7.1, or parts of the real traces if the user has them.
//!
//! The table has each load's count of requests, bytes and share of writes. All else is assumed:
//!
//! - "each trace record maps to a logical object": a request lies within one object of 256 KiB, at a random page of
//!   it;
//! - its size is the mean size of the load, as a mix of the two next whole pages, the same for reads and writes;
//! - objects are drawn by Zipf's law. Its exponent, 0.76, was fitted beforehand: it is the most likely one for the
//!   writes of the first 10,000 requests of the trace Financial1, counted by objects of 256 KiB. Popular objects lie
//!   anywhere. Ranks are drawn among as many objects as an unscaled cluster would have, so that the most popular one
//!   has its share there, and 40 of them share an object here. Reads have an order of popularity of their own, and
//!   neither order changes during the run;
//! - requests come at random (Poisson), at a rate that would keep the servers' flash busy for [`BUSY`] of the time if
//!   all servers were asked alike and cleaned nothing.
//!
//! YCSB's six core workloads are in [`super::ycsb`]; the HPC load has the shape of IOR, in [`super::ior`]. Of a real
//! trace the same number of requests from its beginning is taken; objects beyond the cluster's wrap, what goes beyond
//! an object is cut, and times are those of the stand-in.

use esker_core::{Nanos, Request, RequestKind, Rng};
use esker_trace::{Operation, Permutation, Record, VolumeIndex, Zipf};

use crate::traces::{self, MSR};
use crate::{Context, Item, ReproduceError};

/// What the claims were measured on.
pub(super) const STAND_IN: &str = "made-up requests with the count, the bytes and the share of writes of table 7.1 \
                                   divided by 40, by Zipf's law with the exponent of Financial1's writes, 0.76";

/// Counts of requests of table 7.1 are divided by this.
pub(super) const PART: f64 = 40.0;
/// Those of the HPC load are divided by this: in requests of a page it writes least.
const PART_OF_HPC: f64 = 8.0;
/// Bytes of an object: "object size is equal with block size".
pub(super) const OBJECT: u64 = 256 << 10;
/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;
/// Exponent of Zipf's law.
const EXPONENT: f64 = 0.76;
/// Share of the time that the servers' flash would be busy.
pub(super) const BUSY: f64 = 0.1;
/// Nanoseconds for which a page keeps one of a drive's four packages busy, with the bus of the preset.
const READ_NS: f64 = 130_600.0;
const WRITE_NS: f64 = 305_600.0;
/// Packages of a drive.
const PACKAGES: f64 = 2.0;
/// Servers at which the rate is aimed.
const SERVERS: f64 = 50.0;

/// How far a run is scaled down, and its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    /// Divides the counts of requests. More than one is for tests.
    pub(super) fewer: u32,
    pub(super) seed: u64,
}

/// A column of table 7.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) name: &'static str,
    pub(super) requests: f64,
    /// Bytes read and written, GB of 10^9 bytes.
    pub(super) gigabytes: f64,
    /// Share of writes, percent.
    pub(super) writes: f64,
}

const fn load(name: &'static str, requests: f64, gigabytes: f64, writes: f64) -> Load {
    Load { name, requests, gigabytes, writes }
}

/// Table 7.1, in its order.
pub(super) const TABLE: [Load; 8] = [
    load("ycsb", 1_232_656.0, 55.48, 81.123),
    load("usr", 1_871_727.0, 194.77, 83.63),
    load("proj", 13_794_208.0, 474.35, 13.80),
    load("src1", 6_616_626.0, 608.51, 54.61),
    load("src2", 4_936_315.0, 212.92, 71.93),
    load("stg", 7_277_740.0, 342.81, 13.61),
    load("mds", 1_299_007.0, 44.33, 63.85),
    load("hpc", 6_615_888.0, 27.77, 93.22),
];

/// The six loads of chapter 7's comparisons, as places in [`TABLE`].
pub(super) const SIX: [usize; 6] = [1, 2, 3, 4, 5, 6];
/// Places in [`TABLE`].
pub(super) const USR: usize = 1;
pub(super) const HPC: usize = 7;

/// The mean size of a YCSB request in table 7.1, rounded: records of eleven pages.
pub(super) const RECORD: u64 = 11 * PAGE;

/// A request without its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) operation: Operation,
    /// First byte.
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl Load {
    /// Mean size of a request, pages.
    pub(super) fn mean_pages(&self) -> f64 {
        self.gigabytes * 1e9 / self.requests / PAGE as f64
    }

    /// Number of requests of the stand-in. `fewer` divides it once more, for tests.
    pub(super) fn count(&self, fewer: u32) -> u64 {
        let part = if self.name == "hpc" { PART_OF_HPC } else { PART };
        (self.requests / part / f64::from(fewer)) as u64
    }

    /// The requests of the stand-in on `objects` objects.
    pub(super) fn accesses(&self, objects: u64, fewer: u32, seed: u64) -> impl Iterator<Item = Access> + use<> {
        let mut rng = Rng::derive(seed, self.name);
        let unscaled = objects * PART as u64;
        let (zipf, writes) = (Zipf::new(unscaled, EXPONENT), (self.writes * 1e4) as u64);
        let [of_reads, of_writes] = [0, 1].map(|_| Permutation::new(unscaled, rng.next_u64()));
        let (fewest, rest) = (self.mean_pages().floor(), self.mean_pages().fract());
        (0..self.count(fewer)).map(move |_| {
            let is_write = rng.chance(writes, 1_000_000);
            let order = if is_write { &of_writes } else { &of_reads };
            let object = order.apply(zipf.draw(&mut rng)) % objects;
            let pages = fewest as u64 + u64::from(rng.unit() < rest);
            let page = rng.below(OBJECT / PAGE - pages + 1);
            let operation = if is_write { Operation::Write } else { Operation::Read };
            Access { operation, offset: object * OBJECT + page * PAGE, length: pages * PAGE }
        })
    }
}

/// The requests of a column of the table, on `objects` objects: a part of the real trace, if the user has it.
pub(super) fn of_column(
    item: &Item,
    context: &Context<'_>,
    place: usize,
    objects: u64,
    scale: Scale,
) -> Result<Vec<Access>, ReproduceError> {
    let (load, Scale { fewer, seed }) = (TABLE[place], scale);
    let real = MSR.iter().find(|trace| trace.title.contains(load.name)).and_then(|trace| trace.find(context).ok());
    let Some(path) = real else { return Ok(load.accesses(objects, fewer, seed).collect()) };
    let requests = traces::requests(item, context, &path)?;
    Ok(requests.iter().take(load.count(fewer) as usize).map(|request| Access::of(request, objects)).collect())
}

/// What the claims of an item were measured on, with the real traces that the user has.
pub(super) fn stand_in(context: &Context<'_>) -> String {
    let real = MSR.iter().filter(|trace| trace.find(context).is_ok()).map(|trace| trace.title).collect::<Vec<_>>();
    match &real[..] {
        [] => STAND_IN.to_string(),
        real => format!("a fortieth of {}; of other loads {STAND_IN}", real.join(", ")),
    }
}

impl Access {
    pub(super) const fn read(offset: u64, length: u64) -> Self {
        Self { operation: Operation::Read, offset, length }
    }

    pub(super) const fn write(offset: u64, length: u64) -> Self {
        Self { operation: Operation::Write, offset, length }
    }

    /// A request of a real trace, on `objects` objects.
    pub(super) fn of(request: &Request, objects: u64) -> Self {
        let (first, within) = (request.start.byte_offset() / OBJECT, request.start.byte_offset() % OBJECT);
        let (offset, length) = (first % objects * OBJECT + within, request.length.0.min(OBJECT - within));
        if request.kind == RequestKind::Read { Self::read(offset, length) } else { Self::write(offset, length) }
    }
}

/// Gives the requests times: Poisson arrivals at the rate of [`BUSY`].
pub(super) fn timed(accesses: &[Access], seed: u64) -> Vec<Record> {
    let mut rng = Rng::derive(seed, "arrivals");
    let mean = duration(accesses) / accesses.len().max(1) as f64;
    let mut at = 0.0;
    let record = |access: &Access| {
        at += rng.exponential(mean);
        Record {
            at: Nanos(at as u64),
            offset: access.offset,
            length: access.length as u32,
            volume: VolumeIndex(0),
            operation: access.operation,
            response: None,
        }
    };
    accesses.iter().map(record).collect()
}

/// Nanoseconds in which the servers do this work if they are busy for [`BUSY`] of them.
fn duration(accesses: &[Access]) -> f64 {
    let work = |access: &Access| {
        let of_page = if access.operation == Operation::Write { WRITE_NS } else { READ_NS };
        access.length as f64 / PAGE as f64 * of_page
    };
    accesses.iter().map(work).sum::<f64>() / PACKAGES / SERVERS / BUSY
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn stand_ins_have_the_columns_of_the_table() {
        for place in SIX {
            let load = TABLE[place];
            let all: Vec<Access> = load.accesses(1700, 1, 1).collect();
            let bytes: u64 = all.iter().map(|access| access.length).sum();
            let writes = all.iter().filter(|access| access.operation == Operation::Write).count() as f64;
            assert_eq!(all.len() as u64, (load.requests / PART) as u64);
            assert!((bytes as f64 * PART / (load.gigabytes * 1e9) - 1.0).abs() < 0.005, "{}", load.name);
            assert!((writes / all.len() as f64 * 100.0 - load.writes).abs() < 0.7, "{}", load.name);
            let within = |access: &Access| access.offset % OBJECT + access.length <= OBJECT;
            assert!(all.iter().all(|access| within(access) && access.offset < 1700 * OBJECT));
        }
    }

    /// The rank-1 object of an unscaled cluster has `1 / sum of r^-0.76` of the requests: 1.9 % of 68,000.
    #[test]
    fn the_most_popular_object_has_its_unscaled_share() {
        let mut counts = vec![0_u32; 1700];
        let all: Vec<Access> = TABLE[USR].accesses(1700, 1, 3).collect();
        let writes = all.iter().filter(|access| access.operation == Operation::Write);
        writes.for_each(|access| counts[(access.offset / OBJECT) as usize] += 1);
        let total: f64 = (1..=68_000).map(|rank| f64::from(rank).powf(-EXPONENT)).sum();
        let share = f64::from(*counts.iter().max().unwrap()) / f64::from(counts.iter().sum::<u32>());
        assert!(share > 0.95 / total && share < 1.2 / total + 0.001, "{share} {total}");
    }

    #[test]
    fn a_part_of_a_real_trace_stays_within_the_objects() {
        let request = Request::write(esker_core::Lba(10 * 512 + 510), esker_core::Bytes(8192));
        assert_eq!(Access::of(&request, 4), Access::write(2 * OBJECT + 510 * 512, 1024));
    }

    #[test]
    fn a_real_trace_takes_the_place_of_its_stand_in() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "128166372003061629,usr,0,Write,4096,8192,413\n128166372016382155,usr,0,Read,262144,4096,703\n";
        std::fs::write(folder.path().join("usr_0.csv"), lines).unwrap();
        let cancel = std::sync::atomic::AtomicBool::new(false);
        let traces = Some(folder.path().to_path_buf());
        let context = Context { seed: 1, traces, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        let item = &super::super::figure_7_1::ITEM;
        let scale = Scale { fewer: 1000, seed: 1 };
        let all = of_column(item, &context, USR, 1700, scale).unwrap();
        assert_eq!(all, [Access::write(4096, 8192), Access::read(OBJECT, 4096)]);
        assert!(stand_in(&context).starts_with("a fortieth of usr_0; of other loads made-up"));
        assert_eq!(of_column(item, &context, HPC - 1, 1700, scale).unwrap().len(), 32);
    }

    #[test]
    fn the_rate_keeps_flash_busy_for_the_stated_share() {
        let all = vec![Access::write(0, 4 * PAGE); 20_000];
        let records = timed(&all, 1);
        let work = 20_000.0 * 4.0 * WRITE_NS / PACKAGES / SERVERS;
        assert!((work / records.last().unwrap().at.0 as f64 / BUSY - 1.0).abs() < 0.03);
    }
}
