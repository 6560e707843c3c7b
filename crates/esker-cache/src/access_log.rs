//! The accesses of a trace, stored compactly so that many runs can use them.

mod by_volume;
mod error;
mod sample;
#[cfg(test)]
mod tests;

use std::num::NonZeroU64;
use std::ops::ControlFlow;

use esker_core::{IdMap, Nanos};

use crate::{Access, AccessKind, Admission, Counts, NEVER, ObjectId, Replacement};

pub use by_volume::VolumeAccesses;
pub use error::AccessLogError;
pub use sample::Sample;
use sample::Sampler;

/// Turns requests into accesses to objects, which it numbers from zero in the order of their first use.
///
/// Takes 8 bytes for each access, 8 more if it keeps [times](Self::with_times), 4 more if [`finish`](Self::finish)
/// looks for next uses, and 21 to 43 bytes for each object while it is filled.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use esker_cache::{AccessKind, AccessLogBuilder, Shape, build};
/// use esker_core::registry::Choice;
///
/// let mut builder = AccessLogBuilder::new(std::num::NonZeroU64::new(4096));
/// builder.request(0, 8192, AccessKind::Read).unwrap();
/// builder.request(4096, 512, AccessKind::Write).unwrap();
/// let log = builder.finish(false);
/// assert_eq!((log.len(), log.objects()), (3, 2));
/// let mut lru = build(&Choice::named("lru"), &Shape { capacity: 1, objects: 2, seed: 1 }).unwrap();
/// let counts = log.simulate(&mut *lru, |_| ControlFlow::Continue(())).unwrap();
/// assert_eq!((counts.misses, counts.missed_bytes, counts.written_bytes), (2, 8192, 8704));
/// ```
#[derive(Debug)]
pub struct AccessLogBuilder {
    /// Size of an object. `None` if a request is one access to the object that its first byte names.
    piece_bytes: Option<NonZeroU64>,
    sample: Option<Sampler>,
    numbers: IdMap,
    /// The last accesses, whose objects have no numbers yet.
    unnumbered: Vec<Unnumbered>,
    keeps_times: bool,
    /// Time of the requests that are being added.
    now: Nanos,
    /// Volume of the requests that are being added.
    volume: u32,
    log: AccessLog,
}

/// The accesses of a trace to numbered objects.
#[derive(Debug, Default)]
pub struct AccessLog {
    /// In blocks, so that a growing log is never copied, and never needs its memory twice.
    blocks: Vec<Vec<Packed>>,
    /// The time of each access, in blocks of the same lengths; empty if times are not kept.
    times: Vec<Vec<Nanos>>,
    /// For each access, the number of the next access to its object; empty if next uses are not kept.
    next_use: Vec<u32>,
    objects: u32,
    /// Bytes of the objects, taken from their first accesses.
    object_bytes: u64,
    /// `None` if volumes are not kept.
    volumes: Option<by_volume::Volumes>,
    /// Share of the objects that are kept.
    rate: Option<f64>,
    /// Number of accesses at the start that only warm the cache, and number of objects that they access.
    warm: usize,
    warm_objects: u32,
    /// Number and bytes of the accesses that are counted, including those that were not sampled.
    accesses: u64,
    bytes: u64,
}

/// An access in 8 bytes.
#[derive(Clone, Copy, Debug)]
struct Packed {
    object: u32,
    /// Number of bytes, below [`WRITES`]. That bit is set for a write.
    bytes: u32,
}

/// An access to an object that has no number yet.
#[derive(Clone, Copy, Debug)]
struct Unnumbered {
    id: u64,
    /// As in [`Packed`].
    bytes: u32,
    volume: u32,
    at: Nanos,
}

/// The bit that marks a write.
const WRITES: u32 = 1 << 31;

/// Number of accesses in a block.
const BLOCK: usize = 1 << 16;

/// Number of accesses that are unpacked at a time: few enough to stay in the processor's cache.
const CHUNK: usize = 1 << 12;

/// Number of accesses whose objects are numbered at a time, so that their cache misses overlap.
const NUMBERED_TOGETHER: usize = 64;

impl AccessLogBuilder {
    /// Creates a log without accesses. A request accesses each object of `piece_bytes` that it touches. Without a size,
    /// it accesses a single object, which its first byte names, whatever the length of the request.
    pub fn new(piece_bytes: Option<NonZeroU64>) -> Self {
        Self {
            piece_bytes,
            sample: None,
            numbers: IdMap::default(),
            unnumbered: Vec::with_capacity(NUMBERED_TOGETHER),
            keeps_times: false,
            now: Nanos::ZERO,
            volume: 0,
            log: AccessLog::default(),
        }
    }

    /// Creates a log of a sample.
    ///
    /// # Panics
    /// If the rate is not in `0 < rate <= 1`.
    pub fn sampled(piece_bytes: Option<NonZeroU64>, sample: Sample) -> Self {
        let sampler = Sampler::new(sample);
        let mut builder = Self::new(piece_bytes);
        builder.sample = (sample.rate < 1.0).then_some(sampler);
        builder.log.rate = builder.sample.map(|_| sample.rate);
        builder
    }

    /// Keeps the time of each access, for admission policies that look at it.
    #[must_use]
    pub fn with_times(self) -> Self {
        Self { keeps_times: true, ..self }
    }

    /// Sets the time of the requests that are added from now on. Times should not decrease.
    #[inline]
    pub fn at(&mut self, now: Nanos) {
        self.now = now;
    }

    /// Adds a request to `length` bytes from `offset`. The bytes of an access are those of the object that the request
    /// touches; if objects have no size, all bytes of the request. At most 2 GiB.
    ///
    /// # Errors
    /// [`AccessLogError`], in which case part of the request has been added.
    #[inline]
    pub fn request(&mut self, offset: u64, length: u64, kind: AccessKind) -> Result<(), AccessLogError> {
        let Some(piece) = self.piece_bytes.map(NonZeroU64::get) else { return self.access(offset, length, kind) };
        let end = offset.saturating_add(length);
        let mut at = offset;
        while at < end {
            let number = at / piece;
            let next = (number + 1).saturating_mul(piece).min(end);
            self.access(number, next - at, kind)?;
            at = next;
        }
        Ok(())
    }

    #[inline]
    fn access(&mut self, id: u64, bytes: u64, kind: AccessKind) -> Result<(), AccessLogError> {
        let bytes = bytes.min(u64::from(WRITES - 1)) as u32;
        self.log.accesses += 1;
        self.log.bytes += u64::from(bytes);
        if let Some(volumes) = &mut self.log.volumes {
            volumes.count(self.volume, bytes);
        }
        if self.sample.is_some_and(|sample| !sample.keeps(id)) {
            return Ok(());
        }
        if self.log.len() + self.unnumbered.len() as u64 >= u64::from(NEVER) {
            return Err(AccessLogError::TooManyAccesses);
        }
        let bytes = bytes | if kind == AccessKind::Write { WRITES } else { 0 };
        self.unnumbered.push(Unnumbered { id, bytes, volume: self.volume, at: self.now });
        if self.unnumbered.len() == NUMBERED_TOGETHER {
            self.number();
        }
        Ok(())
    }

    /// Numbers the objects of the last accesses, and adds these accesses to the log.
    fn number(&mut self) {
        self.numbers.warm(self.unnumbered.iter().map(|access| access.id));
        for Unnumbered { id, bytes, volume, at } in self.unnumbered.drain(..) {
            // There are no more objects than accesses, so their numbers have 32 bits, too.
            let next = self.numbers.len() as u64;
            let object = self.numbers.get_or_insert(id, next) as u32;
            if u64::from(object) == next {
                self.log.object_bytes += u64::from(bytes & !WRITES);
            }
            if let Some(volumes) = &mut self.log.volumes {
                volumes.note(object, volume);
            }
            push(&mut self.log.blocks, Packed { object, bytes });
            if self.keeps_times {
                push(&mut self.log.times, at);
            }
        }
    }

    /// Ends the warm-up: all accesses so far are performed, but not counted.
    pub fn end_warm_up(&mut self) {
        self.number();
        (self.log.warm, self.log.warm_objects) = (self.log.len() as usize, self.numbers.len() as u32);
        (self.log.accesses, self.log.bytes) = (0, 0);
        if let Some(volumes) = &mut self.log.volumes {
            volumes.forget_accesses();
        }
    }

    /// Returns the bytes of memory in use.
    pub fn memory_bytes(&self) -> u64 {
        self.numbers.memory_bytes() as u64 + self.log.memory_bytes()
    }

    /// Returns the log. With `future`, each access has the number of the next access to its object.
    pub fn finish(mut self, future: bool) -> AccessLog {
        self.number();
        let mut log = self.log;
        log.objects = self.numbers.len() as u32;
        drop(self.numbers);
        if future {
            log.find_next_uses();
        }
        log
    }
}

impl AccessLog {
    /// Returns the number of accesses that can be simulated.
    pub fn len(&self) -> u64 {
        self.blocks.last().map_or(0, |last| ((self.blocks.len() - 1) * BLOCK + last.len()) as u64)
    }

    /// Returns true if there is nothing to simulate.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the number of distinct objects in the log.
    pub fn objects(&self) -> u32 {
        self.objects
    }

    /// Returns the bytes of all objects together, each as large as its first access.
    pub fn object_bytes(&self) -> u64 {
        self.object_bytes
    }

    /// Returns the number of counted accesses that are the first to their object, which miss in every cache.
    pub fn first_uses(&self) -> u32 {
        self.objects - self.warm_objects
    }

    /// Returns the number of counted accesses of the trace, including those that were not sampled.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Returns the bytes of all those accesses.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the share of the objects that are in the log.
    pub fn rate(&self) -> f64 {
        self.rate.unwrap_or(1.0)
    }

    /// Returns the bytes of memory in use.
    pub fn memory_bytes(&self) -> u64 {
        let blocks = self.blocks.len() * size_of::<Packed>() + self.times.len() * size_of::<Nanos>();
        let volumes = self.volumes.as_ref().map_or(0, by_volume::Volumes::memory_bytes);
        (blocks * BLOCK + self.next_use.capacity() * size_of::<u32>() + volumes) as u64
    }

    fn find_next_uses(&mut self) {
        let mut next = vec![NEVER; self.objects as usize];
        self.next_use = vec![NEVER; self.len() as usize];
        for (block, packed) in self.blocks.iter().enumerate().rev() {
            for (within, access) in packed.iter().enumerate().rev() {
                let number = block * BLOCK + within;
                // Below `NEVER`, since the builder accepts no more accesses than that.
                self.next_use[number] = std::mem::replace(&mut next[access.object as usize], number as u32);
            }
        }
    }

    /// Counts hits and misses of a cache over all accesses, if it takes in every object that misses. `continues` is
    /// called repeatedly with a number of accesses that were performed. If it returns [`ControlFlow::Break`], there is
    /// no result.
    pub fn simulate(
        &self,
        policy: &mut dyn Replacement,
        continues: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Option<Counts> {
        let mut counts = Counts::default();
        let mut warming = Counts::default();
        self.for_each_chunk(continues, |accesses, _, counted| {
            policy.perform(accesses, if counted { &mut counts } else { &mut warming });
        })?;
        Some(counts)
    }

    /// Counts hits and misses of a cache over all accesses, if it takes in the objects that `admission` admits. If the
    /// log is a sample, `admission` gets bytes that are larger by 1/rate, so that a budget applies to the whole trace.
    /// Without [times](AccessLogBuilder::with_times), all accesses come at the same time. `continues` is as in
    /// [`Self::simulate`].
    pub fn simulate_admitting(
        &self,
        policy: &mut dyn Replacement,
        admission: &mut dyn Admission,
        continues: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Option<Counts> {
        let (mut counts, mut warming) = (Counts::default(), Counts::default());
        self.for_each_chunk(continues, |accesses, times, counted| {
            let counts = if counted { &mut counts } else { &mut warming };
            self.perform_admitting(policy, admission, &mut times.iter().copied(), accesses, counts);
        })?;
        Some(counts)
    }

    /// Hands accesses to `perform` in chunks, with their times if these were kept, and with whether they are counted.
    /// Returns `None` if `continues` has ended it.
    fn for_each_chunk(
        &self,
        mut continues: impl FnMut(u64) -> ControlFlow<()>,
        mut perform: impl FnMut(&[Access], &[Nanos], bool),
    ) -> Option<()> {
        let mut unpacked = Vec::with_capacity(CHUNK);
        for (block, packed) in self.blocks.iter().enumerate() {
            for (chunk, packed) in packed.chunks(CHUNK).enumerate() {
                let first = block * BLOCK + chunk * CHUNK;
                let next_use = self.next_use.get(first..).unwrap_or_default();
                unpacked.clear();
                if next_use.is_empty() {
                    unpacked.extend(packed.iter().map(|access| access.unpack(NEVER)));
                } else {
                    unpacked.extend(packed.iter().zip(next_use).map(|(access, next)| access.unpack(*next)));
                }
                let times = self.times.get(block).and_then(|times| times.chunks(CHUNK).nth(chunk)).unwrap_or_default();
                let warm = self.warm.saturating_sub(first).min(unpacked.len());
                let (warming, counted) = unpacked.split_at(warm);
                let (warming_times, counted_times) = times.split_at(warm.min(times.len()));
                for (accesses, times, counts) in [(warming, warming_times, false), (counted, counted_times, true)] {
                    if !accesses.is_empty() {
                        perform(accesses, times, counts);
                    }
                }
            }
            if continues(packed.len() as u64).is_break() {
                return None;
            }
        }
        Some(())
    }

    /// Estimates the counts of a cache of the whole trace from `counts`, those of a cache that is smaller by the
    /// [`rate`](Self::rate) on the sample: each miss stands for 1/rate misses.
    ///
    /// The ratio refers to the accesses of the trace, not of the sample. If the sample has more accesses than its rate
    /// predicts, it contains some very popular objects. Those hit, and the surplus of hits would distort the ratio
    /// (SHARDS-adj of Waldspurger et al., FAST 2015, section 3.4, does the same).
    pub fn of_the_whole(&self, counts: &Counts) -> Counts {
        self.rate.map_or(*counts, |rate| counts.of_the_whole(rate, self.accesses, self.bytes))
    }
}

/// Appends an item to the last block, or to a new one.
#[inline]
fn push<T>(blocks: &mut Vec<Vec<T>>, one: T) {
    match blocks.last_mut() {
        Some(block) if block.len() < BLOCK => block.push(one),
        _ => {
            let mut block = Vec::with_capacity(BLOCK);
            block.push(one);
            blocks.push(block);
        }
    }
}

impl Packed {
    #[inline]
    fn unpack(self, next_use: u32) -> Access {
        let kind = if self.bytes & WRITES == 0 { AccessKind::Read } else { AccessKind::Write };
        Access { object: ObjectId(self.object), bytes: self.bytes & !WRITES, kind, next_use }
    }
}
