//! How full a pool is.

use super::FileSystem;
use crate::error::FsResult;
use crate::layout::PAGE;
use crate::layout::inode::PER_PAGE;
use crate::persist::Persist;

/// How full a pool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes for data.
    pub capacity: u64,
    /// Bytes that new data can have: those of free pages and of null files.
    pub free: u64,
    /// Bytes of null files.
    pub null_files: u64,
    /// Null files.
    pub null_file_count: u64,
    /// Inodes in use.
    pub inodes: u64,
    /// Most inodes that there can be.
    pub inodes_max: u64,
    /// Bytes of free virtual space.
    pub virtual_free: u64,
    /// Open files.
    pub open: u64,
}

impl<P: Persist> FileSystem<P> {
    /// How full the pool is.
    ///
    /// # Errors
    /// None.
    pub fn statistics(&self) -> FsResult<Statistics> {
        self.look(|work| {
            let state = &work.state;
            let free = state.free_pages();
            Ok(Statistics {
                capacity: (state.plan.pages - state.plan.data) * PAGE,
                free: free * PAGE,
                null_files: state.nulls.pages() * PAGE,
                null_file_count: state.nulls.count(),
                inodes: state.files,
                inodes_max: state.plan.inode_table_pages_max() * PER_PAGE,
                virtual_free: state.virtual_space.free_pages() * PAGE,
                open: state.open.len() as u64,
            })
        })
    }
}
