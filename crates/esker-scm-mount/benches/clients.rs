//! A client of a mounted pool beside the library, the mount, and system calls on tmpfs with huge pages, in the same
//! run: bytes per second of reads and writes, files made and unlinked, and calls. Needs root and /dev/fuse.

use esker_core::Rng;
use esker_scm::{Caller, FileSystem, Handle, Kind, Mapped, Mode, Moment, NewFile, Persist, ROOT, mkfs};
use esker_scm_channel::{Connection, Numbers, Outcome, RemoteFile, Reply, Request};
use esker_scm_mount::Mount;
use rustix::fs::OFlags;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const FILE: u64 = 64 << 20;

fn is_smoke() -> bool {
    std::env::var_os("ESKER_BENCH_SMOKE").is_some()
}

/// One of the ways to a file.
trait Way {
    fn read(&self, offset: u64, into: &mut [u8]);
    fn write(&self, offset: u64, bytes: &[u8]);
    fn make_and_close(&self, number: u64);
    fn unlink(&self, number: u64);
}

struct Client {
    connection: Arc<Connection>,
    file: RemoteFile,
}

fn done<T>(outcome: Outcome<T>) -> T {
    match outcome {
        Outcome::Done(value) => value,
        Outcome::UseKernel => panic!("the file is open in the kernel"),
        Outcome::Failed(error) => panic!("{error}"),
    }
}

impl Client {
    fn open(connection: &Arc<Connection>, path: &str) -> RemoteFile {
        let flags = OFlags::RDWR | OFlags::CREATE;
        done(RemoteFile::open(connection, path.as_bytes(), flags.bits(), 0o644))
    }
}

impl Way for Client {
    fn read(&self, offset: u64, into: &mut [u8]) {
        done(self.file.read(offset, into));
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        done(self.file.write(Some(offset), bytes));
    }

    fn make_and_close(&self, number: u64) {
        drop(Self::open(&self.connection, &format!("f{number}")));
    }

    fn unlink(&self, number: u64) {
        let path = format!("f{number}");
        let reply = self.connection.call(&Request::Unlink { path: path.as_bytes() }, &[], &mut []);
        assert_eq!(reply.expect("an owner").0, Reply::Done);
    }
}

struct Library {
    system: FileSystem<Mapped>,
    file: Handle,
}

fn caller() -> Caller<'static> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Caller::root(Moment(now.tv_sec * 1_000_000_000 + now.tv_nsec))
}

impl Library {
    fn new(system: FileSystem<Mapped>) -> Library {
        let made = system.make(&caller(), ROOT, b"file", &NewFile::new(Kind::File, 0o644)).expect("a file");
        let file = system.open(made.number).expect("a file");
        Library { system, file }
    }
}

impl Way for Library {
    fn read(&self, offset: u64, into: &mut [u8]) {
        self.system.read(&caller(), &self.file, offset, into).expect("bytes");
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        self.system.write(&caller(), &self.file, offset, bytes).expect("room");
    }

    fn make_and_close(&self, number: u64) {
        let name = format!("f{number}");
        let made = self.system.make(&caller(), ROOT, name.as_bytes(), &NewFile::new(Kind::File, 0o644));
        let handle = self.system.open(made.expect("a file").number).expect("a file");
        self.system.close(handle).expect("a file");
    }

    fn unlink(&self, number: u64) {
        self.system.unlink(&caller(), ROOT, format!("f{number}").as_bytes()).expect("a file");
    }
}

/// System calls in a folder.
struct Calls {
    folder: PathBuf,
    file: File,
}

impl Calls {
    fn new(folder: &Path) -> Calls {
        let path = folder.join("calls");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path).expect("a file");
        Calls { folder: folder.into(), file }
    }
}

impl Way for Calls {
    fn read(&self, offset: u64, into: &mut [u8]) {
        self.file.read_exact_at(into, offset).expect("bytes");
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        self.file.write_all_at(bytes, offset).expect("room");
    }

    fn make_and_close(&self, number: u64) {
        File::create_new(self.folder.join(format!("f{number}"))).expect("a file");
    }

    fn unlink(&self, number: u64) {
        std::fs::remove_file(self.folder.join(format!("f{number}"))).expect("a file");
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn time(mut work: impl FnMut()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// Bytes per nanosecond, by pieces of `length` anywhere in the file.
fn transfer(way: &dyn Way, length: u64, is_write: bool) -> f64 {
    let total = if is_smoke() { 8 * length } else { 256 << 20 };
    let (mut rng, mut buffer) = (Rng::new(1), vec![7; length as usize]);
    let took = time(|| {
        for _ in 0..total / length {
            let offset = rng.below(FILE / length) * length;
            match is_write {
                true => way.write(offset, &buffer),
                false => way.read(offset, &mut buffer),
            }
        }
    });
    total as f64 / took.as_nanos() as f64
}

/// Files made and closed, and unlinked, in thousands per second.
fn names(way: &dyn Way) -> (f64, f64) {
    let files = if is_smoke() { 10 } else { 20_000 };
    let made = time(|| (0..files).for_each(|number| way.make_and_close(number)));
    let unlinked = time(|| (0..files).for_each(|number| way.unlink(number)));
    let rate = |took: Duration| files as f64 / took.as_secs_f64() / 1e3;
    (rate(made), rate(unlinked))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn compare(ways: &[(&str, &dyn Way)]) {
    let rounds = if is_smoke() { 1 } else { 5 };
    for (_, way) in ways {
        (0..FILE).step_by(1 << 20).for_each(|at| way.write(at, &[1; 1 << 20]));
        // A client maps pages with the first large call; the second makes sure that it has all of them.
        (0..FILE).step_by(1 << 20).for_each(|at| way.write(at, &[2; 1 << 20]));
    }
    println!("{:<10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}", "", "write 4K", "read 4K", "64K", "64K", "make", "unlink");
    for (name, way) in ways {
        let rate = |length, is_write| median((0..rounds).map(|_| transfer(*way, length, is_write)).collect());
        let of_names: Vec<(f64, f64)> = (0..rounds).map(|_| names(*way)).collect();
        let made = median(of_names.iter().map(|rate| rate.0).collect());
        let unlinked = median(of_names.iter().map(|rate| rate.1).collect());
        let [w4, r4, w64, r64] =
            [(4096, true), (4096, false), (65_536, true), (65_536, false)].map(|(l, w)| rate(l, w));
        println!("{name:<10} {w4:>9.2} {r4:>9.2} {w64:>9.2} {r64:>9.2} {made:>9.0} {unlinked:>9.0}");
    }
    println!("reads and writes in GB/s, names in thousands per second; medians of {rounds}");
}

/// A call that does nearly nothing: how long an answer takes.
#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn call(client: &Client) {
    let calls = if is_smoke() { 10 } else { 200_000 };
    let request = Request::Attributes { handle: client.file.handle() };
    let took = time(|| {
        for _ in 0..calls {
            client.connection.call(&request, &[], &mut []).expect("an owner");
        }
    });
    println!("a call: {} ns", took.as_nanos() / calls);
}

fn pool(path: &Path) -> FileSystem<Mapped> {
    let pool = Mapped::create(path, 512 << 20).expect("a pool");
    // A page of 2 MiB that is touched for the first time takes milliseconds.
    (0..pool.len()).step_by(2 << 20).for_each(|at| pool.write(at, &[0; 4096]));
    mkfs(&pool, [1; 16], &caller()).expect("a pool");
    FileSystem::mount(pool, Mode::Metadata).expect("a mounted pool")
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn main() {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root || File::options().read(true).write(true).open("/dev/fuse").is_err() {
        return println!("skipped: mounting needs root and /dev/fuse");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = ["-t", "tmpfs", "-o", "huge=always,size=2g", "esker-bench"];
    let mounted = Command::new("mount").args(options).arg(folder.path()).status().is_ok_and(|status| status.success());
    if !mounted {
        return println!("skipped: tmpfs with huge pages cannot be mounted");
    }
    let directory = folder.path().join("mnt");
    std::fs::create_dir(&directory).expect("a folder");
    let mount = Mount::new(pool(&folder.path().join("pool")), &folder.path().join("pool"), &directory).expect("FUSE");
    let point = mount.point().clone();
    let serving = std::thread::spawn(move || mount.serve());
    let directory_bytes = directory.as_os_str().as_encoded_bytes();
    let connection = Arc::new(Connection::new(directory_bytes, point.device(), Numbers::ANY).expect("it listens"));
    {
        let client = Client { file: Client::open(&connection, "file"), connection: connection.clone() };
        let library = Library::new(pool(&folder.path().join("library")));
        let (tmpfs, fuse) = (Calls::new(folder.path()), Calls::new(&directory));
        compare(&[("client", &client), ("library", &library), ("tmpfs", &tmpfs), ("mount", &fuse)]);
        call(&client);
    }
    drop(connection);
    point.unmount().expect("nobody uses it");
    serving.join().expect("no panic").expect("a pool");
    point.wait_until_free(Duration::from_secs(10));
    let _ = Command::new("umount").arg(folder.path()).status();
}
