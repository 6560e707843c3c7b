//! Counts that are corrected: links, entries, mapped pages, and the directory above.

use super::tree::{inodes, names};
use crate::error::FsResult;
use crate::layout::{Kind, PAGE};
use crate::persist::Persist;
use crate::system::Work;

/// Sets the counts of all inodes to what there is. It does so only if all names could be read: a count that includes
/// what a damaged record hides would be wrong.
pub(super) fn repair<P: Persist>(work: &mut Work<'_, P>) -> FsResult<()> {
    let mut problems = Vec::new();
    let (named, _) = names(work, &mut problems);
    let all: Vec<_> = inodes(work).collect();
    let is_readable = all.len() as u64 == work.state.inode_pages * crate::layout::inode::PER_PAGE;
    if !problems.is_empty() || !is_readable {
        return Ok(());
    }
    for (number, old) in all {
        let mut inode = old;
        let found = named[number as usize];
        let is_named = inode.kind.has_name() && found.links > 0;
        if is_named {
            inode.links = found.links;
        }
        if inode.kind == Kind::Directory && found.is_reached {
            (inode.extra, inode.parent) = (found.entries, found.parent);
        }
        let mapped = work.extents(&inode).map(|extents| extents.pages());
        inode.mapped = mapped.unwrap_or(inode.mapped);
        inode.size = match inode.kind {
            Kind::File => inode.size.min(inode.reserved * PAGE),
            _ => inode.size,
        };
        if inode != old {
            work.put_inode(number, &inode)?;
            work.commit()?;
        }
    }
    Ok(())
}
