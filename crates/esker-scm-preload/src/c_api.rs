//! The C API of `include/esker_scm.h`.

use crate::mounts::{self, Mounted};
use crate::process;
use esker_scm_channel::{Connection, Outcome, Purpose, RemoteFile, Reply, Request};
use libc::{mode_t, size_t};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A connection, as C has it.
#[derive(Debug)]
pub(crate) struct Pool {
    connection: Arc<Connection>,
    directory: PathBuf,
}

/// An open file, as C has it: the owner's, the kernel's, or both if it was left to the kernel.
#[derive(Debug)]
pub(crate) struct PoolFile {
    remote: Option<RemoteFile>,
    kernel: OnceLock<OwnedFd>,
}

type Answer<T> = Result<T, Errno>;

/// A number for C: the answer, or what went wrong.
fn number(answer: Answer<u64>) -> i64 {
    match answer {
        Ok(value) => value.cast_signed(),
        Err(error) => -i64::from(error.raw_os_error()),
    }
}

fn done(answer: Answer<()>) -> c_int {
    number(answer.map(|()| 0)) as c_int
}

/// # Safety
/// It has to end in a zero byte, and to stay as long as it is used.
unsafe fn text<'a>(path: *const c_char) -> Answer<&'a CStr> {
    if path.is_null() {
        return Err(Errno::FAULT);
    }
    // SAFETY: the caller vouches for it.
    Ok(unsafe { CStr::from_ptr(path) })
}

impl Pool {
    fn connect(directory: &CStr) -> Answer<Pool> {
        match mounts::mounted_at(directory) {
            Mounted::Connected(connection) => {
                Ok(Pool { connection, directory: OsStr::from_bytes(directory.to_bytes()).into() })
            }
            Mounted::Refuses => Err(Errno::CONNREFUSED),
            Mounted::Nothing => Err(Errno::NODEV),
        }
    }

    /// The path, as the kernel takes it.
    fn whole(&self, path: &CStr) -> PathBuf {
        let path = path.to_bytes();
        let relative = path.iter().position(|&byte| byte != b'/').map_or(&b"."[..], |begin| &path[begin..]);
        self.directory.join(Path::new(OsStr::from_bytes(relative)))
    }

    fn open(&self, path: &CStr, flags: OFlags, mode: mode_t) -> Answer<PoolFile> {
        match RemoteFile::open(&self.connection, path.to_bytes(), flags.bits(), process::permitted(mode)) {
            Outcome::Done(remote) => Ok(PoolFile { remote: Some(remote), kernel: OnceLock::new() }),
            Outcome::Failed(error) => Err(error),
            Outcome::UseKernel => {
                let opened = rustix::fs::open(self.whole(path), flags | OFlags::CLOEXEC, Mode::from_raw_mode(mode))?;
                Ok(PoolFile { remote: None, kernel: OnceLock::from(opened) })
            }
        }
    }

    /// Asks the owner, or the kernel if it says so.
    fn ask(&self, request: &Request<'_>, kernel: impl FnOnce() -> Answer<()>) -> Answer<()> {
        match self.connection.call(request, &[], &mut []) {
            Ok((Reply::Done, _)) => Ok(()),
            Ok((Reply::Failed(error), _)) => Err(Errno::from_raw_os_error(error)),
            Ok((Reply::UseKernel, _)) => kernel(),
            _ => Err(Errno::NOTCONN),
        }
    }
}

impl PoolFile {
    /// Asks the owner, or the kernel if that has the file.
    fn ask<T>(
        &self,
        owner: impl FnOnce(&RemoteFile) -> Outcome<T>,
        kernel: impl FnOnce(&OwnedFd) -> Answer<T>,
    ) -> Answer<T> {
        if let Some(file) = self.kernel.get() {
            return kernel(file);
        }
        let remote = self.remote.as_ref().ok_or(Errno::BADF)?;
        match owner(remote) {
            Outcome::Done(value) => return Ok(value),
            Outcome::Failed(error) => return Err(error),
            Outcome::UseKernel => {}
        }
        let opened = remote.connection().kernel_file(remote.handle(), Purpose::Anything)?;
        let _ = self.kernel.set(opened);
        kernel(self.kernel.get().ok_or(Errno::BADF)?)
    }

    fn write(&self, offset: Option<u64>, bytes: &[u8]) -> Answer<u64> {
        if bytes.is_empty() {
            return Ok(0);
        }
        self.ask(
            |file| file.write(offset, bytes).map(|(length, _)| length as u64),
            |file| {
                let written = match offset {
                    Some(offset) => rustix::io::pwrite(file, bytes, offset)?,
                    None => append_by_kernel(file, bytes)?,
                };
                Ok(written as u64)
            },
        )
    }
}

/// The kernel appends to what is open for it.
fn append_by_kernel(file: &OwnedFd, bytes: &[u8]) -> Answer<usize> {
    let flags = rustix::io::ReadWriteFlags::APPEND;
    rustix::io::pwritev2(file, &[std::io::IoSlice::new(bytes)], 0, flags)
}

/// Gives C what was made.
///
/// # Safety
/// `into` points to room for it.
unsafe fn give<T>(made: Answer<T>, into: *mut *mut T) -> c_int {
    done(made.and_then(|value| {
        if into.is_null() {
            return Err(Errno::FAULT);
        }
        // SAFETY: the caller vouches for it.
        unsafe { into.write(Box::into_raw(Box::new(value))) };
        Ok(())
    }))
}

/// Functions of the API. In each, what C passes as a pointer is looked at once, at the beginning.
macro_rules! api {
    ($( $(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $ret:ty $body:block )+) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Pointers are as the header says: what was made by this API and not closed, paths that end in a zero byte,
        /// and as much memory as is said.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
            // SAFETY: the caller vouches for what the pointers point to.
            unsafe { $body }
        }
    )+};
}

api! {
    /// Connects.
    fn esker_scm_connect(directory: *const c_char, into: *mut *mut Pool) -> c_int {
        give(text(directory).and_then(Pool::connect), into)
    }
    /// Ends a connection.
    fn esker_scm_disconnect(pool: *mut Pool) -> () {
        if !pool.is_null() {
            drop(Box::from_raw(pool));
        }
    }
    /// Opens a file.
    fn esker_scm_open(
        pool: *const Pool, path: *const c_char, flags: c_int, mode: mode_t, into: *mut *mut PoolFile
    ) -> c_int {
        let flags = OFlags::from_bits_retain(flags.cast_unsigned());
        let pool = pool.as_ref().ok_or(Errno::FAULT);
        give(pool.and_then(|pool| pool.open(text(path)?, flags, mode)), into)
    }
    /// Closes a file.
    fn esker_scm_close(file: *mut PoolFile) -> () {
        if !file.is_null() {
            drop(Box::from_raw(file));
        }
    }
    /// Reads.
    fn esker_scm_read(file: *const PoolFile, into: *mut c_void, count: size_t, offset: u64) -> i64 {
        let read = file.as_ref().ok_or(Errno::FAULT).and_then(|file| {
            let into = std::cell::RefCell::new(crate::exports::room(into, count));
            file.ask(
                |file| file.read(offset, &mut into.borrow_mut()),
                |file| rustix::io::pread(file, &mut **into.borrow_mut(), offset),
            )
        });
        number(read.map(|length| length as u64))
    }
    /// Writes.
    fn esker_scm_write(file: *const PoolFile, bytes: *const c_void, count: size_t, offset: u64) -> i64 {
        let bytes = crate::exports::bytes(bytes, count);
        number(file.as_ref().ok_or(Errno::FAULT).and_then(|file| file.write(Some(offset), bytes)))
    }
    /// Appends.
    fn esker_scm_append(file: *const PoolFile, bytes: *const c_void, count: size_t) -> i64 {
        let bytes = crate::exports::bytes(bytes, count);
        number(file.as_ref().ok_or(Errno::FAULT).and_then(|file| file.write(None, bytes)))
    }
    /// Bytes of a file.
    fn esker_scm_size(file: *const PoolFile) -> i64 {
        let size = file.as_ref().ok_or(Errno::FAULT).and_then(|file| {
            file.ask(RemoteFile::size, |file| Ok(rustix::fs::fstat(file)?.st_size.cast_unsigned()))
        });
        number(size)
    }
    /// Sets the size of a file.
    fn esker_scm_set_size(file: *const PoolFile, size: u64) -> c_int {
        done(file.as_ref().ok_or(Errno::FAULT).and_then(|file| {
            file.ask(|file| file.set_size(size), |file| rustix::fs::ftruncate(file, size))
        }))
    }
    /// Makes a file durable.
    fn esker_scm_sync(file: *const PoolFile) -> c_int {
        let file = file.as_ref().ok_or(Errno::FAULT);
        done(file.and_then(|file| file.ask(RemoteFile::sync, |file| rustix::fs::fsync(file))))
    }
    /// Removes a name.
    fn esker_scm_unlink(pool: *const Pool, path: *const c_char) -> c_int {
        done(pool.as_ref().ok_or(Errno::FAULT).and_then(|pool| {
            let path = text(path)?;
            pool.ask(&Request::Unlink { path: path.to_bytes() }, || rustix::fs::unlink(pool.whole(path)))
        }))
    }
    /// Renames.
    fn esker_scm_rename(pool: *const Pool, from: *const c_char, to: *const c_char) -> c_int {
        done(pool.as_ref().ok_or(Errno::FAULT).and_then(|pool| {
            let (from, to) = (text(from)?, text(to)?);
            let request = Request::Rename { from: from.to_bytes(), to: to.to_bytes() };
            pool.ask(&request, || rustix::fs::rename(pool.whole(from), pool.whole(to)))
        }))
    }
    /// Makes a directory.
    fn esker_scm_mkdir(pool: *const Pool, path: *const c_char, mode: mode_t) -> c_int {
        done(pool.as_ref().ok_or(Errno::FAULT).and_then(|pool| {
            let path = text(path)?;
            let request = Request::MakeDirectory { path: path.to_bytes(), permissions: process::permitted(mode) };
            pool.ask(&request, || rustix::fs::mkdir(pool.whole(path), Mode::from_raw_mode(mode)))
        }))
    }
    /// Removes a directory.
    fn esker_scm_rmdir(pool: *const Pool, path: *const c_char) -> c_int {
        done(pool.as_ref().ok_or(Errno::FAULT).and_then(|pool| {
            let path = text(path)?;
            let request = Request::RemoveDirectory { path: path.to_bytes() };
            pool.ask(&request, || rustix::fs::unlinkat(rustix::fs::CWD, pool.whole(path), AtFlags::REMOVEDIR))
        }))
    }
}
