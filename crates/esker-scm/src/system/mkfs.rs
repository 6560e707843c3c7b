//! New pools.

use super::nulls::NullFiles;
use super::permission::Caller;
use super::room::back_metadata;
use super::work::{Pending, Work};
use super::{ROOT, State};
use crate::error::{Damage, FsError, FsResult};
use crate::layout::header::Header;
use crate::layout::inode::Inode;
use crate::layout::superblock::{SUPERBLOCK, Superblock};
use crate::layout::{Geometry, Kind, PAGE};
use crate::log::{Log, Mode, Transaction};
use crate::persist::Persist;
use crate::space::{Backed, Buddy, Extent, Wear};
use esker_core::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a pool cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MkfsError {
    /// It has too few bytes.
    #[error("a pool of {bytes} bytes is too small; at least {} bytes are needed", Geometry::PAGES_MIN * PAGE)]
    TooSmall {
        /// Its bytes.
        bytes: u64,
    },
    /// It has too many.
    #[error("a pool of {bytes} bytes is too large; at most {} bytes are possible", Geometry::PAGES_MAX * PAGE)]
    TooLarge {
        /// Its bytes.
        bytes: u64,
    },
    /// Its device fails.
    #[error(transparent)]
    File(#[from] FsError),
}

/// Makes a pool of all of `persist`. `identity` is sixteen random bytes; the caller owns the root directory.
///
/// The header is written last: a pool that was not made to its end is none.
///
/// # Errors
/// The size is not possible, or the device fails.
pub fn mkfs<P: Persist>(persist: &P, identity: [u8; 16], caller: &Caller<'_>) -> Result<(), MkfsError> {
    let bytes = persist.len();
    let plan = match bytes / PAGE {
        pages if pages < Geometry::PAGES_MIN => return Err(MkfsError::TooSmall { bytes }),
        pages if pages > Geometry::PAGES_MAX => return Err(MkfsError::TooLarge { bytes }),
        pages => Geometry::plan(pages),
    };
    mkfs_with(persist, plan, identity, caller)
}

fn mkfs_with<P: Persist>(
    persist: &P,
    plan: Geometry,
    identity: [u8; 16],
    caller: &Caller<'_>,
) -> Result<(), MkfsError> {
    back_metadata(persist, &plan)?;
    // Whatever was there is no pool from here on.
    persist.zero_streaming(0, 2 * PAGE);
    persist.fence().map_err(FsError::from)?;
    persist.zero_streaming(2 * PAGE, (plan.data - 2) * PAGE);
    let log = Log::recover(persist, &plan, Mode::Metadata).map_err(FsError::from)?;
    let mut state = State::new(plan, identity, log, Wear::load(persist, &plan));
    state.physical.give(plan.data, plan.pages - plan.data);
    state.virtual_space.give(plan.files(), plan.virtual_pages - plan.files());
    let mut work = Work::new(persist, Mode::Metadata, &mut state);
    work.make_superblock()?;
    work.make_root(caller)?;
    work.release_resting()?;
    persist.fence().map_err(FsError::from)?;
    let header = Header { geometry: plan, identity, made: caller.now };
    for copy in 0..2 {
        persist.write_streaming(copy * PAGE, &header.encode(copy));
    }
    persist.fence().map_err(FsError::from)?;
    Ok(())
}

impl State {
    /// The state of a pool of which no page is free and no inode is known.
    pub(crate) fn new(plan: Geometry, identity: [u8; 16], log: Log, wear: Wear) -> State {
        State {
            plan,
            identity,
            log,
            transaction: Transaction::default(),
            pending: Pending::default(),
            resting: Vec::new(),
            freed: 0,
            physical: Buddy::new(plan.pages),
            backed: Backed::new(plan.pages),
            virtual_space: Buddy::new(plan.virtual_pages),
            inode_pages: 0,
            nulls: NullFiles::default(),
            files: 0,
            directories: BTreeMap::new(),
            open: BTreeMap::new(),
            cleaner: super::cleaner::Round::default(),
            wear: Arc::new(wear),
            random: Rng::new(u64::from_le_bytes(identity[..8].try_into().expect("eight bytes"))),
        }
    }
}

impl<P: Persist> Work<'_, P> {
    fn make_superblock(&mut self) -> FsResult<()> {
        let physical = self.take_pages(0)?.0;
        self.zero_ahead(physical * PAGE, PAGE);
        let mut space = Inode { start: Geometry::SUPERBLOCK, ..Inode::NULL };
        self.map(&mut space, Extent { page: 0, physical, pages: 1 })?;
        let superblock = Superblock { inode_table_pages: 0 };
        self.transaction().put(physical * PAGE, &superblock.encode());
        self.commit()
    }

    fn make_root(&mut self, caller: &Caller<'_>) -> FsResult<()> {
        let (number, mut inode) = self.take_inode(false)?;
        assert_eq!(number, ROOT, "the root is the first inode");
        (inode.kind, inode.permissions, inode.links, inode.parent) = (Kind::Directory, 0o755, 2, ROOT);
        (inode.user, inode.group) = (caller.user, caller.group);
        (inode.modified, inode.changed, inode.accessed, inode.made) = (caller.now, caller.now, caller.now, caller.now);
        self.put_inode(number, &inode)?;
        self.commit()
    }
}

/// Where the superblock is.
pub(crate) fn superblock_address<P: Persist>(work: &Work<'_, P>) -> FsResult<u64> {
    Ok(work.translate(Geometry::SUPERBLOCK)?.ok_or(FsError::Damaged(Damage::Superblock))? * PAGE)
}

/// The superblock.
pub(crate) fn superblock<P: Persist>(work: &Work<'_, P>) -> FsResult<Superblock> {
    let mut bytes = [0; SUPERBLOCK];
    work.read(superblock_address(work)?, &mut bytes);
    Superblock::decode(&bytes).ok_or(FsError::Damaged(Damage::Superblock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileSystem, Moment, NewFile, Recording, check};

    /// A pool of version 1, whose log has no room for a file that has more regions than its runs, refuses to move it,
    /// and goes on.
    #[test]
    #[cfg_attr(miri, ignore = "so large a pool takes very long")]
    fn a_file_with_too_many_regions_for_an_old_log_does_not_grow() {
        let caller = Caller { user: 0, group: 0, groups: &[], now: Moment(1) };
        let (pages, regions, run) = (1 << 17, 1024, 512 * PAGE);
        let pool = Recording::without_crashes(vec![0; (pages * PAGE) as usize]);
        mkfs_with(&pool, Geometry::plan_of_version_1(pages), [7; 16], &caller).unwrap();
        let system = FileSystem::mount(pool, Mode::Metadata).unwrap();
        let made = system.make(&caller, ROOT, b"sparse", &NewFile::new(Kind::File, 0o600)).unwrap();
        let file = system.open(made.number).unwrap();
        system.set_size(&caller, &file, regions * run).unwrap();
        for region in 0..regions {
            assert_eq!(system.write(&caller, &file, region * run, &[7]), Ok(1));
        }
        let before = system.attributes(made.number).unwrap();
        assert_eq!(system.set_size(&caller, &file, regions * run + 1).map(drop), Err(FsError::FileTooLarge));
        assert_eq!(system.append(&caller, &file, &[8]), Err(FsError::FileTooLarge));
        assert_eq!(system.attributes(made.number).unwrap(), before);
        assert_eq!(system.write(&caller, &file, regions * run - 1, &[9]), Ok(1));
        system.close(file).unwrap();
        let report = check(&system.unmount().unwrap()).unwrap();
        assert!(report.is_sound(), "{:?}", report.problems);
    }
}
