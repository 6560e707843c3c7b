//! Memory that a device takes, compared with what is free before it is taken: an allocation that fails ends the program
//! without a word, and one that the system cannot keep ends it later.

use esker_core::words;

use super::DeviceFault;

/// Whether a device fills the memory it takes before it serves its first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// All of it: it has to be free.
    AtOnce,
    /// Only what requests touch: addresses for all of it are enough.
    AsUsed,
}

/// Refuses what would take more memory than is free. `what` begins the sentence: "its 268435456 slots of 4KiB".
pub(crate) fn check(what: &str, needed: u64, filled: Filled, keys: &[&str], hint: &str) -> Result<(), DeviceFault> {
    let free = match filled {
        Filled::AtOnce => available(),
        Filled::AsUsed => addresses_left(),
    };
    match free {
        Some(free) if needed > free => {
            let sizes = [needed, free].map(|bytes| words::bytes(bytes as f64));
            let message = format!("{what} take {} of memory, and {} are free", sizes[0], sizes[1]);
            Err(DeviceFault::new(message).at(keys.iter().copied()).with_hint(Some(hint.to_string())))
        }
        _ => Ok(()),
    }
}

/// Memory that this process can still get without swapping, in bytes: of the machine, of its control group, and of its
/// own limit (`ulimit -v`). `None` if the system does not tell.
fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let machine = kibibytes(&read("/proc/meminfo"), "MemAvailable:");
    let group = left_of_group(&read("/sys/fs/cgroup/memory.max"), &read("/sys/fs/cgroup/memory.current"));
    [machine, group, addresses_left()].into_iter().flatten().min()
}

/// Address space that the limit of this process (`ulimit -v`) leaves, in bytes; `None` if there is no limit.
fn addresses_left() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    left_of_limit(&read("/proc/self/limits"), &read("/proc/self/status"))
}

/// The figure after `name` in lines such as `MemAvailable:   1000 kB`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(rest.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

fn left_of_group(most: &str, taken: &str) -> Option<u64> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    Some(number(most)?.saturating_sub(number(taken)?))
}

fn left_of_limit(limits: &str, status: &str) -> Option<u64> {
    let most = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most = most.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(most.saturating_sub(kibibytes(status, "VmSize:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_what_the_system_says_counts() {
        assert_eq!(kibibytes("MemFree: 1 kB\nMemAvailable:    3 kB\n", "MemAvailable:"), Some(3072));
        assert_eq!(kibibytes("", "MemAvailable:"), None);
        assert_eq!((left_of_group("max\n", "5\n"), left_of_group("9\n", "5\n")), (None, Some(4)));
        assert_eq!(left_of_group("4\n", "5\n"), Some(0));
        let limit =
            |soft: &str| format!("Limit Soft Hard Units\nMax address space         {soft}            x bytes\n");
        assert_eq!(left_of_limit(&limit("unlimited"), "VmSize: 1 kB\n"), None);
        assert_eq!(left_of_limit(&limit("4096"), "VmSize: 1 kB\n"), Some(3072));
    }

    #[test]
    fn what_no_machine_has_is_refused_with_the_figure() {
        check("its lines", 1 << 20, Filled::AtOnce, &["line"], "").unwrap();
        let fault = check("its lines", 1 << 60, Filled::AtOnce, &["line"], "take larger ones").unwrap_err();
        assert!(
            fault.message.starts_with("its lines take ") && fault.message.ends_with(" are free"),
            "{}",
            fault.message
        );
        if addresses_left().is_none() {
            // Addresses are free where nothing limits them.
            check("its lines", 1 << 60, Filled::AsUsed, &["line"], "").unwrap();
        }
        assert_eq!((fault.keys, fault.hint), (vec!["line".to_string()], Some("take larger ones".to_string())));
    }
}
