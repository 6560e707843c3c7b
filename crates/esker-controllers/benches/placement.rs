//! The placement engine on a volume of 16 million extents, mostly of 128 KiB (2 TiB): requests per second of CPU time,
//! memory, allocations per request, and checkpoints.

use std::time::Instant;

use allocation_counter::measure;
use esker_controllers::PUBLISHED_PLACEMENTS;
use esker_core::{Bytes, Lba, Machine, Nanos, Ratio, Request, Rng, Tag};
use esker_testkit::Bench;
use esker_tier::{
    Checkpoint, DeviceIndex, Effect, Engine, Input, PLACEMENTS, PlacementEngine, PlacementEntry, PlacementSettings,
};

const EXTENT: Bytes = Bytes::kib(128);
/// Bytes of a request.
const REQUEST: Bytes = Bytes::kib(8);

/// Number of extents of the volume.
fn extents() -> u64 {
    if Bench::is_smoke() { 1 << 13 } else { 1 << 24 }
}

fn requests() -> u64 {
    if Bench::is_smoke() { 10_000 } else { 4_000_000 }
}

/// Creates an engine over two devices with data everywhere; a tenth of each device is free.
fn engine(policies: &'static [PlacementEntry], policy: &str, extent: Bytes) -> PlacementEngine {
    let volume = extents() * extent.0;
    let devices = vec![Bytes(volume * 6 / 10), Bytes(volume * 6 / 10)];
    let policy = serde_json::from_str(policy).expect("a policy");
    let settings = PlacementSettings { extent, devices, policy, policies, free_on_trim: true };
    let mut engine = PlacementEngine::new(&settings).expect("sound settings");
    engine.offer(Bytes(volume)).expect("it fits");
    engine.fill(Ratio::ONE);
    engine
}

/// Reads and writes of 8 KiB, half and half, at random addresses, with eight under way. The first device answers in 100
/// us, the second in 150 us.
struct Host {
    rng: Rng,
    now: Nanos,
    effects: Vec<Effect>,
    /// Requests to devices that are under way, with the times of their ends.
    under_way: Vec<(Nanos, esker_tier::IoId)>,
    free: Vec<u32>,
}

impl Host {
    fn new() -> Self {
        let free = (0..8).collect();
        Self { rng: Rng::new(1), now: Nanos::ZERO, effects: Vec::new(), under_way: Vec::new(), free }
    }

    fn run(&mut self, engine: &mut PlacementEngine, requests: u64) {
        for _ in 0..requests {
            while self.free.is_empty() {
                self.end_one(engine);
            }
            let slot = self.free.pop().expect("one is free");
            let start = Lba::containing(self.rng.below(engine.capacity().0 / REQUEST.0) * REQUEST.0);
            let kind = if self.rng.chance(1, 2) { Request::read } else { Request::write };
            let request = kind(start, REQUEST);
            self.tell(engine, Input::Host { tag: Tag::new(slot, 0), request });
        }
    }

    fn end_one(&mut self, engine: &mut PlacementEngine) {
        let next = (0..self.under_way.len()).min_by_key(|&index| self.under_way[index].0).expect("one is under way");
        let (at, io) = self.under_way.swap_remove(next);
        self.now = at;
        self.tell(engine, Input::Done { io, at, result: Ok(()) });
    }

    fn tell(&mut self, engine: &mut PlacementEngine, input: Input) {
        let mut effects = std::mem::take(&mut self.effects);
        engine.on(self.now, input, &mut effects);
        let mut hardened = None;
        for effect in effects.drain(..) {
            match effect {
                Effect::Io { io, device: DeviceIndex(device), .. } => {
                    self.under_way.push((self.now + Nanos::from_micros(100 + 50 * u64::from(device)), io));
                }
                Effect::Reply { tag, .. } => self.free.push(tag.slot()),
                Effect::Harden { through } => hardened = Some(through),
                Effect::Record { .. }
                | Effect::Buffer(_)
                | Effect::Retain { .. }
                | Effect::Control { .. }
                | Effect::WakeAt(_)
                | Effect::Drained(_)
                | Effect::DrainStuck { .. } => {}
            }
        }
        self.effects = effects;
        if let Some(through) = hardened {
            self.tell(engine, Input::Durable { through });
        }
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn main() {
    let marginal = r#"{"kind":"mixdyn","flash_model":"marginal","disk_model":"marginal"}"#;
    for (name, policies, policy, extent) in [
        ("static split", PLACEMENTS, r#"{"kind":"static-split"}"#, EXTENT),
        ("migration, with its counters and lists", PLACEMENTS, r#"{"kind":"migration"}"#, EXTENT),
        ("fast-first, with extents by last use", PLACEMENTS, r#"{"kind":"fast-first","make_room":{}}"#, EXTENT),
        ("wardrop", PLACEMENTS, r#"{"kind":"wardrop"}"#, EXTENT),
        ("cost-benefit", PLACEMENTS, r#"{"kind":"cost-benefit"}"#, EXTENT),
        ("collective", PLACEMENTS, r#"{"kind":"collective"}"#, EXTENT),
        // Each write replaces one extent, or sixteen, and may go to the other device.
        ("mixdyn, an extent for each request", PUBLISHED_PLACEMENTS, r#"{"kind":"mixdyn"}"#, REQUEST),
        ("mixdyn by marginal cost, an extent for each request", PUBLISHED_PLACEMENTS, marginal, REQUEST),
        ("mixdyn, sixteen extents for each request", PUBLISHED_PLACEMENTS, r#"{"kind":"mixdyn"}"#, Bytes(512)),
    ] {
        let (mut made, mut host) = (None, Host::new());
        let memory = measure(|| {
            let engine = made.insert(engine(policies, policy, extent));
            host.run(engine, requests());
        });
        let mut engine = made.expect("it was made");
        let per_extent = memory.bytes_current as f64 / extents() as f64;
        println!("{name}: {per_extent:.1} bytes per extent of the host");
        Bench::new(name).rate("requests", || {
            host.run(&mut engine, requests());
            requests()
        });
        let before = engine.extent_places().expect("it has a map").placed().moved.moved_extents;
        let allocations = measure(|| host.run(&mut engine, requests())).count_total;
        let moved = engine.extent_places().expect("it has a map").placed().moved;
        println!(
            "{name}: {allocations} allocations in {} requests, {} extents moved meanwhile; {} writes went elsewhere",
            requests(),
            moved.moved_extents - before,
            moved.redirected_writes
        );
    }
    checkpoints();
    first_writes();
}

/// Writes to blocks that were never written, by a host that never flushes: measures the longest call.
#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn first_writes() {
    let volume = Bytes(extents() * EXTENT.0);
    let devices = vec![volume];
    let policy = serde_json::from_str(r#"{"kind":"static-split"}"#).expect("a policy");
    let settings = PlacementSettings { extent: EXTENT, devices, policy, policies: PLACEMENTS, free_on_trim: true };
    let mut engine = PlacementEngine::new(&settings).expect("sound settings");
    let (mut rng, mut longest, mut effects) = (Rng::new(1), std::time::Duration::ZERO, Vec::new());
    let mut on = |input, effects: &mut Vec<Effect>| {
        let began = Instant::now();
        engine.on(Nanos::ZERO, input, effects);
        longest = longest.max(began.elapsed());
    };
    let (writes, mut records) = (requests() / 4, 0);
    for _ in 0..writes {
        let request = Request::write(Lba::containing(rng.below(volume.0 / REQUEST.0) * REQUEST.0), REQUEST);
        on(Input::Host { tag: Tag::new(0, 0), request }, &mut effects);
        while let Some(effect) = effects.pop() {
            match effect {
                Effect::Io { io, .. } => on(Input::Done { io, at: Nanos::ZERO, result: Ok(()) }, &mut effects),
                Effect::Harden { through } => on(Input::Durable { through }, &mut effects),
                Effect::Record { .. } => records += 1,
                _ => {}
            }
        }
    }
    println!("{writes} first writes, {records} records, no flush of the host: longest call {longest:?}");
}

/// Checkpoints: a complete one, and one in steps of 4,096 extents while requests are served and extents move.
#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn checkpoints() {
    let mut engine = engine(PLACEMENTS, r#"{"kind":"migration"}"#, EXTENT);
    let mut host = Host::new();
    let began = Instant::now();
    let whole = Checkpoint::of(&mut engine).records.len();
    println!("checkpoint of {whole} records in one piece: {:?}", began.elapsed());
    engine.begin_checkpoint();
    let (mut longest, mut steps, mut records) = (std::time::Duration::ZERO, 0, 0u64);
    loop {
        host.run(&mut engine, 10);
        let began = Instant::now();
        // A driver would write the records to the journal's device.
        let complete = engine.continue_checkpoint(4096, &mut |_| records += 1);
        longest = longest.max(began.elapsed());
        steps += 1;
        if complete {
            break;
        }
    }
    println!("checkpoint of {records} records in {steps} steps: longest {longest:?}");
}
