//! Files opened, read, written, sized and copied.

use super::Server;
use crate::attributes::now;
use esker_scm::{Access, Allocate, Caller, FsResult, Handle};
use fuser::Request;
use rustix::fs::{FallocateFlags, OFlags};

/// The flag with which the kernel opens what it executes (`__FMODE_EXEC`).
const EXECUTE: i32 = 0x20;
/// Bytes that are copied at once, and most bytes of one request to copy.
const COPIED: usize = 1 << 20;
const COPIED_MAX: u64 = 1 << 30;

pub(super) fn has(flags: i32, flag: OFlags) -> bool {
    flags & flag.bits() as i32 == flag.bits() as i32
}

/// What a file that is opened with these flags is accessed for.
pub(super) fn access_of(flags: i32) -> Access {
    if flags & EXECUTE != 0 {
        return Access { execute: true, ..Access::default() };
    }
    let mode = flags & OFlags::ACCMODE.bits() as i32;
    let reads = mode != OFlags::WRONLY.bits() as i32;
    Access { read: reads, write: mode != OFlags::RDONLY.bits() as i32 || has(flags, OFlags::TRUNC), execute: false }
}

impl Server {
    pub(crate) fn open(&self, request: &Request, number: u64, flags: i32) -> FsResult<()> {
        let held = self.held(number)?;
        self.callers.call(request, |caller| {
            self.system.check(caller, number, access_of(flags))?;
            if has(flags, OFlags::TRUNC) {
                let had_set_id = held.handle().has_set_id();
                self.system.set_size(caller, held.handle(), 0)?;
                self.note_set_id(number, had_set_id);
            }
            Ok(())
        })
    }

    pub(crate) fn read(&self, number: u64, offset: u64, into: &mut [u8]) -> FsResult<usize> {
        // Who opened the file to read it may.
        self.system.read(&Caller::root(now()), self.held(number)?.handle(), offset, into)
    }

    /// The kernel asks for sizes and times again after a write or a truncation, but not for permissions.
    fn note_set_id(&self, number: u64, had_set_id: bool) {
        if had_set_id {
            self.coherence.forget_attributes(number);
        }
    }

    /// Writes. Where pages of a mapping are written back, the kernel does not say for whom.
    pub(crate) fn write(
        &self,
        request: &Request,
        number: u64,
        (offset, bytes): (u64, &[u8]),
        (flags, is_from_mapping): (i32, bool),
    ) -> FsResult<usize> {
        let _changing = self.changing();
        let held = self.held(number)?;
        let handle = held.handle();
        let had_set_id = handle.has_set_id();
        let written = if is_from_mapping {
            self.write_back(handle, offset, bytes)?
        } else {
            // No permission is asked, so no groups are needed.
            let caller = Caller { user: request.uid(), group: request.gid(), groups: &[], now: now() };
            if has(flags, OFlags::APPEND) {
                self.with_room(|| self.system.append(&caller, handle, bytes))?.1
            } else {
                self.with_room(|| self.system.write(&caller, handle, offset, bytes))?
            }
        };
        self.note_set_id(number, had_set_id);
        if has(flags, OFlags::DSYNC) {
            self.system.sync_data(handle)?;
        }
        Ok(written)
    }

    /// Writes all bytes of pages that the kernel had: it takes a short count for a success, and would forget the rest.
    fn write_back(&self, handle: &Handle, offset: u64, bytes: &[u8]) -> FsResult<usize> {
        let mut done = 0;
        while done < bytes.len() {
            let (at, rest) = (offset + done as u64, &bytes[done..]);
            done += self.with_room(|| self.system.write(&Caller::root(now()), handle, at, rest))?;
        }
        Ok(done)
    }

    pub(crate) fn sync(&self, number: u64, is_data: bool) -> FsResult<()> {
        self.sync_held(self.held(number)?.handle(), is_data)
    }

    pub(crate) fn sync_held(&self, handle: &Handle, is_data: bool) -> FsResult<()> {
        if is_data { self.system.sync_data(handle) } else { self.system.sync(handle) }
    }

    /// fallocate; false if there is no such mode.
    pub(crate) fn allocate(
        &self,
        request: &Request,
        number: u64,
        (offset, length): (u64, u64),
        mode: i32,
    ) -> FsResult<bool> {
        let _changing = self.changing();
        let (keep, zero) = (FallocateFlags::KEEP_SIZE, FallocateFlags::ZERO_RANGE);
        let what = match FallocateFlags::from_bits_retain(mode as u32) {
            flags if flags.is_empty() => Allocate::Extend,
            flags if flags == keep => Allocate::KeepSize,
            flags if flags == FallocateFlags::PUNCH_HOLE | keep => Allocate::PunchHole,
            flags if flags == zero => Allocate::ZeroRange,
            flags if flags == zero | keep => Allocate::ZeroRangeKeepSize,
            _ => return Ok(false),
        };
        let held = self.held(number)?;
        self.with_room(|| self.system.allocate(&Caller::root(now()), held.handle(), offset, length, what))?;
        if held.handle().has_set_id() && request.uid() != 0 {
            self.drop_set_id(number)?;
            self.note_set_id(number, true);
        }
        Ok(true)
    }

    /// lseek: SEEK_DATA and SEEK_HOLE.
    pub(crate) fn seek(&self, number: u64, offset: u64, is_hole: bool) -> FsResult<u64> {
        self.system.seek(self.held(number)?.handle(), offset, is_hole)
    }

    /// copy_file_range; how many bytes were copied.
    pub(crate) fn copy(&self, request: &Request, from: (u64, u64), to: (u64, u64), length: u64) -> FsResult<u64> {
        let _changing = self.changing();
        let caller = Caller { user: request.uid(), group: request.gid(), groups: &[], now: now() };
        let (source, target) = (self.held(from.0)?, self.held(to.0)?);
        let length = length.min(COPIED_MAX);
        let mut buffer = vec![0; COPIED.min(length as usize)];
        let had_set_id = target.handle().has_set_id();
        let mut done = 0;
        while done < length {
            let piece = buffer.len().min((length - done) as usize);
            let copied =
                self.system.read(&caller, source.handle(), from.1 + done, &mut buffer[..piece]).and_then(|read| {
                    let bytes = &buffer[..read];
                    self.with_room(|| self.system.write(&caller, target.handle(), to.1 + done, bytes))
                });
            match copied {
                Ok(0) => break,
                Ok(written) => done += written as u64,
                // What was copied is told; whoever goes on is told why it cannot be.
                Err(_) if done > 0 => break,
                Err(error) => return Err(error),
            }
        }
        self.note_set_id(to.0, had_set_id);
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_say_what_a_file_is_accessed_for() {
        let access = |flags: OFlags| {
            let Access { read, write, execute } = access_of(flags.bits() as i32);
            (read, write, execute)
        };
        assert_eq!(access(OFlags::RDONLY), (true, false, false));
        assert_eq!(access(OFlags::WRONLY), (false, true, false));
        assert_eq!(access(OFlags::RDWR), (true, true, false));
        assert_eq!(access(OFlags::RDONLY | OFlags::TRUNC), (true, true, false));
        assert_eq!(access_of(EXECUTE), Access { execute: true, ..Access::default() });
    }
}
