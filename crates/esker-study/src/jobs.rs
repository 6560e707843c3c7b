//! Independent pieces of work on a few threads; results in the order of the pieces, whatever order they end in.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A piece of work.
pub(crate) type Job<'a, T> = Box<dyn FnOnce() -> T + Send + 'a>;

/// Runs all jobs on up to `threads` threads.
pub(crate) fn run<T: Send>(threads: usize, jobs: Vec<Job<'_, T>>) -> Vec<T> {
    let results: Vec<Mutex<Option<T>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let jobs: Vec<Mutex<Option<Job<'_, T>>>> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(slot) = jobs.get(index) else { break };
                    let job = slot.lock().expect("no job panics with the lock").take().expect("each job is taken once");
                    *results[index].lock().expect("no job panics with the lock") = Some(job());
                }
            });
        }
    });
    results
        .into_iter()
        .map(|result| result.into_inner().expect("no job panics with the lock").expect("every job ran"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_jobs() {
        let jobs = |n: usize| (0..n).map(|index| Box::new(move || index * 2) as Job<'_, usize>).collect::<Vec<_>>();
        for threads in [1, 2, 7] {
            assert_eq!(run(threads, jobs(20)), (0..20).map(|index| index * 2).collect::<Vec<_>>());
        }
        assert!(run(2, jobs(0)).is_empty());
    }
}
