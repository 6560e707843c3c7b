//! What requests of the kernel do to the file system. Everything that returns attributes has told the kernel of the
//! inode.

mod clients;
mod data;
mod directories;
mod names;
mod xattrs;

pub(crate) use clients::{Called, ClientFile};
pub(crate) use xattrs::XattrError;

use crate::attributes::{VALID, now};
use crate::callers::Callers;
use crate::coherence::Coherence;
use crate::inodes::{Held, Inodes};
use esker_scm::{
    Access, Attributes, Caller, Changes, CleanerSettings, FileSystem, FsError, FsResult, Kind, Mapped, PersistError,
    ROOT,
};
use esker_scm_channel::Address;
use fuser::Request;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

/// Steps of the cleaner at a time: each makes requests wait for a moment.
const CLEANER_STEPS: u32 = 64;
/// Nanoseconds after which the kernel has said that it is done with a file, if it is.
const FORGOTTEN_AFTER: i64 = 200_000_000;

/// A file system that is mounted.
#[derive(Debug)]
pub(crate) struct Server {
    system: Arc<FileSystem<Mapped>>,
    inodes: Inodes,
    coherence: Coherence,
    callers: Callers,
    /// Where clients find it.
    address: Address,
    /// The user that alone may use the mount, if not all may.
    only_user: Option<u32>,
    /// Locked for writing by what removes names, for reading between finding an inode and holding it.
    naming: RwLock<()>,
    /// Whether anything was changed since the last flush.
    is_changed: AtomicBool,
    /// When a name was removed last.
    removed: AtomicI64,
}

/// A call that changes something.
struct Changing<'a>(&'a Server);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.note_change();
    }
}

impl Server {
    /// A server for all users, or for one.
    pub(crate) fn new(system: FileSystem<Mapped>, only_user: Option<u32>) -> FsResult<Server> {
        let system = Arc::new(system);
        let inodes = Inodes::default();
        // The kernel knows the root from the beginning.
        inodes.tell(&system, ROOT)?;
        let refused = |code| FsError::Persist(PersistError { code });
        let coherence = Coherence::new().map_err(refused)?;
        let address = Address::random().map_err(|error| refused(error.raw_os_error()))?;
        let (callers, naming) = (Callers::default(), RwLock::new(()));
        let (is_changed, removed) = (AtomicBool::new(false), AtomicI64::new(i64::MIN));
        Ok(Server { system, inodes, coherence, callers, address, only_user, naming, is_changed, removed })
    }

    /// Ends the work with the pool.
    pub(crate) fn unmount(self) -> FsResult<()> {
        self.inodes.clear();
        match Arc::into_inner(self.system) {
            Some(system) => system.unmount().map(drop),
            None => unreachable!("requests have ended, and inodes are forgotten"),
        }
    }

    /// What is done from time to time: everything that was changed is made durable, and the pool is cleaned for a
    /// moment.
    pub(crate) fn tend(&self) -> FsResult<()> {
        // Clients write shared files without a word.
        if self.is_changed.swap(false, Ordering::Relaxed) || self.coherence.shares_any() {
            self.system.sync_all()?;
        }
        let settings = CleanerSettings::default();
        for _ in 0..CLEANER_STEPS {
            match self.system.clean(&settings, now()) {
                // There will be room later.
                Err(FsError::NoSpace) => break,
                // A step looks at few inodes: that there is nothing to do in these says nothing of the others.
                cleaned => {
                    if cleaned?.is_none() && self.system.is_clean()? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Whether a user may use the mount: as the kernel judges, before it looks at any permissions.
    pub(crate) fn serves(&self, user: u32) -> bool {
        self.only_user.is_none_or(|only| only == user)
    }

    fn note_removal(&self) {
        self.removed.store(now().0, Ordering::Relaxed);
    }

    /// Makes `call`. If the pool is full, but a name was removed a moment ago, the call waits for the room of that
    /// file: the kernel says that it is done with a file only after the call that closed or removed it has returned.
    fn with_room<T>(&self, call: impl Fn() -> FsResult<T>) -> FsResult<T> {
        let begun = now().0;
        loop {
            match call() {
                Err(FsError::NoSpace) => {}
                result => return result,
            }
            let removed = self.removed.load(Ordering::Relaxed);
            if removed.saturating_add(FORGOTTEN_AFTER) < begun || now().0 - begun > FORGOTTEN_AFTER {
                return Err(FsError::NoSpace);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn note_change(&self) {
        self.is_changed.store(true, Ordering::Relaxed);
    }

    /// Notes a change when what is returned is dropped, which has to be after the call that makes it: a flush meanwhile
    /// may come too early for it.
    fn changing(&self) -> Changing<'_> {
        Changing(self)
    }

    /// The kernel forgets what it was told `lookups` times.
    pub(crate) fn forget(&self, number: u64, lookups: u64) {
        self.inodes.forget(number, lookups);
    }

    /// What clients and the kernel see of files.
    pub(crate) fn coherence(&self) -> &Coherence {
        &self.coherence
    }

    /// The file system.
    pub(crate) fn system(&self) -> &Arc<FileSystem<Mapped>> {
        &self.system
    }

    /// How long the kernel may use what it is told of an inode, and of this name.
    pub(crate) fn valid(&self, number: u64, name: &OsStr) -> Duration {
        if Coherence::is_own_name(name.as_bytes()) { Duration::ZERO } else { self.valid_attributes(number) }
    }

    /// How long the kernel may use what it is told of an inode: clients change shared files without a word.
    pub(crate) fn valid_attributes(&self, number: u64) -> Duration {
        if self.coherence.is_shared(number) { Duration::ZERO } else { VALID }
    }

    fn held(&self, number: u64) -> FsResult<Arc<Held>> {
        self.inodes.get(number)
    }

    pub(crate) fn attributes(&self, number: u64) -> FsResult<Attributes> {
        self.system.attributes(number)
    }

    /// setattr: size first, then all else.
    pub(crate) fn set_attributes(
        &self,
        request: &Request,
        number: u64,
        (size, is_open): (Option<u64>, bool),
        changes: &Changes,
    ) -> FsResult<Attributes> {
        let _changing = self.changing();
        let mut resized = None;
        if let Some(size) = size {
            let held = self.held(number)?;
            resized = Some(self.callers.call(request, |caller| {
                if !is_open {
                    self.system.check(caller, number, Access { write: true, ..Access::default() })?;
                }
                self.system.set_size(caller, held.handle(), size)
            })?);
        }
        let nothing = *changes == Changes::default();
        if nothing && size.is_none() {
            return self.callers.call(request, |caller| self.change_nothing(caller, number));
        }
        match resized {
            Some(attributes) if nothing => Ok(attributes),
            _ => self.callers.call(request, |caller| self.system.set_attributes(caller, number, changes)),
        }
    }

    /// The kernel asks for no change: chown(2) has neither owner nor group, or fallocate(2) and copy_file_range(2) are
    /// about to come. Bits have to go that let others act as the owner, but chown is for the owner alone, and the
    /// kernel does not say which call it is. A file that nobody has open is not about to be written. Otherwise the bits
    /// stay until they go with the change of the bytes, whose caller has the file open for writing.
    fn change_nothing(&self, caller: &Caller<'_>, number: u64) -> FsResult<Attributes> {
        let found = self.system.attributes(number)?;
        let goes = found.permissions & 0o4000 != 0 || found.permissions & 0o2010 == 0o2010;
        if caller.user == 0 || caller.user == found.user || found.kind == Kind::Directory || !goes {
            self.drop_set_id(number)
        } else if self.coherence.is_open_in_kernel(number) {
            Ok(found)
        } else {
            Err(FsError::NotPermitted)
        }
    }

    /// Takes bits away that let others act as the owner, as if the owner had been changed.
    fn drop_set_id(&self, number: u64) -> FsResult<Attributes> {
        let user = self.system.attributes(number)?.user;
        let changes = Changes { user: Some(user), ..Changes::default() };
        self.system.set_attributes(&Caller::root(now()), number, &changes)
    }

    /// access(2).
    pub(crate) fn access(&self, request: &Request, number: u64, access: Access) -> FsResult<()> {
        self.callers.call(request, |caller| self.system.check(caller, number, access))
    }

    pub(crate) fn statistics(&self) -> FsResult<esker_scm::Statistics> {
        self.system.statistics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_scm::{Mode, Moment, NewFile, mkfs};
    use esker_scm_channel::ADDRESS_ATTRIBUTE;

    /// A server of a pool of its own, in the folder.
    pub(super) fn server(only_user: Option<u32>) -> (tempfile::TempDir, Server) {
        let folder = tempfile::tempdir().unwrap();
        let pool = Mapped::create(&folder.path().join("pool"), 64 << 20).unwrap();
        mkfs(&pool, [7; 16], &Caller::root(Moment(1))).unwrap();
        let server = Server::new(FileSystem::mount(pool, Mode::None).unwrap(), only_user).unwrap();
        (folder, server)
    }

    #[test]
    fn all_inodes_are_looked_at_in_one_go() {
        let (_folder, server) = server(None);
        let root = Caller::root(Moment(1));
        for file in 0..2000 {
            let name = format!("file {file}");
            server.system.make(&root, ROOT, name.as_bytes(), &NewFile::new(Kind::File, 0o644)).unwrap();
        }
        // Null files are made first.
        server.tend().unwrap();
        server.tend().unwrap();
        assert!(server.system.is_clean().unwrap());
    }

    #[test]
    fn a_change_during_a_flush_is_flushed_the_next_time() {
        let (_folder, server) = server(None);
        let changing = server.changing();
        server.tend().unwrap();
        drop(changing);
        assert!(server.is_changed.load(Ordering::Relaxed));
    }

    #[test]
    fn the_address_is_told_to_whom_the_kernel_would_serve() {
        let name = ADDRESS_ATTRIBUTE.as_bytes();
        let ((_folder, own), (_other_folder, all)) = (server(Some(1000)), server(None));
        assert_eq!(own.xattr(1000, ROOT, name).unwrap(), own.address().to_bytes());
        for user in [0, 1001, 65_534] {
            assert!(matches!(own.xattr(user, ROOT, name), Err(XattrError::File(FsError::Access))), "{user}");
            assert_eq!(all.xattr(user, ROOT, name).unwrap(), all.address().to_bytes());
        }
    }
}
