//! Requests to children.

use esker_core::{Children, Nanos, RequestKind, Tag};
use esker_results::Reporting;
use esker_tier::IoId;

/// The children of an engine.
pub(super) type EngineChildren = Children<dyn Reporting, ChildIo>;

/// A request to a child, under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChildIo {
    pub(super) whose: Whose,
    pub(super) sent: Nanos,
    pub(super) part: SyncPart,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Whose {
    /// The engine's, which may serve a request of the host with it.
    Engine { io: IoId, host: Option<Tag> },
    /// The host's, which the engine has let pass.
    Host { tag: Tag, kind: RequestKind },
    /// A write or flush of the journal.
    Journal,
    /// A flush for all that wait for one.
    SharedFlush,
}

/// How a request to a child takes part in making data durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncPart {
    /// Not at all, or the child does it alone.
    Nothing,
    /// It is the flush or durable write under way.
    Sync,
    /// It is a durable write whose data a flush has to make durable.
    First,
}
