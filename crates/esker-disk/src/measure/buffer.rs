//! The drive's buffer: how long it keeps a sector, how far it reads ahead, how fast it answers.

use esker_core::Nanos;

use super::MeasureError;
use super::bench::{Bench, median};

/// The measured properties of the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Buffer {
    /// Number of reads elsewhere during which the buffer remembers a sector, plus this read itself.
    pub(super) segments: u64,
    /// Number of sectors that the buffer holds behind a read once it has been left alone; zero without read-ahead.
    pub(super) read_ahead: u64,
    /// Whether a read that the buffer answers makes the drive read on behind it.
    pub(super) reads_on: bool,
    /// Time of a read of one block that the buffer answers, in nanoseconds.
    pub(super) hit_ns: f64,
    /// Nanoseconds for each further sector; zero if too small to measure.
    pub(super) sector_ns: f64,
}

/// This measurement cannot get around a buffer that remembers more reads than this.
const REMEMBERS_MAX: usize = 2_048;
/// Longest read-ahead that is looked for, in sectors: 64 MiB.
const READ_AHEAD_MAX: u64 = 1 << 17;
/// How long the drive is left alone to read ahead. At 50 MB/s that is enough for 25 MB.
const PAUSE: Nanos = Nanos::from_millis(500);
/// A read is timed three times, so that a single delay decides nothing.
const REPEATS: usize = 3;

/// Looks for the buffer; `None` if there is none. A read after one far away that takes less than `hit_limit_ns` can
/// only have been answered by the buffer.
pub(super) async fn find(bench: &Bench, hit_limit_ns: f64) -> Result<Option<Buffer>, MeasureError> {
    if !remembers(bench, 0, hit_limit_ns).await {
        return Ok(None);
    }
    let (mut least, mut most) = (0, 1);
    while remembers(bench, most, hit_limit_ns).await {
        (least, most) = (most, 2 * most);
        if most > REMEMBERS_MAX {
            return Err(MeasureError::NeverForgets { reads: least });
        }
    }
    while most - least > 1 {
        let middle = least.midpoint(most);
        if remembers(bench, middle, hit_limit_ns).await {
            least = middle;
        } else {
            most = middle;
        }
    }
    bench.forgets_after.set(2 * most + 16);
    let hit_ns = hit(bench, bench.block, hit_limit_ns).await.ok_or(MeasureError::Unsteady { what: "buffer" })?;
    let mut sector_ns = 0.0;
    // The longest read that fits the buffer shows the time of the link best.
    for sectors in [256, 128, 64, 32, 16] {
        if let Some(time) = hit(bench, sectors, hit_limit_ns).await {
            sector_ns = ((time - hit_ns) / (sectors - bench.block) as f64).max(0.0);
            break;
        }
    }
    let block_ns = hit_ns + bench.block as f64 * sector_ns;
    let read_ahead = read_ahead(bench, block_ns).await;
    let reads_on = reads_on(bench, read_ahead, block_ns).await;
    Ok(Some(Buffer { segments: most as u64, read_ahead, reads_on, hit_ns, sector_ns }))
}

/// Returns true if a sector is still in the buffer after `others` reads elsewhere.
async fn remembers(bench: &Bench, others: usize, hit_limit_ns: f64) -> bool {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let place = bench.fresh();
        bench.response(place).await;
        bench.read_elsewhere(others).await;
        times.push(bench.response(place).await);
    }
    median(&mut times) < hit_limit_ns
}

/// Returns the time of a read of `sectors` that were just read, if the buffer answers it.
async fn hit(bench: &Bench, sectors: u64, hit_limit_ns: f64) -> Option<f64> {
    let mut times = Vec::new();
    for _ in 0..3 * REPEATS {
        let place = bench.fresh();
        bench.read(Nanos::ZERO, place, sectors).await;
        let (began, ended) = bench.read(Nanos::ZERO, place, sectors).await;
        times.push(ended - began);
    }
    Some(median(&mut times)).filter(|time| *time < hit_limit_ns)
}

/// Returns the number of sectors that are in the buffer behind a read, after a pause.
async fn read_ahead(bench: &Bench, hit_ns: f64) -> u64 {
    let (mut least, mut most) = (0, bench.block);
    while most <= READ_AHEAD_MAX && is_ahead(bench, most, hit_ns).await {
        (least, most) = (most, 2 * most);
    }
    while most - least > bench.block {
        let middle = bench.whole(least.midpoint(most));
        if is_ahead(bench, middle, hit_ns).await {
            least = middle;
        } else {
            most = middle;
        }
    }
    least
}

/// Returns true if the block that ends `ahead` sectors behind a read is in the buffer. If it is not, the arm still
/// stands close to it. So only times as short as those of a hit count, and they have to occur at each of several
/// places.
async fn is_ahead(bench: &Bench, ahead: u64, hit_ns: f64) -> bool {
    let mut hits = 0;
    for _ in 0..2 * REPEATS {
        let place = bench.fresh();
        bench.response(place).await;
        let (began, ended) = bench.read(PAUSE, place + ahead, bench.block).await;
        hits += usize::from(ended - began < 1.25 * hit_ns);
    }
    hits > REPEATS
}

/// Returns true if a read at the end of the `ahead` sectors that were read ahead, and a pause, bring more into the
/// buffer.
async fn reads_on(bench: &Bench, ahead: u64, hit_ns: f64) -> bool {
    let mut hits = 0;
    for _ in 0..2 * REPEATS {
        let place = bench.fresh();
        bench.response(place).await;
        bench.read(PAUSE, place + ahead, bench.block).await;
        let (began, ended) = bench.read(PAUSE, place + ahead + bench.whole(ahead / 2), bench.block).await;
        hits += usize::from(ended - began < 1.25 * hit_ns);
    }
    ahead >= 2 * bench.block && hits > REPEATS
}
