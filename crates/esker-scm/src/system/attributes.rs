//! What an inode says of itself, and changes to it.

use super::FileSystem;
use super::names::check_name;
use super::nodes::Handle;
use super::permission::{Access, Caller, SET_GROUP};
use super::work::Work;
use crate::error::{FsError, FsResult};
use crate::layout::inode::{INLINE, Inode};
use crate::layout::{Kind, PAGE};
use crate::moment::Moment;
use crate::persist::Persist;

/// What an inode says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The inode's number.
    pub number: u64,
    /// How often the inode was given to a file.
    pub generation: u32,
    /// Its kind.
    pub kind: Kind,
    /// Permissions, with the bits for set-user-id, set-group-id and sticky.
    pub permissions: u16,
    /// Names.
    pub links: u32,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Bytes that can be read.
    pub size: u64,
    /// Bytes of its pages (`mapped_size`).
    pub mapped: u64,
    /// Bytes of its virtual space (`virtual_size`).
    pub reserved: u64,
    /// Of a device: its number.
    pub device: u64,
    /// When it was read last; not more often than once after each change (relatime).
    pub accessed: Moment,
    /// When its data were changed last.
    pub modified: Moment,
    /// When the inode was changed last.
    pub changed: Moment,
    /// When it was made.
    pub made: Moment,
}

impl Attributes {
    pub(super) fn of(number: u64, inode: &Inode) -> Attributes {
        let is_device = matches!(inode.kind, Kind::CharacterDevice | Kind::BlockDevice);
        Attributes {
            number,
            generation: inode.generation,
            kind: inode.kind,
            permissions: inode.permissions,
            links: inode.links,
            user: inode.user,
            group: inode.group,
            size: inode.size,
            mapped: inode.mapped * PAGE,
            reserved: inode.reserved * PAGE,
            device: if is_device { inode.extra } else { 0 },
            accessed: inode.accessed,
            modified: inode.modified,
            changed: inode.changed,
            made: inode.made,
        }
    }
}

/// A time to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime {
    /// That of the call.
    Now,
    /// This one.
    At(Moment),
}

/// What to change of an inode. The size of a file is changed by [`FileSystem::set_size`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    /// Permissions.
    pub permissions: Option<u16>,
    /// Owner.
    pub user: Option<u32>,
    /// Group.
    pub group: Option<u32>,
    /// Time of the last access.
    pub accessed: Option<SetTime>,
    /// Time of the last modification.
    pub modified: Option<SetTime>,
}

impl<P: Persist> FileSystem<P> {
    /// The entry `name` of directory `parent`; `.` and `..`, too.
    ///
    /// # Errors
    /// There is none, or the caller may not go through the directory.
    pub fn lookup(&self, caller: &Caller<'_>, parent: u64, name: &[u8]) -> FsResult<Attributes> {
        self.look(|work| {
            let directory = work.directory_inode(parent)?;
            caller.check(&directory, Access::PASS)?;
            let number = match name {
                b"." => parent,
                b".." => directory.parent,
                _ => {
                    check_name(name)?;
                    work.find(parent, &directory, name)?.ok_or(FsError::NotFound)?.inode
                }
            };
            work.attributes(number)
        })
    }

    /// What inode `number` says of itself.
    ///
    /// # Errors
    /// It is not in use, or damaged.
    pub fn attributes(&self, number: u64) -> FsResult<Attributes> {
        self.look(|work| work.attributes(number))
    }

    /// Where a symbolic link points.
    ///
    /// # Errors
    /// It is none.
    pub fn read_link(&self, number: u64) -> FsResult<Vec<u8>> {
        self.look(|work| {
            let inode = work.inode(number)?;
            if inode.kind != Kind::Symlink {
                return Err(FsError::Invalid);
            }
            let length = inode.size as usize;
            if length <= INLINE {
                return Ok(inode.inline[..length].to_vec());
            }
            let mut target = vec![0; length.min(PAGE as usize)];
            let page = work.translate(inode.start)?.ok_or(FsError::Stale)?;
            work.read(page * PAGE, &mut target);
            Ok(target)
        })
    }

    /// Notes that an open directory was listed, or a symbolic link read: as of files, the first time after each change.
    ///
    /// # Errors
    /// The inode is damaged.
    pub fn note_read(&self, caller: &Caller<'_>, handle: &Handle) -> FsResult<()> {
        self.look(|work| {
            // Changes of names do not come by the open directory, so it does not know whether there were any.
            if work.shown(handle.number())?.is_unread() {
                handle.node.set_accessed(caller.now);
            }
            Ok(())
        })
    }

    /// Checks that the caller may access inode `number` in this way.
    ///
    /// # Errors
    /// It may not.
    pub fn check(&self, caller: &Caller<'_>, number: u64, access: Access) -> FsResult<()> {
        self.look(|work| caller.check(&work.inode(number)?, access))
    }

    /// Changes what an inode says of itself.
    ///
    /// # Errors
    /// The caller may not.
    pub fn set_attributes(&self, caller: &Caller<'_>, number: u64, changes: &Changes) -> FsResult<Attributes> {
        self.transact(|work| {
            let mut inode = work.inode(number)?;
            let node = work.state.open.get(&number).cloned();
            let times = node.as_ref().and_then(|node| node.unsettled());
            if let Some(times) = times {
                times.settle(&mut inode);
            }
            change(caller, &mut inode, changes)?;
            work.put_changed(caller, number, &mut inode)?;
            if let Some(node) = node {
                // The inode shows them, or what the call gave it instead. A change that is refused leaves them.
                if let Some(times) = times {
                    node.forget(times);
                }
                node.note_permissions(&inode);
            }
            Ok(Attributes::of(number, &inode))
        })
    }
}

impl<P: Persist> Work<'_, P> {
    /// What inode `number` says of itself.
    pub(super) fn attributes(&self, number: u64) -> FsResult<Attributes> {
        Ok(Attributes::of(number, &self.shown(number)?))
    }

    /// Inode `number`, with times that only memory knows.
    fn shown(&self, number: u64) -> FsResult<Inode> {
        Ok(self.with_times(number, self.inode(number)?))
    }

    /// Inode `number` that is stored like this, with times that only memory knows.
    pub(super) fn with_times(&self, number: u64, mut inode: Inode) -> Inode {
        if let Some(times) = self.state.open.get(&number).and_then(|node| node.unsettled()) {
            times.settle(&mut inode);
        }
        inode
    }
}

fn change(caller: &Caller<'_>, inode: &mut Inode, changes: &Changes) -> FsResult<()> {
    let old = *inode;
    if let Some(permissions) = changes.permissions {
        caller.check_owner(&old)?;
        inode.permissions = permissions & 0o7777;
        if !caller.is_root() && !caller.is_in(inode.group) {
            inode.permissions &= !SET_GROUP;
        }
    }
    if changes.user.is_some() || changes.group.is_some() {
        change_owner(caller, inode, &old, changes)?;
    }
    if let Some(time) = changes.accessed {
        inode.accessed = set_time(caller, &old, time)?;
    }
    if let Some(time) = changes.modified {
        inode.modified = set_time(caller, &old, time)?;
    }
    Ok(())
}

/// The owner changes by the administrator only, the group also by an owner who is in it. Bits that let others act as
/// the owner go, whoever it is that changes them.
fn change_owner(caller: &Caller<'_>, inode: &mut Inode, old: &Inode, changes: &Changes) -> FsResult<()> {
    let (user, group) = (changes.user.unwrap_or(old.user), changes.group.unwrap_or(old.group));
    let may_set_user = caller.is_root() || (user == old.user && caller.user == old.user);
    let may_set_group = caller.is_root() || (caller.user == old.user && (group == old.group || caller.is_in(group)));
    let sets_user = changes.user.is_some();
    let sets_group = changes.group.is_some();
    if (sets_user && !may_set_user) || (sets_group && !may_set_group) {
        return Err(FsError::NotPermitted);
    }
    (inode.user, inode.group) = (user, group);
    if changes.permissions.is_none() && inode.kind != Kind::Directory {
        clear_set_id(inode);
    }
    Ok(())
}

/// Takes set-user-id away, and set-group-id where the group may execute the file.
pub(super) fn clear_set_id(inode: &mut Inode) {
    inode.permissions &= !0o4000;
    if inode.permissions & 0o010 != 0 {
        inode.permissions &= !SET_GROUP;
    }
}

fn set_time(caller: &Caller<'_>, inode: &Inode, time: SetTime) -> FsResult<Moment> {
    match time {
        SetTime::Now => {
            caller.check_owner(inode).or_else(|_| caller.check(inode, Access::WRITE))?;
            Ok(caller.now)
        }
        SetTime::At(moment) => {
            caller.check_owner(inode)?;
            Ok(moment)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Mode;
    use crate::persist::Recording;
    use crate::system::{NewFile, ROOT, RenameFlags, SetXattr, mkfs};

    type System = FileSystem<Recording>;

    /// What changes file `a`, without writing to it.
    type Change = Box<dyn Fn(&System, &Caller<'_>, u64) -> FsResult<()>>;

    fn changes() -> Vec<Change> {
        let at = |moment| Some(SetTime::At(Moment(moment)));
        let none = Changes::default();
        let attributes = [
            Changes { permissions: Some(0o600), ..none },
            Changes { user: Some(7), ..none },
            Changes { group: Some(7), ..none },
            Changes { accessed: Some(SetTime::Now), ..none },
            Changes { accessed: at(5), ..none },
            Changes { modified: at(5), ..none },
        ];
        let set = |changes| -> Change {
            Box::new(move |system, caller, number| system.set_attributes(caller, number, &changes).map(drop))
        };
        let mut all: Vec<Change> = attributes.into_iter().map(set).collect();
        all.push(Box::new(|system, caller, number| system.link(caller, number, ROOT, b"b").map(drop)));
        all.push(Box::new(|system, caller, _| system.unlink(caller, ROOT, b"b")));
        all.push(Box::new(|system, caller, _| {
            system.rename(caller, (ROOT, b"a"), (ROOT, b"other"), RenameFlags::Exchange)
        }));
        all.push(Box::new(|system, caller, _| {
            system.rename(caller, (ROOT, b"other"), (ROOT, b"c"), RenameFlags::Replace)
        }));
        all.push(Box::new(|system, caller, number| system.set_xattr(caller, number, (b"user.a", b"1"), SetXattr::Set)));
        all.push(Box::new(|system, caller, number| system.remove_xattr(caller, number, b"user.a")));
        // Later than all others: from then on, no read is noted.
        all.push(set(Changes { accessed: at(i64::MAX), ..none }));
        all.push(set(Changes { permissions: Some(0o644), ..none }));
        all
    }

    #[test]
    fn a_read_of_an_open_file_is_noted_once_after_each_change() {
        let pool = Recording::new(vec![0; 256 << 12]);
        mkfs(&pool, [7; 16], &Caller::root(Moment(1))).unwrap();
        let system = System::mount(pool, Mode::Metadata).unwrap();
        let at = |now| Caller::root(Moment(now));
        let make = |name: &[u8]| system.make(&at(10), ROOT, name, &NewFile::new(Kind::File, 0o644)).unwrap().number;
        let (number, _) = (make(b"a"), make(b"other"));
        let handle = system.open(number).unwrap();
        let shown = || system.attributes(number).unwrap();
        for (now, change) in (1..).map(|round| 100 * round).zip(changes()) {
            change(&system, &at(now), number).unwrap();
            for now in [now + 10, now + 20] {
                let before = shown();
                let is_noted = before.accessed <= before.modified.max(before.changed);
                system.read(&at(now), &handle, 0, &mut [0; 1]).unwrap();
                assert_eq!(shown().accessed, if is_noted { Moment(now) } else { before.accessed }, "at {now}");
            }
        }
        system.close(handle).unwrap();
    }
}
