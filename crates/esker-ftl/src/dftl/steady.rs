//! Start in the steady state: data and translation pages are where long overwriting leaves them, and the cache is full
//! of the entries written last.

use esker_core::{PhysicalPage, Rng};
use esker_nand::memory::prefetch;
use esker_nand::state::FlashState;

use super::Dftl;
use super::tables::{TRANSLATION, entry};
use crate::pools::{Contents, OwnerRun, PageMap};

/// Takes the locations of data and translation pages from the pools.
struct SteadyLocations<'a> {
    map: &'a mut [u32],
    directory: &'a mut [u32],
}

impl PageMap for SteadyLocations<'_> {
    #[inline(always)]
    fn prefetch(&self, owner: u32) {
        if owner & TRANSLATION == 0 {
            prefetch(self.map, owner as usize);
        }
    }
    #[inline(always)]
    fn moved(&mut self, owner: u32, to: PhysicalPage, _: &FlashState) {
        let (table, index) = match owner & TRANSLATION {
            0 => (&mut *self.map, owner),
            _ => (&mut *self.directory, owner & !TRANSLATION),
        };
        table[index as usize] = entry(to);
    }
}

impl Dftl {
    /// See [`crate::Ftl::begin_steady`].
    pub(super) fn begin(&mut self, pages: u32, seed: u64, flash: &mut FlashState) -> Option<f64> {
        // If neighbours are saved together, the steady state would have to say which cached entries are clean.
        if self.settings.batch_evictions || pages < self.tables.striping.pools() {
            return None;
        }
        let per_page = self.settings.entries_per_page;
        let mut rng = Rng::derive(seed, "order of pages");
        // If the whole map is cached, none of it is ever written.
        let on_flash = self.tables.cache.capacity() < pages;
        let contents: Vec<Contents> = self
            .tables
            .striping
            .first_slots(pages)
            .map(|(first, count)| Contents {
                data: OwnerRun::new(first, count, &mut rng),
                map: on_flash
                    .then(|| OwnerRun::new(TRANSLATION | (first / per_page), count.div_ceil(per_page), &mut rng)),
            })
            .collect();
        let (map, directory) = self.tables.map_and_directory();
        let amplification = self.pools.start_steady(&contents, seed, flash, &mut SteadyLocations { map, directory })?;
        self.fill_cache(&contents, pages, amplification, flash);
        self.tables.write_contents(flash);
        Some(amplification)
    }

    /// Fills the cache with entries that are not yet on flash. Entries that were hit have been there for long, so their
    /// pages lie anywhere. The others belong to the pages that the host wrote last, with copies between them.
    fn fill_cache(&mut self, contents: &[Contents], pages: u32, amplification: f64, flash: &FlashState) {
        let cached = self.tables.cache.capacity().min(pages);
        let protected = self.tables.cache.protected_capacity().min(cached);
        let mut brought = Vec::new();
        for index in self.load_spread(contents, protected, pages, f64::INFINITY, flash, &mut brought) {
            self.tables.cache.touch(index);
        }
        self.load_spread(contents, cached - protected, pages, amplification, flash, &mut brought);
        brought.sort_unstable();
        for (since, index, pool) in brought {
            let page = self.tables.cache.page(index);
            self.tables.change_before(index, page, pool, since);
        }
    }

    /// Caches `count` entries, an equal share of each pool. Between the pages of two entries lie `apart` valid pages,
    /// or as many as there are. The most recently written page comes last. Returns the indices in the cache.
    fn load_spread(
        &mut self,
        contents: &[Contents],
        count: u32,
        pages: u32,
        apart: f64,
        flash: &FlashState,
        brought: &mut Vec<(u64, u32, usize)>,
    ) -> Vec<u32> {
        let share = |run: &OwnerRun| (u64::from(count) * u64::from(run.count()) / u64::from(pages)) as u32;
        let mut missing: Vec<u32> = contents.iter().map(|contents| share(&contents.data)).collect();
        let steps = missing.iter().copied().max().unwrap_or(0);
        let mut places = Vec::with_capacity(count as usize);
        // Take the pools in turn, as their pages are written.
        for step in (0..steps).rev() {
            for (pool, Contents { data, .. }) in contents.iter().enumerate() {
                if step < share(data) {
                    let apart = apart.min(f64::from(data.count()) / f64::from(share(data)));
                    let slot = data.owner((f64::from(step) * apart) as u32);
                    if self.tables.cached(slot).is_none() {
                        places.push(self.load_dirty(pool, slot, flash, brought));
                        missing[pool] -= 1;
                    }
                }
            }
        }
        // Entries of these pages replace entries that turned out to be cached already.
        for (pool, Contents { data, .. }) in contents.iter().enumerate() {
            let mut order = (0..data.count()).rev();
            while missing[pool] > 0 {
                let slot = data.owner(order.next().expect("no more is cached than there is"));
                if self.tables.cached(slot).is_none() {
                    places.push(self.load_dirty(pool, slot, flash, brought));
                    missing[pool] -= 1;
                }
            }
        }
        places
    }

    /// Caches the entry of `slot`, which is not yet on flash. If a journal is kept, adds to `brought`: the sequence
    /// number of the block with the data, the index in the cache, and the pool.
    fn load_dirty(&mut self, pool: usize, slot: u32, flash: &FlashState, brought: &mut Vec<(u64, u32, usize)>) -> u32 {
        let index = self.tables.load(slot);
        let page = self.tables.cache.page(index);
        self.tables.cache.change(index, page);
        if flash.keeps_journal() {
            let at = self.tables.find(slot).expect("it has data");
            brought.push((flash.opened(flash.geometry().block_of(at)), index, pool));
        }
        index
    }
}
