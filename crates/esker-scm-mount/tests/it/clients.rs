//! Clients: what they write the mount reads, and the other way round.

use crate::ground::Ground;
use esker_scm_channel::{Address, Connection, Numbers, Outcome, Purpose, RemoteFile, Reply, Request};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

const MAKE: OFlags = OFlags::RDWR.union(OFlags::CREATE);

fn open(connection: &Arc<Connection>, path: &str, flags: OFlags) -> RemoteFile {
    match RemoteFile::open(connection, path.as_bytes(), flags.bits(), 0o644) {
        Outcome::Done(file) => file,
        outcome => panic!("{path}: {outcome:?}"),
    }
}

fn call(connection: &Arc<Connection>, request: &Request<'_>) -> Reply {
    connection.call(request, &[], &mut []).unwrap().0
}

fn bytes(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|index| (index * 7) as u8 ^ (index >> 8) as u8 ^ seed).collect()
}

fn read(file: &RemoteFile, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    match file.read(offset, &mut bytes) {
        Outcome::Done(read) => bytes.truncate(read),
        outcome => panic!("{outcome:?}"),
    }
    bytes
}

fn write(file: &RemoteFile, offset: u64, bytes: &[u8]) {
    assert_eq!(file.write(Some(offset), bytes), Outcome::Done((bytes.len(), offset + bytes.len() as u64)));
}

#[test]
fn what_a_client_writes_others_read_at_once() {
    let Some(mut ground) = Ground::new() else { return };
    let (first, second) = (ground.connect(), ground.connect());
    assert!(first.board().is_some(), "the administrator is trusted");
    let content = bytes(1 << 20, 1);
    let file = open(&first, "/a", MAKE);
    write(&file, 0, &content);
    let theirs = open(&second, "/a", OFlags::RDONLY);
    assert!(read(&theirs, 0, 2 << 20) == content);
    // By now both have the pages mapped, and read and write them without a call.
    for step in 0..100_u64 {
        let (at, piece) = (step * 10_007 % 1_000_000, bytes(5000, step as u8));
        write(&file, at, &piece);
        assert!(read(&theirs, at, 5000) == piece, "step {step}");
    }
    assert_eq!(file.set_size(12_345), Outcome::Done(()));
    assert_eq!(read(&theirs, 12_000, 1000).len(), 345);
    write(&file, 20_000, b"far");
    assert!(read(&theirs, 12_345, 7655).iter().all(|&byte| byte == 0));
    assert_eq!(file.write(None, b"end"), Outcome::Done((3, 20_006)));
    drop((file, theirs));
    assert_eq!(&fs::read(ground.path("a")).unwrap()[20_000..], b"farend");
    ground.remount();
    assert_eq!(fs::read(ground.path("a")).unwrap().len(), 20_006);
}

#[test]
fn a_file_that_is_open_in_the_kernel_is_left_to_it() {
    let Some(ground) = Ground::new() else { return };
    let client = ground.connect();
    let file = open(&client, "a", MAKE);
    write(&file, 0, &bytes(1 << 20, 1));
    // So long a read has pages mapped, which the next call uses.
    assert!(read(&file, 0, 1 << 20) == bytes(1 << 20, 1));
    assert_eq!(read(&file, 5, 1), bytes(6, 1)[5..]);
    let theirs = OpenOptions::new().read(true).write(true).open(ground.path("a")).unwrap();
    assert_eq!(file.write(Some(0), b"x"), Outcome::UseKernel);
    assert_eq!(file.read(0, &mut [0]), Outcome::UseKernel);
    assert_eq!(file.size(), Outcome::UseKernel);
    assert!(matches!(RemoteFile::open(&client, b"a", 0, 0), Outcome::UseKernel));
    // The owner opens it through the kernel for the client, also without a name.
    fs::remove_file(ground.path("a")).unwrap();
    let ours = File::from(client.kernel_file(file.handle(), Purpose::Anything).unwrap());
    theirs.write_all_at(b"theirs", 10).unwrap();
    let mut found = [0; 6];
    ours.read_exact_at(&mut found, 10).unwrap();
    assert_eq!(&found, b"theirs");
    drop((ours, theirs));
    // The kernel says that it has closed a file after the call has returned.
    while file.read(0, &mut [0]) == Outcome::UseKernel {
        std::thread::yield_now();
    }
    write(&file, 10, b"ours");
    assert_eq!(read(&file, 10, 6), b"oursrs");
}

#[test]
fn a_file_for_locks_leaves_it_to_clients_until_it_is_for_anything() {
    let Some(ground) = Ground::new() else { return };
    let client = ground.connect();
    let file = open(&client, "a", MAKE);
    write(&file, 0, b"abc");
    let for_locks = client.kernel_file(file.handle(), Purpose::Locks).unwrap();
    write(&file, 1, b"B");
    assert_eq!(file.expose(), Outcome::Done(()));
    assert_eq!(file.write(Some(2), b"C"), Outcome::UseKernel);
    drop(for_locks);
    while file.write(Some(2), b"C") == Outcome::UseKernel {
        std::thread::yield_now();
    }
    drop(file);
    assert_eq!(fs::read(ground.path("a")).unwrap(), b"aBC");
}

/// Two threads of a client may ask for a file for locks at the same time, and keep either.
#[test]
fn all_files_for_locks_of_an_open_file_are_for_anything_when_one_is() {
    let Some(ground) = Ground::new() else { return };
    let client = ground.connect();
    let file = open(&client, "a", MAKE);
    write(&file, 0, b"abc");
    let ask = || File::from(client.kernel_file(file.handle(), Purpose::Locks).unwrap());
    (0..10).for_each(|_| drop(ask()));
    let files = [ask(), ask(), ask()];
    write(&file, 1, b"B");
    assert_eq!(file.expose(), Outcome::Done(()));
    for for_anything in files.into_iter().rev() {
        for_anything.write_all_at(b"C", 2).unwrap();
        assert_eq!(file.write(Some(2), b"D"), Outcome::UseKernel, "as long as the kernel has it");
        drop(for_anything);
    }
    while file.write(Some(0), b"A") == Outcome::UseKernel {
        std::thread::yield_now();
    }
    drop(file);
    assert_eq!(fs::read(ground.path("a")).unwrap(), b"ABC");
}

#[test]
fn names_that_clients_change_are_changed_for_the_kernel() {
    let Some(ground) = Ground::new() else { return };
    let client = ground.connect();
    assert_eq!(call(&client, &Request::MakeDirectory { path: b"d", permissions: 0o755 }), Reply::Done);
    assert!(fs::metadata(ground.path("d")).unwrap().is_dir());
    drop(open(&client, "d/a", MAKE));
    assert_eq!(fs::metadata(ground.path("d/a")).unwrap().len(), 0);
    let appended = open(&client, "d/a", OFlags::WRONLY);
    assert_eq!(appended.write(None, b"12345"), Outcome::Done((5, 5)));
    assert_eq!(fs::metadata(ground.path("d/a")).unwrap().len(), 5);
    drop(appended);
    assert_eq!(call(&client, &Request::Rename { from: b"d/a", to: b"d/b" }), Reply::Done);
    assert!(fs::metadata(ground.path("d/a")).is_err() && fs::metadata(ground.path("d/b")).is_ok());
    assert!(matches!(call(&client, &Request::RemoveDirectory { path: b"d" }), Reply::Failed(39)));
    assert_eq!(call(&client, &Request::Unlink { path: b"d/b" }), Reply::Done);
    assert!(fs::metadata(ground.path("d/b")).is_err());
    assert_eq!(call(&client, &Request::RemoveDirectory { path: b"/d" }), Reply::Done);
    assert!(fs::metadata(ground.path("d")).is_err());
    std::os::unix::fs::symlink("/tmp", ground.path("link")).unwrap();
    for path in ["link/x", "link", "../x", "link/", "", "/"] {
        assert_eq!(call(&client, &Request::Look { path: path.as_bytes() }), Reply::UseKernel, "{path}");
    }
}

#[test]
fn a_client_that_goes_leaves_nothing_behind() {
    let Some(mut ground) = Ground::new() else { return };
    let (client, other) = (ground.connect(), ground.connect());
    let file = open(&client, "a", MAKE);
    write(&file, 0, &bytes(1 << 20, 3));
    assert_eq!(read(&file, 0, 1).len(), 1);
    assert_eq!(call(&client, &Request::Unlink { path: b"a" }), Reply::Done);
    // As a process that is killed: nothing is closed, and the connection ends.
    client.abandon();
    let survivor = open(&other, "b", MAKE);
    write(&survivor, 0, b"on");
    drop((survivor, file));
    // Sound, and no file without a name is left (see `remount`).
    ground.remount();
    assert_eq!(fs::read(ground.path("b")).unwrap(), b"on");
    assert!(client.call(&Request::Sync { handle: 0, is_data: false }, &[], &mut []).is_err());
}

#[test]
fn requests_of_a_client_that_mean_nothing_are_refused() {
    let Some(mut ground) = Ground::new() else { return };
    let client = ground.connect();
    let file = open(&client, "a", OFlags::WRONLY | OFlags::CREATE);
    assert_eq!(file.read(0, &mut [0]), Outcome::Failed(rustix::io::Errno::BADF));
    let reading = open(&client, "a", OFlags::RDONLY);
    assert_eq!(reading.write(Some(0), b"x"), Outcome::Failed(rustix::io::Errno::BADF));
    for handle in [7, u32::MAX] {
        assert_eq!(call(&client, &Request::Sync { handle, is_data: true }), Reply::Failed(9));
        assert_eq!(call(&client, &Request::Share { handle, from: 0, to: 9, wants_pool: false }), Reply::Failed(9));
        assert_eq!(call(&client, &Request::Close { handle }), Reply::Failed(9));
    }
    let share = Request::Share { handle: file.handle(), from: u64::MAX, to: 0, wants_pool: false };
    assert!(matches!(call(&client, &share), Reply::Shared { stretches: 0, .. }));
    let far = Request::Write { handle: file.handle(), offset: Some(u64::MAX) };
    assert!(matches!(client.call(&far, b"x", &mut []).unwrap().0, Reply::Failed(27)));
    assert!(matches!(file.set_size(u64::MAX), Outcome::Failed(_)));
    drop((file, reading));
    let opened: Vec<RemoteFile> = (0..10_000).map(|_| open(&client, "a", OFlags::RDONLY)).collect();
    drop(opened);
    File::create(ground.path("b")).unwrap().write_all(b"well").unwrap();
    ground.remount();
}

#[test]
fn calls_far_behind_the_end_are_answered_as_the_kernel_would() {
    let Some(ground) = Ground::new() else { return };
    let client = ground.connect();
    let content = bytes(10_000, 5);
    for offset in [1 << 44, (1 << 62) + 4096, i64::MAX as u64, u64::MAX - 4096, u64::MAX] {
        let file = open(&client, "a", MAKE);
        write(&file, 0, &content);
        // The fourth call has pages mapped, and so has each large one.
        for length in [16, 16, 16, 16, 1 << 20, 16] {
            assert_eq!(file.read(offset, &mut vec![0; length]), Outcome::Done(0), "{length} bytes at {offset}");
            assert_eq!(file.write(Some(offset), &vec![1; length]), Outcome::Failed(Errno::FBIG), "{offset}");
        }
        assert!(read(&file, 0, 20_000) == content, "{offset}");
    }
}

#[test]
fn pieces_of_a_long_append_overwrite_nothing_of_others() {
    let Some(ground) = Ground::new() else { return };
    let (first, second) = (ground.connect(), ground.connect());
    drop(open(&first, "a", MAKE));
    std::thread::scope(|scope| {
        for (client, byte) in [(&first, 1), (&second, 2)] {
            scope.spawn(move || {
                let file = open(client, "a", OFlags::WRONLY);
                for _ in 0..4 {
                    let Outcome::Done((length, _)) = file.write(None, &vec![byte; 1 << 20]) else { panic!() };
                    assert_eq!(length, 1 << 20);
                }
            });
        }
    });
    let content = fs::read(ground.path("a")).unwrap();
    let count = |byte| content.iter().filter(|&&found| found == byte).count();
    assert_eq!((count(1), count(2)), (4 << 20, 4 << 20));
}

#[test]
fn each_mount_has_an_address_of_its_own() {
    let (Some(one), Some(other)) = (Ground::new(), Ground::new()) else { return };
    let address = |ground: &Ground, name: &str| Address::at(&ground.path(name).into_os_string().into_encoded_bytes());
    assert_ne!(address(&one, "").unwrap().name(), address(&other, "").unwrap().name());
    std::fs::write(one.path("file"), "x").unwrap();
    assert_eq!(address(&one, "file"), Err(Errno::OPNOTSUPP));
    let mut names = [0_u8; 100];
    assert_eq!(rustix::fs::listxattr(one.path(""), &mut names), Ok(0), "backups do not copy it");
}

/// The mount at another place, read-only.
struct ReadOnly(tempfile::TempDir);

impl ReadOnly {
    fn new(ground: &Ground) -> ReadOnly {
        let place = ReadOnly(tempfile::tempdir().unwrap());
        rustix::mount::mount_bind(ground.path(""), place.0.path()).unwrap();
        rustix::mount::mount_remount(place.0.path(), MountFlags::BIND | MountFlags::RDONLY, "").unwrap();
        place
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        rustix::mount::unmount(self.0.path(), UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn who_finds_the_mount_read_only_is_left_to_the_kernel() {
    let Some(ground) = Ground::new() else { return };
    fs::write(ground.path("a"), "x").unwrap();
    let place = ReadOnly::new(&ground);
    assert_eq!(fs::write(place.0.path().join("a"), "y").unwrap_err().kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    let directory = place.0.path().as_os_str().as_encoded_bytes();
    assert_eq!(Connection::new(directory, (0, 0), Numbers::ANY).map(drop), Err(Errno::ROFS));
    drop(ground.connect());
}
