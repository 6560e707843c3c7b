//! Extended attributes. All those of an inode are in the data of another inode of kind [`Kind::Attributes`], which is
//! written anew with each change: the change is one transaction.
//!
//! | bytes | field |
//! |---|---|
//! | 0-3 | checksum of all bytes |
//! | 4-7 | bytes, with these eight |
//! | 8- | attributes: length of the name (1 byte), of the value (4 bytes), name, value |

use super::FileSystem;
use super::permission::{Access, Caller, STICKY};
use super::work::Work;
use crate::error::{Damage, FsError, FsResult};
use crate::layout::inode::Inode;
use crate::layout::name::NAME_MAX;
use crate::layout::{Kind, PAGE, number32, seal};
use crate::persist::Persist;
use std::collections::BTreeMap;

/// Most bytes of a value.
const VALUE_MAX: usize = 65_536;
/// Most bytes of all attributes of an inode.
const TOTAL_MAX: usize = 1 << 20;
const HEADER: usize = 8;

/// What setxattr does if the attribute is there, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetXattr {
    /// Sets it.
    #[default]
    Set,
    /// It must not be there.
    Create,
    /// It must be there.
    Replace,
}

type Values = BTreeMap<Vec<u8>, Vec<u8>>;

impl<P: Persist> FileSystem<P> {
    /// The value of an extended attribute.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn xattr(&self, number: u64, name: &[u8]) -> FsResult<Vec<u8>> {
        self.look(|work| {
            let inode = work.inode(number)?;
            work.xattrs(number, &inode)?.remove(name).ok_or(FsError::NoData)
        })
    }

    /// The names of all extended attributes, each with a zero behind it.
    ///
    /// # Errors
    /// They are damaged.
    pub fn list_xattrs(&self, number: u64) -> FsResult<Vec<u8>> {
        self.look(|work| {
            let inode = work.inode(number)?;
            let values = work.xattrs(number, &inode)?;
            Ok(values.into_keys().flat_map(|name| name.into_iter().chain([0])).collect())
        })
    }

    /// Sets an extended attribute.
    ///
    /// # Errors
    /// The name or the value is too long, the caller may not, or the pool or what attributes may take is full.
    pub fn set_xattr(
        &self,
        caller: &Caller<'_>,
        number: u64,
        (name, value): (&[u8], &[u8]),
        how: SetXattr,
    ) -> FsResult<()> {
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(FsError::Range);
        }
        if value.len() > VALUE_MAX {
            return Err(FsError::TooBig);
        }
        self.change_xattrs(caller, number, name, |values| {
            match (how, values.contains_key(name)) {
                (SetXattr::Create, true) => return Err(FsError::Exists),
                (SetXattr::Replace, false) => return Err(FsError::NoData),
                _ => {}
            }
            values.insert(name.to_vec(), value.to_vec());
            Ok(())
        })
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// There is none of this name, or the caller may not.
    pub fn remove_xattr(&self, caller: &Caller<'_>, number: u64, name: &[u8]) -> FsResult<()> {
        self.change_xattrs(caller, number, name, |values| values.remove(name).map(drop).ok_or(FsError::NoData))
    }

    fn change_xattrs(
        &self,
        caller: &Caller<'_>,
        number: u64,
        name: &[u8],
        change: impl Fn(&mut Values) -> FsResult<()>,
    ) -> FsResult<()> {
        self.transact(|work| {
            let mut inode = work.inode(number)?;
            check_change(caller, &inode, name)?;
            let mut values = work.xattrs(number, &inode)?;
            change(&mut values)?;
            let old = inode.attributes;
            inode.attributes = work.write_xattrs(&values)?;
            if old != 0 {
                let mut old_inode = work.any_inode(old)?;
                work.make_null(old, &mut old_inode)?;
            }
            work.put_changed(caller, number, &mut inode)
        })
    }
}

impl<P: Persist> Work<'_, P> {
    /// The extended attributes of an inode.
    pub(crate) fn xattrs(&self, number: u64, inode: &Inode) -> FsResult<Values> {
        if inode.attributes == 0 {
            return Ok(Values::new());
        }
        let holder = self.any_inode(inode.attributes)?;
        let damaged = FsError::Damaged(Damage::Attributes(number));
        if holder.kind != Kind::Attributes || !(HEADER as u64..=TOTAL_MAX as u64).contains(&holder.size) {
            return Err(damaged);
        }
        let mut bytes = vec![0; holder.size as usize];
        for (page, piece) in bytes.chunks_mut(PAGE as usize).enumerate() {
            let physical = self.translate(holder.start + page as u64)?.ok_or(damaged.clone())?;
            self.read(physical * PAGE, piece);
        }
        decode(&bytes, inode.attributes).ok_or(damaged)
    }

    /// Writes extended attributes into a new inode; its number, or 0 if there are none.
    fn write_xattrs(&mut self, values: &Values) -> FsResult<u64> {
        if values.is_empty() {
            return Ok(0);
        }
        if encoded_bytes(values) > TOTAL_MAX {
            return Err(FsError::AttributesFull);
        }
        let (number, mut inode) = self.take_inode(true)?;
        let bytes = encode(values, number);
        inode.kind = Kind::Attributes;
        inode.size = bytes.len() as u64;
        let extents = self.extents(&inode)?;
        let pages = inode.size.div_ceil(PAGE);
        self.reserve(&mut inode, pages)?;
        for (page, length, physical) in extents.pieces(0, pages) {
            match physical {
                Some(physical) => {
                    let piece = &bytes[(page * PAGE) as usize..bytes.len().min(((page + length) * PAGE) as usize)];
                    self.store_ahead(physical * PAGE, piece);
                }
                None => {
                    if self.fill_hole(&mut inode, (page, length), (0, &bytes), &mut Vec::new())? < page + length {
                        return Err(FsError::NoSpace);
                    }
                }
            }
        }
        self.put_inode(number, &inode)?;
        Ok(number)
    }
}

/// Checks that the caller may change an attribute of this name. Those of users can be changed like data, and by the
/// owner alone where a directory is sticky.
fn check_change(caller: &Caller<'_>, inode: &Inode, name: &[u8]) -> FsResult<()> {
    if !name.starts_with(b"user.") {
        return if caller.is_root() { Ok(()) } else { Err(FsError::NotPermitted) };
    }
    if inode.kind == Kind::Directory && inode.permissions & STICKY != 0 {
        caller.check_owner(inode)?;
    }
    caller.check(inode, Access::WRITE)
}

/// Bytes of all attributes in the form of the pool.
fn encoded_bytes(values: &Values) -> usize {
    HEADER + values.iter().map(|(name, value)| 5 + name.len() + value.len()).sum::<usize>()
}

fn encode(values: &Values, place: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(encoded_bytes(values));
    bytes.resize(HEADER, 0);
    for (name, value) in values {
        bytes.push(name.len() as u8);
        bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(value);
    }
    let length = bytes.len() as u32;
    bytes[4..HEADER].copy_from_slice(&length.to_le_bytes());
    seal::seal(&mut bytes, place);
    bytes
}

fn decode(bytes: &[u8], place: u64) -> Option<Values> {
    if !seal::is_sound(bytes, place) || number32(bytes, 4) as usize != bytes.len() {
        return None;
    }
    let mut values = Values::new();
    let mut rest = &bytes[HEADER..];
    while let [name_length, after @ ..] = rest {
        let (length, after) = after.split_at_checked(4)?;
        let (name, after) = after.split_at_checked(usize::from(*name_length))?;
        let (value, after) = after.split_at_checked(number32(length, 0) as usize)?;
        values.insert(name.to_vec(), value.to_vec());
        rest = after;
    }
    Some(values)
}
