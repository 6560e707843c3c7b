//! The engine of a world.

use super::*;
use crate::placement::cache::MemoryCache;

/// An engine, with or without a cache in front of it.
pub(super) enum UnderTest {
    Plain(Box<PlacementEngine>),
    Cached(Box<MemoryCache>),
}

impl UnderTest {
    fn outermost(&mut self) -> &mut dyn Engine {
        match self {
            Self::Plain(engine) => &mut **engine,
            Self::Cached(cache) => &mut **cache,
        }
    }
    pub(super) fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        self.outermost().on(now, input, effects);
    }
    pub(super) fn reshape(
        &mut self,
        now: Nanos,
        reshape: Reshape,
        effects: &mut Vec<Effect>,
    ) -> Result<(), ReshapeError> {
        self.outermost().reshape(now, reshape, effects)
    }
    pub(super) fn check(&mut self) {
        self.outermost().check();
    }
}

impl std::ops::Deref for UnderTest {
    type Target = PlacementEngine;
    fn deref(&self) -> &PlacementEngine {
        match self {
            Self::Plain(engine) => engine,
            Self::Cached(cache) => &cache.engine,
        }
    }
}

impl std::ops::DerefMut for UnderTest {
    fn deref_mut(&mut self) -> &mut PlacementEngine {
        match self {
            Self::Plain(engine) => engine,
            Self::Cached(cache) => &mut cache.engine,
        }
    }
}
