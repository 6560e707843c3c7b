//! Large pools and old ones: a million files in a directory, a sparse pool of 64 GiB, files of a pool that was written
//! ten times over. Needs a folder on tmpfs, `/dev/shm` unless `ESKER_BENCH_FOLDER` names another one.

mod place;

use esker_core::Rng;
use esker_scm::{
    Caller, CleanerSettings, FileSystem, FsError, Kind, Mapped, Mode, Moment, NewFile, Persist, ROOT, check, mkfs,
};
use place::{Place, touch};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn is_smoke() -> bool {
    std::env::var_os("ESKER_BENCH_SMOKE").is_some()
}

/// A pool in a file that is removed at the end.
struct Pool {
    path: PathBuf,
}

impl Pool {
    /// A sparse pool on tmpfs.
    fn new(name: &str, bytes: u64) -> Pool {
        let folder = std::env::var_os("ESKER_BENCH_FOLDER").unwrap_or_else(|| "/dev/shm".into());
        Pool::within(Path::new(&folder), name, bytes)
    }

    fn within(folder: &Path, name: &str, bytes: u64) -> Pool {
        let path = folder.join(format!("esker-scale-{name}-{}", std::process::id()));
        let pool = Mapped::create(&path, bytes).expect("a pool");
        mkfs(&pool, [1; 16], &Caller::root(Moment(1))).expect("a pool");
        Pool { path }
    }

    /// A pool whose memory the system has given already.
    fn touched(folder: &Path, name: &str, bytes: u64) -> Pool {
        let pool = Pool::within(folder, name, bytes);
        let memory = Mapped::open(&pool.path).expect("a pool");
        touch(&memory);
        mkfs(&memory, [1; 16], &caller(1)).expect("a pool");
        pool
    }

    fn mount(&self) -> FileSystem<Mapped> {
        FileSystem::mount(Mapped::open(&self.path).expect("a pool"), Mode::Metadata).expect("a sound pool")
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let result = work();
    (result, begun.elapsed())
}

fn caller(now: i64) -> Caller<'static> {
    Caller::root(Moment(now))
}

/// Makes a million files in one directory, looks them up after a mount, and unlinks them.
#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn million_files() {
    let count: u64 = if is_smoke() { 2_000 } else { 1_000_000 };
    let part = count / 100;
    let pool = Pool::new("files", if is_smoke() { 16 << 20 } else { 8 << 30 });
    let system = pool.mount();
    let file = NewFile::new(Kind::File, 0o644);
    let make = |number: u64| {
        let name = format!("file-{number:07}");
        system.make(&caller(number as i64), ROOT, name.as_bytes(), &file).expect("room");
    };
    let parts: Vec<Duration> = (0..100).map(|at| time(|| (at * part..(at + 1) * part).for_each(make)).1).collect();
    let each = |took: Duration| took.as_nanos() as u64 / part;
    let (first, last, slowest) = (each(parts[0]), each(parts[99]), each(*parts.iter().max().expect("a part")));
    println!("{count} files in one directory: first {first} ns, last {last} ns, slowest hundredth {slowest} ns each");
    system.unmount().expect("memory");
    let (system, took) = time(|| pool.mount());
    println!("mounting them: {:.1} ms", took.as_secs_f64() * 1e3);
    let (found, took) = time(|| system.lookup(&caller(0), ROOT, b"file-0000007").expect("a file"));
    println!("first look into the directory: {:.1} ms (inode {})", took.as_secs_f64() * 1e3, found.number);
    let unlink = |number: u64| system.unlink(&caller(0), ROOT, format!("file-{number:07}").as_bytes()).expect("a file");
    let (_, took) = time(|| (0..count).for_each(unlink));
    println!("unlinking them: {} ns each", took.as_nanos() as u64 / count);
    let (report, took) = time(|| check(&system.unmount().expect("memory")).expect("a pool"));
    assert!(report.is_sound(), "{:?}", report.problems);
    println!("checking the empty directory: {:.0} ms", took.as_secs_f64() * 1e3);
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn large_pool() {
    let bytes: u64 = if is_smoke() { 1 << 30 } else { 64 << 30 };
    let (pool, took) = time(|| Pool::new("large", bytes));
    println!("mkfs of {} GiB: {:.1} ms", bytes >> 30, took.as_secs_f64() * 1e3);
    let (system, took) = time(|| pool.mount());
    println!("mounting it: {:.1} ms", took.as_secs_f64() * 1e3);
    let number = system.make(&caller(1), ROOT, b"file", &NewFile::new(Kind::File, 0o644)).expect("room").number;
    let handle = system.open(number).expect("a file");
    system.write(&caller(1), &handle, 0, b"first").expect("room");
    system.close(handle).expect("a file");
    system.unmount().expect("memory");
}

/// Reads all files once: bytes per nanosecond, and the share of the time that opening and closing them took.
fn read_once(system: &FileSystem<Mapped>, files: &[(u64, u64)]) -> (f64, f64) {
    let mut buffer = vec![0; 1 << 20];
    let (mut bytes, mut reading) = (0, Duration::ZERO);
    let (_, took) = time(|| {
        for &(number, size) in files {
            let handle = system.open(number).expect("a file");
            let (read, took) = time(|| {
                let each = (0..size).step_by(buffer.len());
                each.map(|at| system.read(&caller(0), &handle, at, &mut buffer).expect("bytes") as u64).sum::<u64>()
            });
            bytes += read;
            reading += took;
            system.close(handle).expect("a file");
        }
    });
    (bytes as f64 / took.as_nanos() as f64, 1.0 - reading.as_secs_f64() / took.as_secs_f64())
}

/// A mounted pool, its files (name, inode, size), and how fast they were read.
struct Aged<'a> {
    what: &'a str,
    system: FileSystem<Mapped>,
    files: Vec<(u64, u64, u64)>,
    /// Of each reading: bytes per nanosecond, and the share of opening and closing.
    rates: Vec<(f64, f64)>,
}

/// Reads the files of all pools in turn, so that whatever else the machine does slows all of them, and prints the
/// medians.
#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn read_all(mut pools: Vec<Aged<'_>>) {
    for _ in 0..if is_smoke() { 1 } else { 31 } {
        for pool in &mut pools {
            pool.rates.push(read_once(&pool.system, &sizes(&pool.files)));
        }
    }
    for pool in pools {
        let mut rates = pool.rates;
        rates.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (rate, opening) = rates[rates.len() / 2];
        let report = check(&pool.system.unmount().expect("memory")).expect("a pool");
        assert!(report.is_sound(), "{:?}", report.problems);
        println!(
            "{}: {} files read at {rate:.2} GB/s, of which opening and closing takes {:.0} %; {} scattered, {} pieces",
            pool.what,
            pool.files.len(),
            opening * 100.0,
            report.scattered,
            report.pieces
        );
    }
}

/// Makes file `name` of `size` bytes in pieces of 64 KiB; its inode.
fn make_file(system: &FileSystem<Mapped>, name: i64, size: u64, bytes: &[u8]) -> u64 {
    let made = system.make(&caller(name), ROOT, format!("f{name}").as_bytes(), &NewFile::new(Kind::File, 0o644));
    let number = made.expect("room").number;
    let handle = system.open(number).expect("a file");
    for at in (0..size).step_by(64 << 10) {
        let piece = &bytes[at as usize..size.min(at + (64 << 10)) as usize];
        system.write(&caller(name), &handle, at, piece).expect("room");
    }
    system.close(handle).expect("a file");
    number
}

/// Writes ten times the pool in files of mixed sizes, nine tenths full; the files that are left: name, inode, size.
fn age(system: &FileSystem<Mapped>, pool_bytes: u64, bytes: &[u8]) -> Vec<(u64, u64, u64)> {
    let mut rng = Rng::new(1);
    let mut files: Vec<(u64, u64, u64)> = Vec::new();
    let (mut name, mut live, mut written) = (0, 0, 0);
    while written < 10 * pool_bytes {
        let size = match rng.below(10) {
            0..6 => 1 + rng.below(64 << 10),
            6..9 => 1 + rng.below(1 << 20),
            _ => 1 + rng.below(4 << 20),
        };
        while live + size > pool_bytes * 9 / 10 {
            let (old, _, size) = files.swap_remove(rng.below(files.len() as u64) as usize);
            system.unlink(&caller(name), ROOT, format!("f{old}").as_bytes()).expect("a file");
            live -= size;
        }
        name += 1;
        files.push((name as u64, make_file(system, name, size, bytes), size));
        live += size;
        written += size;
    }
    files
}

/// Reads the files of an old pool, those of its copy after the cleaner has worked there, and the same files in a new
/// pool.
#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn ageing() {
    let pool_bytes: u64 = if is_smoke() { 16 << 20 } else { 512 << 20 };
    let place = Place::new();
    let [old, cleaned, new] = ["old", "cleaned", "new"].map(|name| Pool::touched(&place.folder, name, pool_bytes));
    let bytes: Vec<u8> = (0..4 << 20).map(|at| at as u8).collect();
    let system = old.mount();
    let files = age(&system, pool_bytes, &bytes);
    copy(&system.unmount().expect("memory"), &Mapped::open(&cleaned.path).expect("a pool"));
    let aged = Aged { what: "aged", system: old.mount(), files: files.clone(), rates: Vec::new() };
    let system = cleaned.mount();
    let (steps, took) = time(|| clean(&system, i64::MAX));
    println!("the cleaner: {steps} steps, {:.0} ms", took.as_secs_f64() * 1e3);
    let cleaned = Aged { what: "after the cleaner", system, files: files.clone(), rates: Vec::new() };
    let system = new.mount();
    let made = files.iter().map(|&(name, _, size)| (name, make_file(&system, name as i64, size, &bytes), size));
    let made = made.collect();
    read_all(vec![aged, cleaned, Aged { what: "in a new pool", system, files: made, rates: Vec::new() }]);
}

/// Copies a pool.
fn copy(from: &Mapped, to: &Mapped) {
    let mut bytes = vec![0; 2 << 20];
    for at in (0..from.len()).step_by(bytes.len()) {
        from.read(at, &mut bytes);
        to.write(at, &bytes);
    }
}

/// The files in random order: those of a young pool lie in the order in which they were made.
fn sizes(files: &[(u64, u64, u64)]) -> Vec<(u64, u64)> {
    let mut files: Vec<(u64, u64)> = files.iter().map(|&(_, number, size)| (number, size)).collect();
    let mut rng = Rng::new(2);
    (1..files.len()).for_each(|at| files.swap(at, rng.below(at as u64 + 1) as usize));
    files
}

/// Lets the cleaner work until it has looked at everything; its steps.
fn clean(system: &FileSystem<Mapped>, now: i64) -> u64 {
    let mut steps = 0;
    while !system.is_clean().expect("a sound pool") {
        match system.clean(&CleanerSettings::default(), Moment(now)) {
            Ok(_) | Err(FsError::NoSpace) => steps += 1,
            Err(error) => panic!("{error}"),
        }
    }
    steps
}

fn main() {
    let only = std::env::var("ESKER_BENCH_ONLY").unwrap_or_default();
    let parts: [(&str, fn()); 3] = [("large", large_pool), ("million", million_files), ("ageing", ageing)];
    parts.iter().filter(|(name, _)| only.is_empty() || only == *name).for_each(|(_, part)| part());
}
