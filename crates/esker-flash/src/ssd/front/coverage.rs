//! Which parts of a page are in memory.

use esker_core::Request;
use esker_nand::Geometry;

/// Which sectors of a page are present: a bit per sector, or per group of sectors if a page has more than 64.
pub(in crate::ssd) type Coverage = u64;

/// How to count a group of sectors that a range covers only in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ssd) enum Rounding {
    /// Leave the group out: for data that are present.
    Inward,
    /// Include the group: for data that are asked for.
    Outward,
}

/// Returns the coverage of sectors `from..to` of a page.
pub(in crate::ssd) fn coverage(from: u32, to: u32, sectors_per_page: u32, rounding: Rounding) -> Coverage {
    let group = sectors_per_page.div_ceil(64);
    let (first, end) = match rounding {
        Rounding::Inward => (from.div_ceil(group), to / group),
        Rounding::Outward => (from / group, to.div_ceil(group)),
    };
    match end.saturating_sub(first) {
        0 => 0,
        count => (u64::MAX >> (64 - count)) << first,
    }
}

/// Returns the sectors of `page` that `request` covers.
pub(in crate::ssd) fn covered(request: &Request, page: u64, geometry: &Geometry, rounding: Rounding) -> Coverage {
    let sectors = u64::from(geometry.sectors_per_page());
    let first = page * sectors;
    let (start, end) = (request.start.0, request.end_byte() / 512);
    let from = start.saturating_sub(first).min(sectors);
    let to = end.saturating_sub(first).min(sectors);
    coverage(from as u32, to as u32, geometry.sectors_per_page(), rounding)
}
