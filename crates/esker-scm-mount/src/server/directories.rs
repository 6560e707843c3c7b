//! Directories listed.

use super::Server;
use crate::attributes::now;
use esker_scm::{Access, Attributes, Caller, FsResult, Kind};
use fuser::Request;
use std::sync::PoisonError;

/// Entries that are listed at once.
const LISTED: usize = 128;

/// An entry of a directory.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) number: u64,
    pub(crate) kind: Kind,
    pub(crate) name: Vec<u8>,
    /// Where to go on behind it.
    pub(crate) next: u64,
}

impl Listed {
    /// Whether it is `.` or `..`, of which the kernel is not told anew.
    fn is_dot(&self) -> bool {
        matches!(&self.name[..], b"." | b"..")
    }
}

impl Server {
    pub(crate) fn open_directory(&self, request: &Request, number: u64) -> FsResult<()> {
        let access = Access { read: true, ..Access::default() };
        self.callers.call(request, |caller| self.system.check(caller, number, access))
    }

    /// Lists a directory from `from` on until `is_full` has no more room.
    pub(crate) fn list(&self, number: u64, from: u64, mut is_full: impl FnMut(&Listed) -> bool) -> FsResult<()> {
        self.note_listed(number)?;
        let mut at = from;
        loop {
            let entries = self.some_entries(number, at)?;
            let Some(last) = entries.last() else { return Ok(()) };
            at = last.next;
            if entries.iter().any(&mut is_full) {
                return Ok(());
            }
        }
    }

    /// The same with attributes. The kernel is told of each inode for which there is room.
    pub(crate) fn list_with_attributes(
        &self,
        number: u64,
        from: u64,
        mut is_full: impl FnMut(&Listed, &Attributes) -> bool,
    ) -> FsResult<()> {
        self.note_listed(number)?;
        let mut at = from;
        loop {
            // Names stay from being listed until their inodes are held.
            let _names = self.naming.read().unwrap_or_else(PoisonError::into_inner);
            let entries = self.some_entries(number, at)?;
            let Some(last) = entries.last() else { return Ok(()) };
            at = last.next;
            for entry in entries {
                let attributes = self.system.attributes(entry.number)?;
                if !entry.is_dot() {
                    self.inodes.tell(&self.system, entry.number)?;
                }
                if is_full(&entry, &attributes) {
                    if !entry.is_dot() {
                        self.inodes.forget(entry.number, 1);
                    }
                    return Ok(());
                }
            }
        }
    }

    fn note_listed(&self, number: u64) -> FsResult<()> {
        self.system.note_read(&Caller::root(now()), self.held(number)?.handle())
    }

    fn some_entries(&self, number: u64, from: u64) -> FsResult<Vec<Listed>> {
        let mut entries = Vec::with_capacity(LISTED);
        self.system.list(number, from, |entry| {
            let esker_scm::DirectoryEntry { number, kind, name, next } = entry;
            entries.push(Listed { number, kind, name: name.to_vec(), next });
            entries.len() < LISTED
        })?;
        Ok(entries)
    }
}
