//! Files whose pages other processes have mapped.
//!
//! Such a process (a client) knows where the pages of a file lie, and stores into them without a call. So that it never
//! reaches pages of somebody else, pages of a shared file do not move and are not freed: wear-levelling and the cleaner
//! pass the file over, and holes are punched by zeroes. What changes all the same (the size) stands in a record that
//! clients see, and writes of both sides exclude each other by a lock in that record.

use super::nodes::{Data, Handle, Node};
use super::shared_record::SharedRecord;
use super::{FileSystem, Work};
use crate::error::{FsError, FsResult};
use crate::layout::{PAGE, Stretch};
use crate::persist::Persist;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::sync::{Arc, RwLockWriteGuard};

/// Most pages that clients are believed to have written between two calls: 64 GiB.
const SHARED_WRITES_MAX: u64 = 1 << 24;

/// The data of an open file, locked against everybody else, clients included.
pub(super) struct Locked<'a> {
    node: &'a Node,
    data: RwLockWriteGuard<'a, Data>,
    locked_record: Option<Arc<dyn SharedRecord>>,
}

impl Deref for Locked<'_> {
    type Target = Data;

    fn deref(&self) -> &Data {
        &self.data
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Data {
        &mut self.data
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if let Some(shared) = &self.locked_record {
            shared.set_size(self.data.size);
            let clients = self.node.clients();
            shared.set_has_set_id(self.node.has_set_id());
            if self.node.is_unread.load(Ordering::Relaxed) {
                shared.set_unread();
            }
            drop(clients);
            shared.unlock();
        }
    }
}

impl Node {
    /// Locks the data for a change.
    pub(super) fn lock(&self) -> FsResult<Locked<'_>> {
        let data = self.data.write().map_err(|_| FsError::Stale)?;
        let locked_record = data.shared.clone();
        if let Some(record) = &locked_record {
            record.lock();
            // They are earlier than what whoever locks it does.
            self.note_shared_times(&data);
        }
        Ok(Locked { node: self, data, locked_record })
    }
}

impl<P: Persist> FileSystem<P> {
    /// Shares a file: from now on its pages stay where they are, and `record` shows its size. A file is shared with
    /// one record at a time.
    ///
    /// # Errors
    /// It is no file.
    pub fn share(&self, handle: &Handle, record: Arc<dyn SharedRecord>) -> FsResult<()> {
        handle.check_file()?;
        let mut data = handle.node.lock()?;
        let mut clients = handle.node.clients();
        record.set_has_set_id(handle.node.has_set_id());
        record.set_size(data.size);
        *clients = Some(record.clone());
        data.shared = Some(record);
        Ok(())
    }

    /// Ends the sharing of a file: no client has its pages mapped any more.
    ///
    /// # Errors
    /// A call has panicked while it changed the file.
    pub fn unshare(&self, handle: &Handle) -> FsResult<()> {
        let mut data = handle.node.lock()?;
        self.count_shared_writes(&data);
        *handle.node.clients() = None;
        data.shared = None;
        Ok(())
    }

    /// Counts what clients have written as if it was spread evenly over the file: an estimate, as they say how many
    /// pages they wrote, but not which.
    pub(super) fn count_shared_writes(&self, data: &Data) {
        let Some(shared) = &data.shared else { return };
        let written = shared.take_written().min(SHARED_WRITES_MAX);
        let pages = data.size.div_ceil(PAGE);
        if written == 0 || pages == 0 || !self.wear.is_counting() {
            return;
        }
        let (each, rest) = (written / pages, written % pages);
        for (page, length, physical) in data.extents.pieces(0, pages) {
            let Some(physical) = physical else { continue };
            for step in 0..length {
                // The rest is spread, too.
                let more = ((page + step + 1) * rest / pages) - ((page + step) * rest / pages);
                self.wear.add(physical + step, (each + more) as u32);
            }
        }
    }

    /// Where pages `from` to `to` of a file lie. They stay there as long as the file is shared.
    ///
    /// # Errors
    /// It is no file.
    pub fn stretches(&self, handle: &Handle, from: u64, to: u64) -> FsResult<Vec<Stretch>> {
        handle.check_file()?;
        let data = handle.node.data.read().map_err(|_| FsError::Stale)?;
        let pieces = data.extents.pieces(from, to.max(from));
        Ok(pieces.filter_map(|(page, pages, physical)| Some(Stretch { page, physical: physical?, pages })).collect())
    }
}

impl<P: Persist> Work<'_, P> {
    /// The open file of inode `number`, if there is one.
    pub(super) fn open_node(&self, number: u64) -> Option<Arc<Node>> {
        self.state.open.get(&number).cloned()
    }
}
