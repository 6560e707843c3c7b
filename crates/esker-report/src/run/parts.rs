//! The parts of flash caches, as tables show them.

use esker_results::{CachePart, CachePartKind, CachePartition, RunResults};

/// A cache in parts.
pub(crate) struct Parts<'a> {
    pub(crate) name: &'a str,
    pub(crate) partition: &'a CachePartition,
}

/// A part with its name.
pub(crate) struct NamedPart<'a> {
    pub(crate) name: String,
    pub(crate) part: &'a CachePart,
}

impl Parts<'_> {
    /// The parts whose lines were used.
    pub(crate) fn rows(&self) -> Vec<NamedPart<'_>> {
        let name = |place: usize| match self.partition.by {
            CachePartKind::Access => ["clean lines; reads", "dirty lines; writes"][place.min(1)].to_string(),
            CachePartKind::Volume => format!("volume {place}"),
        };
        let named = self.partition.parts.iter().enumerate();
        let used = named.filter(|(_, part)| part.hits + part.misses > 0);
        used.map(|(place, part)| NamedPart { name: name(place), part }).collect()
    }

    /// Whether there are two parts, of clean and of dirty lines.
    pub(crate) fn is_by_access(&self) -> bool {
        self.partition.by == CachePartKind::Access
    }
}

/// All caches that have parts.
pub(crate) fn parts(run: &RunResults) -> Vec<Parts<'_>> {
    let caches = run.devices.iter().filter_map(|(name, device)| {
        let partition = device.flash_cache.as_ref()?.partition.as_ref()?;
        Some(Parts { name, partition })
    });
    caches.collect()
}
