//! The reads and writes of traces, for `esker mrc` and `esker cache`, and the objects that they access.

use std::path::PathBuf;

use esker_core::{Bytes, Nanos, Ratio};
use esker_curves::CurveObjects;
use esker_trace::{AreaSet, DenseMap, Operation, Spool, TraceReader};

use super::trace::{check_given_once, no_requests, print_notes, read_options};
use crate::args::{Common, CurveObject, ReadArguments};
use crate::cancel;
use crate::failure::Failure;
use crate::progress::{Progress, Unit};

/// The requests of traces. Volumes get addresses side by side, so that their pages differ.
pub(super) struct Transfers {
    spool: Spool,
    /// Where the volumes lie; `None` for the addresses of the trace, which has one volume then.
    map: Option<DenseMap>,
    /// Times of the first and of the last read or write.
    times: (Nanos, Nanos),
    /// How many reads and writes there are.
    count: u64,
    /// Bytes of the largest of them.
    largest: u64,
}

/// A read or a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// Time of issue.
    pub(super) at: Nanos,
    /// Index of the volume.
    pub(super) volume: u32,
    /// First byte, in the common address space of all volumes.
    pub(super) offset: u64,
    /// Length in bytes.
    pub(super) length: u64,
    /// Whether it writes.
    pub(super) writes: bool,
}

impl Transfers {
    /// Reads the traces. Requests are `sampled` by addresses at which touched areas lie side by side: then one volume
    /// has such addresses, too.
    pub(super) fn read(
        traces: &[PathBuf],
        options: &ReadArguments,
        sampled: bool,
        common: &Common,
    ) -> Result<Self, Failure> {
        check_given_once(traces)?;
        let mut reader = TraceReader::open(traces, &read_options(options))?;
        let bar = Progress::new(common.quiet, Unit::Bytes);
        bar.set_message("reading");
        let mut spool = esker_trace::SpoolWriter::default();
        let (mut batch, mut transfers, mut largest) = (Vec::new(), 0u64, 0);
        let mut times = (Nanos::NEVER, Nanos::ZERO);
        while reader.next_batch(&mut batch)? {
            if cancel::requested() {
                return Err(Failure::cancelled());
            }
            for record in &batch {
                if matches!(record.operation, Operation::Read | Operation::Write) {
                    transfers += 1;
                    largest = largest.max(u64::from(record.length));
                    times = (times.0.min(record.at), times.1.max(record.at));
                }
                spool.push(record)?;
            }
            bar.set(reader.bytes_read(), reader.bytes_total().unwrap_or(0));
        }
        if reader.notes().records == 0 {
            return Err(no_requests(&traces[0], reader.notes()));
        }
        if transfers == 0 {
            let name = traces[0].display();
            return Err(Failure::input(format!("{name} has no reads and no writes: there is nothing to cache")));
        }
        drop(bar);
        print_notes(&reader.notes().lines_without_responses(), common);
        let spool = spool.finish(reader.volumes().to_vec())?;
        let map = if sampled || spool.volumes().len() > 1 { Some(side_by_side(&spool)?) } else { None };
        Ok(Self { spool, map, times, count: transfers, largest })
    }

    /// Bytes of the largest read or write.
    pub(super) fn largest(&self) -> u64 {
        self.largest
    }

    /// Names of the volumes, by [`Transfer::volume`].
    pub(super) fn volumes(&self) -> &[String] {
        self.spool.volumes()
    }

    /// Time from the first to the last read or write; `None` if the trace has no times.
    pub(super) fn duration(&self) -> Option<Nanos> {
        let (first, last) = self.times;
        Some(last.saturating_sub(first)).filter(|duration| *duration > Nanos::ZERO)
    }

    /// How many of the reads and writes, the first ones, `share` of them is.
    pub(super) fn warm_up(&self, share: Option<Ratio>) -> u64 {
        share.map_or(0, |share| share.of(self.count))
    }

    /// Time from the read or write behind the first `skipped` ones to the last one; `None` if these have no times.
    pub(super) fn duration_after(&self, skipped: u64) -> Result<Option<Nanos>, Failure> {
        if skipped == 0 {
            return Ok(self.duration());
        }
        let (mut number, mut first) = (0, Nanos::NEVER);
        self.for_each(|transfer| {
            if number >= skipped {
                first = first.min(transfer.at);
            }
            number += 1;
            Ok(())
        })?;
        Ok(Some(self.times.1.saturating_sub(first)).filter(|duration| *duration > Nanos::ZERO))
    }

    /// Hands every read and write to `take`, in their order.
    pub(super) fn for_each(&self, mut take: impl FnMut(Transfer) -> Result<(), Failure>) -> Result<(), Failure> {
        for (index, record) in self.spool.records().enumerate() {
            let writes = record.operation == Operation::Write;
            let place = |map: &DenseMap| map.map(record.volume, record.offset);
            if (writes || record.operation == Operation::Read)
                && let Some(offset) = self.map.as_ref().map_or(Some(record.offset), place)
            {
                let (at, volume, length) = (record.at, record.volume.0, u64::from(record.length));
                take(Transfer { at, volume, offset, length, writes })?;
            }
            if index % 65_536 == 0 && cancel::requested() {
                return Err(Failure::cancelled());
            }
        }
        Ok(())
    }
}

/// Lays the touched areas of all volumes side by side.
fn side_by_side(spool: &Spool) -> Result<DenseMap, Failure> {
    let mut touched = AreaSet::default();
    for (index, record) in spool.records().enumerate() {
        touched.add(&record);
        if index % 65_536 == 0 && cancel::requested() {
            return Err(Failure::cancelled());
        }
    }
    Ok(DenseMap::new(&touched))
}

/// The objects of `--object`.
pub(super) fn objects(chosen: CurveObject) -> CurveObjects {
    match chosen {
        CurveObject::Sector => CurveObjects::Sectors,
        CurveObject::Page => CurveObjects::Pages,
        CurveObject::StartBlock => CurveObjects::StartBlock,
    }
}

/// A size in objects, as `option` has it.
pub(super) fn parse_cache_size(option: &str, text: &str, objects: CurveObjects) -> Result<u64, Failure> {
    let text = text.trim();
    if let Ok(count) = text.replace('_', "").parse() {
        return Ok(count);
    }
    let bytes: Bytes = text.parse().map_err(|error| {
        Failure::input(format!("{option} {text}: {error}"))
            .with_hint("give a number of objects, or bytes such as 64MiB")
    })?;
    match objects.bytes() {
        Some(size) if bytes.0 >= size => Ok(bytes.0 / size),
        Some(size) => Err(Failure::input(format!("{option} {text} has no room for one object of {}", Bytes(size)))),
        None => Err(Failure::input(format!("{option} {text}: start blocks have no size of their own"))
            .with_hint("give a number of objects, or choose `--object 4KiB`")),
    }
}

/// Checks `--warm-up`: something has to be left to count.
pub(super) fn check_warm_up(share: Option<Ratio>) -> Result<(), Failure> {
    match share {
        Some(share) if share >= Ratio::ONE => {
            Err(Failure::input(format!("--warm-up {share} leaves no request to count"))
                .with_hint("give a share such as 20%"))
        }
        _ => Ok(()),
    }
}

/// Checks `--sample` and `--seeds`. `whole` names what has no spread without a sample.
pub(super) fn check_sample(sample: Option<Ratio>, seeds: u32, whole: &str) -> Result<(), Failure> {
    match sample {
        Some(rate) if rate == Ratio::ZERO || rate > Ratio::ONE => {
            Err(Failure::input(format!("--sample {rate} makes no sense: it is above 0 % and at most 100 %")))
        }
        None if seeds > 1 => Err(Failure::input(format!("--seeds goes with --sample: {whole} has no spread"))),
        _ => Ok(()),
    }
}
