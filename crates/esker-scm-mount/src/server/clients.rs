//! What calls of clients do to the file system.

use super::Server;
use super::data::access_of;
use crate::attributes::now;
use crate::inodes::Held;
use esker_scm::{Attributes, Caller, FsError, FsResult, Kind, NewFile, PAGE, ROOT, RenameFlags, Stretch};
use esker_scm_channel::Reply;
use rustix::fs::OFlags;
use std::sync::PoisonError;

/// A file that a client has open.
#[derive(Debug)]
pub(crate) struct ClientFile {
    pub(crate) held: Held,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) is_shared: bool,
    /// Handles of the kernel's files that it has for locks.
    pub(crate) for_locks: Vec<u64>,
}

/// What a call of a client came to.
pub(crate) enum Called<T> {
    Done(T),
    /// The client has to ask the kernel.
    UseKernel,
}

type ClientResult<T> = FsResult<Called<T>>;

/// Flags of open(2) that need no kernel. The client looks after `O_APPEND` and `O_CLOEXEC`.
const SIMPLE: OFlags = OFlags::ACCMODE
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::TRUNC)
    .union(OFlags::APPEND)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::LARGEFILE);

/// A path up to its last name, which may not exist.
struct Place<'a> {
    parent: u64,
    name: &'a [u8],
}

impl Server {
    /// Walks to the directory of a path. None if the kernel has to: links are in the way, or names that it knows
    /// better. Names must not be removed before the directory was used: nothing holds it, and its number could be that
    /// of another one then.
    fn walk<'a>(&self, caller: &Caller<'_>, path: &'a [u8]) -> FsResult<Option<Place<'a>>> {
        let path = path.strip_prefix(b"/").unwrap_or(path);
        // What it ends in may be a link, or has to be a directory.
        if path.ends_with(b"/") {
            return Ok(None);
        }
        let mut parent = ROOT;
        let mut rest = path;
        loop {
            let (name, after) = match rest.iter().position(|&byte| byte == b'/') {
                Some(end) => (&rest[..end], Some(&rest[end + 1..])),
                None => (rest, None),
            };
            if matches!(name, b"" | b"." | b"..") {
                return Ok(None);
            }
            let Some(after) = after else { return Ok(Some(Place { parent, name })) };
            let found = self.system.lookup(caller, parent, name)?;
            match found.kind {
                Kind::Directory => parent = found.number,
                Kind::Symlink => return Ok(None),
                _ => return Err(FsError::NotDirectory),
            }
            rest = after;
        }
    }

    /// Opens a file for a client.
    pub(crate) fn client_open(
        &self,
        caller: &Caller<'_>,
        path: &[u8],
        (flags, permissions): (u32, u16),
    ) -> ClientResult<ClientFile> {
        let flags = OFlags::from_bits_retain(flags);
        let makes = flags.contains(OFlags::CREATE);
        // A file that its owner may not open later could not be opened by this process for the kernel, either.
        let is_odd = makes && permissions & 0o600 != 0o600 && !rustix::process::geteuid().is_root();
        if !SIMPLE.contains(flags) || is_odd {
            return Ok(Called::UseKernel);
        }
        self.with_room(|| {
            let names = self.naming.read().unwrap_or_else(PoisonError::into_inner);
            let Some(place) = self.walk(caller, path)? else { return Ok(Called::UseKernel) };
            let (found, is_new) = match self.system.lookup(caller, place.parent, place.name) {
                Ok(_) if makes && flags.contains(OFlags::EXCL) => return Err(FsError::Exists),
                Ok(found) => (found, false),
                Err(FsError::NotFound) if makes => {
                    let new = NewFile::new(Kind::File, permissions);
                    match self.system.make(caller, place.parent, place.name, &new) {
                        Ok(made) => (made, true),
                        // Somebody else was faster.
                        Err(FsError::Exists) => (self.system.lookup(caller, place.parent, place.name)?, false),
                        Err(error) => return Err(error),
                    }
                }
                Err(error) => return Err(error),
            };
            if found.kind != Kind::File || self.coherence.is_in_kernel(found.number) {
                return Ok(Called::UseKernel);
            }
            let access = access_of(flags.bits().cast_signed());
            if !is_new {
                self.system.check(caller, found.number, access)?;
            }
            let held = Held::new(&self.system, found.number)?;
            drop(names);
            self.after_open(caller, &place, (&held, is_new), flags)?;
            let mode = flags & OFlags::ACCMODE;
            let (reads, writes) = (mode != OFlags::WRONLY, mode != OFlags::RDONLY);
            Ok(Called::Done(ClientFile { held, reads, writes, is_shared: false, for_locks: Vec::new() }))
        })
    }

    fn after_open(
        &self,
        caller: &Caller<'_>,
        place: &Place<'_>,
        (held, is_new): (&Held, bool),
        flags: OFlags,
    ) -> FsResult<()> {
        if is_new {
            self.note_change();
            self.changed_names(&[(place.parent, place.name)]);
        } else if flags.contains(OFlags::TRUNC) {
            self.client_set_size(caller, held, 0)?;
        }
        Ok(())
    }

    /// The kernel forgets names that a client has changed, if it knows their directories.
    fn changed_names(&self, names: &[(u64, &[u8])]) {
        for &(parent, name) in names {
            if self.inodes.knows(parent) {
                self.coherence.forget_name(parent, name);
                self.coherence.forget_attributes(parent);
            }
        }
    }

    fn changed_attributes(&self, number: u64) {
        self.note_change();
        if self.inodes.knows(number) {
            self.coherence.forget_attributes(number);
        }
    }

    pub(crate) fn client_set_size(&self, caller: &Caller<'_>, held: &Held, size: u64) -> FsResult<()> {
        self.system.set_size(caller, held.handle(), size)?;
        self.changed_attributes(held.handle().number());
        Ok(())
    }

    /// Writes for a client: bytes written, and the byte behind the last.
    pub(crate) fn client_write(
        &self,
        caller: &Caller<'_>,
        held: &Held,
        offset: Option<u64>,
        bytes: &[u8],
    ) -> FsResult<(usize, u64)> {
        let (at, written) = self.with_room(|| match offset {
            Some(offset) => Ok((offset, self.system.write(caller, held.handle(), offset, bytes)?)),
            None => self.system.append(caller, held.handle(), bytes),
        })?;
        self.changed_attributes(held.handle().number());
        Ok((written, at + written as u64))
    }

    /// What a path is, if it is no link.
    pub(crate) fn client_look(&self, caller: &Caller<'_>, path: &[u8]) -> ClientResult<Attributes> {
        let _names = self.naming.read().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = self.walk(caller, path)? else { return Ok(Called::UseKernel) };
        let found = self.system.lookup(caller, place.parent, place.name)?;
        if found.kind == Kind::Symlink || self.coherence.is_in_kernel(found.number) {
            return Ok(Called::UseKernel);
        }
        Ok(Called::Done(found))
    }

    pub(crate) fn client_make_directory(&self, caller: &Caller<'_>, path: &[u8], permissions: u16) -> ClientResult<()> {
        let new = NewFile::new(Kind::Directory, permissions);
        let made = self.with_room(|| {
            let _names = self.naming.read().unwrap_or_else(PoisonError::into_inner);
            let Some(place) = self.walk(caller, path)? else { return Ok(None) };
            self.system.make(caller, place.parent, place.name, &new)?;
            Ok(Some(place))
        })?;
        let Some(place) = made else { return Ok(Called::UseKernel) };
        self.note_change();
        self.changed_names(&[(place.parent, place.name)]);
        Ok(Called::Done(()))
    }

    pub(crate) fn client_remove(&self, caller: &Caller<'_>, path: &[u8], is_directory: bool) -> ClientResult<()> {
        let (Place { parent, name }, known) = {
            let _names = self.naming.write().unwrap_or_else(PoisonError::into_inner);
            let Some(Place { parent, name }) = self.walk(caller, path)? else { return Ok(Called::UseKernel) };
            self.note_removal();
            let found = self.system.lookup(caller, parent, name)?;
            match is_directory {
                true => self.system.remove_directory(caller, parent, name)?,
                false => self.system.unlink(caller, parent, name)?,
            }
            (Place { parent, name }, self.inodes.knows(found.number).then_some(found.number))
        };
        self.note_change();
        self.changed_names(&[(parent, name)]);
        known.into_iter().for_each(|number| self.coherence.forget_attributes(number));
        Ok(Called::Done(()))
    }

    pub(crate) fn client_rename(&self, caller: &Caller<'_>, from: &[u8], to: &[u8]) -> ClientResult<()> {
        let (from, to) = {
            let _names = self.naming.write().unwrap_or_else(PoisonError::into_inner);
            let Some(from) = self.walk(caller, from)? else { return Ok(Called::UseKernel) };
            let Some(to) = self.walk(caller, to)? else { return Ok(Called::UseKernel) };
            self.note_removal();
            let (old, new) = ((from.parent, from.name), (to.parent, to.name));
            self.system.rename(caller, old, new, RenameFlags::Replace)?;
            (from, to)
        };
        self.note_change();
        self.changed_names(&[(from.parent, from.name), (to.parent, to.name)]);
        Ok(Called::Done(()))
    }

    /// Shares a file with a client: its record, and where its pages lie.
    pub(crate) fn client_share(&self, file: &mut ClientFile, pages: (u64, u64)) -> ClientResult<(u32, Vec<Stretch>)> {
        let Some(record) = self.coherence.share(&self.system, &file.held, !file.is_shared)? else {
            return Ok(Called::UseKernel);
        };
        file.is_shared = true;
        let last = self.system.attributes(file.held.handle().number())?.reserved / PAGE;
        Ok(Called::Done((record, self.system.stretches(file.held.handle(), pages.0, pages.1.min(last))?)))
    }

    /// A client closes a file.
    pub(crate) fn client_close(&self, file: ClientFile) -> FsResult<()> {
        if file.is_shared {
            self.coherence.unshare(&self.system, &file.held)?;
        }
        Ok(())
    }

    /// A client's call, by who it is.
    pub(crate) fn client_caller<'a>(user: u32, group: u32, groups: &'a [u32]) -> Caller<'a> {
        Caller { user, group, groups, now: now() }
    }

    /// What to answer.
    pub(crate) fn reply_of<T>(result: ClientResult<T>, take: impl FnOnce(T) -> Reply) -> Reply {
        match result {
            Ok(Called::Done(value)) => take(value),
            Ok(Called::UseKernel) => Reply::UseKernel,
            Err(error) => Reply::Failed(error.errno()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::tests::server;
    use std::time::Duration;

    fn root() -> Caller<'static> {
        Caller::root(now())
    }

    fn make(server: &Server, parent: u64, name: &[u8], kind: Kind) -> u64 {
        server.system.make(&root(), parent, name, &NewFile::new(kind, 0o700)).unwrap().number
    }

    /// What `call` gives if it comes while somebody else takes the directory `/A`, in which there is a file, away, and
    /// makes `/B` of its inode, with a file of the same name.
    fn while_a_directory_goes(call: impl Fn(&Server) -> Result<(), FsError> + Sync) -> Server {
        let (_folder, server) = server(None);
        let gone = make(&server, ROOT, b"A", Kind::Directory);
        make(&server, gone, b"file", Kind::File);
        let names = server.naming.write().unwrap();
        std::thread::scope(|scope| {
            let called = scope.spawn(|| call(&server));
            // Long enough to walk there, for who does not wait.
            std::thread::sleep(Duration::from_millis(50));
            server.system.unlink(&root(), gone, b"file").unwrap();
            server.system.remove_directory(&root(), ROOT, b"A").unwrap();
            assert_eq!(make(&server, ROOT, b"B", Kind::Directory), gone, "its inode is the next one");
            make(&server, gone, b"file", Kind::File);
            drop(names);
            assert_eq!(called.join().unwrap(), Err(FsError::NotFound));
        });
        assert_eq!(server.system.lookup(&root(), gone, b"file").map(|found| found.kind), Ok(Kind::File));
        server
    }

    #[test]
    fn names_are_changed_where_their_path_leads_then() {
        let nothing = |called: ClientResult<()>| called.map(|_| ());
        while_a_directory_goes(|server| nothing(server.client_remove(&root(), b"/A/file", false)));
        while_a_directory_goes(|server| nothing(server.client_rename(&root(), b"/A/file", b"/file")));
        while_a_directory_goes(|server| server.client_look(&root(), b"/A/file").map(|_| ()));
        let made = while_a_directory_goes(|server| nothing(server.client_make_directory(&root(), b"/A/new", 0o700)));
        let other = made.system.lookup(&root(), ROOT, b"B").unwrap().number;
        assert_eq!(made.system.lookup(&root(), other, b"new").map(|_| ()), Err(FsError::NotFound));
        made.client_make_directory(&root(), b"/B/new", 0o700).unwrap();
        assert_eq!(made.system.lookup(&root(), other, b"new").map(|found| found.kind), Ok(Kind::Directory));
    }
}
