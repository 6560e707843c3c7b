//! Misses of caches and of TLBs, counted by the processor (`perf_event_open`), as the paper's PAPI did.

use std::fmt;
use std::io;

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware, Software};
use perf_event::{Builder, Counter};

/// What can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Misses of the data TLB by loads.
    DataTlbMisses,
    /// Misses of the instruction TLB.
    InstructionTlbMisses,
    /// Misses of the first instruction cache.
    InstructionCacheMisses,
    /// Misses of the last cache.
    CacheMisses,
    /// Faults of pages, which the kernel counts itself: for these no processor needs counters.
    PageFaults,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DataTlbMisses => "misses of the data TLB",
            Self::InstructionTlbMisses => "misses of the instruction TLB",
            Self::InstructionCacheMisses => "misses of the instruction cache",
            Self::CacheMisses => "misses of the last cache",
            Self::PageFaults => "page faults",
        })
    }
}

/// What was counted, or why it could not be.
pub type Counted = Result<u64, String>;

/// Counts events in the kernel and outside while `work` runs, in this thread, in the threads and in the programs that
/// it starts. Events that cannot be counted have the reason; `work` runs all the same.
pub fn count<T>(events: &[Event], work: impl FnOnce() -> T) -> (T, Vec<Counted>) {
    let mut counters: Vec<Result<Counter, String>> = events.iter().map(|event| start(*event)).collect();
    let done = work();
    let counted = counters.iter_mut().zip(events).map(|(counter, event)| {
        let counter = counter.as_mut().map_err(|reason| reason.clone())?;
        counter.disable().and_then(|()| scaled(counter)).map_err(|error| format!("{event}: {error}"))
    });
    let counted = counted.collect();
    (done, counted)
}

fn start(event: Event) -> Result<Counter, String> {
    let cache = |which, operation| Cache { which, operation, result: CacheResult::MISS };
    let mut builder = match event {
        Event::DataTlbMisses => Builder::new(cache(CacheId::DTLB, CacheOp::READ)),
        Event::InstructionTlbMisses => Builder::new(cache(CacheId::ITLB, CacheOp::READ)),
        Event::InstructionCacheMisses => Builder::new(cache(CacheId::L1I, CacheOp::READ)),
        Event::CacheMisses => Builder::new(Hardware::CACHE_MISSES),
        Event::PageFaults => Builder::new(Software::PAGE_FAULTS),
    };
    builder.include_kernel().inherit(true);
    let made = builder.build().and_then(|mut counter| counter.enable().map(|()| counter));
    made.map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "this processor has no such counter, or its hypervisor hides it".to_string(),
            io::ErrorKind::PermissionDenied => "needs root, or a lower kernel.perf_event_paranoid".to_string(),
            _ => error.to_string(),
        };
        format!("{event}: {why}")
    })
}

/// The count; if events shared a counter in turns, what it would have been without.
fn scaled(counter: &mut Counter) -> io::Result<u64> {
    let read = counter.read_count_and_time()?;
    match (read.time_enabled, read.time_running) {
        (enabled, running) if running == enabled => Ok(read.count),
        (_, 0) => Err(io::Error::other("others used the counters of this processor")),
        (enabled, running) => Ok((read.count as f64 * enabled as f64 / running as f64) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// The kernel counts these on any machine that permits it; so the way to the counters is tested without any.
    #[test]
    fn page_faults_of_threads_are_counted() {
        let touch = || {
            let thread = std::thread::spawn(|| {
                let mut memory = vec![0u8; 64 << 20];
                memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
                std::hint::black_box(&memory);
            });
            thread.join().unwrap();
        };
        let ((), counted) = count(&[Event::PageFaults, Event::DataTlbMisses], touch);
        match &counted[0] {
            // With huge pages there are few.
            Ok(faults) => assert!((10..100_000).contains(faults), "{faults}"),
            Err(reason) => writeln!(std::io::stderr(), "skipped: {reason}").unwrap(),
        }
        if let Err(reason) = &counted[1] {
            assert!(reason.starts_with("misses of the data TLB: "), "{reason}");
        }
    }
}
