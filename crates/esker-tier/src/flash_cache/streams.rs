//! Streams of writes to the flash: a drive that supports streams keeps them in different blocks.

use esker_core::{RequestKind, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FlashCacheEngine;
use super::job::{Job, JobStep, JobTask};
use crate::extent::DeviceIndex;

/// The streams of a cache's writes to its flash device. Drives with `streams` of their own keep them in different
/// blocks; other devices ignore them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheStreams {
    /// No streams of its own: each write has the stream of the host's request that caused it.
    #[default]
    None,
    /// One for each purpose: 0 for lines that reads bring in, 1 for lines that writes bring in, 2 for changes of cached
    /// lines.
    ByPurpose,
}

/// Lines that reads bring in.
const FILLS: StreamId = StreamId(0);
/// Lines that writes bring in.
const WRITES: StreamId = StreamId(1);
/// Changes of cached lines in place.
const CHANGES: StreamId = StreamId(2);

impl FlashCacheEngine {
    /// Returns the stream of a request to `device` for `job`.
    pub(super) fn stream_of(&self, job: &Job, device: DeviceIndex, kind: RequestKind) -> StreamId {
        if self.streams == CacheStreams::None || device != super::FLASH || !kind.is_write() {
            return job.stream;
        }
        match (job.step, job.task) {
            (JobStep::Change, _) => CHANGES,
            (_, JobTask::Write(_)) => WRITES,
            _ => FILLS,
        }
    }
}
