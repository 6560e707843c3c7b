//! A file of a pool, mapped by a client: its pages in one piece of addresses.

use super::instructions::{self, WriteBack};
use crate::layout::{Geometry, PAGE, Stretch};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes that one mapping of the processor can cover, if addresses and pool are aligned alike.
const HUGE: usize = 2 << 20;
/// Bytes that are made ready at once for stores one behind the other: the first store to each page would wait for the
/// kernel.
const AHEAD: u64 = 512 << 10;
/// Most mappings of one view.
const STRETCHES_MAX: usize = 512;
/// Most mappings of all views of a process, which has 65,530 in all: each can split what was reserved around it, and
/// the program needs some.
const PROCESS_MAX: usize = 16_384;

/// Most pages of a view. No file has as many as the virtual space of the largest pool.
const PAGES_MAX: u64 = Geometry::PAGES_MAX * Geometry::VIRTUAL;
const _: () = assert!(PAGES_MAX <= (isize::MAX as u64 - HUGE as u64) / PAGE, "there are numbers for their bytes");

/// Mappings of all views of this process.
static OF_PROCESS: AtomicUsize = AtomicUsize::new(0);

/// Pages of one file, mapped from its pool. Nothing else of the pool can be reached through it.
#[derive(Debug)]
pub struct View {
    /// All of its addresses.
    reserved: (NonNull<u8>, usize),
    /// That of its first page.
    base: NonNull<u8>,
    pages: u64,
    /// What is mapped, in order.
    mapped: Vec<(u64, u64)>,
    mappings: usize,
    write_back: WriteBack,
    is_writable: bool,
    /// Where the last store ended: a guess, as other threads may store elsewhere.
    last_end: AtomicU64,
    /// Blocks of [`AHEAD`] bytes that were made ready, a bit for each.
    ready: Vec<AtomicU64>,
}

// SAFETY: the mapping belongs to this value and lives as long as it does. All accesses are copies through raw pointers
// to memory that other processes change at any time, too; nothing that is read is trusted.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// Addresses for `pages` pages of a file, of which none is mapped yet.
    ///
    /// # Errors
    /// The system has no room for them, or they are more pages than a file can have.
    pub fn new(pages: u64, is_writable: bool) -> Result<View, Errno> {
        let pages = pages.max(1);
        if pages > PAGES_MAX {
            return Err(Errno::FBIG);
        }
        let length = (pages * PAGE) as usize + HUGE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let reserved = unsafe {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::empty(), flags)?
        };
        let reserved = NonNull::new(reserved.cast::<u8>()).ok_or(Errno::NOMEM)?;
        // SAFETY: it is less than `HUGE` bytes ahead, and so within the mapping.
        let base = unsafe { reserved.add(reserved.align_offset(HUGE)) };
        let write_back = WriteBack::of_this_processor();
        let blocks = (pages * PAGE).div_ceil(AHEAD);
        let ready = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let (reserved, mapped, last_end) = ((reserved, length), Vec::new(), AtomicU64::new(0));
        Ok(View { reserved, base, pages, mapped, mappings: 0, write_back, is_writable, last_end, ready })
    }

    /// Pages that there are addresses for.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Maps pages of the pool, as far as there are addresses for them.
    ///
    /// # Errors
    /// The system refuses, or too many pieces are mapped.
    pub fn map(&mut self, pool: BorrowedFd<'_>, stretch: Stretch) -> Result<(), Errno> {
        let end = stretch.page.saturating_add(stretch.pages).min(self.pages);
        if stretch.page >= end {
            return Ok(());
        }
        if self.mappings == STRETCHES_MAX || OF_PROCESS.load(Ordering::Relaxed) >= PROCESS_MAX {
            return Err(Errno::NOMEM);
        }
        let access = if self.is_writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let offset = stretch.physical.checked_mul(PAGE).ok_or(Errno::OVERFLOW)?;
        let (at, length) = self.place(stretch.page, end);
        // SAFETY: the addresses are within the mapping of this view, as `place` has checked; what is replaced there is
        // memory without access, or the same pages.
        unsafe {
            rustix::mm::mmap(at.cast(), length, access, MapFlags::SHARED | MapFlags::FIXED, pool, offset)?;
            // A child keeps no pages that its parent gives back.
            rustix::mm::madvise(at.cast(), length, Advice::LinuxDontFork)?;
        }
        self.mappings += 1;
        OF_PROCESS.fetch_add(1, Ordering::Relaxed);
        self.note(stretch.page, end);
        Ok(())
    }

    /// Where pages `from` to `to` are, and how many bytes they have.
    ///
    /// # Panics
    /// If they are not all within what was reserved: what is mapped beyond would replace memory of the program.
    fn place(&self, from: u64, to: u64) -> (*mut u8, usize) {
        let (reserved, room) = self.reserved;
        let before = (self.base.as_ptr() as usize - reserved.as_ptr() as usize) as u64;
        let end = to.checked_mul(PAGE).and_then(|end| end.checked_add(before));
        assert!(from <= to && end.is_some_and(|end| end <= room as u64), "pages {from} to {to} are not of the view");
        // SAFETY: the page begins at or before `end`, which is within the mapping, as was just checked.
        let at = unsafe { self.base.as_ptr().add((from * PAGE) as usize) };
        (at, ((to - from) * PAGE) as usize)
    }

    fn note(&mut self, from: u64, to: u64) {
        self.mapped.push((from, to));
        self.mapped.sort_unstable();
        self.mapped.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1;
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
    }

    /// Whether all of `length` bytes at `offset` are mapped.
    #[inline]
    pub fn has(&self, offset: u64, length: u64) -> bool {
        let Some(end) = offset.checked_add(length) else { return false };
        self.has_pages(offset / PAGE, end.div_ceil(PAGE))
    }

    /// Whether pages `first` to `last` are mapped, without the last.
    #[inline]
    pub fn has_pages(&self, first: u64, last: u64) -> bool {
        match self.mapped.as_slice() {
            [] => false,
            [(from, to)] => *from <= first && last <= *to,
            many => many.iter().any(|&(from, to)| from <= first && last <= to),
        }
    }

    #[inline]
    fn address(&self, offset: u64, length: usize) -> *mut u8 {
        assert!(self.has(offset, length as u64), "{length} bytes at {offset} are not mapped");
        // SAFETY: they are, so the address lies within the mapping.
        unsafe { self.base.as_ptr().add(offset as usize) }
    }

    /// Has the kernel make the next block of pages ready for stores one behind the other, once. For reads it does so
    /// itself.
    #[inline]
    fn prepare(&self, offset: u64, length: u64) {
        let end = offset + length;
        let is_next = self.last_end.swap(end, Ordering::Relaxed) == offset;
        let block = end / AHEAD;
        let (word, bit) = ((block / 64) as usize, 1 << (block % 64));
        if is_next && self.ready.get(word).is_some_and(|word| word.load(Ordering::Relaxed) & bit == 0) {
            self.ready[word].fetch_or(bit, Ordering::Relaxed);
            self.make_ready(block * AHEAD / PAGE, (block + 1) * AHEAD / PAGE);
        }
    }

    #[cold]
    fn make_ready(&self, first: u64, last: u64) {
        for &(from, to) in &self.mapped {
            let (from, to) = (from.max(first), to.min(last));
            if from < to {
                // What cannot be made ready is when it is reached.
                // SAFETY: these pages are mapped, and what they hold stays.
                let _ = unsafe {
                    let (at, length) = self.place(from, to);
                    rustix::mm::madvise(at.cast(), length, Advice::LinuxPopulateWrite)
                };
            }
        }
    }

    /// Reads the bytes at `offset`, which must be mapped.
    #[inline]
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        let from = self.address(offset, into.len());
        // SAFETY: `from` has as many bytes as `into`, and a mapping and a borrowed slice do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) }
    }

    /// Stores bytes past the cache at `offset`, where pages must be mapped for writing, and waits for them.
    #[inline]
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        assert!(self.is_writable, "the view is one for reading");
        let to = self.address(offset, bytes.len());
        self.prepare(offset, bytes.len() as u64);
        // SAFETY: as in `read`.
        unsafe { instructions::copy_streaming(self.write_back, bytes.as_ptr(), to, bytes.len()) }
        instructions::fence();
    }
}

impl Drop for View {
    fn drop(&mut self) {
        OF_PROCESS.fetch_sub(self.mappings, Ordering::Relaxed);
        // SAFETY: the mapping was made by `new` with this length, and nobody has its address any more.
        let _ = unsafe { rustix::mm::munmap(self.reserved.0.as_ptr().cast(), self.reserved.1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn a_view_shows_pages_in_the_order_of_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(16 * PAGE).unwrap();
        let mut view = View::new(8, true).unwrap();
        view.map(file.as_fd(), Stretch { page: 0, physical: 10, pages: 2 }).unwrap();
        view.map(file.as_fd(), Stretch { page: 2, physical: 3, pages: 1 }).unwrap();
        view.map(file.as_fd(), Stretch { page: 7, physical: 4, pages: 5 }).unwrap();
        assert!(view.has(0, 3 * PAGE) && view.has(7 * PAGE, PAGE));
        assert!(!view.has(0, 3 * PAGE + 1) && !view.has(6 * PAGE, 2 * PAGE) && !view.has(u64::MAX, 2));
        view.write(PAGE + 5, &[7; PAGE as usize]);
        let mut bytes = vec![0; 16 * PAGE as usize];
        std::io::Read::read_exact(&mut file, &mut bytes).unwrap();
        let at = |page: u64| (page * PAGE) as usize;
        assert!(bytes[at(11) + 5..at(12)].iter().all(|&byte| byte == 7));
        assert!(bytes[at(3)..at(3) + 5] == [7; 5] && bytes[at(3) + 5] == 0 && bytes[at(4)] == 0);
        let mut read = [0; 10];
        view.read(2 * PAGE - 5, &mut read);
        assert_eq!(read, [7; 10]);
    }

    /// However far away a stretch is said to be, nothing is mapped outside of the view.
    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn no_view_is_larger_than_a_file_can_be() {
        for pages in [PAGES_MAX + 1, 1 << 52, 1 << 63, u64::MAX] {
            assert_eq!(View::new(pages, false).map(drop), Err(Errno::FBIG), "{pages}");
        }
        let file = tempfile::tempfile().unwrap();
        file.set_len(16 * PAGE).unwrap();
        let mut view = View::new(8, false).unwrap();
        for (page, pages) in [(8, 1), (9, u64::MAX), (u64::MAX, 1), (u64::MAX, u64::MAX), (1 << 52, 1 << 52)] {
            view.map(file.as_fd(), Stretch { page, physical: 0, pages }).unwrap();
            assert!(!view.has_pages(page, page.saturating_add(1)) && view.mappings == 0, "{page}");
        }
        let far = Stretch { page: 0, physical: 1 << 52, pages: 1 };
        assert_eq!(view.map(file.as_fd(), far), Err(Errno::OVERFLOW));
        view.map(file.as_fd(), Stretch { page: 7, physical: 0, pages: u64::MAX }).unwrap();
        assert!(view.has_pages(7, 8) && !view.has_pages(7, 9));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    #[should_panic(expected = "not of the view")]
    fn pages_behind_the_last_have_no_place() {
        let view = View::new(8, false).unwrap();
        view.place(8 + (HUGE as u64 / PAGE), 9 + (HUGE as u64 / PAGE));
    }

    /// Many scattered files leave a process mappings for itself.
    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn all_views_of_a_process_have_a_part_of_its_mappings() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(2048 * PAGE).unwrap();
        let scattered = || {
            let mut view = View::new(1024, true).unwrap();
            let mut map = |page| view.map(file.as_fd(), Stretch { page, physical: 2 * page, pages: 1 });
            let mapped = (0..1024).map_while(|page| map(page).ok()).count();
            (view, mapped)
        };
        let views: Vec<(View, usize)> = (0..40).map(|_| scattered()).collect();
        let all: usize = views.iter().map(|(_, mapped)| mapped).sum();
        assert!((PROCESS_MAX - 100..=PROCESS_MAX).contains(&all), "{all}");
        assert!(views.iter().all(|(view, _)| view.mappings <= STRETCHES_MAX));
        drop(views);
        assert_eq!(scattered().1, STRETCHES_MAX);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    #[should_panic(expected = "not mapped")]
    fn what_is_not_mapped_is_not_reached() {
        View::new(8, true).unwrap().read(0, &mut [0]);
    }
}
