//! What flash caches served, as tables show it.

use esker_results::{FlashCacheReport, RunResults};

/// A flash cache by its name.
pub(crate) struct FlashCache<'a> {
    pub(crate) name: &'a str,
    pub(crate) cache: &'a FlashCacheReport,
}

/// Reads or writes of lines.
#[derive(Debug, PartialEq)]
pub(crate) struct Accesses {
    pub(crate) kind: &'static str,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

impl Accesses {
    pub(crate) fn hit_ratio(&self) -> f64 {
        self.hits as f64 / (self.hits + self.misses).max(1) as f64
    }
}

impl FlashCache<'_> {
    /// Reads and writes, if there were any, and both if there were both.
    pub(crate) fn rows(&self) -> Vec<Accesses> {
        let FlashCacheReport { hits, misses, read_hits, read_misses, .. } = *self.cache;
        let reads = Accesses { kind: "reads", hits: read_hits, misses: read_misses };
        let writes = Accesses {
            kind: "writes",
            hits: hits.saturating_sub(read_hits),
            misses: misses.saturating_sub(read_misses),
        };
        let mut rows = vec![reads, writes];
        rows.retain(|row| row.hits + row.misses > 0);
        if rows.len() > 1 {
            rows.push(Accesses { kind: "both", hits, misses });
        }
        rows
    }

    /// Whether the cache owns its flash, as far as its counts show it.
    pub(crate) fn owns_flash(&self) -> bool {
        let cache = self.cache;
        cache.dropped_lines + cache.erased_suspects + cache.revived_suspects + cache.suspected_lines > 0
    }
}

/// All flash caches whose lines were used.
pub(crate) fn flash_caches(run: &RunResults) -> Vec<FlashCache<'_>> {
    let caches = run.devices.iter().filter_map(|(name, device)| {
        let cache = device.flash_cache.as_ref().filter(|cache| cache.hits + cache.misses > 0)?;
        Some(FlashCache { name, cache })
    });
    caches.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_read_is_a_write() {
        let mut report =
            FlashCacheReport { hits: 70, misses: 30, read_hits: 60, read_misses: 20, ..Default::default() };
        let rows = FlashCache { name: "cache", cache: &report }.rows();
        let row = |kind, hits, misses| Accesses { kind, hits, misses };
        assert_eq!(rows, [row("reads", 60, 20), row("writes", 10, 10), row("both", 70, 30)]);
        assert_eq!(rows[1].hit_ratio(), 0.5);
        (report.hits, report.misses) = (60, 20);
        assert_eq!(FlashCache { name: "cache", cache: &report }.rows(), [row("reads", 60, 20)]);
    }
}
