//! Memory use of the program.

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
