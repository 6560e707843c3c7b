//! Large tables under random access. The tables of a large drive do not fit the processor's caches: on the benchmark
//! drive, three quarters of all time was spent waiting for memory before prefetching was added.

/// Returns a table of `length` zeroes, on huge pages if the system has them. With small pages, random access to a table
/// of 32 MiB would mostly miss the TLB (12 % of the time of random writes).
pub fn zeroed<T: Clone + Default>(length: usize) -> Vec<T> {
    // The system has not touched zeroed memory yet, so the advice still comes in time.
    let table = vec![T::default(); length];
    #[cfg(target_os = "linux")]
    advise_huge_pages(&table);
    table
}

#[cfg(target_os = "linux")]
fn advise_huge_pages<T>(table: &[T]) {
    use rustix::mm::{Advice, madvise};
    const HUGE: usize = 2 << 20;
    // Only whole huge pages within the table, so that no neighbour is affected.
    let start = table.as_ptr().addr().next_multiple_of(HUGE);
    let end = (table.as_ptr().addr() + size_of_val(table)) / HUGE * HUGE;
    if start < end {
        let first = table.as_ptr().cast_mut().cast::<u8>().wrapping_add(start - table.as_ptr().addr());
        // SAFETY: the range lies within memory that `table` borrows, and this advice changes neither its content nor
        // its protection. An error only says that there are no huge pages.
        let _ = unsafe { madvise(first.cast(), end - start, Advice::LinuxHugepage) };
    }
}

/// Asks the processor to load `slice[index]` into its caches. A hint: affects speed only. An index beyond the end is
/// ignored.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads and writes nothing and cannot fault, whatever the address; this one is even valid.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
