//! Mounting: the log is made good, and what memory keeps is built from the mapping table and the inodes.
//!
//! Nothing else is read: neither directories nor data. Free space is not stored in the pool; it is what no inode has.

use super::mkfs::superblock;
use super::room::back_metadata;
use super::scan::scan;
use super::work::Work;
use super::{FileSystem, State};
use crate::error::{FsError, FsResult};
use crate::layout::header::{HEADER, Header, HeaderFault, VERSION};
use crate::layout::{Geometry, PAGE};
use crate::log::{Log, Mode};
use crate::persist::Persist;
use crate::space::Wear;
use std::sync::Mutex;

/// Why a pool cannot be mounted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MountError {
    /// It does not begin as a pool does.
    #[error("this is not a pool; make one with `esker fs mkfs`")]
    NoPool,
    /// It is of another version.
    #[error("this pool has layout version {0}, and this program reads version {VERSION}; use a newer esker")]
    Version(u32),
    /// Both copies of its header are damaged.
    #[error("both copies of the pool's header are damaged; run `esker fs check --repair`")]
    Header,
    /// It is shorter than it says.
    #[error("the pool was {expected} bytes long and has {found} now: its end is missing; restore it from a copy")]
    Truncated {
        /// Bytes that the header says.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// Something is damaged.
    #[error(transparent)]
    File(#[from] FsError),
}

/// Reads the pool's header: the first copy that is sound.
pub(crate) fn read_header<P: Persist>(persist: &P) -> Result<Header, MountError> {
    if persist.len() < Geometry::PAGES_MIN * PAGE {
        return Err(MountError::NoPool);
    }
    let copies = [0, 1].map(|copy| {
        let mut bytes = [0; HEADER];
        persist.read(copy * PAGE, &mut bytes);
        Header::decode(&bytes, copy)
    });
    let header = match copies {
        [Ok(header), _] | [_, Ok(header)] => header,
        [Err(HeaderFault::Version(version)), _] | [_, Err(HeaderFault::Version(version))] => {
            return Err(MountError::Version(version));
        }
        [Err(HeaderFault::NoPool), Err(HeaderFault::NoPool)] => return Err(MountError::NoPool),
        _ => return Err(MountError::Header),
    };
    let expected = header.geometry.pages * PAGE;
    if persist.len() < expected {
        return Err(MountError::Truncated { expected, found: persist.len() });
    }
    Ok(header)
}

impl<P: Persist> FileSystem<P> {
    /// Mounts a pool. What an earlier process has left there is made durable first; after a crash the log is made good.
    ///
    /// # Errors
    /// It is no pool, of another version, truncated or damaged; or the device fails.
    pub fn mount(persist: P, mode: Mode) -> Result<FileSystem<P>, MountError> {
        persist.take_over().map_err(FsError::from)?;
        let header = read_header(&persist)?;
        back_metadata(&persist, &header.geometry)?;
        let log = Log::recover(&persist, &header.geometry, mode).map_err(FsError::from)?;
        let mut state = State::new(header.geometry, header.identity, log, Wear::load(&persist, &header.geometry));
        load(&persist, mode, &mut state)?;
        Ok(FileSystem { persist, header, mode, wear: state.wear(), state: Mutex::new(state) })
    }
}

/// Builds what memory keeps, and makes null files of inodes that lost their last name while they were open.
fn load<P: Persist>(persist: &P, mode: Mode, state: &mut State) -> FsResult<()> {
    let mut work = Work::new(persist, mode, state);
    work.state.inode_pages = superblock(&work)?.inode_table_pages;
    let mut damages = Vec::new();
    let found = scan(&work, &mut damages);
    if let Some(&damage) = damages.first() {
        return Err(FsError::Damaged(damage));
    }
    found.physical.give_free(&mut work.state.physical);
    found.virtual_space.give_free(&mut work.state.virtual_space);
    work.state.files = found.files;
    found.nulls.into_iter().rev().for_each(|(number, pages)| work.state.nulls.add(number, pages));
    for number in found.orphans {
        let mut inode = work.any_inode(number)?;
        work.make_null(number, &mut inode)?;
        work.commit()?;
    }
    Ok(())
}
