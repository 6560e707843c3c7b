//! Open files.

use super::FileSystem;
use super::shared_record::SharedRecord;
use super::work::Work;
use crate::error::{FsError, FsResult};
use crate::layout::Kind;
use crate::layout::inode::Inode;
use crate::moment::Moment;
use crate::persist::Persist;
use crate::space::Extents;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// What memory keeps of an open file.
#[derive(Debug)]
pub(crate) struct Node {
    pub(super) number: u64,
    kind: Kind,
    /// Whether a write by somebody else than the administrator has to take set-user-id away first.
    has_set_id: AtomicBool,
    /// How many handles there are. Changed under the lock of the state.
    handles: AtomicU64,
    /// When it was written last, if its inode does not say so yet, else [`NEVER`].
    modified: AtomicI64,
    /// When it was read last, if its inode is to say so and does not yet, else [`NEVER`].
    accessed: AtomicI64,
    /// Whether the next read has to be noted, as [`Inode::is_unread`] has it.
    pub(super) is_unread: AtomicBool,
    pub(super) data: RwLock<Data>,
    /// What clients see, also for those who have not locked the data. Its lock is held while they are told something.
    clients: Mutex<Option<Arc<dyn SharedRecord>>>,
}

/// The data of an open file: locked for reading by reads, for writing by writes.
#[derive(Debug)]
pub(super) struct Data {
    pub(super) size: u64,
    pub(super) extents: Extents,
    /// What clients see, while some have pages mapped.
    pub(super) shared: Option<Arc<dyn SharedRecord>>,
}

impl Data {
    /// Whether pages may move or be freed.
    pub(super) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }
}

const NEVER: i64 = i64::MIN;

/// An open file. It has to be closed by [`FileSystem::close`].
#[derive(Debug)]
#[must_use]
pub struct Handle {
    pub(super) node: Arc<Node>,
}

impl Handle {
    /// Checks that it has data.
    pub(super) fn check_file(&self) -> FsResult<()> {
        match self.node.kind {
            Kind::File => Ok(()),
            Kind::Directory => Err(FsError::IsDirectory),
            _ => Err(FsError::Invalid),
        }
    }

    /// The file's inode.
    pub fn number(&self) -> u64 {
        self.node.number
    }

    /// Whether who executes the file acts as its owner, or as its group: who writes without being the administrator may
    /// take that away.
    pub fn has_set_id(&self) -> bool {
        self.node.has_set_id()
    }
}

/// Times of an open file that its inode does not show yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unsettled {
    modified: i64,
    accessed: i64,
}

impl Node {
    /// Whether set-user-id or set-group-id is to be taken away by a write.
    pub(super) fn has_set_id(&self) -> bool {
        self.has_set_id.load(Ordering::Relaxed)
    }

    /// The permissions have changed.
    pub(super) fn note_permissions(&self, inode: &Inode) {
        let clients = self.clients();
        self.has_set_id.store(inode.has_set_id(), Ordering::Relaxed);
        if let Some(clients) = &*clients {
            clients.set_has_set_id(inode.has_set_id());
        }
    }

    /// What clients see. Nobody tells them anything else meanwhile.
    pub(super) fn clients(&self) -> MutexGuard<'_, Option<Arc<dyn SharedRecord>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The inode has been changed, other than by a write.
    pub(super) fn note_changed(&self, inode: &Inode) {
        let clients = self.clients();
        self.is_unread.store(inode.is_unread(), Ordering::Relaxed);
        if let (Some(clients), true) = (&*clients, inode.is_unread()) {
            clients.set_unread();
        }
    }

    /// Notes reads and writes of clients.
    pub(super) fn note_shared_times(&self, data: &Data) {
        let Some(shared) = &data.shared else { return };
        let (modified, accessed) = (shared.take_modified(), shared.take_accessed());
        let is_read_later = accessed > modified;
        accessed.filter(|_| !is_read_later).into_iter().for_each(|accessed| self.note_accessed(accessed));
        modified.into_iter().for_each(|modified| self.note_modified(modified));
        accessed.filter(|_| is_read_later).into_iter().for_each(|accessed| self.note_accessed(accessed));
    }

    /// Notes a write that the inode does not show yet.
    #[inline]
    pub(super) fn note_modified(&self, now: Moment) {
        self.modified.store(now.0, Ordering::Relaxed);
        self.is_unread.store(true, Ordering::Relaxed);
    }

    /// Notes a read, if it is the first since the last change.
    #[inline]
    pub(super) fn note_accessed(&self, now: Moment) {
        if self.is_unread.load(Ordering::Relaxed) {
            self.is_unread.store(false, Ordering::Relaxed);
            self.set_accessed(now);
        }
    }

    /// Notes a read that the inode does not show yet.
    pub(super) fn set_accessed(&self, now: Moment) {
        self.accessed.store(now.0, Ordering::Relaxed);
    }

    /// When it was last written and read, if the inode does not say so.
    pub(super) fn unsettled(&self) -> Option<Unsettled> {
        // Whoever has it locked changes the file, and notes its own time.
        if let Ok(data) = self.data.try_read() {
            self.note_shared_times(&data);
        }
        let (modified, accessed) = (self.modified.load(Ordering::Relaxed), self.accessed.load(Ordering::Relaxed));
        (modified != NEVER || accessed != NEVER).then_some(Unsettled { modified, accessed })
    }

    /// The inode shows these times. Later ones stay.
    pub(super) fn forget(&self, shown: Unsettled) {
        let _ = self.modified.compare_exchange(shown.modified, NEVER, Ordering::Relaxed, Ordering::Relaxed);
        let _ = self.accessed.compare_exchange(shown.accessed, NEVER, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// A write has stored its time in the inode.
    pub(super) fn was_written(&self) {
        self.modified.store(NEVER, Ordering::Relaxed);
        self.is_unread.store(true, Ordering::Relaxed);
    }
}

impl Unsettled {
    /// Writes the times into the inode.
    pub(super) fn settle(self, inode: &mut Inode) {
        if self.modified != NEVER {
            inode.modified = Moment(self.modified);
            inode.changed = inode.changed.max(inode.modified);
        }
        if self.accessed != NEVER {
            inode.accessed = Moment(self.accessed);
        }
    }
}

impl<P: Persist> Work<'_, P> {
    /// The open file of inode `number`, which becomes open if it is not.
    pub(super) fn node(&mut self, number: u64) -> FsResult<Arc<Node>> {
        if let Some(node) = self.state.open.get(&number) {
            node.handles.fetch_add(1, Ordering::Relaxed);
            return Ok(node.clone());
        }
        let inode = self.inode(number)?;
        let extents = if inode.kind == Kind::File { self.extents(&inode)? } else { Extents::default() };
        let data = Data { size: inode.size, extents, shared: None };
        let node = Arc::new(Node {
            number,
            kind: inode.kind,
            has_set_id: AtomicBool::new(inode.has_set_id()),
            handles: AtomicU64::new(1),
            modified: AtomicI64::new(NEVER),
            accessed: AtomicI64::new(NEVER),
            is_unread: AtomicBool::new(inode.is_unread()),
            data: RwLock::new(data),
            clients: Mutex::new(None),
        });
        self.state.open.insert(number, node.clone());
        Ok(node)
    }

    /// Closes one handle of `node`. The last one of a file without a name makes it a null file.
    pub(super) fn close_node(&mut self, node: &Node) -> FsResult<()> {
        if node.handles.load(Ordering::Relaxed) > 1 {
            node.handles.fetch_sub(1, Ordering::Relaxed);
            return Ok(());
        }
        self.state.open.remove(&node.number);
        let mut inode = self.inode(node.number)?;
        if inode.links == 0 {
            self.make_null(node.number, &mut inode)?;
        } else if let Some(times) = node.unsettled() {
            times.settle(&mut inode);
            self.put_inode(node.number, &inode)?;
        }
        self.commit()
    }

    /// Whether somebody has the file open.
    pub(super) fn is_open(&self, number: u64) -> bool {
        self.state.open.contains_key(&number)
    }
}

impl<P: Persist> FileSystem<P> {
    /// Opens a file, whose permissions [`FileSystem::check`] has judged.
    ///
    /// # Errors
    /// There is no such inode, or it is damaged.
    pub fn open(&self, number: u64) -> FsResult<Handle> {
        Ok(Handle { node: self.look(|work| work.node(number))? })
    }

    /// Closes a file. Data that were written stay as durable as they were; the time of the last write becomes durable
    /// with the last handle of the file.
    ///
    /// # Errors
    /// The device fails. The file is closed all the same.
    pub fn close(&self, handle: Handle) -> FsResult<()> {
        self.transact(|work| work.close_node(&handle.node))
    }

    /// Makes a file's data and metadata durable: fsync.
    ///
    /// # Errors
    /// The device fails.
    pub fn sync(&self, handle: &Handle) -> FsResult<()> {
        let _data = handle.node.lock()?;
        self.transact(|work| work.settle_node(&handle.node))?;
        self.persist.fence()?;
        Ok(())
    }

    /// Makes a file's data durable, and what is needed to read them: fdatasync. Sizes and places are durable already;
    /// the time of the last write is left to [`FileSystem::sync`] or [`FileSystem::close`].
    ///
    /// # Errors
    /// The device fails.
    pub fn sync_data(&self, handle: &Handle) -> FsResult<()> {
        let _data = handle.node.lock()?;
        Ok(self.persist.fence()?)
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// The device fails. If an inode is damaged, all but that is durable.
    pub fn sync_all(&self) -> FsResult<()> {
        let nodes: Vec<Arc<Node>> = self.look(|work| Ok(work.state.open.values().cloned().collect()))?;
        let mut first = Ok(());
        for node in nodes {
            let settled = self.transact(|work| work.settle_node(&node));
            first = first.and(settled);
            // Whoever has it locked is counted the next time.
            if let Ok(data) = node.data.try_read() {
                self.count_shared_writes(&data);
            }
        }
        self.wear.flush(&self.persist, &self.header.geometry);
        self.persist.fence()?;
        first
    }
}

impl<P: Persist> Work<'_, P> {
    /// Stores when an open file was written last.
    fn settle_node(&mut self, node: &Node) -> FsResult<()> {
        // If it was closed meanwhile, its number may be that of another open file.
        let is_open = self.state.open.get(&node.number).is_some_and(|open| std::ptr::eq(&**open, node));
        if let Some(times) = node.unsettled().filter(|_| is_open) {
            let mut inode = self.inode(node.number)?;
            times.settle(&mut inode);
            self.put_inode(node.number, &inode)?;
            self.commit()?;
            node.forget(times);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Mode;
    use crate::persist::Recording;
    use crate::system::{Caller, Changes, NewFile, ROOT, SetTime, mkfs};

    fn at(now: i64) -> Caller<'static> {
        Caller::root(Moment(now))
    }

    fn system() -> FileSystem<Recording> {
        let pool = Recording::new(vec![0; 256 << 12]);
        mkfs(&pool, [7; 16], &at(1)).unwrap();
        FileSystem::mount(pool, Mode::Metadata).unwrap()
    }

    /// A file that was overwritten at 30.
    fn overwritten(system: &FileSystem<Recording>, name: &str) -> Handle {
        let number = system.make(&at(10), ROOT, name.as_bytes(), &NewFile::new(Kind::File, 0o644)).unwrap().number;
        let handle = system.open(number).unwrap();
        system.write(&at(20), &handle, 0, b"12345").unwrap();
        system.write(&at(30), &handle, 0, b"1").unwrap();
        handle
    }

    /// From the moment that the state is unlocked, others settle times: while the writer has more to do.
    #[test]
    fn a_time_that_is_in_memory_ends_with_the_transaction_of_a_later_write() {
        let system = system();
        let handle = overwritten(&system, "a");
        let modified = || system.attributes(handle.number()).unwrap().modified;
        assert_eq!(modified(), Moment(30));
        let data = handle.node.lock().unwrap();
        system.transact(|work| work.write_step(&at(40), &handle, &data, (5, b"6"), true)).unwrap();
        system.sync_all().unwrap();
        drop(data);
        assert_eq!(modified(), Moment(40));
        system.close(handle).unwrap();
    }

    /// A flush has found the file open, and comes to it when it was closed and opened again.
    #[test]
    fn times_of_a_closed_file_are_not_those_of_who_opens_it_next() {
        let system = system();
        let handle = overwritten(&system, "a");
        let (number, closed) = (handle.number(), handle.node.clone());
        system.close(handle).unwrap();
        let handle = system.open(number).unwrap();
        let set = Changes { modified: Some(SetTime::At(Moment(5))), ..Changes::default() };
        system.set_attributes(&at(50), number, &set).unwrap();
        assert!(closed.unsettled().is_some());
        system.transact(|work| work.settle_node(&closed)).unwrap();
        assert_eq!(system.attributes(number).unwrap().modified, Moment(5));
        system.close(handle).unwrap();
        assert_eq!(system.attributes(number).unwrap().modified, Moment(5));
    }

    #[test]
    fn a_damaged_inode_keeps_nothing_else_from_being_durable() {
        let system = system();
        let (damaged, other) = (overwritten(&system, "a"), overwritten(&system, "b"));
        let address = system.look(|work| work.inode_address(damaged.number())).unwrap();
        system.persist.flip(8 * (address + 100));
        assert!(system.sync_all().is_err());
        let inode = system.look(|work| work.inode(other.number())).unwrap();
        assert_eq!(inode.modified, Moment(30), "its inode shows it");
        system.close(other).unwrap();
        assert!(system.close(damaged).is_err());
    }
}
