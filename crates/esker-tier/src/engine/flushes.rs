//! At most one flush at a time on each device: requests that ask for a flush during one share the next.

use esker_core::{Request, Tag};

use super::IoId;

/// The flush under way on one device, and the one queued behind it.
///
/// Two flushes under way at once could end in any order. If the later one ended first and succeeded, its host would be
/// told that data are safe, although the earlier one might still report them lost. Queueing also saves work: many hosts
/// that flush at the same time need two flushes of the device instead of one each.
#[derive(Debug, Default)]
pub struct Flushes {
    under_way: Option<Flush>,
    next: Option<NextFlush>,
}

#[derive(Debug)]
struct Flush {
    io: IoId,
    /// Number of writes that it makes durable, counted from the first: those that had completed when it was submitted.
    covers: u64,
    hosts: Vec<Tag>,
}

/// A flush to submit when the one under way has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextFlush {
    /// The host requests that wait for it; empty if only the engine asked for it.
    pub hosts: Vec<Tag>,
    /// The first request that asked for it, raised to the most urgent priority of all requests that did.
    pub like: Request,
}

impl Flushes {
    /// Returns true while a flush is under way.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Returns true if the flush under way covers the first `written` writes, all of which have ended, or a flush is
    /// queued.
    pub fn will_cover(&self, written: u64) -> bool {
        self.next.is_some() || self.under_way.as_ref().is_some_and(|flush| flush.covers >= written)
    }

    /// Returns the host requests that wait for a flush which covers write number `first`.
    pub fn hosts_from(&self, first: u64) -> Vec<Tag> {
        let under_way = self.under_way.iter().filter(|flush| flush.covers >= first).flat_map(|flush| &flush.hosts);
        let next = self.next.iter().filter(|_| first < u64::MAX).flat_map(|next| &next.hosts);
        under_way.chain(next).copied().collect()
    }

    /// Makes `host` wait for a flush of the first `written` writes. Returns false if no flush is under way: the caller
    /// then has to submit one.
    pub fn join(&mut self, written: u64, host: Option<Tag>, like: Request) -> bool {
        match &mut self.under_way {
            None => false,
            Some(flush) if flush.covers >= written => {
                flush.hosts.extend(host);
                true
            }
            Some(_) => {
                let next = self.next.get_or_insert_with(|| NextFlush { hosts: Vec::new(), like });
                next.hosts.extend(host);
                next.like.priority = next.like.priority.min(like.priority);
                true
            }
        }
    }

    /// Notes that `io`, a flush of the first `covers` writes, was submitted for `hosts`. No other flush may be under
    /// way (asserted).
    pub fn begin(&mut self, io: IoId, covers: u64, hosts: Vec<Tag>) {
        let earlier = self.under_way.replace(Flush { io, covers, hosts });
        assert!(earlier.is_none(), "a device has one flush under way");
    }

    /// Ends the flush `io`. Returns the host requests that waited for it, the number of writes that it covers, and the
    /// flush to submit now. After a failure no flush follows: the hosts that waited for the queued one are told of this
    /// failure, too.
    pub fn end(&mut self, io: IoId, ok: bool) -> (Vec<Tag>, u64, Option<NextFlush>) {
        let Flush { io: begun, covers, mut hosts } = self.under_way.take().expect("a flush is under way");
        assert_eq!(begun, io, "a device has one flush under way");
        let next = self.next.take();
        if ok {
            return (hosts, covers, next);
        }
        hosts.extend(next.into_iter().flat_map(|next| next.hosts));
        (hosts, covers, None)
    }
}
