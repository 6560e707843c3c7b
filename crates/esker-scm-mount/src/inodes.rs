//! Inodes that the kernel knows. From its first lookup until it forgets the inode, the file is held open: whatever
//! loses its name stays usable for who has it open or works in it, and its number is given to no other file.

use esker_scm::{FileSystem, FsError, FsResult, Handle, Mapped};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, PoisonError, RwLock};

/// An inode that is held.
#[derive(Debug)]
pub(crate) struct Held {
    system: Arc<FileSystem<Mapped>>,
    /// Taken by `drop` alone.
    handle: Option<Handle>,
}

impl Held {
    pub(crate) fn new(system: &Arc<FileSystem<Mapped>>, number: u64) -> FsResult<Held> {
        Ok(Held { handle: Some(system.open(number)?), system: system.clone() })
    }

    pub(crate) fn handle(&self) -> &Handle {
        self.handle.as_ref().expect("it is taken when this is dropped")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            // Nobody waits for this. A device that fails says so to the next fsync, and to the end of the mount.
            let _ = self.system.close(handle);
        }
    }
}

#[derive(Debug)]
struct Known {
    held: Arc<Held>,
    /// How often the kernel was told of it.
    lookups: u64,
}

/// The inodes that the kernel knows.
#[derive(Debug, Default)]
pub(crate) struct Inodes {
    known: RwLock<BTreeMap<u64, Known>>,
}

impl Inodes {
    /// The kernel is told of inode `number`. Names must not be removed meanwhile.
    pub(crate) fn tell(&self, system: &Arc<FileSystem<Mapped>>, number: u64) -> FsResult<()> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match known.entry(number) {
            Entry::Occupied(mut entry) => entry.get_mut().lookups += 1,
            Entry::Vacant(entry) => {
                entry.insert(Known { held: Arc::new(Held::new(system, number)?), lookups: 1 });
            }
        }
        Ok(())
    }

    /// The inode, which the kernel knows.
    pub(crate) fn get(&self, number: u64) -> FsResult<Arc<Held>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&number).map(|known| known.held.clone()).ok_or(FsError::Stale)
    }

    /// Whether the kernel knows it.
    pub(crate) fn knows(&self, number: u64) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).contains_key(&number)
    }

    /// The kernel forgets what it was told `lookups` times.
    pub(crate) fn forget(&self, number: u64, lookups: u64) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let Entry::Occupied(mut entry) = known.entry(number) else { return };
        let left = entry.get().lookups.saturating_sub(lookups);
        entry.get_mut().lookups = left;
        let forgotten = (left == 0).then(|| entry.remove());
        // The file is closed with the map unlocked.
        drop(known);
        drop(forgotten);
    }

    /// Forgets all.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.known.write().unwrap_or_else(PoisonError::into_inner));
        drop(all);
    }
}
