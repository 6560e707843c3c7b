//! A cache in front of the engine, as single cases.

use esker_results::MemoryCacheReport;

use super::*;
use crate::engine::{BufferPlace, BufferStep};
use crate::placement::cache::MemoryCache;

/// Places extents on the first device, and redirects writes to the second one at every other question.
#[derive(Debug)]
struct WaveringPolicy(bool);

impl Placement for WaveringPolicy {
    fn place(&mut self, _: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        DeviceIndex(0)
    }
    fn redirect(&mut self, _: &Rewrite<'_>, _: &[DeviceView]) -> Option<DeviceIndex> {
        self.0 = !self.0;
        self.0.then_some(DeviceIndex(1))
    }
    fn redirects(&self) -> bool {
        true
    }
    fn devices_joined(&mut self, _: usize) {}
}

/// Hands `input` to `cache` and ends every request to a device at once. Returns all effects.
fn serve(cache: &mut MemoryCache, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    cache.on(Nanos::ZERO, input, &mut effects);
    let mut next = 0;
    while next < effects.len() {
        if let Effect::Io { io, .. } = effects[next] {
            cache.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result: Ok(()) }, &mut effects);
        }
        next += 1;
    }
    cache.check();
    effects
}

fn volume(extents: u32, policy: impl Placement + 'static) -> MemoryCache {
    let mut engine = engine().with_policy(Box::new(policy));
    engine.offer(Bytes(6 * EXTENT * 512)).unwrap();
    engine.fill(Ratio::ONE);
    MemoryCache::new(engine, extents)
}

fn counts_of(cache: &MemoryCache) -> MemoryCacheReport {
    let mut report = DeviceReport::default();
    cache.report(&mut report);
    report.memory_cache.unwrap()
}

fn read(sector: u64) -> Input {
    host(0, Request::read(Lba(sector), Bytes(512)))
}

#[test]
fn a_read_fetches_the_whole_extent_and_the_next_one_needs_no_device() {
    let mut cache = volume(2, StaticSplit::new(&[1, 1]));
    let first = ios(&serve(&mut cache, read(3)));
    assert_eq!(first.iter().map(|(.., request)| request.length.0).collect::<Vec<_>>(), [EXTENT * 512]);
    let again = serve(&mut cache, read(9));
    let tag = Tag::new(0, 0);
    let from = BufferPlace::new(BufferId::Cache(0), Bytes(9 * 512));
    let into = BufferPlace::new(BufferId::Host(tag), Bytes::ZERO);
    let serves = Effect::Buffer(BufferStep::Copy { from, into, length: Bytes(512) });
    assert_eq!(again, [serves, Effect::Reply { tag, result: Ok(()) }]);
    let counts = counts_of(&cache);
    assert_eq!((counts.hits, counts.misses, counts.fetched_bytes), (1, 1, EXTENT * 512));
}

#[test]
fn the_extent_that_was_not_used_for_longest_makes_room() {
    let mut cache = volume(2, StaticSplit::new(&[1, 1]));
    let needs_device = |cache: &mut MemoryCache, extent: u64| !ios(&serve(cache, read(extent * EXTENT))).is_empty();
    let needs = [0, 1, 0, 2, 0, 1, 2].map(|extent| needs_device(&mut cache, extent));
    assert_eq!(needs, [true, true, false, true, false, true, true]);
}

/// A write to part of a cached extent moves all of it to the other device. The policy's first answer counts: it is not
/// asked again for the widened write.
#[test]
fn a_write_to_a_cached_extent_moves_it() {
    let mut cache = volume(2, WaveringPolicy(false));
    serve(&mut cache, read(0));
    let write = Request::write(Lba(5), Bytes(512));
    let effects = serve(&mut cache, host(0, write));
    let [(_, DeviceIndex(1), request)] = ios(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!(request.length, Bytes(EXTENT * 512));
    let whole = DataRef::new(BufferId::Cache(0), Bytes::ZERO);
    let from_cache = |effect: &Effect| matches!(effect, Effect::Io { data, .. } if *data == Some(whole));
    assert!(effects.iter().any(from_cache), "{effects:?}");
    assert_eq!(cache.extent_places().unwrap().placed().moved.redirected_writes, 1);
    assert_eq!(counts_of(&cache).widened_writes, 1);
    // A write to an extent that is not in memory is not widened.
    let [(_, _, request)] = ios(&serve(&mut cache, host(0, Request::write(Lba(5 + EXTENT), Bytes(512)))))[..] else {
        panic!("one write")
    };
    assert_eq!(request.length, Bytes(512));
}

/// The device to which a widened write is redirected refuses it. Then the host's own write goes to the old place: all
/// data of the extent could undo another write there.
#[test]
fn a_widened_write_that_is_refused_is_narrow_again() {
    for (fault, length) in [(None, 512), (Some(Fault::ResendsWidened), EXTENT * 512)] {
        let mut cache = volume(2, WaveringPolicy(false));
        cache.engine.fault = fault;
        serve(&mut cache, read(0));
        let tell = |cache: &mut MemoryCache, input| {
            let mut effects = Vec::new();
            cache.on(Nanos::ZERO, input, &mut effects);
            effects
        };
        let effects = tell(&mut cache, host(0, Request::write(Lba(5), Bytes(512))));
        let [(io, DeviceIndex(1), _)] = ios(&effects)[..] else { panic!("{effects:?}") };
        let refused = Input::Done { io, at: Nanos::ZERO, result: Err(DeviceError::NoSpace) };
        let effects = tell(&mut cache, refused);
        let [(io, DeviceIndex(0), request)] = ios(&effects)[..] else { panic!("{effects:?}") };
        assert_eq!(request.length, Bytes(length));
        let effects = tell(&mut cache, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
        assert!(effects.contains(&Effect::Reply { tag: Tag::new(0, 0), result: Ok(()) }), "{effects:?}");
    }
}

/// A widened write fails: memory does not serve its data, which are on no device.
#[test]
fn a_widened_write_that_fails_leaves_nothing_in_memory() {
    let mut cache = volume(2, WaveringPolicy(false));
    serve(&mut cache, read(0));
    let mut effects = Vec::new();
    cache.on(Nanos::ZERO, host(0, Request::write(Lba(5), Bytes(512))), &mut effects);
    let [(io, DeviceIndex(1), _)] = ios(&effects)[..] else { panic!("{effects:?}") };
    effects.clear();
    cache.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result: Err(DeviceError::MEDIUM) }, &mut effects);
    assert!(effects.contains(&Effect::Reply { tag: Tag::new(0, 0), result: Err(DeviceError::MEDIUM) }), "{effects:?}");
    assert_eq!(ios(&serve(&mut cache, read(5))).len(), 1);
}

/// With a cache of no extents, all reads go past it.
#[test]
fn no_extents_are_no_cache() {
    let mut cache = volume(0, StaticSplit::new(&[1, 1]));
    for _ in 0..2 {
        assert_eq!(ios(&serve(&mut cache, read(3))).len(), 1);
    }
}

/// One sector of an extent cannot be read. Reads of the others succeed all the same, whether they caused the fetch or
/// waited for it.
#[test]
fn a_bad_sector_elsewhere_in_the_extent_fails_no_read() {
    let mut cache = volume(2, StaticSplit::new(&[1, 1]));
    let bad = Lba(3);
    let mut effects = Vec::new();
    let sectors = [9, 3, 12];
    for (slot, sector) in sectors.into_iter().enumerate() {
        let request = Request::read(Lba(sector), Bytes(512));
        cache.on(Nanos::ZERO, host(slot as u32, request), &mut effects);
    }
    let (mut next, mut answers) = (0, Vec::new());
    while next < effects.len() {
        match effects[next] {
            Effect::Io { io, request, .. } => {
                let covers_bad = (request.start.0..request.end_byte() / 512).contains(&bad.0);
                let result = if covers_bad { Err(DeviceError::MEDIUM) } else { Ok(()) };
                cache.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result }, &mut effects);
            }
            Effect::Reply { tag, result } => answers.push((tag, result)),
            _ => {}
        }
        next += 1;
    }
    cache.check();
    answers.sort_by_key(|(tag, _)| tag.to_bits());
    let reply = |slot, result| (Tag::new(slot, 0), result);
    assert_eq!(answers, [reply(0, Ok(())), reply(1, Err(DeviceError::MEDIUM)), reply(2, Ok(()))]);
    let lengths: Vec<u64> = ios(&effects).iter().map(|(.., request)| request.length.0).collect();
    assert_eq!(lengths, [EXTENT * 512, 512, 512, 512], "the extent, and then each read alone");
}
