//! Entries of directories: found, added, changed and taken out.

use super::work::Work;
use crate::directory::{Directory, NameChange, hash_of};
use crate::error::{Damage, FsError, FsResult};
use crate::layout::inode::Inode;
use crate::layout::name::{ENTRY_MAX, NAME_MAX, Named, SLOT, SLOTS, Slot, is_name, read_slot, slots_of};
use crate::layout::{Kind, PAGE};
use crate::persist::Persist;
use crate::space::Extent;

/// A name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) inode: u64,
    pub(crate) kind: Kind,
    pub(crate) slot: u64,
    pub(crate) slots: u64,
    pub(crate) hash: u64,
}

/// Checks a name that is to be made or taken out.
pub(crate) fn check_name(name: &[u8]) -> FsResult<()> {
    match name.len() {
        _ if is_name(name) => Ok(()),
        length if length > NAME_MAX => Err(FsError::NameTooLong),
        0 => Err(FsError::NotFound),
        _ => Err(FsError::Invalid),
    }
}

impl<P: Persist> Work<'_, P> {
    /// Where page `page` of a directory lies.
    fn directory_page(&self, inode: &Inode, page: u64) -> FsResult<u64> {
        let virtual_page = inode.start + page;
        Ok(self.translate(virtual_page)?.ok_or(FsError::Damaged(Damage::Entry(virtual_page)))? * PAGE)
    }

    /// Where slot `slot` lies.
    fn slot_address(&self, inode: &Inode, slot: u64) -> FsResult<u64> {
        Ok(self.directory_page(inode, slot / SLOTS)? + slot % SLOTS * SLOT)
    }

    /// Builds the index of a directory that was not looked into yet.
    pub(crate) fn load_directory(&mut self, number: u64, inode: &Inode) -> FsResult<()> {
        if self.state.directories.contains_key(&number) {
            return Ok(());
        }
        let mut directory = Directory::default();
        let mut bytes = [0; PAGE as usize];
        for page in 0..inode.size / PAGE {
            self.read(self.directory_page(inode, page)?, &mut bytes);
            let added = directory.add_page(page, &bytes, &self.state.identity);
            added.map_err(|slot| FsError::Damaged(Damage::Slot { directory: number, slot }))?;
        }
        self.state.directories.insert(number, directory);
        Ok(())
    }

    /// Reads the entry at `slot`, and gives it to `visit`.
    pub(crate) fn with_slot<T>(
        &self,
        number: u64,
        inode: &Inode,
        slot: u64,
        visit: impl FnOnce(Slot<'_>) -> T,
    ) -> FsResult<T> {
        let mut bytes = [0; ENTRY_MAX];
        let length = ENTRY_MAX.min(((SLOTS - slot % SLOTS) * SLOT) as usize);
        self.read(self.slot_address(inode, slot)?, &mut bytes[..length]);
        match read_slot(&bytes[..length], slot) {
            Slot::Damaged => Err(FsError::Damaged(Damage::Slot { directory: number, slot })),
            slot => Ok(visit(slot)),
        }
    }

    /// The entry with this name in directory `number`.
    pub(crate) fn find(&mut self, number: u64, inode: &Inode, name: &[u8]) -> FsResult<Option<Found>> {
        self.load_directory(number, inode)?;
        let hash = hash_of(&self.state.identity, name);
        let directory = &self.state.directories[&number];
        for slot in directory.candidates(hash) {
            let found = self.with_slot(number, inode, slot, |read| match read {
                Slot::Entry(entry) if entry.name == name => {
                    Some(Found { inode: entry.inode, kind: entry.kind, slot, slots: entry.slots, hash })
                }
                _ => None,
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Adds an entry with a name that is not there. The directory's inode changes; the caller stores it.
    pub(crate) fn add_name(
        &mut self,
        number: u64,
        inode: &mut Inode,
        name: &[u8],
        target: (u64, Kind),
    ) -> FsResult<()> {
        self.load_directory(number, inode)?;
        let slots = slots_of(name);
        let directory = self.state.directories.get_mut(&number).expect("it was loaded");
        let slot = match directory.take(slots) {
            Some(slot) => slot,
            None => {
                let page = self.grow_directory(inode)?;
                self.state.pending.grown.push(number);
                let directory = self.state.directories.get_mut(&number).expect("it was loaded");
                directory.add_tail(page);
                directory.take(slots).expect("a page has room for a name")
            }
        };
        let hash = hash_of(&self.state.identity, name);
        self.state.pending.names.push(NameChange { directory: number, hash, slot, slots, is_new: true });
        let at = self.slot_address(inode, slot)?;
        let mut bytes = [0; ENTRY_MAX];
        let entry = Named { inode: target.0, kind: target.1, name, slots };
        self.state.transaction.put(at, entry.encode(slot, &mut bytes));
        inode.extra += 1;
        Ok(())
    }

    /// Lets the entry `found` point to another inode.
    pub(crate) fn set_name(
        &mut self,
        directory: &Inode,
        found: &Found,
        name: &[u8],
        target: (u64, Kind),
    ) -> FsResult<()> {
        let at = self.slot_address(directory, found.slot)?;
        let mut bytes = [0; ENTRY_MAX];
        let entry = Named { inode: target.0, kind: target.1, name, slots: found.slots };
        self.state.transaction.put(at, entry.encode(found.slot, &mut bytes));
        Ok(())
    }

    /// Takes the entry `found` out. The directory's inode changes; the caller stores it.
    pub(crate) fn remove_name(&mut self, number: u64, inode: &mut Inode, found: &Found) -> FsResult<()> {
        let at = self.slot_address(inode, found.slot)?;
        self.state.transaction.put(at, &[0; ENTRY_MAX][..(found.slots * SLOT) as usize]);
        let Found { hash, slot, slots, .. } = *found;
        self.state.pending.names.push(NameChange { directory: number, hash, slot, slots, is_new: false });
        inode.extra = inode.extra.checked_sub(1).ok_or(FsError::Damaged(Damage::Inode(number)))?;
        Ok(())
    }

    /// Adds a page of free slots to a directory; its number.
    fn grow_directory(&mut self, inode: &mut Inode) -> FsResult<u64> {
        let page = inode.size / PAGE;
        self.reserve(inode, page + 1)?;
        let physical = match self.translate(inode.start + page)? {
            Some(physical) => physical,
            None => {
                let physical = self.take_pages(0)?.0;
                self.map(inode, Extent { page, physical, pages: 1 })?;
                physical
            }
        };
        self.zero_ahead(physical * PAGE, PAGE);
        inode.size += PAGE;
        Ok(page)
    }
}
