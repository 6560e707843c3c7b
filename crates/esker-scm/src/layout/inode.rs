//! Inodes: 256 bytes each, in the inode table (Wu, IV.B.2).
//!
//! | bytes | field |
//! |---|---|
//! | 0-3 | checksum |
//! | 4 | kind |
//! | 5 | bit 0: pages behind the end were asked for, and stay |
//! | 6-7 | permissions |
//! | 8-11 | links |
//! | 12-15 | generation |
//! | 16-23 | `file_size`, bytes |
//! | 24-31 | mapped pages (`mapped_size`) |
//! | 32-39 | time of the last modification, ns since 1970 |
//! | 40-47 | time of the last change |
//! | 48-55 | time of the last access |
//! | 56-63 | first virtual page |
//! | 64-71 | virtual pages (`virtual_size`) |
//! | 72-75 | user |
//! | 76-79 | group |
//! | 80-87 | inode of the extended attributes, 0 if none |
//! | 88-95 | of a directory: the inode of the directory that it is in |
//! | 96-103 | of a device: its number; of a directory: its entries |
//! | 104-111 | time of creation |
//! | 128-255 | of a symbolic link of up to 128 bytes: where it points |

use super::{number32, number64, seal};
use crate::moment::Moment;

/// Bytes of an inode.
pub(crate) const INODE: usize = 256;
/// Inodes in a page.
pub(crate) const PER_PAGE: u64 = 16;
/// Bytes of an inode that hold the target of a short symbolic link.
pub(crate) const INLINE: usize = 128;
const INLINE_AT: usize = 128;

/// What an inode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A null file: no name, no data, but perhaps space (Wu, IV.B.3).
    Null,
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// The extended attributes of another inode.
    Attributes,
}

impl Kind {
    const ALL: [Kind; 9] = [
        Kind::Null,
        Kind::File,
        Kind::Directory,
        Kind::Symlink,
        Kind::Fifo,
        Kind::Socket,
        Kind::CharacterDevice,
        Kind::BlockDevice,
        Kind::Attributes,
    ];

    /// Its number in inodes and directory entries.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The kind of this number.
    pub(crate) fn of_code(code: u8) -> Option<Kind> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Whether it can have a name.
    pub(crate) fn has_name(self) -> bool {
        !matches!(self, Kind::Null | Kind::Attributes)
    }
}

/// An inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inode {
    pub(crate) kind: Kind,
    /// Whether it has pages behind its end that a program asked for: they stay its own.
    pub(crate) is_preallocated: bool,
    /// Permissions, with the bits for set-user-id, set-group-id and sticky.
    pub(crate) permissions: u16,
    pub(crate) links: u32,
    /// How often this inode was given to a file.
    pub(crate) generation: u32,
    /// Bytes that can be read (`file_size`).
    pub(crate) size: u64,
    /// Pages that are mapped (`mapped_size`).
    pub(crate) mapped: u64,
    pub(crate) modified: Moment,
    pub(crate) changed: Moment,
    pub(crate) accessed: Moment,
    pub(crate) made: Moment,
    /// First virtual page.
    pub(crate) start: u64,
    /// Virtual pages (`virtual_size`).
    pub(crate) reserved: u64,
    pub(crate) user: u32,
    pub(crate) group: u32,
    /// The inode of the extended attributes, 0 if none.
    pub(crate) attributes: u64,
    /// Of a directory: the one that it is in.
    pub(crate) parent: u64,
    /// Of a device: its number; of a directory: its entries.
    pub(crate) extra: u64,
    /// Of a short symbolic link: where it points, zeroes behind.
    pub(crate) inline: [u8; INLINE],
}

impl Inode {
    /// Whether who executes it acts as its owner, or as its group.
    pub(crate) fn has_set_id(&self) -> bool {
        self.permissions & 0o6000 != 0
    }

    /// Whether the next read has to be noted (relatime): it was not read since it was changed.
    pub(crate) fn is_unread(&self) -> bool {
        self.accessed <= self.modified.max(self.changed)
    }

    /// A null file without space.
    pub(crate) const NULL: Inode = Inode {
        kind: Kind::Null,
        is_preallocated: false,
        permissions: 0,
        links: 0,
        generation: 0,
        size: 0,
        mapped: 0,
        modified: Moment(0),
        changed: Moment(0),
        accessed: Moment(0),
        made: Moment(0),
        start: 0,
        reserved: 0,
        user: 0,
        group: 0,
        attributes: 0,
        parent: 0,
        extra: 0,
        inline: [0; INLINE],
    };

    /// The bytes of this inode, whose number is `number`.
    pub(crate) fn encode(&self, number: u64) -> [u8; INODE] {
        let mut bytes = [0; INODE];
        bytes[4] = self.kind.code();
        bytes[5] = u8::from(self.is_preallocated);
        bytes[6..8].copy_from_slice(&self.permissions.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.links.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.generation.to_le_bytes());
        let fields = [
            self.size,
            self.mapped,
            self.modified.0 as u64,
            self.changed.0 as u64,
            self.accessed.0 as u64,
            self.start,
            self.reserved,
        ];
        for (field, value) in bytes[16..72].chunks_exact_mut(8).zip(fields) {
            field.copy_from_slice(&value.to_le_bytes());
        }
        bytes[72..76].copy_from_slice(&self.user.to_le_bytes());
        bytes[76..80].copy_from_slice(&self.group.to_le_bytes());
        let fields = [self.attributes, self.parent, self.extra, self.made.0 as u64];
        for (field, value) in bytes[80..112].chunks_exact_mut(8).zip(fields) {
            field.copy_from_slice(&value.to_le_bytes());
        }
        bytes[INLINE_AT..].copy_from_slice(&self.inline);
        seal::seal(&mut bytes, number);
        bytes
    }

    /// Reads inode `number`; none if it is damaged.
    pub(crate) fn decode(bytes: &[u8; INODE], number: u64) -> Option<Inode> {
        if !seal::is_sound(bytes, number) {
            return None;
        }
        Some(Inode {
            kind: Kind::of_code(bytes[4])?,
            is_preallocated: bytes[5] & 1 != 0,
            permissions: u16::from_le_bytes([bytes[6], bytes[7]]),
            links: number32(bytes, 8),
            generation: number32(bytes, 12),
            size: number64(bytes, 16),
            mapped: number64(bytes, 24),
            modified: Moment(number64(bytes, 32) as i64),
            changed: Moment(number64(bytes, 40) as i64),
            accessed: Moment(number64(bytes, 48) as i64),
            start: number64(bytes, 56),
            reserved: number64(bytes, 64),
            user: number32(bytes, 72),
            group: number32(bytes, 76),
            attributes: number64(bytes, 80),
            parent: number64(bytes, 88),
            extra: number64(bytes, 96),
            made: Moment(number64(bytes, 104) as i64),
            inline: bytes[INLINE_AT..].try_into().expect("the rest of an inode"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inodes_come_back() {
        let inode = Inode {
            kind: Kind::Directory,
            is_preallocated: true,
            permissions: 0o7755,
            links: 2,
            generation: 3,
            size: 4,
            mapped: 5,
            modified: Moment(6),
            changed: Moment(7),
            accessed: Moment(8),
            made: Moment(9),
            start: 10,
            reserved: 11,
            user: 12,
            group: 13,
            attributes: 14,
            parent: 15,
            extra: 16,
            inline: [17; INLINE],
        };
        let bytes = inode.encode(5);
        assert_eq!(Inode::decode(&bytes, 5), Some(inode));
        assert_eq!(Inode::decode(&bytes, 6), None, "the number counts");
        for kind in Kind::ALL {
            assert_eq!(Kind::of_code(kind.code()), Some(kind));
        }
    }
}
