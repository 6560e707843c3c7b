//! Directories listed.

use super::FileSystem;
use crate::error::FsResult;
use crate::layout::Kind;
use crate::layout::PAGE;
use crate::layout::name::{SLOTS, Slot};
use crate::persist::Persist;

/// An entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectoryEntry<'a> {
    /// Its inode.
    pub number: u64,
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: &'a [u8],
    /// Where to go on behind it.
    pub next: u64,
}

/// Where the entries begin, behind `.` and `..`.
const FIRST: u64 = 2;

impl<P: Persist> FileSystem<P> {
    /// Lists a directory from `from` on (0 is its beginning), until `visit` has enough and answers false. Entries that
    /// are there all the while are listed once, whatever happens to others.
    ///
    /// # Errors
    /// It is no directory, or damaged.
    pub fn list(&self, number: u64, from: u64, mut visit: impl FnMut(DirectoryEntry<'_>) -> bool) -> FsResult<()> {
        self.look(|work| {
            let inode = work.directory_inode(number)?;
            let dots: [(u64, &[u8]); 2] = [(number, b"."), (inode.parent, b"..")];
            for (place, (number, name)) in dots.into_iter().enumerate().skip(from.min(FIRST) as usize) {
                if !visit(DirectoryEntry { number, kind: Kind::Directory, name, next: place as u64 + 1 }) {
                    return Ok(());
                }
            }
            let mut slot = from.saturating_sub(FIRST);
            while slot < inode.size / PAGE * SLOTS {
                let (slots, goes_on) = work.with_slot(number, &inode, slot, |read| match read {
                    Slot::Entry(entry) => {
                        let next = slot + entry.slots + FIRST;
                        let listed = DirectoryEntry { number: entry.inode, kind: entry.kind, name: entry.name, next };
                        (entry.slots, visit(listed))
                    }
                    _ => (1, true),
                })?;
                if !goes_on {
                    return Ok(());
                }
                slot += slots;
            }
            Ok(())
        })
    }
}
