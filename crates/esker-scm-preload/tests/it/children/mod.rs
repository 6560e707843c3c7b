//! What programs do that have the library loaded. Each is run by a test of `shim`.

mod locks;
mod model;
mod processes;

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;

fn directory() -> PathBuf {
    std::env::var_os("ESKER_TEST_DIRECTORY").expect("run by the tests of `shim`").into()
}

fn c_path(name: &str) -> CString {
    CString::new(directory().join(name).into_os_string().into_encoded_bytes()).unwrap()
}

fn make(name: &str) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(true).open(directory().join(name)).unwrap()
}

/// Whether a descriptor is a placeholder, as the kernel sees it: nothing can be read from it.
fn is_placeholder(descriptor: RawFd) -> bool {
    let mut byte = 0_u8;
    // SAFETY: there is room for a byte.
    let read = unsafe { libc::syscall(libc::SYS_pread64, descriptor, &raw mut byte, 1_usize, 0_i64) };
    read < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EBADF)
}

fn read_all(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

fn errno_of<T: std::fmt::Debug>(result: io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().unwrap()
}

#[test]
#[ignore = "run by a test of `shim`"]
fn reads_and_writes() {
    let mut file = make("a");
    assert!(is_placeholder(file.as_raw_fd()), "the library took the call");
    file.write_all(b"hello world").unwrap();
    assert_eq!(file.stream_position().unwrap(), 11);
    assert_eq!(file.seek(SeekFrom::Current(-5)).unwrap(), 6);
    let mut five = [0; 5];
    file.read_exact(&mut five).unwrap();
    assert_eq!(&five, b"world");
    assert_eq!(file.read(&mut five).unwrap(), 0);
    file.write_all_at(b"W", 6).unwrap();
    assert_eq!(file.stream_position().unwrap(), 11);
    assert_eq!(file.seek(SeekFrom::End(3)).unwrap(), 14);
    assert_eq!(file.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cd")]).unwrap(), 4);
    assert_eq!(read_all(&mut file), b"hello World\0\0\0abcd");
    file.seek(SeekFrom::Start(4)).unwrap();
    let (mut first, mut second) = ([0; 3], [0; 100]);
    let read = file.read_vectored(&mut [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)]).unwrap();
    assert!(read == 14 && &first == b"o W" && second.starts_with(b"orld\0\0\0abcd\0"));
    assert_eq!(errno_of(file.seek(SeekFrom::Current(-100))), libc::EINVAL);
    file.set_len(5).unwrap();
    file.sync_all().unwrap();
    assert!(file.metadata().unwrap().len() == 5 && is_placeholder(file.as_raw_fd()));

    let mut appended = OpenOptions::new().append(true).create(true).open(directory().join("appended")).unwrap();
    let mut other = OpenOptions::new().append(true).open(directory().join("appended")).unwrap();
    appended.write_all(b"one").unwrap();
    other.write_all(b"two").unwrap();
    appended.write_all(b"three").unwrap();
    assert_eq!(appended.stream_position().unwrap(), 11);
    assert_eq!(errno_of(appended.read(&mut five)), libc::EBADF);
    let read_only = File::open(directory().join("appended")).unwrap();
    assert_eq!(errno_of((&read_only).write(b"x")), libc::EBADF);

    let large: Vec<u8> = (0..3_000_000).map(|index: usize| (index * 7) as u8 ^ (index >> 8) as u8).collect();
    let mut file = make("large");
    file.write_all(&large).unwrap();
    assert!(read_all(&mut file) == large);
    for at in (0..2_900_000).step_by(12_345) {
        let mut piece = [0; 10_000];
        file.read_exact_at(&mut piece, at).unwrap();
        assert!(piece[..] == large[at as usize..][..10_000]);
        file.write_all_at(&piece, at).unwrap();
    }
    assert!(is_placeholder(file.as_raw_fd()));
}

/// What the kernel says of a path, without the library.
fn stat_by_kernel(name: &str) -> libc::stat {
    let path = c_path(name);
    // SAFETY: it has numbers alone, and there is room for it.
    unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        assert_eq!(libc::syscall(libc::SYS_newfstatat, libc::AT_FDCWD, path.as_ptr(), &raw mut found, 0), 0);
        found
    }
}

#[test]
#[ignore = "run by a test of `shim`"]
fn is_told_the_same_as_by_the_kernel() {
    let mut file = make("told");
    file.write_all(&[1; 10_000]).unwrap();
    fs::create_dir(directory().join("dir")).unwrap();
    let numbers = |found: &libc::stat| {
        let times = [found.st_mtime, found.st_mtime_nsec, found.st_ctime, found.st_ctime_nsec];
        let sizes = [found.st_size, found.st_blocks, found.st_blksize];
        let owner = [found.st_mode, found.st_uid, found.st_gid];
        (times, sizes, owner, [found.st_dev, found.st_ino, found.st_nlink, found.st_rdev])
    };
    for name in ["told", "dir"] {
        let path = c_path(name);
        // SAFETY: it has numbers alone, and there is room for it.
        let found = unsafe {
            let mut found: libc::stat = std::mem::zeroed();
            assert_eq!(libc::stat(path.as_ptr(), &raw mut found), 0);
            found
        };
        assert_eq!(numbers(&found), numbers(&stat_by_kernel(name)), "{name}");
    }
    // SAFETY: as above.
    let found = unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        assert_eq!(libc::fstat(file.as_raw_fd(), &raw mut found), 0);
        found
    };
    assert_eq!(numbers(&found), numbers(&stat_by_kernel("told")));
    file.set_permissions(fs::Permissions::from_mode(0o4711)).unwrap();
    let found = file.metadata().unwrap();
    assert!(found.mode() & 0o7777 == 0o4711 && found.ino() == stat_by_kernel("told").st_ino);
    assert!(is_placeholder(file.as_raw_fd()));
}

#[test]
#[ignore = "run by a test of `shim`"]
fn makes_and_removes_names() {
    std::env::set_current_dir(directory()).unwrap();
    fs::create_dir("d").unwrap();
    fs::write("d/x", "12").unwrap();
    fs::rename("./d/x", "y").unwrap();
    assert_eq!(errno_of(fs::read("d/x")), libc::ENOENT);
    assert_eq!(fs::read("d/../y").unwrap(), b"12");
    let y = fs::metadata("y").unwrap();
    assert!(y.len() == 2 && y.is_file() && fs::metadata("d").unwrap().is_dir());
    assert_eq!(errno_of(File::create_new("y")), libc::EEXIST);
    assert_eq!(errno_of(fs::create_dir("d")), libc::EEXIST);
    assert_eq!(errno_of(File::open("y/z")), libc::ENOTDIR);
    assert_eq!(errno_of(OpenOptions::new().write(true).open("d")), libc::EISDIR);
    std::os::unix::fs::symlink("y", "link").unwrap();
    assert_eq!(fs::read("link").unwrap(), b"12");
    assert!(fs::symlink_metadata("link").unwrap().is_symlink());
    // A file without a name is read as before.
    let file = File::open("y").unwrap();
    fs::remove_file("y").unwrap();
    let mut two = [0; 2];
    file.read_exact_at(&mut two, 0).unwrap();
    assert!(&two == b"12" && file.metadata().unwrap().nlink() == 0);
    fs::remove_dir("d").unwrap();
    assert_eq!(errno_of(fs::metadata("d")), libc::ENOENT);
    // SAFETY: numbers alone.
    unsafe { libc::umask(0o077) };
    let made = make("private");
    assert_eq!(made.metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
#[ignore = "run by a test of `shim`"]
fn duplicates_and_closes() {
    let mut file = make("a");
    file.write_all(b"0123456789").unwrap();
    let mut other = file.try_clone().unwrap();
    assert_eq!(other.stream_position().unwrap(), 10);
    other.seek(SeekFrom::Start(2)).unwrap();
    let mut two = [0; 2];
    file.read_exact(&mut two).unwrap();
    assert!(&two == b"23" && is_placeholder(other.as_raw_fd()));
    drop(file);
    other.read_exact(&mut two).unwrap();
    assert_eq!(&two, b"45");
    // SAFETY: what is replaced belongs to this test.
    unsafe {
        let null = File::open("/dev/null").unwrap();
        let number = null.as_raw_fd();
        assert_eq!(libc::dup2(other.as_raw_fd(), number), number);
        assert_eq!(libc::fcntl(number, libc::F_GETFD), 0, "it is kept when another program is run");
        assert_eq!(libc::fcntl(other.as_raw_fd(), libc::F_GETFD), libc::FD_CLOEXEC);
        for (request, expected) in [(libc::FIOCLEX, libc::FD_CLOEXEC), (libc::FIONCLEX, 0)] {
            assert_eq!(libc::ioctl(number, request), 0);
            assert_eq!(libc::fcntl(number, libc::F_GETFD), expected);
        }
        let mut null = null;
        assert_eq!(null.seek(SeekFrom::End(0)).unwrap(), 10);
        let zero = File::open("/dev/zero").unwrap();
        assert_eq!(libc::dup2(zero.as_raw_fd(), number), number);
        null.read_exact(&mut two).unwrap();
        assert_eq!(two, [0, 0]);
        let high = libc::fcntl(other.as_raw_fd(), libc::F_DUPFD, 100);
        let mut high = File::from_raw_fd(high);
        assert!(high.as_raw_fd() >= 100 && read_all(&mut high) == b"0123456789");
        let flags = libc::fcntl(high.as_raw_fd(), libc::F_GETFL);
        assert_eq!(flags & libc::O_ACCMODE, libc::O_RDWR);
        assert_eq!(libc::fcntl(high.as_raw_fd(), libc::F_SETFL, flags | libc::O_APPEND), 0);
        other.seek(SeekFrom::Start(0)).unwrap();
        other.write_all(b"AB").unwrap();
        assert_eq!(read_all(&mut high), b"0123456789AB");
        assert_eq!(libc::close(high.as_raw_fd()), 0);
        assert_eq!(libc::close(high.as_raw_fd()), -1);
        std::mem::forget(high);
    }
    assert_eq!(read_all(&mut other), b"0123456789AB");
}

#[test]
#[ignore = "run by a test of `shim`"]
fn closes_everything_and_goes_on() {
    let file = make("a");
    (&file).write_all(b"kept?").unwrap();
    let descriptor = file.as_raw_fd();
    // SAFETY: the descriptors of this test are forgotten.
    unsafe {
        assert_eq!(libc::close_range(3, u32::MAX, 0), 0);
        std::mem::forget(file);
        for descriptor in 3..20_000 {
            assert_eq!(libc::close(descriptor), -1);
        }
        let mut byte = 0_u8;
        assert_eq!(libc::read(descriptor, (&raw mut byte).cast(), 1), -1);
    }
    let mut again = File::open(directory().join("a")).unwrap();
    assert!(again.as_raw_fd() == 3 && is_placeholder(3), "the connection survived");
    assert_eq!(read_all(&mut again), b"kept?");
}

#[test]
#[ignore = "run by a test of `shim`"]
fn becomes_nobody() {
    let opened = File::open(directory().join("secret")).unwrap();
    // SAFETY: numbers alone.
    unsafe {
        assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
        assert_eq!(libc::setgid(65_534), 0);
        assert_eq!(libc::setuid(65_534), 0);
    }
    assert_eq!(errno_of(File::open(directory().join("secret"))), libc::EACCES);
    let mut byte = [0];
    opened.read_exact_at(&mut byte, 0).unwrap();
    assert_eq!(&byte, b"x", "what was open stays open");
}

#[test]
#[ignore = "run by a test of `shim`"]
fn writes_for_ever() {
    let mut file = OpenOptions::new().append(true).create(true).open(directory().join("growing")).unwrap();
    let over = make("over");
    over.set_len(1 << 20).unwrap();
    for round in 0_u64.. {
        file.write_all(&[round as u8; 777]).unwrap();
        over.write_all_at(&[round as u8; 9000], round * 4321 % 1_000_000).unwrap();
        let name = directory().join(format!("name {}", round % 10));
        fs::write(&name, "x").unwrap();
        fs::remove_file(&name).unwrap();
    }
}
