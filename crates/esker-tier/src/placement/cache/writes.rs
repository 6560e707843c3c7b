//! Writes under way, by extent.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::extent::LogicalExtent;

/// Extents with writes under way.
#[derive(Debug, Default)]
pub(super) struct WritesUnderWay(BTreeMap<LogicalExtent, ExtentWrites>);

#[derive(Debug)]
struct ExtentWrites {
    count: u32,
    /// Bytes of the volume from the first to the last one that any of these writes touches.
    bytes: Range<u64>,
}

impl WritesUnderWay {
    pub(super) fn any(&self, extent: LogicalExtent) -> bool {
        self.0.contains_key(&extent)
    }

    /// Returns true if a write under way to `extent` may touch any of `bytes`.
    pub(super) fn overlap(&self, extent: LogicalExtent, bytes: &Range<u64>) -> bool {
        let Some(writes) = self.0.get(&extent) else { return false };
        writes.bytes.start < bytes.end && bytes.start < writes.bytes.end
    }

    pub(super) fn begin(&mut self, extent: LogicalExtent, bytes: Range<u64>) {
        let writes = self.0.entry(extent).or_insert(ExtentWrites { count: 0, bytes: bytes.clone() });
        writes.count += 1;
        writes.bytes = writes.bytes.start.min(bytes.start)..writes.bytes.end.max(bytes.end);
    }

    /// Notes the end of a write that [`Self::begin`] has noted (asserted).
    pub(super) fn end(&mut self, extent: LogicalExtent) {
        let writes = self.0.get_mut(&extent).expect("it was noted");
        writes.count -= 1;
        if writes.count == 0 {
            self.0.remove(&extent);
        }
    }
}
