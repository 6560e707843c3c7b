//! Workloads of the paper's evaluation (Wu, IV.C), on SCMFS and on any folder: transfers in the patterns of IOzone, and
//! Postmark. They read no clock; the caller gives one.

mod postmark;
mod target;
mod transfer;

pub use postmark::{Postmark, PostmarkRates, postmark};
pub use target::{FolderTarget, LibraryTarget, Target, TargetError};
pub use transfer::{Pattern, Transfer, TransferTimes, transfer};

use esker_core::Nanos;

/// A clock: time since any moment.
pub type Clock<'a> = &'a (dyn Fn() -> Nanos + Sync);

/// Runs `work` on `threads`, from a common start; the time until the last one ends, and the first error.
fn on_threads(
    threads: usize,
    clock: Clock<'_>,
    work: impl Fn(usize) -> Result<(), TargetError> + Sync,
) -> Result<Nanos, TargetError> {
    let barrier = std::sync::Barrier::new(threads);
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads)
            .map(|thread| {
                let (work, barrier) = (&work, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let begun = clock();
                    work(thread).map(|()| (begun, clock()))
                })
            })
            .collect();
        let mut span: Option<(Nanos, Nanos)> = None;
        for thread in started {
            let (begun, ended) = thread.join().expect("a workload does not panic")?;
            let (first, last) = span.unwrap_or((begun, ended));
            span = Some((first.min(begun), last.max(ended)));
        }
        let (first, last) = span.expect("there is a thread");
        Ok(last - first)
    })
}
