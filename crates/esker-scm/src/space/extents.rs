//! Where the pages of an open file lie: what the mapping table says of it, in memory and in as few pieces as possible.

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

    /// The part of this extent within pages `from` to `to`.
    fn within(&self, from: u64, to: u64) -> Extent {
        let (start, end) = (self.page.max(from), self.end().min(to));
        Extent { page: start, physical: self.physical + (start - self.page), pages: end - start }
    }
}

/// The extents of a file, in order, no two of which could be one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Extents(Vec<Extent>);

impl Extents {
    /// The extent with `page`.
    #[inline]
    pub(crate) fn find(&self, page: u64) -> Option<Extent> {
        let after = match self.0.as_slice() {
            [one] => usize::from(one.page <= page),
            many => many.partition_point(|extent| extent.page <= page),
        };
        self.0[..after].last().copied().filter(|extent| page < extent.end())
    }

    /// Adds pages that were holes.
    pub(crate) fn insert(&mut self, added: Extent) {
        let at = self.0.partition_point(|extent| extent.page < added.page);
        let joins =
            |left: &Extent, right: &Extent| left.end() == right.page && left.physical + left.pages == right.physical;
        let joins_left = at > 0 && joins(&self.0[at - 1], &added);
        let joins_right = at < self.0.len() && joins(&added, &self.0[at]);
        match (joins_left, joins_right) {
            (true, true) => self.0[at - 1].pages += added.pages + self.0.remove(at).pages,
            (true, false) => self.0[at - 1].pages += added.pages,
            (false, true) => self.0[at] = Extent { pages: added.pages + self.0[at].pages, ..added },
            (false, false) => self.0.insert(at, added),
        }
    }

    /// Takes pages `from` to `to` out, and gives the extents that they were.
    pub(crate) fn remove(&mut self, from: u64, to: u64) -> Vec<Extent> {
        let first = self.0.partition_point(|extent| extent.end() <= from);
        let last = self.0.partition_point(|extent| extent.page < to).max(first);
        let mut kept = Vec::with_capacity(2);
        let removed = self.0[first..last].iter().map(|extent| extent.within(from, to)).collect();
        if first < last {
            let (start, end) = (self.0[first], self.0[last - 1]);
            if start.page < from {
                kept.push(start.within(start.page, from));
            }
            if end.end() > to {
                kept.push(end.within(to, end.end()));
            }
        }
        self.0.splice(first..last, kept);
        removed
    }

    /// The page behind the last one that is mapped.
    pub(crate) fn end(&self) -> u64 {
        self.0.last().map_or(0, Extent::end)
    }

    /// Pages that are mapped.
    pub(crate) fn pages(&self) -> u64 {
        self.0.iter().map(|extent| extent.pages).sum()
    }

    /// Holes and extents that cover pages `from` to `to`, in order: first page, pages, and the physical page of those
    /// that are mapped.
    pub(crate) fn pieces(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64, Option<u64>)> {
        let mut at = from;
        let mut next = self.0.partition_point(|extent| extent.end() <= from);
        std::iter::from_fn(move || {
            if at >= to {
                return None;
            }
            let start = at;
            match self.0.get(next).filter(|extent| extent.page < to) {
                Some(extent) if extent.page <= at => {
                    let part = extent.within(at, to);
                    at += part.pages;
                    next += 1;
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

    /// Random inserts and removals beside one number for each page.
    #[test]
    fn extents_are_those_of_a_list_of_pages() {
        let mut rng = Rng::new(3);
        let mut extents = Extents::default();
        let mut pages: Vec<Option<u64>> = vec![None; 200];
        for _ in 0..20_000 {
            let from = rng.below(200);
            let to = (from + 1 + rng.below(12)).min(200);
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
            let joined = extents
                .0
                .windows(2)
                .all(|pair| pair[0].end() < pair[1].page || pair[0].physical + pair[0].pages != pair[1].physical);
            assert!(joined, "{extents:?}");
        }
    }
}
