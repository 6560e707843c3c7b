//! What wear-levelling costs: overwrites with and without it, in turn, on the same pool, and on a pool that was never
//! levelled. Each round makes the same writes all ways, and begins with another one. Processor time of the thread is
//! measured, so that programs beside it count little. Needs the right to mount tmpfs; `ESKER_BENCH_FOLDER` says where
//! to work without it.

mod place;

use esker_core::Rng;
use esker_scm::{Caller, FileSystem, Handle, Kind, Mapped, Mode, Moment, NewFile, ROOT, mkfs};
use place::{Place, touch};
use rustix::time::{ClockId, clock_gettime};

fn is_smoke() -> bool {
    std::env::var_os("ESKER_BENCH_SMOKE").is_some()
}

/// Processor time of this thread in nanoseconds.
fn processor_time() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A number below `count`, of a Zipf distribution with exponent 0.99: the inverse of its continuous form.
fn zipf(rng: &mut Rng, count: u64) -> u64 {
    let exponent = 1.0 - 0.99;
    let top = (count as f64).powf(exponent);
    let place = (1.0 + rng.unit() * (top - 1.0)).powf(1.0 / exponent);
    (place as u64).saturating_sub(1).min(count - 1)
}

/// Bytes of a pool.
const SIZE: u64 = 32 << 20;

/// A pool whose file takes nine tenths of the data.
struct Pool {
    system: FileSystem<Mapped>,
    handle: Handle,
    bytes: u64,
}

impl Pool {
    fn new(place: &Place) -> Pool {
        let path = place.folder.join("pool");
        let memory = Mapped::create(&path, SIZE).expect("a pool");
        // The mapping stays; the name is not needed any more.
        std::fs::remove_file(&path).expect("the pool");
        touch(&memory);
        let caller = Caller::root(Moment(1));
        mkfs(&memory, [1; 16], &caller).expect("a pool");
        let system = FileSystem::mount(memory, Mode::Data).expect("a sound pool");
        let made = system.make(&caller, ROOT, b"file", &NewFile::new(Kind::File, 0o644)).expect("a file");
        let handle = system.open(made.number).expect("a file");
        let bytes = system.statistics().expect("a pool").free / 10 * 9 / 65536 * 65536;
        for at in (0..bytes).step_by(65536) {
            system.write(&caller, &handle, at, &[0; 65536]).expect("room");
        }
        Pool { system, handle, bytes }
    }

    /// Processor time of durable writes of `record` at each of `places`.
    fn write(&self, is_on: bool, places: &[u64], record: &[u8]) -> u64 {
        let caller = Caller::root(Moment(1));
        self.system.set_wear_levelling(is_on);
        let begun = processor_time();
        for &place in places {
            self.system.write(&caller, &self.handle, place, record).expect("a write");
        }
        processor_time() - begun
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn main() {
    let place = Place::new();
    let (rounds, writes) = if is_smoke() { (2, 1000) } else { (41, 200_000) };
    for (name, record) in [("4 KiB", 4096), ("64 KiB", 65536_u64)] {
        // Pages of the levelled pool move, so that its file comes to lie in many pieces. Those of the other never do.
        let (levelled, other) = (Pool::new(&place), Pool::new(&place));
        let ways = [(&levelled, true), (&levelled, false), (&other, false)];
        let (bytes, count, mut rng) = (vec![7; record as usize], writes * 4096 / record, Rng::new(1));
        let mut times = [const { Vec::new() }; 3];
        for round in 0..rounds {
            let places: Vec<u64> = (0..count).map(|_| zipf(&mut rng, levelled.bytes / record) * record).collect();
            for step in 0..ways.len() {
                let way = (round + step) % ways.len();
                let (pool, is_on) = ways[way];
                times[way].push(pool.write(is_on, &places, &bytes) as f64 / count as f64);
            }
        }
        let ratio = |other: usize| {
            let ratios = times[0].iter().zip(&times[other]).map(|(on, off)| (on / off - 1.0) * 100.0);
            median(ratios.collect())
        };
        let (moving, scattered) = (ratio(1), ratio(2));
        let [on, off, never] = times.map(median);
        println!("{name}: {on:.0} ns each with wear-levelling, {off:.0} without on the same pool ({moving:+.1} %),");
        println!("    {never:.0} on a pool that was never levelled ({scattered:+.1} %; medians of {rounds} rounds)");
    }
}
