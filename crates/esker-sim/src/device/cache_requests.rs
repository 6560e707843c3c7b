//! What a flash cache needs of the requests of a run: as many as a window has, and no more than its flash can live
//! with.

use esker_controllers::{AllocationSettings, PartitionSettings};
use esker_core::{Arrival, Bytes, RequestKind, words};
use esker_results::{DeviceReport, FlashCacheReport};
use esker_tier::CacheRole;

use super::DeviceFault;

/// The settings of a cache that decide what it needs.
pub(super) struct Needs<'a> {
    pub(super) line: Bytes,
    pub(super) role: CacheRole,
    /// Whether all that misses may enter.
    pub(super) admits_all: bool,
    pub(super) allocation: Option<&'a AllocationSettings>,
    pub(super) partition: Option<&'a PartitionSettings>,
}

/// Lines that requests touch, each as often as a request does.
#[derive(Clone, Copy, Default)]
struct Touched {
    read: u64,
    written: u64,
}

impl Touched {
    fn add(&mut self, Arrival { request, .. }: &Arrival, line: u64) {
        let lines = match request.length {
            Bytes::ZERO => 0,
            _ => request.end_byte().div_ceil(line) - request.start.byte_offset() / line,
        };
        match request.kind {
            RequestKind::Read => self.read += lines,
            kind if kind.has_data() => self.written += lines,
            _ => {}
        }
    }
}

/// A window that has to end in the run.
struct Window {
    table: &'static str,
    bytes: u64,
    /// Whether reads and writes count.
    counts: [bool; 2],
}

impl Window {
    fn bytes_of(&self, touched: &Touched, line: u64) -> u64 {
        let [read, written] = self.counts.map(u64::from);
        (read * touched.read + written * touched.written) * line
    }
}

/// Looks at the requests of a run on a cache with these needs, which reports `built` before its first request.
/// `have_times` says whether they come at their times.
pub(super) fn check(
    needs: &Needs<'_>,
    built: &DeviceReport,
    requests: &mut dyn Iterator<Item = Arrival>,
    have_times: bool,
) -> Result<(), DeviceFault> {
    let Some(cache) = &built.flash_cache else { return Ok(()) };
    let (line, windows) = (needs.line.0, windows(needs, cache));
    let budget = cache.allocation.and_then(|allocation| allocation.erases_per_day_max);
    let budget = budget.filter(|_| have_times && needs.admits_all);
    if windows.is_empty() {
        return Ok(());
    }
    let (mut touched, mut first, mut last) = (Touched::default(), None, None);
    for arrival in requests {
        touched.add(&arrival, line);
        first.get_or_insert(arrival.at);
        last = Some(arrival.at);
        if budget.is_none() && windows.iter().all(|window| window.bytes_of(&touched, line) >= window.bytes) {
            return Ok(());
        }
    }
    for window in &windows {
        check_window(needs, window, window.bytes_of(&touched, line))?;
    }
    let (Some(budget), Some(first), Some(last)) = (budget, first, last) else { return Ok(()) };
    check_budget(needs, budget, touched.written * line, last.saturating_sub(first).as_secs_f64())
}

/// The windows of the settings, as they are once their defaults are known.
fn windows(needs: &Needs<'_>, cache: &FlashCacheReport) -> Vec<Window> {
    let mut windows = Vec::new();
    if let Some(allocation) = &cache.allocation {
        windows.push(Window { table: "allocation", bytes: allocation.window_bytes, counts: [false, true] });
    }
    if let Some(bytes) = cache.partition.as_ref().and_then(|partition| partition.window_bytes) {
        let counts = [needs.role != CacheRole::Write, needs.role != CacheRole::Read];
        windows.push(Window { table: "partition", bytes, counts });
    }
    windows
}

fn check_window(needs: &Needs<'_>, window: &Window, touched: u64) -> Result<(), DeviceFault> {
    let Window { table, bytes, counts } = *window;
    if touched >= bytes {
        return Ok(());
    }
    let what = match counts {
        [true, true] => "reads and writes",
        [true, false] => "reads",
        _ => "writes",
    };
    let own = match table {
        "allocation" => needs.allocation.and_then(|allocation| allocation.window),
        _ => needs.partition.and_then(|partition| partition.window),
    };
    let message = format!(
        "`{table}.window` is {}{}, {} {what} of lines of {}, and the workload has {}: no window would end, and nothing \
         would be chosen",
        Bytes(bytes),
        if own.is_some() { "" } else { " (twice the flash)" },
        words::count(bytes.div_ceil(needs.line.0)),
        needs.line,
        words::count(touched / needs.line.0)
    );
    let hint = format!("take a shorter `{table}.window`, or more requests");
    Err(DeviceFault::new(message).at([format!("{table}.window"), table.to_string()]).with_hint(Some(hint)))
}

/// Checks whether the flash can take `written` bytes in `seconds`: flash has to be erased before it is written again,
/// even if cleaning never copies anything.
fn check_budget(needs: &Needs<'_>, budget: f64, written: u64, seconds: f64) -> Result<(), DeviceFault> {
    let Some(allocation) = needs.allocation else { return Ok(()) };
    let per_day = written as f64 * 86_400.0 / seconds;
    let least = per_day / allocation.block.0 as f64;
    if seconds <= 0.0 || least <= budget {
        return Ok(());
    }
    let message = format!(
        "`allocation.lifetime` allows {} erases a day, and the workload writes {} a day, which takes {} even if \
         cleaning never has to copy anything: no size of the cache keeps it",
        words::count(budget as u64),
        words::bytes(per_day),
        words::count(least as u64)
    );
    let hint = "take fewer `years`, flash of more `cycles`, a larger flash, or an `admission` policy";
    Err(DeviceFault::new(message).at(["allocation.lifetime", "allocation"]).with_hint(Some(hint.to_string())))
}
