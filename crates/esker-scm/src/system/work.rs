//! One call's work: reads of metadata, a transaction, and what follows from it in memory if it is committed.

use super::State;
use super::permission::Caller;
use crate::directory::NameChange;
use crate::error::{Damage, FsError, FsResult};
use crate::layout::inode::{INODE, Inode, PER_PAGE};
use crate::layout::{Kind, PAGE};
use crate::log::{Mode, Transaction};
use crate::persist::Persist;

/// What a transaction takes and frees. If it fails, what it took is given back; what it frees is free only after it is
/// committed.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) taken: Vec<(u64, u64)>,
    pub(super) freed: Vec<(u64, u64)>,
    pub(super) taken_virtual: Vec<(u64, u64)>,
    pub(super) freed_virtual: Vec<(u64, u64)>,
    /// Null files that were made into something, with their mapped pages.
    pub(super) taken_inodes: Vec<(u64, u64)>,
    /// Inodes that became null files, with their mapped pages.
    pub(super) freed_inodes: Vec<(u64, u64)>,
    pub(super) names: Vec<NameChange>,
    /// Directories that got a page.
    pub(super) grown: Vec<u64>,
    /// Open files, by number, whose inodes show the time of the write that the transaction makes.
    pub(super) written: Vec<u64>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        let Pending { taken, freed, taken_virtual, freed_virtual, taken_inodes, freed_inodes, .. } = self;
        let Pending { names, grown, written, .. } = self;
        let has_pages = !taken.is_empty() || !freed.is_empty();
        let has_virtual_pages = !taken_virtual.is_empty() || !freed_virtual.is_empty();
        let has_inodes = !taken_inodes.is_empty() || !freed_inodes.is_empty();
        !has_pages && !has_virtual_pages && !has_inodes && names.is_empty() && grown.is_empty() && written.is_empty()
    }

    /// Frees a physical page.
    pub(super) fn free(&mut self, page: u64) {
        match self.freed.last_mut() {
            Some((start, pages)) if *start + *pages == page => *pages += 1,
            _ => self.freed.push((page, 1)),
        }
    }
}

/// The state of a pool while a call works on it. What was not committed when it ends is forgotten, however it ends.
pub(crate) struct Work<'a, P> {
    pub(crate) persist: &'a P,
    pub(super) mode: Mode,
    pub(crate) state: &'a mut State,
}

impl<'a, P: Persist> Work<'a, P> {
    /// Work on `state`.
    pub(crate) fn new(persist: &'a P, mode: Mode, state: &'a mut State) -> Work<'a, P> {
        Work { persist, mode, state }
    }

    /// Reads metadata, as the transaction leaves them.
    pub(crate) fn read(&self, at: u64, into: &mut [u8]) {
        self.state.transaction.read(self.persist, at, into);
    }

    /// Stores bytes that nobody can read before the transaction is durable.
    pub(crate) fn store_ahead(&mut self, at: u64, bytes: &[u8]) {
        self.persist.write_streaming(at, bytes);
        self.state.transaction.wait_for_stores();
    }

    /// Stores zeroes that nobody can read before the transaction is durable.
    pub(crate) fn zero_ahead(&mut self, at: u64, length: u64) {
        if length > 0 {
            self.persist.zero_streaming(at, length);
            self.state.transaction.wait_for_stores();
        }
    }

    /// The transaction.
    pub(crate) fn transaction(&mut self) -> &mut Transaction {
        &mut self.state.transaction
    }

    /// Bytes that the transaction can still take.
    pub(crate) fn room(&self) -> u64 {
        self.state.plan.log_half_bytes.saturating_sub(self.state.transaction.bytes())
    }

    /// Address of inode `number`.
    pub(crate) fn inode_address(&self, number: u64) -> FsResult<u64> {
        if number == 0 || number > self.state.inode_pages * PER_PAGE {
            return Err(FsError::Stale);
        }
        let page = self.state.plan.inode_table() + (number - 1) / PER_PAGE;
        let physical = self.translate(page)?.ok_or(FsError::Damaged(Damage::Entry(page)))?;
        Ok(physical * PAGE + (number - 1) % PER_PAGE * INODE as u64)
    }

    /// Inode `number`, whatever it is.
    pub(crate) fn any_inode(&self, number: u64) -> FsResult<Inode> {
        let mut bytes = [0; INODE];
        self.read(self.inode_address(number)?, &mut bytes);
        Inode::decode(&bytes, number).ok_or(FsError::Damaged(Damage::Inode(number)))
    }

    /// Inode `number`, which must be in use by a file with a name, or that had one.
    pub(crate) fn inode(&self, number: u64) -> FsResult<Inode> {
        self.any_inode(number).and_then(|inode| if inode.kind.has_name() { Ok(inode) } else { Err(FsError::Stale) })
    }

    /// Inode `number`, which must be a directory.
    pub(crate) fn directory_inode(&self, number: u64) -> FsResult<Inode> {
        self.inode(number)
            .and_then(|inode| if inode.kind == Kind::Directory { Ok(inode) } else { Err(FsError::NotDirectory) })
    }

    /// Stores inode `number`.
    pub(crate) fn put_inode(&mut self, number: u64, inode: &Inode) -> FsResult<()> {
        let at = self.inode_address(number)?;
        let mut old = [0; INODE];
        self.read(at, &mut old);
        self.state.transaction.put_changed_lines(at, &old, &inode.encode(number));
        Ok(())
    }

    /// Stores inode `number`, which the caller changes now. If it is open, that says whether the next read is noted.
    pub(super) fn put_changed(&mut self, caller: &Caller<'_>, number: u64, inode: &mut Inode) -> FsResult<()> {
        inode.changed = caller.now;
        self.put_inode(number, inode)?;
        if let Some(node) = self.state.open.get(&number) {
            // What clients have read until now was before the change.
            let _ = node.unsettled();
            node.note_changed(inode);
        }
        Ok(())
    }

    /// Makes a transaction of `call`: it is committed if the call succeeds, and else forgotten, so that nothing of it
    /// becomes a part of the next one.
    pub(super) fn attempt<T>(&mut self, call: impl FnOnce(&mut Self) -> FsResult<T>) -> FsResult<T> {
        self.state.log.check()?;
        let result = call(self).and_then(|result| self.commit().map(|()| result));
        if result.is_err() {
            self.abort();
        }
        result
    }

    /// Makes the transaction durable. Without stores nothing is written, but data that the caller wants durable are.
    pub(crate) fn commit(&mut self) -> FsResult<()> {
        let State { log, transaction, plan, .. } = &mut *self.state;
        if transaction.is_empty() {
            let has_data = self.mode == Mode::Data && transaction.waits_for_stores();
            return if has_data { Ok(self.persist.fence()?) } else { Ok(()) };
        }
        if transaction.bytes() > plan.log_half_bytes {
            // Nothing that a call could free would help.
            self.abort();
            return Err(FsError::FileTooLarge);
        }
        if let Err(error) = log.commit(self.persist, plan, transaction) {
            self.abort();
            return Err(error.into());
        }
        self.state.settle_commit();
        Ok(())
    }

    /// Forgets the transaction.
    pub(crate) fn abort(&mut self) {
        self.state.forget_transaction();
    }

    /// Empties the log: a mount has nothing to make good.
    pub(crate) fn empty_log(&mut self) -> FsResult<()> {
        let State { log, plan, .. } = &mut *self.state;
        log.empty(self.persist, plan)?;
        Ok(self.persist.fence()?)
    }

    /// Makes pages free that the last transactions freed.
    pub(crate) fn release_resting(&mut self) -> FsResult<()> {
        let State { log, transaction, plan, .. } = &mut *self.state;
        log.commit(self.persist, plan, transaction)?;
        self.state.settle_commit();
        Ok(())
    }
}

impl<P> Drop for Work<'_, P> {
    fn drop(&mut self) {
        if !self.state.is_settled() {
            self.state.forget_transaction();
        }
    }
}

impl State {
    /// Whether no transaction is under way.
    fn is_settled(&self) -> bool {
        self.transaction.is_empty() && self.pending.is_empty()
    }

    fn forget_transaction(&mut self) {
        self.transaction.clear();
        self.settle_abort();
    }

    fn settle_commit(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.freed += pending.freed.iter().map(|&(_, pages)| pages).sum::<u64>();
        // Pages wait for one more transaction: a crash makes the stores of the last two again, among them some to
        // pages of the mapping table and of directories that were then freed.
        for (start, pages) in std::mem::replace(&mut self.resting, pending.freed) {
            self.physical.give(start, pages);
        }
        pending.freed_virtual.into_iter().for_each(|(start, pages)| self.virtual_space.give(start, pages));
        self.files = self.files + pending.taken_inodes.len() as u64 - pending.freed_inodes.len() as u64;
        for (number, mapped) in pending.freed_inodes {
            self.directories.remove(&number);
            self.nulls.add(number, mapped);
        }
        for change in pending.names {
            if let Some(directory) = self.directories.get_mut(&change.directory) {
                directory.commit(&change);
            }
        }
        // Before others look: they would take an earlier time, which is in memory only, for the last one.
        pending.written.iter().filter_map(|number| self.open.get(number)).for_each(|node| node.was_written());
    }

    fn settle_abort(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        pending.taken.into_iter().for_each(|(start, pages)| self.physical.give(start, pages));
        pending.taken_virtual.into_iter().for_each(|(start, pages)| self.virtual_space.give(start, pages));
        pending.taken_inodes.into_iter().for_each(|(number, mapped)| self.nulls.add(number, mapped));
        for change in pending.names {
            if let Some(directory) = self.directories.get_mut(&change.directory) {
                directory.abort(&change);
            }
        }
        // Their indices have slots of pages that do not exist.
        pending.grown.iter().for_each(|number| drop(self.directories.remove(number)));
    }
}
