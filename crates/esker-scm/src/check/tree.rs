//! Names against inodes.

use super::Problem;
use crate::error::{Damage, FsError};
use crate::layout::inode::{Inode, PER_PAGE};
use crate::layout::name::{SLOTS, Slot};
use crate::layout::{Kind, PAGE};
use crate::persist::Persist;
use crate::system::{ROOT, Work};
use std::collections::BTreeSet;

/// What the names of a pool say of an inode.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Named {
    /// Names, of a directory that with its own dot and those of the directories in it.
    pub(super) links: u32,
    /// Of a directory: entries.
    pub(super) entries: u64,
    /// Of a directory: the one with its name.
    pub(super) parent: u64,
    pub(super) is_reached: bool,
}

/// Goes through all directories from the root on; the directories that were reached.
pub(super) fn look<P: Persist>(work: &Work<'_, P>, problems: &mut Vec<Problem>) -> Vec<u64> {
    let (named, directories) = names(work, problems);
    for (number, inode) in inodes(work) {
        let found = named[number as usize];
        let is_expected = inode.kind == Kind::Null || inode.links == 0;
        if !found.is_reached && !is_expected {
            problems.push(Problem::Unreachable(number));
        }
        if inode.kind.has_name() && found.is_reached {
            note(number, &inode, &found, problems);
        }
        if inode.kind != Kind::Null && inode.kind != Kind::Symlink && inode.size > inode.reserved * PAGE {
            problems.push(Problem::Size(number));
        }
        match work.xattrs(number, &inode) {
            Ok(_) => {}
            Err(FsError::Damaged(damage)) => problems.push(Problem::Damage(damage)),
            Err(_) => problems.push(Problem::Damage(Damage::Attributes(number))),
        }
    }
    directories
}

fn note(number: u64, inode: &Inode, found: &Named, problems: &mut Vec<Problem>) {
    if inode.links != found.links {
        problems.push(Problem::Links { inode: number, said: inode.links, found: found.links });
    }
    if inode.kind == Kind::Directory {
        if inode.extra != found.entries {
            problems.push(Problem::Entries { inode: number, said: inode.extra, found: found.entries });
        }
        if inode.parent != found.parent {
            problems.push(Problem::Parent { inode: number });
        }
    }
}

/// The inodes that can be read.
pub(super) fn inodes<P: Persist>(work: &Work<'_, P>) -> impl Iterator<Item = (u64, Inode)> {
    (1..=work.state.inode_pages * PER_PAGE).filter_map(|number| Some((number, work.any_inode(number).ok()?)))
}

/// Files whose pages lie in more than one piece, and the pieces of all files.
pub(super) fn pieces<P: Persist>(work: &Work<'_, P>) -> (u64, u64) {
    let files = inodes(work).filter(|(_, inode)| inode.kind == Kind::File);
    let extents = files.filter_map(|(_, inode)| Some((work.extents(&inode).ok()?, inode.size.div_ceil(PAGE))));
    extents.fold((0, 0), |(scattered, pieces), (extents, pages)| {
        (scattered + u64::from(extents.are_scattered(pages)), pieces + extents.count())
    })
}

/// What the names say of each inode, by its number, and the directories that were reached.
pub(super) fn names<P: Persist>(work: &Work<'_, P>, problems: &mut Vec<Problem>) -> (Vec<Named>, Vec<u64>) {
    let mut named = vec![Named::default(); (work.state.inode_pages * PER_PAGE + 1) as usize];
    named[ROOT as usize] = Named { links: 2, entries: 0, parent: ROOT, is_reached: true };
    // Files that lost their last name while they were open, and extended attributes, are reached by their inodes.
    for (_, inode) in inodes(work) {
        if let Some(holder) = named.get_mut(inode.attributes as usize).filter(|_| inode.attributes != 0) {
            holder.is_reached = true;
        }
    }
    let mut directories = vec![ROOT];
    let mut next = 0;
    while let Some(&directory) = directories.get(next) {
        look_into(work, directory, (&mut named, &mut directories), problems);
        next += 1;
    }
    (named, directories)
}

fn look_into<P: Persist>(
    work: &Work<'_, P>,
    directory: u64,
    (named, directories): (&mut Vec<Named>, &mut Vec<u64>),
    problems: &mut Vec<Problem>,
) {
    let Ok(inode) = work.directory_inode(directory) else { return };
    let mut names = BTreeSet::new();
    let mut slot = 0;
    while slot < inode.size.min(inode.reserved * PAGE) / PAGE * SLOTS {
        let read = work.with_slot(directory, &inode, slot, |read| match read {
            Slot::Entry(entry) => Some((entry.inode, entry.kind, entry.name.to_vec(), entry.slots)),
            _ => None,
        });
        let (number, kind, name, slots) = match read {
            Ok(Some(entry)) => entry,
            Ok(None) => {
                slot += 1;
                continue;
            }
            Err(FsError::Damaged(damage)) => {
                problems.push(Problem::Damage(damage));
                slot += 1;
                continue;
            }
            Err(_) => return,
        };
        if !names.insert(name) {
            problems.push(Problem::NameTwice { directory, slot });
        }
        match work.inode(number) {
            Ok(target) if target.kind == kind => {
                named[directory as usize].entries += 1;
                let is_directory = kind == Kind::Directory;
                named[directory as usize].links += u32::from(is_directory);
                let found = &mut named[number as usize];
                found.links += if is_directory { 2 } else { 1 };
                if is_directory && !found.is_reached {
                    found.parent = directory;
                    directories.push(number);
                }
                found.is_reached = true;
            }
            _ => problems.push(Problem::Dangling { directory, slot, inode: number }),
        }
        slot += slots;
    }
}
