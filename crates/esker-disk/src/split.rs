//! Requests that a disk serves in parts, and requests beyond its end.

use esker_core::{Bytes, Completion, DeviceError, EventQueue, Nanos, Request, Tag, TagSlab};

/// Returns the number of sectors of `request`, or an error if it does not lie within a disk of `capacity`.
pub(crate) fn sectors_of(request: &Request, capacity: Bytes) -> Result<u64, DeviceError> {
    let sectors = request.length.sectors_ceil();
    let end = request.start.0.checked_add(sectors).and_then(|end| end.checked_mul(Bytes::SECTOR.0));
    match end {
        Some(end) if end <= capacity.0 => Ok(sectors),
        end => Err(DeviceError::OutOfRange { end: end.unwrap_or(u64::MAX), capacity }),
    }
}

/// The host's requests under way, each with the number of parts that have not ended. A request ends with its last part.
#[derive(Debug, Default)]
pub(crate) struct SplitRequests {
    parts: TagSlab<Parts>,
    /// Requests that end with an error as soon as they arrive.
    refused: EventQueue<Completion>,
    refused_count: usize,
    /// Requests that ended since measuring started.
    pub(crate) ended: u64,
}

#[derive(Clone, Copy, Debug)]
struct Parts {
    tag: Tag,
    left: u32,
    service_start: Nanos,
    result: Result<(), DeviceError>,
}

impl SplitRequests {
    /// Returns the number of requests under way.
    pub(crate) fn len(&self) -> usize {
        self.parts.len() + self.refused_count
    }

    /// Records a request of `parts` parts, at least one. Returns the key of its parts.
    pub(crate) fn begin(&mut self, tag: Tag, parts: usize) -> Tag {
        self.parts.insert(Parts { tag, left: parts as u32, service_start: Nanos::NEVER, result: Ok(()) })
    }

    /// Records a request that cannot be served.
    pub(crate) fn refuse(&mut self, now: Nanos, tag: Tag, error: DeviceError) {
        self.refused.schedule(now, Completion { tag, at: now, service_start: now, result: Err(error) });
        self.refused_count += 1;
    }

    /// Returns when the next request that cannot be served ends.
    pub(crate) fn next_event(&self) -> Nanos {
        self.refused.next()
    }

    /// Ends the requests that cannot be served.
    pub(crate) fn end_refused(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        while let Some((_, completion)) = self.refused.pop_due(now) {
            self.refused_count -= 1;
            self.ended += 1;
            done.push(completion);
        }
    }

    /// Records that a part of the request with this key has ended.
    pub(crate) fn part_ended(&mut self, key: Tag, part: &Completion, done: &mut Vec<Completion>) {
        let whole = self.parts.get_mut(key);
        whole.left -= 1;
        whole.service_start = whole.service_start.min(part.service_start);
        whole.result = whole.result.and(part.result);
        if whole.left == 0 {
            let Parts { tag, service_start, result, .. } = self.parts.remove(key);
            self.ended += 1;
            done.push(Completion { tag, at: part.at, service_start, result });
        }
    }
}
