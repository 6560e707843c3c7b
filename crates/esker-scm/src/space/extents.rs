//! Where the pages of an open file lie: what the mapping table says of it, in memory and in as few pieces as possible.

use super::flat::Flat;
use crate::layout::RUN;
use std::collections::BTreeMap;

/// Pages that follow each other in the file and in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// First page in the file.
    pub(crate) page: u64,
    /// First physical page.
    pub(crate) physical: u64,
    pub(crate) pages: u64,
}

impl Extent {
    fn end(&self) -> u64 {
        self.page + self.pages
    }

    /// Whether `next` goes on where this extent ends, in the file and in the pool.
    fn is_followed_by(&self, next: &Extent) -> bool {
        self.end() == next.page && self.physical + self.pages == next.physical
    }

    /// The part of this extent within pages `from` to `to`.
    fn within(&self, from: u64, to: u64) -> Extent {
        let (start, end) = (self.page.max(from), self.end().min(to));
        Extent { page: start, physical: self.physical + (start - self.page), pages: end - start }
    }
}

/// The extents of a file, no two of which could be one. A file whose pages moved one by one, as wear-levelling moves
/// them, may have very many.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extents {
    /// By their first page.
    by_page: BTreeMap<u64, Extent>,
    /// Where each page lies, while extents are many and short.
    flat: Option<Flat>,
}

impl Extents {
    /// The extent with `page`.
    pub(crate) fn find(&self, page: u64) -> Option<Extent> {
        let (_, extent) = self.by_page.range(..=page).next_back()?;
        Some(*extent).filter(|extent| page < extent.end())
    }

    /// Pages from `page` on that lie in one piece, up to `end`. None if the first is a hole.
    #[inline]
    pub(crate) fn run_at(&self, page: u64, end: u64) -> Option<Extent> {
        match &self.flat {
            Some(flat) => flat.run_at(page, end).map(|(physical, pages)| Extent { page, physical, pages }),
            None => self.find(page).map(|extent| extent.within(page, end)),
        }
    }

    /// The pieces that pages `from` to `to` lie in, up to the first hole.
    #[inline]
    pub(crate) fn runs(&self, from: u64, to: u64) -> impl Iterator<Item = Extent> {
        let mut page = from;
        std::iter::from_fn(move || {
            let run = (page < to).then(|| self.run_at(page, to))??;
            page += run.pages;
            Some(run)
        })
    }

    /// Notes what became of pages `from` to `to`: where they lie, if they are mapped.
    fn changed(&mut self, from: u64, to: u64, physical: Option<u64>) {
        let (count, end) = (self.count(), self.end());
        match &mut self.flat {
            // Dropped at half of what it is made at, so that it is not made anew each time.
            Some(_) if !Flat::is_worth(2 * count, end) => self.flat = None,
            Some(flat) => flat.set(from, to, physical),
            None if Flat::is_worth(count, end) => {
                let flat = self.flat.insert(Flat::default());
                self.by_page.values().for_each(|one| flat.set(one.page, one.end(), Some(one.physical)));
            }
            None => {}
        }
    }

    /// Adds pages that were holes.
    pub(crate) fn insert(&mut self, added: Extent) {
        let (from, to, physical) = (added.page, added.end(), added.physical);
        let mut added = added;
        let left = self.by_page.range(..added.page).next_back().map(|(_, left)| *left);
        if let Some(left) = left.filter(|left| left.is_followed_by(&added)) {
            self.by_page.remove(&left.page);
            added = Extent { pages: left.pages + added.pages, ..left };
        }
        let right = self.by_page.get(&added.end()).copied();
        if let Some(right) = right.filter(|right| added.is_followed_by(right)) {
            self.by_page.remove(&right.page);
            added.pages += right.pages;
        }
        self.by_page.insert(added.page, added);
        self.changed(from, to, Some(physical));
    }

    /// Takes pages `from` to `to` out, and gives the extents that they were.
    pub(crate) fn remove(&mut self, from: u64, to: u64) -> Vec<Extent> {
        let first = self.find(from).map_or(from, |extent| extent.page);
        let found: Vec<Extent> = self.by_page.range(first..to).map(|(_, extent)| *extent).collect();
        let mut removed = Vec::with_capacity(found.len());
        for extent in found {
            self.by_page.remove(&extent.page);
            removed.push(extent.within(from, to));
            if extent.page < from {
                self.by_page.insert(extent.page, extent.within(extent.page, from));
            }
            if extent.end() > to {
                self.by_page.insert(to, extent.within(to, extent.end()));
            }
        }
        self.changed(from, to, None);
        removed
    }

    /// The page behind the last one that is mapped.
    pub(crate) fn end(&self) -> u64 {
        self.by_page.last_key_value().map_or(0, |(_, extent)| extent.end())
    }

    /// Parts of the first `pages` pages, each within one run of the file and without holes, that lie in more than one
    /// piece, or are a whole run that no entry of the mapping table can map: first page and pages.
    pub(crate) fn scattered_parts(&self, pages: u64) -> impl Iterator<Item = (u64, u64)> {
        (0..pages.div_ceil(RUN)).flat_map(move |run| {
            let (from, to) = (run * RUN, ((run + 1) * RUN).min(pages));
            let mut pieces = self.pieces(from, to).peekable();
            std::iter::from_fn(move || {
                loop {
                    let (first, mut length, physical) = pieces.next()?;
                    let mut is_scattered = length == RUN && physical? % RUN != 0;
                    while physical.is_some() && pieces.peek().is_some_and(|piece| piece.2.is_some()) {
                        length += pieces.next()?.1;
                        is_scattered = true;
                    }
                    if is_scattered {
                        return Some((first, length));
                    }
                }
            })
        })
    }

    /// Whether a part of the first `pages` pages is scattered. Larger files than a run have one piece for each run.
    pub(crate) fn are_scattered(&self, pages: u64) -> bool {
        self.scattered_parts(pages).next().is_some()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.by_page.len() as u64
    }

    /// Pages that are mapped.
    pub(crate) fn pages(&self) -> u64 {
        self.by_page.values().map(|extent| extent.pages).sum()
    }

    /// Holes and extents that cover pages `from` to `to`, in order: first page, pages, and the physical page of those
    /// that are mapped.
    pub(crate) fn pieces(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64, Option<u64>)> {
        let mut at = from;
        let first = self.find(from).map_or(from, |extent| extent.page);
        let mut next = self.by_page.range(first..to.max(first)).map(|(_, extent)| *extent).peekable();
        std::iter::from_fn(move || {
            if at >= to {
                return None;
            }
            let start = at;
            match next.peek().copied() {
                Some(extent) if extent.page <= at => {
                    let part = extent.within(at, to);
                    at += part.pages;
                    next.next();
                    Some((start, part.pages, Some(part.physical)))
                }
                Some(extent) => {
                    at = extent.page;
                    Some((start, at - start, None))
                }
                None => {
                    at = to;
                    Some((start, to - start, None))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_core::Rng;

    #[test]
    fn parts_in_several_pieces_are_scattered() {
        let of = |list: &[(u64, u64, u64)]| {
            let mut extents = Extents::default();
            list.iter().for_each(|&(page, physical, pages)| extents.insert(Extent { page, physical, pages }));
            extents.scattered_parts(3 * RUN).collect::<Vec<_>>()
        };
        assert_eq!(of(&[(0, 40, 7), (9, 3, 5)]), [], "two pieces with a hole between them");
        assert_eq!(of(&[(0, 40, 7), (7, 3, 5)]), [(0, 12)]);
        assert_eq!(of(&[(1, 40, 7), (8, 3, 5), (20, 9, 1), (21, 7, 1)]), [(1, 12), (20, 2)], "both parts of a run");
        assert_eq!(of(&[(0, 2 * RUN, RUN), (RUN, 9 * RUN, RUN)]), [], "a run each");
        assert_eq!(of(&[(0, 2 * RUN + 1, RUN)]), [(0, RUN)], "a run that is not aligned");
        assert_eq!(of(&[(500, 7, 12), (512, 90, 3)]), [], "pieces of two runs");
    }

    /// Random inserts and removals of up to `longest` pages beside one number for each page. Returns how often the flat
    /// form was used, and how often it was not.
    fn beside_a_list_of_pages(longest: u64) -> (u64, u64) {
        let mut rng = Rng::new(3);
        let (mut flat, mut not_flat) = (0, 0);
        let mut extents = Extents::default();
        let mut pages: Vec<Option<u64>> = vec![None; 200];
        // Miri takes its time.
        for _ in 0..if cfg!(miri) { 50 } else { 20_000 } {
            let from = rng.below(200);
            let to = (from + 1 + rng.below(longest)).min(200);
            if rng.below(2) == 0 {
                let removed: u64 = extents.remove(from, to).iter().map(|extent| extent.pages).sum();
                let expected = pages[from as usize..to as usize].iter().flatten().count() as u64;
                assert_eq!(removed, expected);
                pages[from as usize..to as usize].fill(None);
            } else if pages[from as usize..to as usize].iter().all(Option::is_none) {
                let physical = from + 1000 * rng.below(2);
                extents.insert(Extent { page: from, physical, pages: to - from });
                (from..to).for_each(|page| pages[page as usize] = Some(physical + page - from));
            }
            let mut seen = Vec::new();
            for (page, length, physical) in extents.pieces(0, 200) {
                assert_eq!(page as usize, seen.len());
                seen.extend((0..length).map(|step| physical.map(|physical| physical + step)));
            }
            assert_eq!(seen, pages);
            let page = rng.below(200);
            let found = extents.find(page).map(|extent| extent.physical + page - extent.page);
            assert_eq!(found, pages[page as usize]);
            let end = (page + 1 + rng.below(20)).min(200);
            let run = extents.run_at(page, end);
            assert_eq!(run, extents.find(page).map(|extent| extent.within(page, end)));
            let mapped = pages[page as usize..end as usize].iter().take_while(|place| place.is_some()).count();
            assert_eq!(extents.runs(page, end).map(|run| run.pages).sum::<u64>(), mapped as u64);
            match &extents.flat {
                Some(_) => flat += 1,
                None => not_flat += 1,
            }
            let all: Vec<Extent> = extents.by_page.values().copied().collect();
            let joined = all
                .windows(2)
                .all(|pair| pair[0].end() < pair[1].page || pair[0].physical + pair[0].pages != pair[1].physical);
            assert!(joined, "{extents:?}");
        }
        (flat, not_flat)
    }

    #[test]
    fn extents_are_those_of_a_list_of_pages() {
        let (flat, not_flat) = beside_a_list_of_pages(12);
        assert!(not_flat > 0, "{flat}");
        let (flat, not_flat) = beside_a_list_of_pages(2);
        assert!(cfg!(miri) || flat > 0 && not_flat > 0, "{flat}, {not_flat}");
    }
}
