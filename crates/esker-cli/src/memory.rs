//! Memory use of the program.

/// Has the allocator give large buffers back to the system as soon as they are dropped. By default glibc raises the
/// size from which it does so to that of the largest buffer dropped so far, and keeps what smaller pieces lie between:
/// a study then holds the memory of drives that it no longer simulates (210 MB at the peak instead of 165, in the same
/// time: docs/performance.md).
pub(crate) fn give_large_buffers_back() {
    #[cfg(target_env = "gnu")]
    {
        /// Buffers of this size and more have pages of their own.
        const LARGE_BYTES: i32 = 1 << 20;
        // SAFETY: `mallopt` takes two integers, and no other thread allocates yet.
        let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES) };
    }
}

/// Largest resident memory of this process so far, in bytes; zero if the system does not tell.
pub(crate) fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Memory that programs can still get without swapping, in bytes; `None` if the system does not tell.
pub(crate) fn available_bytes() -> Option<u64> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(kib.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
