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
use crate::layout::Stretch;
use crate::persist::Persist;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, RwLockWriteGuard};

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
            shared.set_has_set_id(self.node.has_set_id());
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
        record.set_has_set_id(handle.node.has_set_id());
        record.set_size(data.size);
        data.shared = Some(record);
        Ok(())
    }

    /// Ends the sharing of a file: no client has its pages mapped any more.
    ///
    /// # Errors
    /// A call has panicked while it changed the file.
    pub fn unshare(&self, handle: &Handle) -> FsResult<()> {
        let mut data = handle.node.lock()?;
        handle.node.note_shared_times(&data);
        data.shared = None;
        Ok(())
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
