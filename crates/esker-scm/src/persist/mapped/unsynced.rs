//! What was stored in a file whose stores `msync` makes durable, and has not been synced.

use rustix::io::Errno;
use std::sync::{Condvar, Mutex, MutexGuard};

/// Ranges of the pool that the next round has to sync. Fences share rounds: one thread syncs for all that have stored
/// so far, and those wait until it is done, whose stores are among them.
#[derive(Debug, Default)]
pub(super) struct Unsynced {
    state: Mutex<State>,
    has_ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ranges: Vec<(u64, u64)>,
    /// Rounds that have begun, and that have ended: one more than that may run.
    begun: u64,
    ended: u64,
    /// The error of the first round that failed.
    failed: Option<Errno>,
}

impl Unsynced {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while it is locked")
    }

    /// The bytes from `start` to `end` have been stored, and wait for the next fence.
    pub(super) fn note(&self, start: u64, end: u64) {
        let mut state = self.state();
        // After a failure no fence syncs any more.
        if state.failed.is_none() {
            state.ranges.push((start, end));
        }
    }

    /// Waits until all that was noted so far is synced, by this thread or by another. `sync` is given each range.
    ///
    /// # Errors
    /// One could not be synced, now or ever before. Linux tells of a failure once, and takes pages that it could not
    /// write for written: a later `msync` would find nothing to do, and what was stored would be lost unnoticed.
    pub(super) fn fence(&self, sync: impl Fn(u64, u64) -> Result<(), Errno>) -> Result<(), Errno> {
        let mut state = self.state();
        // What waits is in the next round, all else in those that have begun: a thread whose stores another one syncs
        // finds nothing that waits.
        let last = state.begun + u64::from(!state.ranges.is_empty());
        loop {
            match state.failed {
                Some(error) => return Err(error),
                None if state.ended >= last => return Ok(()),
                None => {}
            }
            if state.begun > state.ended {
                state = self.has_ended.wait(state).expect("no panic while it is locked");
                continue;
            }
            let ranges = joined(std::mem::take(&mut state.ranges));
            state.begun += 1;
            drop(state);
            let synced = ranges.iter().try_for_each(|&(start, end)| sync(start, end));
            state = self.state();
            state.ended += 1;
            if let Err(error) = synced {
                state.failed = Some(error);
                state.ranges = Vec::new();
            }
            self.has_ended.notify_all();
        }
    }
}

/// The ranges in order, those that touch as one.
fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        next.0 <= kept.1 && {
            kept.1 = kept.1.max(next.1);
            true
        }
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::time::Duration;

    const SLOW: Duration = Duration::from_millis(50);

    #[test]
    fn ranges_that_touch_are_synced_as_one() {
        let unsynced = Unsynced::default();
        for (start, end) in [(8192, 9000), (0, 10), (4096, 8192), (0, 4), (20_480, 20_481)] {
            unsynced.note(start, end);
        }
        let synced = Mutex::new(Vec::new());
        unsynced
            .fence(|start, end| {
                synced.lock().unwrap().push((start, end));
                Ok(())
            })
            .unwrap();
        assert_eq!(synced.into_inner().unwrap(), [(0, 10), (4096, 9000), (20_480, 20_481)]);
        unsynced.fence(|_, _| panic!("nothing waits")).unwrap();
    }

    #[test]
    fn a_fence_waits_for_its_stores_that_another_thread_syncs() {
        let (unsynced, began, is_done) = (Unsynced::default(), Barrier::new(2), AtomicBool::new(false));
        // Ours; the fence of the other thread takes it.
        unsynced.note(0, 4096);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let synced = unsynced.fence(|_, _| {
                    began.wait();
                    std::thread::sleep(SLOW);
                    is_done.store(true, Ordering::SeqCst);
                    Ok(())
                });
                synced.unwrap();
            });
            began.wait();
            unsynced.fence(|_, _| panic!("it is being synced")).unwrap();
            assert!(is_done.load(Ordering::SeqCst), "the fence returned before its stores were durable");
        });
    }

    #[test]
    fn a_fence_has_the_error_of_the_thread_that_syncs_its_stores() {
        let (unsynced, began) = (Unsynced::default(), Barrier::new(2));
        unsynced.note(0, 4096);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                unsynced.fence(|_, _| {
                    began.wait();
                    std::thread::sleep(SLOW);
                    Err(Errno::IO)
                })
            });
            began.wait();
            assert_eq!(unsynced.fence(|_, _| Ok(())), Err(Errno::IO));
            assert_eq!(other.join().unwrap(), Err(Errno::IO));
        });
    }

    #[test]
    fn no_fence_succeeds_after_one_that_failed() {
        let unsynced = Unsynced::default();
        unsynced.note(0, 4096);
        unsynced.note(8192, 12_288);
        assert_eq!(unsynced.fence(|start, _| if start == 0 { Err(Errno::IO) } else { Ok(()) }), Err(Errno::IO));
        assert_eq!(unsynced.fence(|_, _| Ok(())), Err(Errno::IO));
        unsynced.note(4096, 8192);
        assert_eq!(unsynced.fence(|_, _| Ok(())), Err(Errno::IO));
        assert!(unsynced.state().ranges.is_empty(), "ranges that nobody syncs do not pile up");
    }

    /// Whatever the order: when a fence returns, the last round that synced began after its store.
    #[test]
    fn fences_of_many_threads_leave_nothing_behind() {
        const THREADS: u32 = 4;
        const STEPS: u32 = 50;
        let unsynced = Unsynced::default();
        let cells: Vec<(AtomicU32, AtomicU32)> = (0..THREADS).map(|_| Default::default()).collect();
        std::thread::scope(|scope| {
            for (own, (stored, durable)) in cells.iter().enumerate() {
                let (unsynced, cells) = (&unsynced, &cells);
                scope.spawn(move || {
                    for step in 1..=STEPS {
                        stored.store(step, Ordering::SeqCst);
                        unsynced.note(own as u64 * 8192, own as u64 * 8192 + 1);
                        let sync = |start: u64, _| {
                            let (stored, durable) = &cells[start as usize / 8192];
                            let value = stored.load(Ordering::SeqCst);
                            std::thread::sleep(Duration::from_micros(50));
                            durable.fetch_max(value, Ordering::SeqCst);
                            Ok(())
                        };
                        unsynced.fence(sync).unwrap();
                        assert_eq!(durable.load(Ordering::SeqCst), step);
                    }
                });
            }
        });
    }
}
