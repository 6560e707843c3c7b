//! What flash takes in the long run where that is not what the host writes.

/// Writes late in the trace to flash that does not take what the host writes. Then hot data were there already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LateWrites {
    /// Pages that would be written to the flash in the whole trace if all of it were like its late part.
    pub(crate) pages: f64,
    /// Bytes that were written to the flash once: extents that moved in the whole run, or lines that filled a cache.
    pub(crate) once_bytes: u64,
    /// What the design itself wrote to the flash; `None` if it writes nothing there, or was not in the state in which
    /// it is judged.
    pub(crate) promoted: Option<PromotedBytes>,
}

/// Bytes that a design has written to its flash beside those of the host: extents that moved there, or filled lines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PromotedBytes {
    /// In the whole trace.
    pub(crate) all: f64,
    /// If the whole trace were like its late part.
    pub(crate) late: f64,
}

impl LateWrites {
    /// Returns the bytes of whole pages that the flash takes each time the trace repeats, if `all` pages were written
    /// in the run, and how many of these bytes the design promotes. Data that moved to the flash when the trace began
    /// do not move again and are left out, but the flash takes at least as much as in the late part.
    pub(crate) fn bytes_of_trace(&self, all: u64, page_bytes: f64) -> (f64, Option<f64>) {
        let (all, once) = (all as f64 * page_bytes, self.once_bytes as f64);
        let (for_good, late) = ((all - once).max(0.0), self.pages * page_bytes);
        let bytes = for_good.max(late).min(all);
        let promoted = self.promoted.map(|promoted| match late > for_good {
            true => promoted.late * bytes / late,
            false => (promoted.all - once).max(0.0),
        });
        (bytes, promoted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: f64 = 4096.0;

    fn late(pages: f64, once_pages: u64, promoted_pages: [u64; 2]) -> LateWrites {
        let [all, late] = promoted_pages.map(|pages| pages as f64 * PAGE);
        LateWrites { pages, once_bytes: once_pages * 4096, promoted: Some(PromotedBytes { all, late }) }
    }

    /// Of 1,000 pages, 400 were promoted. Pages, and promoted ones among them, of the trace if it repeats.
    fn of(late: &LateWrites) -> (f64, f64) {
        let (bytes, promoted) = late.bytes_of_trace(1_000, PAGE);
        (bytes / PAGE, promoted.unwrap() / PAGE)
    }

    #[test]
    fn what_is_promoted_once_does_not_wear_the_flash_for_good() {
        assert_eq!(of(&late(500.0, 400, [400, 0])), (600.0, 0.0));
        assert_eq!(of(&late(500.0, 300, [400, 0])), (600.0 + 100.0, 100.0), "lines filled later come for good");
        assert_eq!(of(&late(500.0, 0, [400, 300])), (1_000.0, 400.0), "all of them go on");
    }

    /// The late part has more writes than are left without what was promoted once: then it counts, with its promotions.
    #[test]
    fn where_more_is_written_late_the_late_part_counts() {
        assert_eq!(of(&late(800.0, 400, [400, 200])), (800.0, 200.0));
        let (bytes, promoted) = of(&late(1_250.0, 400, [400, 200]));
        assert_eq!(bytes, 1_000.0, "no more than in the whole trace");
        assert!((promoted - 160.0).abs() < 1e-9, "{promoted}: as large a part as of the late writes");
    }

    #[test]
    fn nothing_written_is_nothing_promoted() {
        assert_eq!(late(0.0, 500, [0, 0]).bytes_of_trace(0, PAGE), (0.0, Some(0.0)));
        let untold = LateWrites { promoted: None, ..late(100.0, 0, [400, 0]) };
        assert_eq!(untold.bytes_of_trace(1_000, PAGE), (1_000.0 * PAGE, None));
    }
}
