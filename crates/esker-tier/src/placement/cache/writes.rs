//! ExtentWrites under way, by extent.

use std::ops::Range;

use esker_core::IdMap;

use crate::extent::LogicalExtent;

/// Extents with writes under way.
#[derive(Debug, Default)]
pub(super) struct WritesUnderWay {
    /// The index in `writes` of each extent.
    by_extent: IdMap,
    writes: Vec<ExtentWrites>,
    /// Indices in `writes` that are not in use.
    free: Vec<u32>,
}

#[derive(Debug)]
struct ExtentWrites {
    count: u32,
    /// Bytes of the volume from the first to the last one that any of these writes touches.
    bytes: Range<u64>,
}

impl WritesUnderWay {
    fn find(&self, extent: LogicalExtent) -> Option<usize> {
        self.by_extent.get(extent.0.into()).map(|index| index as usize)
    }

    pub(super) fn any(&self, extent: LogicalExtent) -> bool {
        self.find(extent).is_some()
    }

    /// Returns true if a write under way to `extent` may touch any of `bytes`.
    pub(super) fn overlap(&self, extent: LogicalExtent, bytes: &Range<u64>) -> bool {
        let Some(index) = self.find(extent) else { return false };
        let writes = &self.writes[index];
        writes.bytes.start < bytes.end && bytes.start < writes.bytes.end
    }

    pub(super) fn begin(&mut self, extent: LogicalExtent, bytes: Range<u64>) {
        if let Some(index) = self.find(extent) {
            let writes = &mut self.writes[index];
            writes.count += 1;
            writes.bytes = writes.bytes.start.min(bytes.start)..writes.bytes.end.max(bytes.end);
            return;
        }
        let writes = ExtentWrites { count: 1, bytes };
        let index = match self.free.pop() {
            Some(index) => {
                self.writes[index as usize] = writes;
                index
            }
            None => {
                self.writes.push(writes);
                self.writes.len() as u32 - 1
            }
        };
        self.by_extent.replace(extent.0.into(), index.into());
    }

    /// Notes the end of a write that [`Self::begin`] has noted (asserted).
    pub(super) fn end(&mut self, extent: LogicalExtent) {
        let index = self.find(extent).expect("it was noted");
        self.writes[index].count -= 1;
        if self.writes[index].count == 0 {
            self.by_extent.remove(extent.0.into());
            self.free.push(index as u32);
        }
    }
}
