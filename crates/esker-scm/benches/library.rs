//! The library beside system calls on tmpfs with huge pages, in the same run: bytes per second of reads and writes,
//! files made and unlinked per second. Needs the right to mount tmpfs; `ESKER_BENCH_FOLDER` says where to work without
//! it.

mod place;

use esker_core::Rng;
use esker_scm::{Caller, FileSystem, Handle, Kind, Mapped, Mode, Moment, NewFile, Persist, ROOT, mkfs};
use place::{Place, touch};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::{Duration, Instant};

const FILE: u64 = 256 << 20;

fn is_smoke() -> bool {
    std::env::var_os("ESKER_BENCH_SMOKE").is_some()
}

/// One of the ways to a file.
trait Way: Sync {
    fn read(&self, thread: usize, offset: u64, into: &mut [u8]);
    fn write(&self, thread: usize, offset: u64, bytes: &[u8]);
    fn make_and_close(&self, thread: usize, number: u64);
    fn unlink(&self, thread: usize, number: u64);
}

struct Library {
    system: FileSystem<Mapped>,
    files: Vec<Handle>,
    folders: Vec<u64>,
}

/// A caller whose time the kernel tells as its own file systems do.
fn caller() -> Caller<'static> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Caller::root(Moment(now.tv_sec * 1_000_000_000 + now.tv_nsec))
}

impl Library {
    fn new(folder: &Path, mode: Mode) -> Library {
        let path = folder.join("pool");
        let _ = std::fs::remove_file(&path);
        let pool = Mapped::create(&path, 1 << 30).expect("a pool");
        touch(&pool);
        mkfs(&pool, [1; 16], &caller()).expect("a pool");
        let system = FileSystem::mount(pool, mode).expect("a mounted pool");
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for thread in 0..2 {
            let name = format!("file-{thread}");
            let file = NewFile::new(Kind::File, 0o644);
            let number = system.make(&caller(), ROOT, name.as_bytes(), &file).expect("a file").number;
            let handle = system.open(number).expect("a file");
            let bytes = vec![1; 1 << 20];
            for at in (0..FILE).step_by(1 << 20) {
                system.write(&caller(), &handle, at, &bytes).expect("room");
            }
            files.push(handle);
            let folder = NewFile::new(Kind::Directory, 0o755);
            let name = format!("folder-{thread}");
            folders.push(system.make(&caller(), ROOT, name.as_bytes(), &folder).expect("a folder").number);
        }
        Library { system, files, folders }
    }
}

impl Way for Library {
    fn read(&self, thread: usize, offset: u64, into: &mut [u8]) {
        self.system.read(&caller(), &self.files[thread], offset, into).expect("bytes");
    }

    fn write(&self, thread: usize, offset: u64, bytes: &[u8]) {
        self.system.write(&caller(), &self.files[thread], offset, bytes).expect("room");
    }

    fn make_and_close(&self, thread: usize, number: u64) {
        let name = format!("f{number}");
        let file = NewFile::new(Kind::File, 0o644);
        let made = self.system.make(&caller(), self.folders[thread], name.as_bytes(), &file).expect("a file");
        let handle = self.system.open(made.number).expect("a file");
        self.system.close(handle).expect("a file");
    }

    fn unlink(&self, thread: usize, number: u64) {
        self.system.unlink(&caller(), self.folders[thread], format!("f{number}").as_bytes()).expect("a file");
    }
}

/// The same instructions on the pool's memory, without a file system: what this machine can do.
struct Bare<'a>(&'a Mapped);

impl Bare<'_> {
    /// Where the data of the pool's files are, roughly: each thread has a part of its own.
    fn place(thread: usize, offset: u64) -> u64 {
        (64 << 20) + thread as u64 * FILE + offset
    }
}

impl Way for Bare<'_> {
    fn read(&self, thread: usize, offset: u64, into: &mut [u8]) {
        self.0.read(Self::place(thread, offset), into);
    }

    fn write(&self, thread: usize, offset: u64, bytes: &[u8]) {
        self.0.write_streaming(Self::place(thread, offset), bytes);
        self.0.fence().expect("memory");
    }

    fn make_and_close(&self, _: usize, _: u64) {}

    fn unlink(&self, _: usize, _: u64) {}
}

/// System calls on the tmpfs itself.
struct Calls {
    folder: PathBuf,
    files: Vec<File>,
}

impl Calls {
    fn new(folder: &Path) -> Calls {
        let files = (0..2).map(|thread| {
            let path = folder.join(format!("file-{thread}"));
            let file = File::options().read(true).write(true).create(true).truncate(true).open(path).expect("a file");
            let bytes = vec![1; 1 << 20];
            for at in (0..FILE).step_by(1 << 20) {
                file.write_all_at(&bytes, at).expect("room");
            }
            file
        });
        let files = files.collect();
        for thread in 0..2 {
            std::fs::create_dir_all(folder.join(format!("folder-{thread}"))).expect("a folder");
        }
        Calls { folder: folder.into(), files }
    }

    fn path(&self, thread: usize, number: u64) -> PathBuf {
        self.folder.join(format!("folder-{thread}/f{number}"))
    }
}

impl Way for Calls {
    fn read(&self, thread: usize, offset: u64, into: &mut [u8]) {
        self.files[thread].read_exact_at(into, offset).expect("bytes");
    }

    fn write(&self, thread: usize, offset: u64, bytes: &[u8]) {
        self.files[thread].write_all_at(bytes, offset).expect("room");
    }

    fn make_and_close(&self, thread: usize, number: u64) {
        File::create_new(self.path(thread, number)).expect("a file");
    }

    fn unlink(&self, thread: usize, number: u64) {
        std::fs::remove_file(self.path(thread, number)).expect("a file");
    }
}

/// How long `threads` take for `work`, from a common start.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn time(threads: usize, work: impl Fn(usize) + Sync) -> Duration {
    let barrier = Barrier::new(threads);
    let times = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let (work, barrier) = (&work, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let begun = Instant::now();
                    work(thread);
                    begun.elapsed()
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().expect("no panic")).collect::<Vec<_>>()
    });
    times.into_iter().max().expect("a thread")
}

/// Bytes per nanosecond of one piece of `length` after the other, anywhere in a file.
fn transfer(way: &dyn Way, threads: usize, length: u64, is_write: bool) -> f64 {
    let total = if is_smoke() { 4 * length } else { 512 << 20 };
    let took = time(threads, |thread| {
        let mut rng = Rng::new(thread as u64);
        let mut buffer = vec![7; length as usize];
        for _ in 0..total / length {
            let offset = rng.below(FILE / length) * length;
            if is_write {
                way.write(thread, offset, &buffer);
            } else {
                way.read(thread, offset, &mut buffer);
            }
        }
    });
    (total * threads as u64) as f64 / took.as_nanos() as f64
}

/// Files per second that are made and closed, then unlinked.
fn files(way: &dyn Way, threads: usize) -> (f64, f64) {
    let count = if is_smoke() { 100 } else { 100_000 };
    let made = time(threads, |thread| (0..count).for_each(|number| way.make_and_close(thread, number)));
    let unlinked = time(threads, |thread| (0..count).for_each(|number| way.unlink(thread, number)));
    let rate = |took: Duration| (count * threads as u64) as f64 / took.as_secs_f64();
    (rate(made), rate(unlinked))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn main() {
    let place = Place::new();
    let runs = if is_smoke() { 1 } else { 5 };
    let calls = Calls::new(&place.folder);
    let library = Library::new(&place.folder, Mode::Data);
    let path = place.folder.join("bare");
    let memory = Mapped::create(&path, 1 << 30).expect("memory");
    touch(&memory);
    let bare = Bare(&memory);
    let ways: [(&str, &dyn Way); 3] = [("tmpfs", &calls), ("library, durable", &library), ("bare instructions", &bare)];
    println!("pool: {:?} by {}", library.system.persist().durability(), library.system.persist().instruction());
    for threads in [1, 2] {
        for (length, name) in [(4 << 10, "4 KiB"), (64 << 10, "64 KiB"), (1 << 20, "1 MiB")] {
            for (is_write, what) in [(true, "write"), (false, "read")] {
                let mut rates = [const { Vec::new() }; 3];
                for _ in 0..runs {
                    for (way, rates) in ways.iter().zip(&mut rates) {
                        rates.push(transfer(way.1, threads, length, is_write));
                    }
                }
                for ((way, _), rates) in ways.iter().zip(rates) {
                    println!("{threads} threads, {name} {what:5} {way:17} {:6.2} GB/s", median(rates));
                }
            }
        }
        for (way, each) in &ways[..2] {
            let rates: Vec<(f64, f64)> = (0..runs).map(|_| files(*each, threads)).collect();
            let made = median(rates.iter().map(|rate| rate.0).collect());
            let unlinked = median(rates.iter().map(|rate| rate.1).collect());
            println!("{threads} threads, create and close, unlink {way:17} {:8.0} {:8.0} per second", made, unlinked);
        }
    }
    drop(library);
}
