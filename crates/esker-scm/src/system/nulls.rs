//! Null files: inodes without a name, some of them with space (Wu, IV.B.3).

/// Null files by how many pages they have: none, 1, 2-3, 4-7, ...
#[derive(Debug, Default)]
pub(super) struct NullFiles {
    classes: Vec<Vec<(u64, u64)>>,
    count: u64,
    pages: u64,
}

/// New files get null files of at most this class, as long as there are others: 8 to 15 pages.
const SMALL: usize = 4;

fn class_of(pages: u64) -> usize {
    if pages == 0 { 0 } else { pages.ilog2() as usize + 1 }
}

impl NullFiles {
    /// Adds inode `number`, which has `pages`.
    pub(super) fn add(&mut self, number: u64, pages: u64) {
        let class = class_of(pages);
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Vec::new);
        }
        self.classes[class].push((number, pages));
        self.count += 1;
        self.pages += pages;
    }

    /// Takes a null file with a few pages if `wants_space`, else one without; another one if there is none of those,
    /// but no large one. The one that was added last comes first: it may be in the processor's cache.
    pub(super) fn take(&mut self, wants_space: bool) -> Option<(u64, u64)> {
        let small = self.classes.len().min(SMALL + 1);
        let class = if wants_space {
            (1..small).chain(0..small.min(1)).find(|&class| !self.classes[class].is_empty())
        } else {
            (0..small).find(|&class| !self.classes[class].is_empty())
        };
        class.and_then(|class| self.take_of(class))
    }

    /// Takes the null file with most pages.
    pub(super) fn take_largest(&mut self) -> Option<(u64, u64)> {
        (0..self.classes.len())
            .rev()
            .find(|&class| !self.classes[class].is_empty())
            .and_then(|class| self.take_of(class))
    }

    fn take_of(&mut self, class: usize) -> Option<(u64, u64)> {
        let (number, pages) = self.classes[class].pop()?;
        self.count -= 1;
        self.pages -= pages;
        Some((number, pages))
    }

    /// Null files.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Null files with pages.
    pub(super) fn with_space(&self) -> u64 {
        self.count - self.classes.first().map_or(0, Vec::len) as u64
    }

    /// Whether there are any without pages.
    pub(super) fn has_without_space(&self) -> bool {
        self.classes.first().is_some_and(|class| !class.is_empty())
    }

    /// Whether one has at least `pages`, a power of two.
    pub(super) fn has_at_least(&self, pages: u64) -> bool {
        self.classes.iter().skip(class_of(pages)).any(|class| !class.is_empty())
    }

    /// Their pages.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_null_files_are_for_new_files_and_large_ones_for_the_cleaner() {
        let mut nulls = NullFiles::default();
        nulls.add(1, 0);
        nulls.add(2, 3);
        nulls.add(3, 1000);
        assert_eq!((nulls.count(), nulls.pages()), (3, 1003));
        assert!(nulls.has_at_least(512) && !nulls.has_at_least(1024));
        assert_eq!(nulls.take(true), Some((2, 3)));
        assert_eq!(nulls.take(true), Some((1, 0)));
        assert_eq!(nulls.take(true), None, "a large one is not for a new file");
        assert_eq!(nulls.take_largest(), Some((3, 1000)));
        assert_eq!((nulls.count(), nulls.pages()), (0, 0));
    }
}
