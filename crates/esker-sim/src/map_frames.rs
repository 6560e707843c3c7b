//! Records where the extents of a device are, and which of them are hot.

use esker_core::{Nanos, Request, RequestKind};
use esker_results::{Composite, MapFrame, PlacementMap, Reporting};

/// Most ranges of the map: as many columns as a page shows well.
const RANGES_MAX: usize = 256;
/// Most counts of a frame, ranges times children.
const COUNTS_MAX: usize = 4096;
/// Most frames after the first.
const FRAMES_MAX: usize = 200;

const _: () = assert!(FRAMES_MAX.is_multiple_of(2), "they are merged in pairs");

/// The frames of a [`PlacementMap`]. A frame is one interval of the series, until there would be too many of them:
/// then each two neighbours become one, and all later frames are twice as long. The map of a device is looked through
/// once a frame, so that even a million intervals cost some thousand looks.
pub(crate) struct MapFrames {
    map: PlacementMap,
    /// Intervals of a frame.
    intervals_per_frame: u32,
    /// Intervals that ended since the last frame.
    intervals: u32,
    /// Where the frame under way begins.
    begin: Nanos,
    /// The host's requests of the frame under way, for each range.
    requests: Vec<u64>,
}

impl MapFrames {
    /// The frames from `begin` on of `device`, which has these `children`; `None` if it places no extents.
    pub(crate) fn new<D: Reporting + ?Sized>(children: Vec<String>, begin: Nanos, device: &D) -> Option<Self> {
        let extent_bytes = device.composite()?.extent_places()?.placed().extent.0;
        let extents = device.capacity().0 / extent_bytes;
        let ranges_max = (COUNTS_MAX / children.len().max(1)).clamp(1, RANGES_MAX) as u64;
        let per_range = extents.div_ceil(ranges_max).max(1);
        let sizes = (0..extents.div_ceil(per_range)).map(|range| (extents - range * per_range).min(per_range) as u32);
        let range_extents: Vec<u32> = sizes.collect();
        let requests = vec![0; range_extents.len()];
        let range_bytes = per_range * extent_bytes;
        let map = PlacementMap { children, extent_bytes, range_bytes, range_extents, frames: Vec::new() };
        let mut frames = Self { map, intervals_per_frame: 1, intervals: 0, begin, requests };
        frames.take(begin, device);
        Some(frames)
    }

    /// Counts a request of the host that ended. Those without an address, or past the end, are left out.
    #[inline]
    pub(crate) fn count(&mut self, request: &Request) {
        let range = (request.start.byte_offset() / self.map.range_bytes) as usize;
        if request.kind != RequestKind::Flush
            && let Some(requests) = self.requests.get_mut(range)
        {
            *requests += 1;
        }
    }

    /// Takes the end of an interval of the series, at `now`.
    pub(crate) fn interval_ended<D: Reporting + ?Sized>(&mut self, now: Nanos, device: &D) {
        self.intervals += 1;
        if self.intervals == self.intervals_per_frame {
            // Where there is no room, the frame under way becomes longer, too.
            if self.is_full() { self.merge() } else { self.take(now, device) }
        }
    }

    /// Ends the frame under way at `now`, if any interval of it has ended.
    pub(crate) fn close<D: Reporting + ?Sized>(&mut self, now: Nanos, device: &D) {
        if self.intervals > 0 {
            if self.is_full() {
                self.merge();
            }
            self.take(now, device);
        }
    }

    fn is_full(&self) -> bool {
        self.map.frames.len() > FRAMES_MAX
    }

    /// Adds a frame from `begin` to `now`.
    fn take<D: Reporting + ?Sized>(&mut self, now: Nanos, device: &D) {
        let mut extents = vec![vec![0u32; self.requests.len()]; self.map.children.len()];
        let (per_range, mut index) = (self.map.range_bytes / self.map.extent_bytes, 0u64);
        let places = device.composite().and_then(Composite::extent_places);
        places.expect("it had some at the start").visit(&mut |child| {
            let range = (index / per_range) as usize;
            if let Some(count) = child.and_then(|child| extents.get_mut(child)?.get_mut(range)) {
                *count += 1;
            }
            index += 1;
        });
        let requests = std::mem::replace(&mut self.requests, vec![0; self.map.range_extents.len()]);
        let (start_s, end_s) = (self.begin.as_secs_f64(), now.as_secs_f64());
        self.map.frames.push(MapFrame { start_s, end_s, requests, extents });
        (self.begin, self.intervals) = (now, 0);
    }

    /// Makes one frame of each two neighbours, without the first, which shows the start.
    fn merge(&mut self) {
        let mut frames = std::mem::take(&mut self.map.frames).into_iter();
        self.map.frames.extend(frames.next());
        while let (Some(earlier), Some(later)) = (frames.next(), frames.next()) {
            self.map.frames.push(together(earlier, later));
        }
        self.intervals_per_frame *= 2;
    }

    /// The map, as far as its frames were closed.
    pub(crate) fn into_results(self) -> PlacementMap {
        self.map
    }
}

/// Two neighbours as one frame: the requests of both, and the places at the end.
fn together(earlier: MapFrame, later: MapFrame) -> MapFrame {
    let requests = earlier.requests.iter().zip(&later.requests).map(|(one, other)| one + other);
    MapFrame { start_s: earlier.start_s, requests: requests.collect(), ..later }
}

#[cfg(test)]
mod tests;
