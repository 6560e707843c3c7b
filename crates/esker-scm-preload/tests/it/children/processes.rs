//! What only the kernel can do.

use super::{c_path, directory, is_placeholder, make, read_all};
use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process::Command;

fn wait(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: there is room for the status.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(waited == child && status == 0, "status {status}");
}

#[test]
#[ignore = "run by a test of `shim`"]
fn forks() {
    let mut file = make("a");
    file.write_all(b"0123456789").unwrap();
    file.seek(SeekFrom::Start(2)).unwrap();
    // SAFETY: the child makes system calls alone, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut three = [0; 3];
        let is_read = file.read(&mut three).is_ok_and(|read| read == 3) && &three == b"234";
        // A child has a connection of its own.
        let own = OpenOptions::new().write(true).create(true).truncate(true).open(directory().join("of child"));
        let is_own = own.is_ok_and(|mut own| is_placeholder(own.as_raw_fd()) && own.write_all(b"child").is_ok());
        // SAFETY: the child ends here.
        unsafe { libc::_exit(if is_read && is_own { 0 } else { 1 }) };
    }
    wait(child);
    let mut two = [0; 2];
    file.read_exact(&mut two).unwrap();
    assert_eq!(&two, b"56", "parent and child have one position");
    assert_eq!(fs::read(directory().join("of child")).unwrap(), b"child");
    assert!(!is_placeholder(file.as_raw_fd()));
    assert!(is_placeholder(make("later").as_raw_fd()));
}

#[test]
#[ignore = "run by a test of `shim`"]
fn runs_programs() {
    let mut output = make("output");
    output.write_all(b"first\n").unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "echo second; echo third >&2"]);
    shell.stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap());
    assert!(shell.status().unwrap().success());
    output.write_all(b"fourth\n").unwrap();
    assert_eq!(read_all(&mut output), b"first\nsecond\nthird\nfourth\n");
    // By `system`, which has no file of its own.
    let written = c_path("by system").into_string().unwrap();
    let command = CString::new(format!("cat <&{} >'{written}'", output.as_raw_fd())).unwrap();
    let mut kept = output.try_clone().unwrap();
    // SAFETY: the command ends in a zero byte.
    unsafe {
        assert_eq!(libc::fcntl(output.as_raw_fd(), libc::F_SETFD, 0), 0);
        kept.seek(SeekFrom::Start(0)).unwrap();
        assert_eq!(libc::system(command.as_ptr()), 0);
    }
    assert_eq!(fs::read(directory().join("by system")).unwrap(), b"first\nsecond\nthird\nfourth\n");
    // By exec without fork: what is not closed by it is there for the next program.
    let mut file = make("by exec");
    let text = |text: &str| CString::new(text).unwrap();
    let (shell, option) = (text("/bin/sh"), text("-c"));
    let script = text(&format!("echo from exec >&{}", file.as_raw_fd()));
    // SAFETY: the child runs another program; the arguments end in null.
    unsafe {
        assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_SETFD, 0), 0);
        #[expect(deprecated, reason = "with the library it is a fork, as this shows")]
        let child = libc::vfork();
        if child == 0 {
            let opened = libc::open(c_path("by the child").as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o644);
            libc::dup2(opened, 2);
            let end = std::ptr::null::<libc::c_char>();
            libc::execl(shell.as_ptr(), shell.as_ptr(), option.as_ptr(), script.as_ptr(), end);
            libc::_exit(1);
        }
        wait(child);
    }
    assert_eq!(read_all(&mut file), b"from exec\n");
    assert!(directory().join("by the child").exists());
}

#[test]
#[ignore = "run by a test of `shim`"]
fn maps() {
    let file = make("a");
    file.write_all_at(&[1; 8192], 0).unwrap();
    let descriptor = file.as_raw_fd();
    // SAFETY: the mapping has 8192 bytes, and nobody else uses it.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let mapped = libc::mmap(std::ptr::null_mut(), 8192, access, libc::MAP_SHARED, descriptor, 0).cast::<u8>();
        assert_ne!(mapped.cast(), libc::MAP_FAILED);
        mapped.add(5000).write(7);
        assert_eq!(libc::msync(mapped.cast(), 8192, libc::MS_SYNC), 0);
        let mut byte = [0];
        file.read_exact_at(&mut byte, 5000).unwrap();
        assert_eq!(byte, [7]);
        // Another open file of it goes to the kernel, too.
        let other = OpenOptions::new().write(true).open(directory().join("a")).unwrap();
        other.write_all_at(&[9], 5001).unwrap();
        assert_eq!(mapped.add(5001).read_volatile(), 9);
        libc::munmap(mapped.cast(), 8192);
    }
}

/// The kernel asks the mount for no room as a page is stored to; it has to say later that there was none.
#[test]
#[ignore = "run by a test of `shim`"]
fn is_told_of_stores_into_holes_of_a_full_pool() {
    let (by_library, filler) = (make("sparse"), make("filler"));
    by_library.set_len(1 << 20).unwrap();
    let mut at = 0;
    for size in [1 << 20, 4096] {
        while filler.write_all_at(&vec![1; size], at).is_ok() {
            at += size as u64;
        }
    }
    let by_kernel = super::model::open_by_kernel("sparse");
    for (file, other) in [(&by_library, &by_kernel), (&by_kernel, &by_library)] {
        // SAFETY: a new mapping of a page, which nobody else uses.
        let (synced, error) = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let mapped = libc::mmap(std::ptr::null_mut(), 4096, access, libc::MAP_SHARED, file.as_raw_fd(), 8192);
            assert_ne!(mapped, libc::MAP_FAILED);
            mapped.cast::<u8>().add(100).write_volatile(7);
            let synced = (libc::msync(mapped, 4096, libc::MS_SYNC), std::io::Error::last_os_error());
            mapped.cast::<u8>().add(100).write_volatile(8);
            libc::munmap(mapped, 4096);
            synced
        };
        assert_eq!((synced, error.raw_os_error()), (-1, Some(libc::ENOSPC)), "msync");
        // Each open file is told, once.
        for open in [file, other] {
            assert_eq!(super::errno_of(open.sync_all()), libc::ENOSPC, "fsync after the end of the mapping");
            open.sync_data().unwrap();
        }
        let mut byte = [1];
        other.read_exact_at(&mut byte, 8292).unwrap();
        assert_eq!(byte, [0], "what is gone is a hole as before");
    }
}

/// What a new mapping of a file shows in its first byte.
fn mapped_byte(descriptor: libc::c_int) -> u8 {
    // SAFETY: a new mapping of one page, which is read once.
    unsafe {
        let flags = libc::MAP_SHARED;
        let mapped = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, descriptor, 0).cast::<u8>();
        assert_ne!(mapped.cast(), libc::MAP_FAILED);
        let byte = mapped.read_volatile();
        libc::munmap(mapped.cast(), 4096);
        byte
    }
}

#[test]
#[ignore = "run by a test of `shim`"]
fn sees_no_old_pages_in_a_mapping() {
    let file = make("kept");
    file.write_all_at(&[1; 4096], 0).unwrap();
    // A file of the kernel for locks is there before, so that the one that is mapped is no new one.
    file.try_lock_shared().unwrap();
    let kernels = super::model::open_by_kernel("kept");
    assert_eq!(mapped_byte(kernels.as_raw_fd()), 1);
    drop(kernels);
    // The kernel says that it has closed it some time after that.
    while !is_placeholder(OpenOptions::new().read(true).open(directory().join("kept")).unwrap().as_raw_fd()) {
        std::thread::yield_now();
    }
    file.write_all_at(&[2; 4096], 0).unwrap();
    assert!(is_placeholder(file.as_raw_fd()));
    assert_eq!(mapped_byte(file.as_raw_fd()), 2);
    // A file whose size the kernel does not know is mapped up to its end.
    let file = make("grown");
    file.try_lock_shared().unwrap();
    file.write_all_at(&[3; 4096], 0).unwrap();
    assert_eq!(mapped_byte(file.as_raw_fd()), 3);
}

unsafe extern "C" {
    fn dprintf(descriptor: libc::c_int, format: *const libc::c_char, ...) -> libc::c_int;
}

#[test]
#[ignore = "run by a test of `shim`"]
fn prints() {
    let mut file = make("printed");
    file.write_all(b"a ").unwrap();
    // SAFETY: the format asks for what is passed.
    let printed = unsafe { dprintf(file.as_raw_fd(), c"%d %s %.2f\n".as_ptr(), 7, c"b".as_ptr(), 1.5) };
    assert!(printed == 9 && read_all(&mut file) == b"a 7 b 1.50\n");
    let file = make("by a stream");
    // SAFETY: the stream is closed once.
    unsafe {
        let stream = libc::fdopen(libc::dup(file.as_raw_fd()), c"w".as_ptr());
        libc::fputs(c"text".as_ptr(), stream);
        libc::fclose(stream);
    }
    assert_eq!(fs::read(directory().join("by a stream")).unwrap(), b"text");
    assert_eq!(fs::read(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap(), b"text");
}

/// Opens a file by the library.
fn opened(name: &str) -> libc::c_int {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
    // SAFETY: the path ends in a zero byte.
    let descriptor = unsafe { libc::open(c_path(name).as_ptr(), flags, 0o600) };
    assert!(descriptor > 2 && is_placeholder(descriptor));
    descriptor
}

/// Prints with the stream that a program has from the beginning.
fn say(text: &str) {
    let text = CString::new(text).unwrap();
    // SAFETY: the formats end in a zero byte, and ask for what is passed.
    unsafe {
        assert!(libc::printf(c"%s".as_ptr(), text.as_ptr()) >= 0);
        assert_eq!(libc::fflush(std::ptr::null_mut()), 0);
    }
}

#[test]
#[ignore = "run by a test of `shim`"]
fn redirects_standard_output() {
    // SAFETY: descriptors of this test, and standard output, which it puts back.
    unsafe {
        let kept = libc::dup(1);
        let log = opened("log");
        assert_eq!(libc::write(log, c"first\n".as_ptr().cast(), 6), 6);
        assert_eq!((libc::dup2(log, 1), libc::close(log)), (1, 0));
        say("second\n");
        assert_eq!(libc::write(1, c"third\n".as_ptr().cast(), 6), 6);
        assert_eq!(libc::lseek(1, 0, libc::SEEK_CUR), 19);
        // One that appends still does, for both of its descriptors.
        let both = opened("both");
        assert_eq!(libc::fcntl(both, libc::F_SETFL, libc::O_APPEND), 0);
        assert_eq!((libc::dup3(both, 1, 0), libc::ftruncate(both, 3)), (1, 0));
        say("a");
        assert_eq!(libc::write(both, c"b".as_ptr().cast(), 1), 1);
        assert_ne!(libc::fcntl(1, libc::F_GETFL) & libc::O_APPEND, 0);
        // The lowest free number is that of standard output.
        assert_eq!(libc::close(1), 0);
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND;
        assert_eq!(libc::open(c_path("log").as_ptr(), flags, 0o600), 1);
        say("fourth\n");
        assert_eq!((libc::dup2(kept, 1), libc::close(kept), libc::close(both)), (1, 0, 0));
    }
    assert_eq!(fs::read_to_string(directory().join("log")).unwrap(), "first\nsecond\nthird\nfourth\n");
    assert_eq!(fs::read(directory().join("both")).unwrap(), b"\0\0\0ab");
}
