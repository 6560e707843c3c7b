//! What clients and the owner of a pool tell each other of a shared file.

use crate::moment::Moment;
use std::fmt;

/// What clients and the owner of a pool see of a shared file.
pub trait SharedRecord: fmt::Debug + Send + Sync {
    /// Waits until no client stores, and keeps them from it.
    fn lock(&self);

    /// Lets clients store again.
    fn unlock(&self);

    /// The file has this size now.
    fn set_size(&self, size: u64);

    /// Whether a client's write would have to take set-user-id away.
    fn set_has_set_id(&self, has_set_id: bool);

    /// The file has changed: the next read of a client has to be noted.
    fn set_unread(&self);

    /// When a client has written since the last call.
    fn take_modified(&self) -> Option<Moment>;

    /// Pages that clients have written since the last call, by what they say.
    fn take_written(&self) -> u64;

    /// When a client has read since the last call.
    fn take_accessed(&self) -> Option<Moment>;
}
