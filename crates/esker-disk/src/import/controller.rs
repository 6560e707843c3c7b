//! `disksim_disk`: the controller and its buffer.

use esker_core::{Bytes, Nanos, Ratio};

use super::block::Block;
use super::error::ImportError;
use super::remarks::Remarks;
use crate::{CacheSettings, CommandOverhead, ExtraDisconnect, FirmwareSettings, ReadAheadEnd};

/// Sectors that a write needs in the buffer before the head begins, for drives with `Extra write disconnect`. No key
/// states them: DiskSim 4 ties these figures to that key (`disksim_diskcache.c`).
const WRITE_START: [(u32, u32); 2] = [(1, 10), (45, 15)];

/// Reads the controller of `disk`, and its buffer if it caches.
pub(super) fn read(
    disk: &Block,
    remarks: &mut Remarks,
) -> Result<(FirmwareSettings, Option<CacheSettings>), ImportError> {
    let overheads = Overheads::of(disk)?;
    let fast = disk.whole("Fast write level", 0, 2)?;
    // A drive that may end a write in its buffer takes the time of a hit for all of them.
    let (write, other) = if fast > 0 { ("hit", "miss") } else { ("miss", "hit") };
    let (write, other) = (
        overheads.by_command(&format!("Write {write} over."))?,
        overheads.by_command(&format!("Write {other} over."))?,
    );
    if other != write {
        let line = disk.required("Write miss over. after read")?.line;
        let kind = if fast > 0 { "misses" } else { "hits" };
        remarks.add(
            disk,
            line,
            format!("overheads of write {kind} are not used: the drive's writes are all of the other kind"),
        );
    }
    let extra = disk.flag("Extra write disconnect")?;
    if !disk.flag("Hold bus entire read xfer")? && overheads.plain("Other reselect overhead")? > Nanos::ZERO {
        let line = disk.required("Hold bus entire read xfer")?.line;
        remarks.add(disk, line, "the model keeps the bus once a read's data go: `Hold bus entire read xfer = 1`");
    }
    let firmware = FirmwareSettings {
        read_hit: overheads.by_command("Read hit over.")?,
        read_miss: overheads.by_command("Read miss over.")?,
        write,
        read_completion: overheads.plain("Read completion overhead")?,
        write_completion: overheads.plain("Write completion overhead")?,
        data_preparation: overheads.plain("Data preparation overhead")?,
        first_reselect: overheads.plain("First reselect overhead")?,
        other_reselect: overheads.plain("Other reselect overhead")?,
        read_disconnect: CommandOverhead {
            after_read: overheads.plain("Read disconnect afterread")?,
            after_write: overheads.plain("Read disconnect afterwrite")?,
        },
        write_disconnect: overheads.plain("Write disconnect overhead")?,
        extra_disconnect: if extra { Some(overheads.extra_disconnect()?) } else { None },
        write_seek_min: disk.time("Minimum seek delay")?,
        write_start: if extra { WRITE_START.to_vec() } else { Vec::new() },
        never_disconnects: disk.flag("Never disconnect")?,
        read_watermark: watermark(disk)?,
        ..buffer_behaviour(disk)?
    };
    Ok((firmware, cache(disk, fast)?))
}

/// Overheads, with the time that is added to each and the factor that multiplies them.
struct Overheads<'a> {
    disk: &'a Block,
    scale: f64,
    per_request: Nanos,
}

impl<'a> Overheads<'a> {
    fn of(disk: &'a Block) -> Result<Self, ImportError> {
        let line = disk.required("Time scale for overheads")?.line;
        let scale = disk.number("Time scale for overheads")?.unwrap_or(1.0);
        if !(0.0..=1_000.0).contains(&scale) {
            return Err(disk.error(line, format!("`Time scale for overheads` is {scale}, expected 0 to 1,000")));
        }
        let per_request = disk.time("Per-request overhead time")?;
        Ok(Self { disk, scale, per_request })
    }

    fn scaled(&self, time: Nanos) -> Nanos {
        Nanos((time.0 as f64 * self.scale).round() as u64)
    }

    fn plain(&self, key: &str) -> Result<Nanos, ImportError> {
        self.disk.time(key).map(|time| self.scaled(time))
    }

    /// Returns `KEY after read` and `KEY after write`.
    fn by_command(&self, key: &str) -> Result<CommandOverhead, ImportError> {
        let of = |what| self.disk.time(&format!("{key} after {what}")).map(|time| self.scaled(time + self.per_request));
        Ok(CommandOverhead { after_read: of("read")?, after_write: of("write")? })
    }

    fn extra_disconnect(&self) -> Result<ExtraDisconnect, ImportError> {
        Ok(ExtraDisconnect {
            command: self.plain("Extradisc command overhead")?,
            disconnect: self.plain("Extradisc disconnect overhead")?,
            pause: self.plain("Extradisc inter-disconnect delay")?,
            second_disconnect: self.plain("Extradisc 2nd disconnect overhead")?,
            seek_delay: self.plain("Extradisc seek delta")?,
        })
    }
}

fn watermark(disk: &Block) -> Result<Ratio, ImportError> {
    let line = disk.required("High (read) water mark")?.line;
    let share = disk.number("High (read) water mark")?.unwrap_or(0.0);
    if !(0.0..=1.0).contains(&share) {
        return Err(disk.error(line, format!("`High (read) water mark` is {share}, expected 0 to 1")));
    }
    Ok(Ratio::parts_per_billion((share * 1e9).round() as u64))
}

/// Reads what the buffer keeps, and for how long.
fn buffer_behaviour(disk: &Block) -> Result<FirmwareSettings, ImportError> {
    let read_ahead_to = match disk.whole("Buffer continuous read", 0, 4)? {
        1 => ReadAheadEnd::Track,
        2 => ReadAheadEnd::Cylinder,
        4 => ReadAheadEnd::NextTrack,
        _ => ReadAheadEnd::Amount,
    };
    Ok(FirmwareSettings {
        read_ahead_to,
        read_at_end_hits: disk.flag("Allow almost read hits")?,
        forgets_read_sectors: disk.whole("Read-ahead over requested", -1, 1)? == -1,
        forgets_written_sectors: !disk.flag("Allow read hits on write data")?,
        separate_write_segment: disk.flag("Use separate write segment")?
            && disk.count("Number of buffer segments", 4_096)? > 1,
        hits_overtake: disk.flag("Allow sneaky full read hits")?,
        reads_while_waiting: disk.flag("Read any free blocks")?,
        ..FirmwareSettings::default()
    })
}

/// Reads the buffer; `None` if it has no segments or does not cache.
fn cache(disk: &Block, fast: i64) -> Result<Option<CacheSettings>, ImportError> {
    let segments = disk.count("Number of buffer segments", 4_096)?;
    let sectors = disk.whole("Segment size (in blks)", 1, 1 << 21)? as u64;
    let write_segments = u64::from(disk.count("Maximum number of write segments", 4_096)?);
    let caching = disk.whole("Enable caching in buffer", 0, 2)? > 0;
    if segments == 0 || !caching {
        return Ok(None);
    }
    let none = disk.whole("Buffer continuous read", 0, 4)? == 0;
    let read_ahead = match disk.whole("Maximum read-ahead (blks)", 0, 1 << 21)? as u64 {
        _ if none => 0,
        0 => sectors,
        most => most.min(sectors),
    };
    Ok(Some(CacheSettings {
        segments,
        segment_size: Bytes(sectors * Bytes::SECTOR.0),
        read_ahead: Bytes(read_ahead * Bytes::SECTOR.0),
        read_ahead_on_hit: disk.flag("Read-ahead on idle hit")?,
        write_back: Bytes(if fast > 0 {
            sectors * write_segments.min(u64::from(segments)) * Bytes::SECTOR.0
        } else {
            0
        }),
        write_batch: None,
    }))
}

/// Returns the scheduler that comes closest.
pub(super) fn scheduler(disk: &Block, remarks: &mut Remarks) -> Result<String, ImportError> {
    let queue = disk.block("Scheduler")?;
    let policy = queue.whole("Scheduling policy", 1, 28)?;
    let (name, exact) = match policy {
        1 => ("fcfs", true),
        3 => ("c-look", true),
        4 => ("sstf", true),
        8 => ("sptf", true),
        17 => ("vscan", true),
        2 | 5 | 6 => ("c-look", false),
        7 => ("sstf", false),
        18 => ("vscan", false),
        28 => ("fcfs", false),
        _ => ("sptf", false),
    };
    if !exact {
        let line = queue.required("Scheduling policy")?.line;
        remarks.add(queue, line, format!("`Scheduling policy = {policy}` becomes `{name}`, which comes nearest"));
    }
    Ok(name.to_string())
}
