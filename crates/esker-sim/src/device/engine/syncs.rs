//! Flushes and durable writes of children, one at a time for each, as of a volume's devices.

use esker_core::{Bytes, Completion, Lba, Nanos, Request, RequestKind};
use esker_tier::{OneSync, SyncStep};

use super::child_io::{ChildIo, EngineChildren, SyncPart, Whose};

/// What waits for flushes of each child.
#[derive(Debug)]
pub(super) struct ChildSyncs(Vec<SyncsOfChild>);

#[derive(Debug, Default)]
struct SyncsOfChild {
    line: OneSync<ChildIo>,
    /// What the flush under way is for.
    flushing: Vec<ChildIo>,
}

impl ChildSyncs {
    pub(super) fn of(children: usize) -> Self {
        Self(std::iter::repeat_with(SyncsOfChild::default).take(children).collect())
    }

    /// Sends a request to `child`, or has it wait.
    pub(super) fn submit(
        &mut self,
        children: &mut EngineChildren,
        now: Nanos,
        child: usize,
        whose: Whose,
        request: Request,
    ) {
        let io = ChildIo { whose, sent: now, part: SyncPart::Nothing };
        let line = &mut self.0[child].line;
        match line.begin(request.kind) {
            SyncStep::Send => children.submit(now, child, io, request),
            SyncStep::Sync => children.submit(now, child, ChildIo { part: SyncPart::Sync, ..io }, request),
            SyncStep::Write(kind) => {
                let io = ChildIo { part: SyncPart::First, ..io };
                children.submit(now, child, io, Request { kind, ..request });
            }
            SyncStep::Wait => line.wait(io),
        }
    }

    /// Takes what has ended on `child`: leaves what is durable as asked, and begins the next flush.
    pub(super) fn ended(
        &mut self,
        children: &mut EngineChildren,
        now: Nanos,
        child: usize,
        ended: &mut Vec<(ChildIo, Completion)>,
    ) {
        let SyncsOfChild { line, flushing } = &mut self.0[child];
        for (io, completion) in std::mem::take(ended) {
            match (io.whose, io.part) {
                (Whose::SharedFlush, _) => {
                    line.ended();
                    ended.extend(flushing.drain(..).map(|io| (io, completion)));
                }
                (_, SyncPart::First) if completion.result.is_ok() => line.wait(io),
                (_, part) => {
                    if part == SyncPart::Sync {
                        line.ended();
                    }
                    ended.push((io, completion));
                }
            }
        }
        if let Some(all) = line.next_flush() {
            *flushing = all;
            let io = ChildIo { whose: Whose::SharedFlush, sent: now, part: SyncPart::Nothing };
            children.submit(now, child, io, Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO));
        }
    }
}
