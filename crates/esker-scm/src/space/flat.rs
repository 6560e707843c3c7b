//! Where each page of a file lies. In a file of very many short pieces, a page is found sooner here than among them.

/// Stands for a hole.
const HOLE: u64 = u64::MAX;
/// Fewer extents are found soon enough.
const EXTENTS_MIN: u64 = 32;
/// Longer extents, in the mean, are few for their file.
const PAGES_MAX: u64 = 16;

/// The physical page of each page of a file: 8 bytes for 4 KiB.
#[derive(Debug, Clone, Default)]
pub(super) struct Flat(Vec<u64>);

impl Flat {
    /// Whether the list is worth its room for a file of `extents` that ends with page `end`.
    pub(super) fn is_worth(extents: u64, end: u64) -> bool {
        extents >= EXTENTS_MIN && end <= PAGES_MAX * extents
    }

    /// Sets where pages `from` to `to` lie.
    pub(super) fn set(&mut self, from: u64, to: u64, physical: Option<u64>) {
        let (from, to) = (from as usize, to as usize);
        match physical {
            Some(physical) => {
                self.0.resize(self.0.len().max(to), HOLE);
                self.0[from..to].iter_mut().zip(physical..).for_each(|(place, physical)| *place = physical);
            }
            // A hole may reach past the list.
            None => self.0.iter_mut().take(to).skip(from).for_each(|place| *place = HOLE),
        }
    }

    /// Where `page` lies, and how many pages from it on, up to `end`, lie in one piece. None if it is a hole.
    #[inline]
    pub(super) fn run_at(&self, page: u64, end: u64) -> Option<(u64, u64)> {
        let rest = self.0.get(page as usize..)?.iter().take((end - page) as usize);
        let first = *rest.clone().next().filter(|place| **place != HOLE)?;
        let pages = rest.zip(first..).take_while(|(place, expected)| *place == expected).count();
        Some((first, pages as u64))
    }
}
