//! Independent pieces of work on a few threads.

use std::ops::ControlFlow;
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Does `work(0)` to `work(count - 1)` on up to `threads` threads, on the caller's alone where one is enough. Each
/// index is begun once, lower ones first; after a [`ControlFlow::Break`] no more are begun. Returns when all that were
/// begun have ended.
///
/// # Panics
/// With the panic of a piece of work.
pub fn for_each(threads: usize, count: usize, work: impl Fn(usize) -> ControlFlow<()> + Sync) {
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let crew = || {
        while !ended.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            if work(index).is_break() {
                ended.store(true, Ordering::Relaxed);
            }
        }
    };
    let threads = threads.min(count);
    if threads <= 1 {
        return crew();
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(crew)).collect();
        for thread in threads {
            thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        }
    });
}

/// What `work(0)` to `work(count - 1)` return, in this order whatever order they end in, on up to `threads` threads.
///
/// # Panics
/// With the panic of a piece of work.
pub fn collect<T: Send>(threads: usize, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    for_each(threads, count, |index| {
        let result = work(index);
        *results[index].lock().expect("nothing panics with the lock") = Some(result);
        ControlFlow::Continue(())
    });
    let results = results.into_iter().map(|result| result.into_inner().expect("nothing panics with the lock"));
    results.map(|result| result.expect("every piece of work was done")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: [usize; 4] = [0, 1, 2, 7];

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        for threads in THREADS {
            assert_eq!(collect(threads, 200, |index| index * 2), (0..400).step_by(2).collect::<Vec<_>>());
            assert!(collect(threads, 0, |index| index).is_empty());
        }
    }

    #[test]
    fn each_piece_is_begun_once_and_none_after_a_break() {
        for threads in THREADS {
            let begun: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
            for_each(threads, begun.len(), |index| {
                begun[index].fetch_add(1, Ordering::Relaxed);
                if index == 100 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let begun: Vec<usize> = begun.into_iter().map(AtomicUsize::into_inner).collect();
            assert_eq!(begun[..=100], [1; 101], "lower indices are begun first");
            assert!(begun.iter().all(|&times| times <= 1));
            assert!(threads > 1 || begun[101..].iter().all(|&times| times == 0));
        }
    }

    #[test]
    #[should_panic(expected = "piece 3")]
    fn a_panic_is_passed_on() {
        collect(2, 8, |index| assert!(index != 3, "piece {index}"));
    }
}
