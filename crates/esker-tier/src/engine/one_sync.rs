//! One flush or durable write of a device at a time.

use esker_core::RequestKind;

/// Lets one flush or durable write (FUA) of a device be under way at a time. Those that are asked for meanwhile share
/// the next flush. `W` identifies what waits for it.
///
/// Linux reports a failed write-back once for each open file: of two syncs under way, one may report success although
/// data are lost.
#[derive(Clone, Debug)]
pub struct OneSync<W> {
    is_syncing: bool,
    waiting: Vec<W>,
}

/// What becomes of a request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncStep {
    /// It is sent as it is.
    Send,
    /// It is sent as it is, and is the one that makes data durable: [`OneSync::ended`] follows.
    Sync,
    /// It is sent as this kind, which makes nothing durable. Once that has succeeded, it waits.
    Write(RequestKind),
    /// It waits.
    Wait,
}

impl<W> Default for OneSync<W> {
    fn default() -> Self {
        Self { is_syncing: false, waiting: Vec::new() }
    }
}

impl<W> OneSync<W> {
    /// Begins a request of `kind`.
    pub fn begin(&mut self, kind: RequestKind) -> SyncStep {
        if kind != RequestKind::Flush && !kind.is_fua() {
            return SyncStep::Send;
        }
        if !std::mem::replace(&mut self.is_syncing, true) {
            return SyncStep::Sync;
        }
        match kind {
            RequestKind::Write { .. } => SyncStep::Write(RequestKind::Write { fua: false }),
            RequestKind::WriteZeroes { .. } => SyncStep::Write(RequestKind::WriteZeroes { fua: false }),
            _ => SyncStep::Wait,
        }
    }

    /// Has `what` wait for the next flush.
    pub fn wait(&mut self, what: W) {
        self.waiting.push(what);
    }

    /// The flush or durable write under way has ended.
    pub fn ended(&mut self) {
        self.is_syncing = false;
    }

    /// Returns all that wait, if a flush for them can begin now: [`Self::ended`] follows.
    pub fn next_flush(&mut self) -> Option<Vec<W>> {
        if self.is_syncing || self.waiting.is_empty() {
            return None;
        }
        self.is_syncing = true;
        Some(self.take_waiting())
    }

    /// Takes all that wait: no flush will come.
    pub fn take_waiting(&mut self) -> Vec<W> {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_come_meanwhile_share_the_next_flush() {
        let durable = RequestKind::Write { fua: true };
        let mut line = OneSync::default();
        assert_eq!(line.begin(RequestKind::Read), SyncStep::Send);
        assert_eq!(line.begin(RequestKind::Write { fua: false }), SyncStep::Send);
        assert_eq!(line.begin(durable), SyncStep::Sync);
        assert_eq!(line.begin(durable), SyncStep::Write(RequestKind::Write { fua: false }));
        assert_eq!(line.begin(RequestKind::Flush), SyncStep::Wait);
        line.wait(1);
        assert_eq!(line.next_flush(), None);
        line.ended();
        // The write that came second has ended.
        line.wait(2);
        assert_eq!(line.next_flush(), Some(vec![1, 2]));
        assert_eq!(line.begin(RequestKind::Flush), SyncStep::Wait);
        line.ended();
        assert_eq!(line.next_flush(), None);
        assert_eq!(line.begin(RequestKind::WriteZeroes { fua: true }), SyncStep::Sync);
    }
}
