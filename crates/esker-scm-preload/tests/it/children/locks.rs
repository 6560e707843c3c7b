//! Locks of processes and of open files.

use super::{directory, is_placeholder, make, read_all};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;

fn try_lock(file: &File, command: i32, kind: i32, (whence, start, length): (i32, i64, i64)) -> i32 {
    let mut lock =
        libc::flock { l_type: kind as i16, l_whence: whence as i16, l_start: start, l_len: length, l_pid: 0 };
    // SAFETY: the lock is here.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } {
        0 if command == libc::F_GETLK => lock.l_type.into(),
        0 => 0,
        _ => -io::Error::last_os_error().raw_os_error().unwrap(),
    }
}

/// What another process finds: whether it could lock the bytes.
fn is_free(name: &str, start: i64, length: i64) -> bool {
    // SAFETY: the child makes system calls alone, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let file = OpenOptions::new().read(true).write(true).open(directory().join(name)).unwrap();
        let found = try_lock(&file, libc::F_GETLK, libc::F_WRLCK, (libc::SEEK_SET, start, length));
        // SAFETY: the child ends here.
        unsafe { libc::_exit(i32::from(found != libc::F_UNLCK)) };
    }
    let mut status = 0;
    // SAFETY: there is room for the status.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    status == 0
}

#[test]
#[ignore = "run by a test of `shim`"]
fn finds_a_lock_and_makes_some() {
    let open = || OpenOptions::new().read(true).write(true).open(directory().join("locked")).unwrap();
    let mut file = open();
    // The test has the file open in the kernel, so it is left to that.
    assert_eq!(try_lock(&file, libc::F_SETLK, libc::F_WRLCK, (libc::SEEK_SET, 25, 1)), -libc::EAGAIN);
    assert_eq!(try_lock(&file, libc::F_GETLK, libc::F_WRLCK, (libc::SEEK_SET, 25, 1)), libc::F_WRLCK);
    assert_eq!(try_lock(&file, libc::F_SETLK, libc::F_WRLCK, (libc::SEEK_SET, 40, 10)), 0);
    // This one is the library's.
    let mut own = make("own");
    own.write_all(&[0; 50]).unwrap();
    own.seek(SeekFrom::Start(10)).unwrap();
    assert_eq!(try_lock(&own, libc::F_SETLK, libc::F_WRLCK, (libc::SEEK_CUR, 0, 5)), 0);
    assert_eq!(try_lock(&own, libc::F_SETLK, libc::F_RDLCK, (libc::SEEK_END, -10, 10)), 0);
    assert!(is_placeholder(own.as_raw_fd()), "locks alone leave nothing to the kernel");
    own.write_all(b"still").unwrap();
    // It is left to the kernel by fork, and the locks stay.
    assert!(!is_free("own", 12, 1) && is_free("own", 15, 10) && !is_free("own", 45, 1));
    assert_eq!(own.stream_position().unwrap(), 15);
    assert_eq!(read_all(&mut own)[10..15], b"still"[..]);
    drop(own);
    assert!(is_free("own", 0, 50));
    file.write_all(b"x").unwrap();
    // A lock of an open file, by flock.
    let (first, second) = (make("flocked"), File::open(directory().join("flocked")).unwrap());
    first.try_lock().unwrap();
    assert!(second.try_lock_shared().is_err());
    let clone = first.try_clone().unwrap();
    drop(first);
    assert!(second.try_lock_shared().is_err(), "its other descriptor keeps it");
    drop(clone);
    second.try_lock_shared().unwrap();
}

#[test]
#[ignore = "run by a test of `shim`"]
fn loses_record_locks_by_a_close() {
    let file = make("own");
    assert_eq!(try_lock(&file, libc::F_SETLK, libc::F_WRLCK, (libc::SEEK_SET, 0, 0)), 0);
    drop(File::open(directory().join("own")).unwrap());
    // As POSIX says.
    assert!(is_free("own", 0, 0));
}
