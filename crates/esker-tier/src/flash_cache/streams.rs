//! Stream handles: which blocks of the flash device a write goes to, if that keeps streams apart.

use esker_core::{RequestKind, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FlashCacheEngine;
use super::part::{Part, Step, Task};
use crate::extent::DeviceIndex;

/// The streams of what a cache writes to its flash device. Drives with `streams` of their own keep them in different
/// blocks; other devices ignore them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheStreams {
    /// None of its own: each write has the stream of the host's request that it is for.
    #[default]
    None,
    /// One for each purpose: 0 for lines that reads bring in, 1 for lines that writes bring in, 2 for changes of lines
    /// that are there.
    ByPurpose,
}

/// Lines that reads bring in.
const FILLS: StreamId = StreamId(0);
/// Lines that writes bring in.
const WRITES: StreamId = StreamId(1);
/// Changes of lines where they are.
const CHANGES: StreamId = StreamId(2);

impl FlashCacheEngine {
    /// The stream of a request to `device` for `part`.
    pub(super) fn stream_of(&self, part: &Part, device: DeviceIndex, kind: RequestKind) -> StreamId {
        if self.streams == CacheStreams::None || device != super::FLASH || !kind.is_write() {
            return part.stream;
        }
        match (part.step, part.task) {
            (Step::Change, _) => CHANGES,
            (_, Task::Write(_)) => WRITES,
            _ => FILLS,
        }
    }
}
