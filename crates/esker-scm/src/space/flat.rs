//! Where each page of a file lies. In a file of very many short pieces, a page is found sooner here than among them.

/// Stands for a hole.
const HOLE: u32 = u32::MAX;
/// Fewer extents are found soon enough.
const EXTENTS_MIN: u64 = 32;
/// Pages of an extent in the mean up to which the list is kept: it takes a quarter of the room of the extents then.
const PAGES_MAX: u64 = 16;

/// The physical page of each page of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Flat(Vec<u32>);

impl Flat {
    /// Whether the list is worth its room for a file of `extents` that ends with page `end`.
    pub(super) fn is_worth(extents: u64, end: u64) -> bool {
        extents >= EXTENTS_MIN && end <= PAGES_MAX * extents
    }

    /// Sets where pages `from` to `to` lie. Returns false if the list cannot hold that.
    pub(super) fn set(&mut self, from: u64, to: u64, physical: Option<u64>) -> bool {
        if physical.is_some_and(|physical| physical + (to - from) > u64::from(HOLE)) {
            return false;
        }
        let end = (to as usize).min(if physical.is_some() { usize::MAX } else { self.0.len() });
        self.0.resize(self.0.len().max(end), HOLE);
        let places = self.0.iter_mut().take(end).skip(from as usize);
        match physical {
            Some(physical) => places.zip(physical as u32..).for_each(|(place, physical)| *place = physical),
            None => places.for_each(|place| *place = HOLE),
        }
        true
    }

    /// Where `page` lies, and how many pages from it on, up to `end`, lie in one piece. None if it is a hole.
    #[inline]
    pub(super) fn run_at(&self, page: u64, end: u64) -> Option<(u64, u64)> {
        let first = *self.0.get(page as usize)?;
        if first == HOLE {
            return None;
        }
        let rest = self.0[page as usize..].iter().take((end - page) as usize);
        let pages = rest.zip(first..).take_while(|(place, expected)| **place == *expected).count();
        Some((u64::from(first), pages as u64))
    }
}
