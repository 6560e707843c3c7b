//! The engine of a world.

use esker_core::Machine;

use super::*;
use crate::placement::cache::MemoryCache;

/// An engine, with or without a cache in front of it.
#[derive(Debug)]
pub(super) enum UnderTest {
    Plain(Box<PlacementEngine>),
    Cached(Box<MemoryCache>),
}

impl UnderTest {
    /// The cache; panics if there is none.
    pub(super) fn cache(&mut self) -> &mut MemoryCache {
        match self {
            Self::Plain(_) => panic!("it has no cache"),
            Self::Cached(cache) => cache,
        }
    }
    fn outermost(&self) -> &dyn Engine {
        match self {
            Self::Plain(engine) => &**engine,
            Self::Cached(cache) => &**cache,
        }
    }
    fn outermost_mut(&mut self) -> &mut dyn Engine {
        match self {
            Self::Plain(engine) => &mut **engine,
            Self::Cached(cache) => &mut **cache,
        }
    }
}

impl Machine for UnderTest {
    type Input = Input;
    type Effect = Effect;

    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        self.outermost_mut().on(now, input, effects);
    }
}

impl Engine for UnderTest {
    fn capacity(&self) -> Bytes {
        self.outermost().capacity()
    }
    fn device_state(&self, device: DeviceIndex) -> DeviceState {
        self.outermost().device_state(device)
    }
    fn state(&self) -> DeviceState {
        self.outermost().state()
    }
    fn begin_checkpoint(&mut self) -> RecordNumber {
        self.outermost_mut().begin_checkpoint()
    }
    fn continue_checkpoint(&mut self, most: u32, visit: &mut dyn FnMut(Record)) -> bool {
        self.outermost_mut().continue_checkpoint(most, visit)
    }
    fn check_reshape(&self, reshape: Reshape) -> Result<(), ReshapeError> {
        self.outermost().check_reshape(reshape)
    }
    fn reshape(&mut self, now: Nanos, reshape: Reshape, effects: &mut Vec<Effect>) -> Result<(), ReshapeError> {
        self.outermost_mut().reshape(now, reshape, effects)
    }
    fn check(&self) {
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
