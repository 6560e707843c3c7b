//! What a device holds: its bytes, and which of them a loss of power would take back.

mod write_cache;

#[cfg(test)]
mod tests;

use std::io;

use esker_core::{Request, RequestKind, Rng};

use crate::contents::Contents;
use write_cache::WriteCache;

/// Bytes of a sector, which a loss of power never tears.
const SECTOR: u64 = 512;

/// The bytes of a device. What was written is read at once; with a volatile write cache it survives a loss of power
/// only once it was flushed, or written durably.
pub(crate) struct Medium {
    contents: Box<dyn Contents>,
    /// `None` if all that was written survives.
    cache: Option<WriteCache>,
    rng: Rng,
    /// Number of changes so far.
    changes: u64,
}

impl Medium {
    /// A medium with these `contents`. What a loss of power takes is drawn from `seed`.
    pub(crate) fn new(contents: Box<dyn Contents>, is_volatile: bool, seed: u64) -> Self {
        let cache = is_volatile.then(WriteCache::default);
        Self { contents, cache, rng: Rng::derive(seed, "medium"), changes: 0 }
    }

    /// Begins a flush. Returns the number of changes that it covers, for [`Self::flush`].
    pub(crate) fn begin_flush(&mut self) -> u64 {
        if let Some(cache) = &mut self.cache {
            cache.begin_flush(self.changes);
        }
        self.changes
    }

    /// Bytes that a loss of power may take back, at most.
    pub(crate) fn volatile_bytes(&self) -> u64 {
        self.cache.as_ref().map_or(0, WriteCache::volatile_bytes)
    }

    pub(crate) fn is_volatile(&self) -> bool {
        self.cache.is_some()
    }

    pub(crate) fn written_run(&self, at: u64, length: u64) -> (u64, bool) {
        self.contents.written_run(at, length)
    }

    /// Fills `into` with the bytes from `at` on.
    pub(crate) fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.contents.read(at, into)
    }

    /// Performs a write, zeroes or a trim; `bytes` are those of a write.
    pub(crate) fn change(&mut self, request: &Request, bytes: &[u8]) -> io::Result<()> {
        let (at, length) = (request.start.byte_offset(), request.length.0);
        self.changes += 1;
        if let Some(cache) = &mut self.cache {
            if request.kind.is_fua() {
                cache.forget(at, length);
            } else {
                cache.keep(&*self.contents, at, length, self.changes, &mut self.rng)?;
            }
        }
        apply(&mut *self.contents, request.kind, at, length, bytes)
    }

    /// Ends a flush that covers the first `covers` changes: they are durable.
    pub(crate) fn flush(&mut self, covers: u64) {
        if let Some(cache) = &mut self.cache {
            cache.flush(covers);
        }
    }

    /// Loses power. Of the sectors that were not durable, and of those that the requests `under_way` change, an
    /// arbitrary part is as before, and each sector is whole.
    pub(crate) fn cut_power<'a>(&mut self, under_way: impl Iterator<Item = (&'a Request, &'a [u8])>) -> io::Result<()> {
        if let Some(cache) = &mut self.cache {
            cache.lose(&mut *self.contents, &mut self.rng)?;
        }
        for (request, bytes) in under_way {
            // Few of some requests are there, most of others: both are found out.
            let share = self.rng.below(QUARTERS + 1);
            for offset in (0..request.length.0).step_by(SECTOR as usize) {
                if self.rng.chance(share, QUARTERS) {
                    let at = request.start.byte_offset() + offset;
                    let sector = bytes.get(offset as usize..(offset + SECTOR) as usize).unwrap_or_default();
                    apply(&mut *self.contents, request.kind, at, SECTOR, sector)?;
                }
            }
        }
        Ok(())
    }
}

/// Shares are drawn in quarters.
const QUARTERS: u64 = 4;

fn apply(contents: &mut dyn Contents, kind: RequestKind, at: u64, length: u64, bytes: &[u8]) -> io::Result<()> {
    match kind {
        RequestKind::Write { .. } => contents.write(at, bytes),
        RequestKind::WriteZeroes { .. } | RequestKind::Trim => contents.clear(at, length),
        RequestKind::Read | RequestKind::Flush => Ok(()),
    }
}
