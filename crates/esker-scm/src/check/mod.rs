//! Whether a pool is sound, and what can be repaired.
//!
//! A check reads everything but data: each record against its checksum, each page against who has it, each name
//! against its inode. It changes nothing; what the log would make good is made good in memory. A repair turns single
//! flipped bits back, which the checksums find, and corrects counts. What it cannot repair, it leaves as it is.

mod bits;
mod counts;
mod tree;

use crate::error::{Damage, FsError};
use crate::layout::PAGE;
use crate::layout::header::{HEADER, Header};
use crate::log::{Log, Mode};
use crate::persist::{Overlay, Persist};
use crate::space::Wear;
use crate::system::{MountError, State, Work, read_header, scan, superblock};
use std::fmt;

/// Something that is wrong with a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// A copy of the header is damaged: 0 or 1.
    HeaderCopy(u64),
    /// A record is damaged, or a page has two owners.
    Damage(Damage),
    /// An entry names an inode that is not in use, or of another kind.
    Dangling {
        /// The directory.
        directory: u64,
        /// The entry's first slot.
        slot: u64,
        /// The inode that it names.
        inode: u64,
    },
    /// A directory has a name twice.
    NameTwice {
        /// The directory.
        directory: u64,
        /// The second entry's first slot.
        slot: u64,
    },
    /// An inode has another number of names than it says.
    Links {
        /// The inode.
        inode: u64,
        /// What it says.
        said: u32,
        /// Names that there are.
        found: u32,
    },
    /// A directory has another number of entries than it says.
    Entries {
        /// The directory.
        inode: u64,
        /// What it says.
        said: u64,
        /// Entries that there are.
        found: u64,
    },
    /// A directory says that it lies in another one than the one with its name.
    Parent {
        /// The directory.
        inode: u64,
    },
    /// An inode is in use and no path leads to it.
    Unreachable(u64),
    /// An inode's size is more than its virtual space.
    Size(u64),
    /// Virtual pages are mapped that no inode has.
    MappedForNobody {
        /// How many.
        pages: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::HeaderCopy(copy) => write!(to, "copy {copy} of the header is damaged"),
            Problem::Damage(damage) => write!(to, "damaged: {damage}"),
            Problem::Dangling { directory, slot, inode } => {
                write!(to, "slot {slot} of directory {directory} names inode {inode}, which is not what it says")
            }
            Problem::NameTwice { directory, slot } => {
                write!(to, "slot {slot} of directory {directory} has a name that is there already")
            }
            Problem::Links { inode, said, found } => write!(to, "inode {inode} says {said} links and has {found}"),
            Problem::Entries { inode, said, found } => {
                write!(to, "directory {inode} says {said} entries and has {found}")
            }
            Problem::Parent { inode } => write!(to, "directory {inode} says that it lies in another directory"),
            Problem::Unreachable(inode) => write!(to, "no path leads to inode {inode}"),
            Problem::Size(inode) => write!(to, "inode {inode} is larger than its virtual space"),
            Problem::MappedForNobody { pages } => write!(to, "{pages} virtual pages are mapped that no inode has"),
        }
    }
}

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// Of a repair: what was wrong before and is not any more.
    pub repaired: Vec<Problem>,
    /// Inodes in use.
    pub inodes: u64,
    /// Directories.
    pub directories: u64,
    /// Files whose pages lie in more than one piece.
    pub scattered: u64,
    /// Pieces in which the pages of files lie.
    pub pieces: u64,
    /// Files that lost their last name while they were open; the next mount removes them.
    pub orphans: u64,
}

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Checks a pool, and changes nothing.
///
/// # Errors
/// It is no pool, of another version or truncated, or so damaged that nothing can be read.
pub fn check<P: Persist>(persist: &P) -> Result<CheckReport, MountError> {
    let mut report = CheckReport::default();
    let overlay = Overlay::new(persist);
    let header = read_header(&overlay)?;
    note_copies(&overlay, &header, &mut report.problems);
    let mut state = open_state(&overlay, &header)?;
    look(&mut Work::new(&overlay, Mode::None, &mut state), &mut report);
    Ok(report)
}

/// Repairs a pool as far as that is possible, and checks it again. Repairing a second time changes nothing.
///
/// # Errors
/// As [`check`].
pub fn repair<P: Persist>(persist: &P) -> Result<CheckReport, MountError> {
    persist.take_over().map_err(FsError::from)?;
    bits::repair_header(persist)?;
    let before = check(persist)?;
    let header = read_header(persist)?;
    for copy in 0..2 {
        persist.write(copy * PAGE, &header.encode(copy));
        persist.write_back(copy * PAGE, HEADER as u64);
    }
    persist.fence().map_err(FsError::from)?;
    let mut state = open_state(persist, &header)?;
    let mut work = Work::new(persist, Mode::Metadata, &mut state);
    bits::repair_records(&mut work)?;
    work.state.inode_pages = superblock(&work)?.inode_table_pages;
    counts::repair(&mut work)?;
    work.release_resting()?;
    work.empty_log()?;
    let mut report = check(persist)?;
    report.repaired = before.problems.into_iter().filter(|problem| !report.problems.contains(problem)).collect();
    Ok(report)
}

fn open_state<P: Persist>(persist: &P, header: &Header) -> Result<State, MountError> {
    let log = Log::recover(persist, &header.geometry, Mode::Metadata).map_err(FsError::from)?;
    let wear = Wear::load(persist, &header.geometry);
    Ok(State::new(header.geometry, header.identity, log, wear))
}

fn note_copies<P: Persist>(persist: &P, header: &Header, problems: &mut Vec<Problem>) {
    for copy in 0..2 {
        let mut bytes = [0; HEADER];
        persist.read(copy * PAGE, &mut bytes);
        if Header::decode(&bytes, copy) != Ok(*header) {
            problems.push(Problem::HeaderCopy(copy));
        }
    }
}

/// Everything behind the header.
fn look<P: Persist>(work: &mut Work<'_, P>, report: &mut CheckReport) {
    match superblock(work) {
        Ok(superblock) => work.state.inode_pages = superblock.inode_table_pages,
        Err(FsError::Damaged(damage)) => return report.problems.push(Problem::Damage(damage)),
        Err(_) => return report.problems.push(Problem::Damage(Damage::Superblock)),
    }
    let mut damages = Vec::new();
    let found = scan(work, &mut damages);
    bits::note_entries(work, &mut damages, found.mapped, &mut report.problems);
    damages.dedup();
    report.problems.extend(damages.iter().copied().map(Problem::Damage));
    report.inodes = found.files;
    report.orphans = found.orphans.len() as u64;
    (report.scattered, report.pieces) = tree::pieces(work);
    report.directories = tree::look(work, &mut report.problems).len() as u64;
}
