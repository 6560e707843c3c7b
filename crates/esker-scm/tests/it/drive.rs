//! Operations made on a mounted pool.

use crate::operation::{Operation, pattern};
use esker_scm::{
    Allocate, Caller, Changes, Cleaned, CleanerSettings, FileSystem, FsError, FsResult, Handle, Kind, Mode, Moment,
    NewFile, Persist, ROOT, Recording, RenameFlags, SetXattr, mkfs,
};
use std::collections::BTreeMap;

/// A mounted pool, with its time and the files that stay open.
pub(crate) struct Driven<P> {
    pub(crate) system: FileSystem<P>,
    held: BTreeMap<usize, Handle>,
    now: i64,
    /// Pages that evacuations moved.
    pub(crate) evacuated: u64,
}

/// The bytes of a new pool of `pages`.
pub(crate) fn new_pool(pages: u64) -> Vec<u8> {
    let pool = Recording::new(vec![0xa5; (pages * 4096) as usize]);
    mkfs(&pool, [7; 16], &Caller::root(Moment(1))).unwrap();
    pool.image()
}

/// The inode that a path leads to.
pub(crate) fn find<P: Persist>(system: &FileSystem<P>, path: &str) -> FsResult<u64> {
    let caller = Caller::root(Moment(0));
    path.split('/')
        .filter(|name| !name.is_empty())
        .try_fold(ROOT, |at, name| Ok(system.lookup(&caller, at, name.as_bytes())?.number))
}

impl<P: Persist> Driven<P> {
    pub(crate) fn mount(persist: P, mode: Mode) -> Driven<P> {
        Driven { system: FileSystem::mount(persist, mode).unwrap(), held: BTreeMap::new(), now: 1000, evacuated: 0 }
    }

    fn parent<'a>(&self, path: &'a str) -> FsResult<(u64, &'a [u8])> {
        let (directory, name) = path.rsplit_once('/').expect("an absolute path");
        let parent = find(&self.system, directory)?;
        match self.system.attributes(parent)?.kind {
            Kind::Directory => Ok((parent, name.as_bytes())),
            _ => Err(FsError::NotDirectory),
        }
    }

    fn make(&self, caller: &Caller<'_>, path: &str, new: &NewFile<'_>) -> FsResult<()> {
        let (parent, name) = self.parent(path)?;
        self.system.make(caller, parent, name, new).map(drop)
    }

    fn with_file(&self, path: &str, call: impl FnOnce(&Handle) -> FsResult<()>) -> FsResult<()> {
        let number = find(&self.system, path)?;
        match self.system.attributes(number)?.kind {
            Kind::File => {}
            Kind::Directory => return Err(FsError::IsDirectory),
            _ => return Err(FsError::Invalid),
        }
        let handle = self.system.open(number)?;
        let result = call(&handle);
        self.system.close(handle)?;
        result
    }

    /// Makes the operation.
    pub(crate) fn apply(&mut self, operation: &Operation) -> FsResult<()> {
        use Operation::*;
        self.now += 1000;
        let caller = &Caller::root(Moment(self.now));
        match operation {
            Create(path) => self.make(caller, path, &NewFile::new(Kind::File, 0o644)),
            MakeDirectory(path) => self.make(caller, path, &NewFile::new(Kind::Directory, 0o755)),
            Fifo(path) => self.make(caller, path, &NewFile::new(Kind::Fifo, 0o644)),
            Symlink(path, target) => {
                let new = NewFile { target: target.as_bytes(), ..NewFile::new(Kind::Symlink, 0o777) };
                self.make(caller, path, &new)
            }
            Link(from, to) => {
                let number = find(&self.system, from)?;
                let (parent, name) = self.parent(to)?;
                self.system.link(caller, number, parent, name).map(drop)
            }
            Unlink(path) => {
                let (parent, name) = self.parent(path)?;
                self.system.unlink(caller, parent, name)
            }
            RemoveDirectory(path) => {
                let (parent, name) = self.parent(path)?;
                self.system.remove_directory(caller, parent, name)
            }
            Rename(from, to) => self.rename(caller, from, to, RenameFlags::Replace),
            RenameKeep(from, to) => self.rename(caller, from, to, RenameFlags::KeepExisting),
            Exchange(from, to) => self.rename(caller, from, to, RenameFlags::Exchange),
            SetXattr(path, name, seed) => {
                let value = pattern(*seed, seed % 5000);
                let number = find(&self.system, path)?;
                self.system.set_xattr(caller, number, (name.as_bytes(), &value), self::SetXattr::Set)
            }
            RemoveXattr(path, name) => self.system.remove_xattr(caller, find(&self.system, path)?, name.as_bytes()),
            Permissions(path, permissions) => {
                let changes = Changes { permissions: Some(*permissions), ..Changes::default() };
                self.system.set_attributes(caller, find(&self.system, path)?, &changes).map(drop)
            }
            Clean { is_full } => self.clean(*is_full),
            Compact => self.compact(),
            Hold(path, number) => self.hold(path, *number),
            Release(number) => {
                let handle = self.held.remove(number).ok_or(FsError::NotFound)?;
                self.system.close(handle)
            }
            WriteHeld(number, offset, length, seed) => {
                let handle = self.held.get(number).ok_or(FsError::NotFound)?;
                whole(self.system.write(caller, handle, *offset, &pattern(*seed, *length)), *length)
            }
            _ => self.change_data(caller, operation),
        }
    }

    fn clean(&self, is_full: bool) -> FsResult<()> {
        let free_percent = if is_full { 100 } else { 0 };
        let settings = CleanerSettings { free_percent, null_files_max: 0, null_files_min: 3, cold_after_seconds: 0 };
        for _ in 0..5 {
            match self.system.clean(&settings, Moment(self.now)) {
                Ok(_) => {}
                // It makes null files of the last pages.
                Err(FsError::NoSpace) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn compact(&mut self) -> FsResult<()> {
        let settings = CleanerSettings { free_percent: 0, null_files_max: 0, null_files_min: 0, cold_after_seconds: 0 };
        let mut steps = 0;
        while !self.system.is_clean()? {
            steps += 1;
            assert!(steps < 2000, "the cleaner comes to an end");
            if let Some(Cleaned::Evacuated(pages)) = self.system.clean(&settings, Moment(self.now))? {
                self.evacuated += pages;
            }
        }
        Ok(())
    }

    fn hold(&mut self, path: &str, number: usize) -> FsResult<()> {
        let mut held = None;
        self.with_file(path, |handle| {
            held = Some(self.system.open(handle.number())?);
            Ok(())
        })?;
        let held = held.expect("it was opened");
        if self.held.contains_key(&number) {
            self.system.close(held)?;
            return Err(FsError::Busy);
        }
        self.held.insert(number, held);
        Ok(())
    }

    fn rename(&self, caller: &Caller<'_>, from: &str, to: &str, flags: RenameFlags) -> FsResult<()> {
        let (from, to) = (self.parent(from)?, self.parent(to)?);
        self.system.rename(caller, from, to, flags)
    }

    fn change_data(&self, caller: &Caller<'_>, operation: &Operation) -> FsResult<()> {
        use Operation::*;
        let system = &self.system;
        let allocate = |path: &str, offset: u64, length: u64, what: Allocate| {
            self.with_file(path, |handle| system.allocate(caller, handle, offset, length, what))
        };
        match operation {
            Write(path, offset, length, seed) => self.with_file(path, |handle| {
                whole(system.write(caller, handle, *offset, &pattern(*seed, *length)), *length)
            }),
            Append(path, length, seed) => self.with_file(path, |handle| {
                whole(system.append(caller, handle, &pattern(*seed, *length)).map(|(_, written)| written), *length)
            }),
            Truncate(path, size) => self.with_file(path, |handle| system.set_size(caller, handle, *size).map(drop)),
            Punch(path, offset, length) => allocate(path, *offset, *length, Allocate::PunchHole),
            Preallocate(path, offset, length) => allocate(path, *offset, *length, Allocate::KeepSize),
            Extend(path, offset, length) => allocate(path, *offset, *length, Allocate::Extend),
            ZeroRange(path, offset, length) => allocate(path, *offset, *length, Allocate::ZeroRange),
            Sync(path) | SyncData(path) => {
                let number = find(system, path)?;
                let handle = system.open(number)?;
                let synced = match operation {
                    Sync(_) => system.sync(&handle),
                    _ => system.sync_data(&handle),
                };
                system.close(handle)?;
                synced
            }
            other => panic!("{other:?} changes no data"),
        }
    }

    /// Closes what is held.
    pub(crate) fn release_all(&mut self) {
        while let Some((_, handle)) = self.held.pop_first() {
            self.system.close(handle).unwrap();
        }
    }
}

fn whole(written: FsResult<usize>, length: u64) -> FsResult<()> {
    written.and_then(|written| if written as u64 == length { Ok(()) } else { Err(FsError::NoSpace) })
}
