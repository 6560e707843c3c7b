//! The file system: calls, each of them a transaction.

mod attributes;
mod cleaner;
mod compact;
mod data;
mod directories;
mod evacuate;
mod links;
mod make;
mod mapping;
mod mkfs;
mod mount;
mod names;
mod nodes;
mod nulls;
mod permission;
mod reclaim;
mod rename;
mod resize;
mod room;
mod scan;
mod shared;
mod shared_record;
mod statistics;
mod wear;
mod work;
mod xattr;

pub use attributes::{Attributes, Changes, SetTime};
pub use cleaner::{Cleaned, CleanerSettings};
pub use directories::DirectoryEntry;
pub use make::NewFile;
pub use mkfs::{MkfsError, mkfs};
pub use mount::MountError;
pub use nodes::Handle;
pub use permission::{Access, Caller};
pub use rename::RenameFlags;
pub use resize::Allocate;
pub use shared_record::SharedRecord;
pub use statistics::Statistics;
pub use xattr::SetXattr;

pub(crate) use mkfs::{superblock, superblock_address};
pub(crate) use mount::read_header;
pub(crate) use scan::scan;
pub(crate) use work::Work;

use crate::directory::Directory;
use crate::error::{FsError, FsResult};
use crate::layout::Geometry;
use crate::layout::header::Header;
use crate::log::{Log, Mode, Transaction};
use crate::persist::Persist;
use crate::space::{Backed, Buddy, Wear};
use esker_core::Rng;
use nodes::Node;
use nulls::NullFiles;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use work::Pending;

/// The inode of the root directory: the first of the inode table.
pub const ROOT: u64 = 1;

/// What memory keeps of a mounted pool.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) plan: Geometry,
    identity: [u8; 16],
    log: Log,
    transaction: Transaction,
    pending: Pending,
    /// Pages that the last transaction freed.
    resting: Vec<(u64, u64)>,
    /// Pages that were freed since the mount, some of them several times.
    freed: u64,
    physical: Buddy,
    backed: Backed,
    virtual_space: Buddy,
    /// Pages of the inode table.
    pub(crate) inode_pages: u64,
    nulls: NullFiles,
    /// Inodes that are no null files.
    files: u64,
    directories: BTreeMap<u64, Directory>,
    open: BTreeMap<u64, Arc<Node>>,
    cleaner: cleaner::Round,
    wear: Arc<Wear>,
    /// Which pages wear-levelling looks at.
    random: Rng,
}

/// A mounted pool.
///
/// Times are arguments. Calls may come from many threads: metadata are changed by one at a time, data of different
/// files are read and written side by side. Who calls is an argument, too, and every call checks permissions.
#[derive(Debug)]
pub struct FileSystem<P> {
    persist: P,
    header: Header,
    mode: Mode,
    wear: Arc<Wear>,
    state: Mutex<State>,
}

impl State {
    fn wear(&self) -> Arc<Wear> {
        self.wear.clone()
    }
}

impl State {
    /// Pages that hold nothing: free, freed by the last transaction, or of null files.
    fn free_pages(&self) -> u64 {
        let resting: u64 = self.resting.iter().map(|&(_, pages)| pages).sum();
        self.physical.free_pages() + resting + self.nulls.pages()
    }
}

impl<P: Persist> FileSystem<P> {
    /// The memory of the pool.
    pub fn persist(&self) -> &P {
        &self.persist
    }

    /// What the pool says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How much is made durable.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Reads, without a transaction.
    fn look<T>(&self, call: impl FnOnce(&mut Work<'_, P>) -> FsResult<T>) -> FsResult<T> {
        let mut state = self.state.lock().expect("no call panics");
        call(&mut Work::new(&self.persist, self.mode, &mut state))
    }

    /// Makes a transaction of `call`. If space is short, null files and space that is kept behind the ends of files are
    /// freed, and the call is made again.
    fn transact<T>(&self, mut call: impl FnMut(&mut Work<'_, P>) -> FsResult<T>) -> FsResult<T> {
        let mut state = self.state.lock().expect("no call panics");
        let mut work = Work::new(&self.persist, self.mode, &mut state);
        loop {
            let error = match work.attempt(&mut call) {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            let may_try_again = match error {
                FsError::NoSpace => work.attempt(Work::reclaim)?,
                FsError::NoVirtualSpace => work.attempt(Work::compact_virtual_space)?,
                _ => false,
            };
            if !may_try_again {
                return Err(error);
            }
        }
    }

    /// Ends the work with the pool: what is in memory only is stored, and the log is emptied. All is durable then,
    /// whatever the mode.
    ///
    /// # Errors
    /// The device fails.
    pub fn unmount(self) -> FsResult<P> {
        self.wear.end_looks();
        self.sync_all()?;
        {
            let mut state = self.state.lock().expect("no call panics");
            Work::new(&self.persist, self.mode, &mut state).empty_log()?;
        }
        if self.mode == Mode::None {
            self.persist.write_all_back()?;
        }
        Ok(self.persist)
    }
}
