//! Who makes a request. The kernel says user and group, but not supplementary groups: those are read from `/proc`, and
//! kept for a moment.

use crate::attributes::now;
use esker_scm::{Caller, FsError, FsResult};
use fuser::Request;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How long groups are kept, in nanoseconds: reading them takes as long as a few requests.
const KEPT: i64 = 100_000_000;
/// Threads whose groups are kept.
const THREADS_MAX: usize = 1024;

/// A thread, with the user and group that it had.
type Thread = (u32, u32, u32);

/// Groups, and when they were read.
type Kept = (i64, Arc<[u32]>);

/// Supplementary groups of threads, and when they were read.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    known: Mutex<BTreeMap<Thread, Kept>>,
}

impl Callers {
    /// Makes `call` in the name of who made the request. If it is refused because of groups that were kept, they are
    /// read again.
    pub(crate) fn call<T>(&self, request: &Request, call: impl Fn(&Caller<'_>) -> FsResult<T>) -> FsResult<T> {
        let (user, group, now) = (request.uid(), request.gid(), now());
        if user == 0 {
            return call(&Caller { user, group, groups: &[], now });
        }
        let thread = (request.pid(), user, group);
        let kept = self.kept(thread, now.0);
        let is_kept = kept.is_some();
        let groups = kept.unwrap_or_else(|| self.read(thread, now.0));
        match call(&Caller { user, group, groups: &groups, now }) {
            Err(FsError::Access | FsError::NotPermitted) if is_kept => {
                let groups = self.read(thread, now.0);
                call(&Caller { user, group, groups: &groups, now })
            }
            result => result,
        }
    }

    fn kept(&self, thread: Thread, now: i64) -> Option<Arc<[u32]>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&thread).filter(|(read, _)| (0..KEPT).contains(&(now - read))).map(|(_, groups)| groups.clone())
    }

    fn read(&self, thread: Thread, now: i64) -> Arc<[u32]> {
        let groups: Arc<[u32]> = groups_of_process(thread.0).into();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= THREADS_MAX {
            known.clear();
        }
        known.insert(thread, (now, groups.clone()));
        groups
    }
}

/// The supplementary groups of a process or thread; none if it cannot be seen.
fn groups_of_process(number: u32) -> Vec<u32> {
    groups_of(&std::fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default())
}

/// The supplementary groups in `/proc/PID/status`.
fn groups_of(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap_or_default();
    line.split_whitespace().filter_map(|group| group.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read() {
        assert_eq!(groups_of("Name:\tsh\nGroups:\t4 24 1000 \nNStgid:\t7\n"), [4, 24, 1000]);
        assert_eq!(groups_of("Groups:\t \n"), [0; 0]);
        assert_eq!(groups_of(""), [0; 0]);
    }
}
