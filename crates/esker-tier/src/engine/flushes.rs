//! One flush at a time on each device: hosts that ask during a flush share the next one.

use esker_core::{Request, Tag};

use super::IoId;

/// The flush under way on one device, and the one that follows it.
///
/// Two flushes under way together may end in any order. If the later one ended first and succeeded, its host would be
/// told that data are safe which the earlier one may yet report as lost. Many hosts that flush at once also take two
/// flushes of the device this way instead of one each.
#[derive(Debug, Default)]
pub(crate) struct Flushes {
    under_way: Option<Flush>,
    next: Option<NextFlush>,
}

#[derive(Debug)]
struct Flush {
    io: IoId,
    /// The number of writes that it makes durable: those that had completed when it was submitted.
    covers: u64,
    hosts: Vec<Tag>,
}

/// A flush to be submitted when the one under way has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NextFlush {
    /// The requests that wait for it; none if the engine asked for it.
    pub(crate) hosts: Vec<Tag>,
    /// The first request that asked for it, with the most urgent priority of all that did.
    pub(crate) like: Request,
}

impl Flushes {
    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Whether a flush that is under way, or follows one, covers the first `written` writes, all of which have ended.
    pub(crate) fn will_cover(&self, written: u64) -> bool {
        self.next.is_some() || self.under_way.as_ref().is_some_and(|flush| flush.covers >= written)
    }

    /// Requests that wait for a flush that covers the write number `first`.
    pub(crate) fn hosts_from(&self, first: u64) -> Vec<Tag> {
        let under_way = self.under_way.iter().filter(|flush| flush.covers >= first).flat_map(|flush| &flush.hosts);
        let next = self.next.iter().filter(|_| first < u64::MAX).flat_map(|next| &next.hosts);
        under_way.chain(next).copied().collect()
    }

    /// Makes `host` wait for a flush of the first `written` writes. Returns false if none is under way: then one has to
    /// be submitted.
    pub(crate) fn join(&mut self, written: u64, host: Option<Tag>, like: Request) -> bool {
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

    /// Notes that `io`, which makes the first `covers` writes durable, was submitted for `hosts`. None may be under way
    /// (asserted).
    pub(crate) fn begin(&mut self, io: IoId, covers: u64, hosts: Vec<Tag>) {
        let earlier = self.under_way.replace(Flush { io, covers, hosts });
        assert!(earlier.is_none(), "a device has one flush under way");
    }

    /// Ends the flush `io`. Returns the requests that waited for it, how many writes it covers, and the flush to submit
    /// now. After a failed flush there is none: who waited for the next one is told of this failure, too.
    pub(crate) fn end(&mut self, io: IoId, ok: bool) -> (Vec<Tag>, u64, Option<NextFlush>) {
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
