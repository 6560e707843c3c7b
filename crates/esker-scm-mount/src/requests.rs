//! Requests of the kernel, each of them one call of the server, and its answer.

use crate::answers::{answer, answer_attributes, answer_entry, answer_xattr, errno, generation, xattr_errno};
use crate::attributes::{file_attributes, file_type, kind_of, moment_asked};
use crate::capabilities::{OPENED, WANTED};
use crate::coherence::ANY;
use crate::server::{Server, XattrError};
use esker_scm::{Access, Changes, FsError, Kind, NewFile, PAGE, RenameFlags, SetTime, SetXattr};
use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem, FopenFlags, INodeNo, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty,
    ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// The server, as the crate fuser calls it.
#[derive(Debug)]
pub(crate) struct Requests(pub(crate) Arc<Server>);

/// Handles of directories say nothing: whatever is open, the kernel knows its inode.
const HANDLE: FileHandle = FileHandle(ANY);

thread_local! {
    /// What reads are answered from.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn set_time(time: TimeOrNow) -> SetTime {
    match time {
        TimeOrNow::Now => SetTime::Now,
        TimeOrNow::SpecificTime(time) => SetTime::At(moment_asked(time)),
    }
}

impl Filesystem for Requests {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for capability in WANTED {
            // An older kernel does without.
            let _ = config.add_capabilities(capability);
        }
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        answer_entry(self.0.lookup(request, parent.0, name.as_bytes()), |number| self.0.valid(number, name), reply);
    }

    fn forget(&self, _: &Request, number: INodeNo, lookups: u64) {
        self.0.forget(number.0, lookups);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer_attributes(self.0.attributes(number.0), |number| self.0.valid_attributes(number), reply);
    }

    fn setattr(
        &self,
        request: &Request,
        number: INodeNo,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        // Changes have the time of their request.
        _changed: Option<SystemTime>,
        handle: Option<FileHandle>,
        _made: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let changes = Changes {
            permissions: mode.map(|mode| mode as u16 & 0o7777),
            user,
            group,
            accessed: accessed.map(set_time),
            modified: modified.map(set_time),
        };
        let changed = self.0.set_attributes(request, number.0, (size, handle.is_some()), &changes);
        answer_attributes(changed, |number| self.0.valid_attributes(number), reply);
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        match self.0.read_link(number.0) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let Some(kind) = kind_of(mode) else { return reply.error(errno(&FsError::Invalid)) };
        let new = NewFile { device: device.into(), ..NewFile::new(kind, mode as u16 & 0o7777) };
        answer_entry(self.0.make(request, parent.0, name.as_bytes(), &new), |number| self.0.valid(number, name), reply);
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _umask: u32, reply: ReplyEntry) {
        let new = NewFile::new(Kind::Directory, mode as u16 & 0o7777);
        answer_entry(self.0.make(request, parent.0, name.as_bytes(), &new), |number| self.0.valid(number, name), reply);
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(self.0.unlink(request, parent.0, name.as_bytes()), reply);
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(self.0.remove_directory(request, parent.0, name.as_bytes()), reply);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let new = NewFile { target: target.as_os_str().as_bytes(), ..NewFile::new(Kind::Symlink, 0o777) };
        answer_entry(self.0.make(request, parent.0, name.as_bytes(), &new), |number| self.0.valid(number, name), reply);
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: fuser::RenameFlags,
        reply: ReplyEmpty,
    ) {
        let flags = match flags {
            flags if flags.is_empty() => RenameFlags::Replace,
            fuser::RenameFlags::RENAME_NOREPLACE => RenameFlags::KeepExisting,
            fuser::RenameFlags::RENAME_EXCHANGE => RenameFlags::Exchange,
            _ => return reply.error(errno(&FsError::Invalid)),
        };
        let (from, to) = ((parent.0, name.as_bytes()), (new_parent.0, new_name.as_bytes()));
        answer(self.0.rename(request, from, to, flags), reply);
    }

    fn link(&self, request: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let linked = self.0.link(request, number.0, parent.0, name.as_bytes());
        answer_entry(linked, |number| self.0.valid(number, name), reply);
    }

    fn open(&self, request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.0.open(request, number.0, flags.0) {
            Ok(()) => reply.opened(FileHandle(self.0.coherence().opened(request.pid(), number.0)), OPENED),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        match self.0.create(request, parent.0, name.as_bytes(), (mode as u16 & 0o7777, flags)) {
            Ok(made) => {
                let handle = FileHandle(self.0.coherence().opened(request.pid(), made.number));
                reply.created(
                    &self.0.valid(made.number, name),
                    &file_attributes(&made),
                    generation(&made),
                    handle,
                    OPENED,
                );
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        BUFFER.with_borrow_mut(|buffer| {
            let size = size as usize;
            if buffer.len() < size {
                buffer.resize(size, 0);
            }
            match self.0.read(number.0, offset, &mut buffer[..size]) {
                Ok(length) => reply.data(&buffer[..length]),
                Err(error) => reply.error(errno(&error)),
            }
        });
    }

    fn write(
        &self,
        request: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let is_from_mapping = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        match self.0.write(request, number.0, (offset, bytes), (flags.0, is_from_mapping)) {
            Ok(written) => reply.written(written as u32),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn release(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.0.coherence().closed(number.0, handle.0);
        reply.ok();
    }

    // Older kernels ask all the same.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, is_data: bool, reply: ReplyEmpty) {
        answer(self.0.sync(number.0, is_data), reply);
    }

    fn opendir(&self, request: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.0.open_directory(request, number.0) {
            Ok(()) => reply.opened(HANDLE, FopenFlags::empty()),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn readdir(&self, _: &Request, number: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let listed = self.0.list(number.0, offset, |entry| {
            let name = OsStr::from_bytes(&entry.name);
            reply.add(INodeNo(entry.number), entry.next, file_type(entry.kind), name)
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn readdirplus(&self, _: &Request, number: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectoryPlus) {
        let listed = self.0.list_with_attributes(number.0, offset, |entry, found| {
            let name = OsStr::from_bytes(&entry.name);
            let valid = self.0.valid_attributes(entry.number);
            reply.add(INodeNo(entry.number), entry.next, name, &valid, &file_attributes(found), generation(found))
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn fsyncdir(&self, _: &Request, number: INodeNo, _: FileHandle, is_data: bool, reply: ReplyEmpty) {
        answer(self.0.sync(number.0, is_data), reply);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match self.0.statistics() {
            Ok(found) => {
                let (blocks, free) = (found.capacity / PAGE, found.free / PAGE);
                let free_inodes = found.inodes_max - found.inodes;
                reply.statfs(blocks, free, free, found.inodes_max, free_inodes, PAGE as u32, 255, PAGE as u32);
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn setxattr(
        &self,
        request: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let how = match flags {
            0 => SetXattr::Set,
            1 => SetXattr::Create,
            2 => SetXattr::Replace,
            _ => return reply.error(errno(&FsError::Invalid)),
        };
        match self.0.set_xattr(request, number.0, (name.as_bytes(), value), how) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(xattr_errno(&error)),
        }
    }

    fn getxattr(&self, request: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        answer_xattr(self.0.xattr(request.uid(), number.0, name.as_bytes()), size, reply);
    }

    fn listxattr(&self, request: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        answer_xattr(self.0.xattr_names(request, number.0).map_err(XattrError::File), size, reply);
    }

    fn removexattr(&self, request: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match self.0.remove_xattr(request, number.0, name.as_bytes()) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(xattr_errno(&error)),
        }
    }

    fn access(&self, request: &Request, number: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        let access = Access {
            read: mask.contains(AccessFlags::R_OK),
            write: mask.contains(AccessFlags::W_OK),
            execute: mask.contains(AccessFlags::X_OK),
        };
        answer(self.0.access(request, number.0, access), reply);
    }

    fn fallocate(
        &self,
        request: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        match self.0.allocate(request, number.0, (offset, length), mode) {
            Ok(true) => reply.ok(),
            Ok(false) => reply.error(Errno::EOPNOTSUPP),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn lseek(&self, _: &Request, number: INodeNo, _: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        // Linux: SEEK_DATA is 3, SEEK_HOLE 4; the kernel does the others by itself.
        let found = match (whence, u64::try_from(offset)) {
            (3 | 4, Ok(offset)) => self.0.seek(number.0, offset, whence == 4),
            (3 | 4, Err(_)) => Err(FsError::BeyondEnd),
            _ => Err(FsError::Invalid),
        };
        match found {
            Ok(offset) => reply.offset(offset.cast_signed()),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn copy_file_range(
        &self,
        request: &Request,
        from: INodeNo,
        _: FileHandle,
        from_offset: u64,
        to: INodeNo,
        _: FileHandle,
        to_offset: u64,
        length: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        match self.0.copy(request, (from.0, from_offset), (to.0, to_offset), length) {
            Ok(copied) => reply.written(copied as u32),
            Err(error) => reply.error(errno(&error)),
        }
    }
}
