//! Entries of directories: slots of 64 bytes in the directory's pages. A name of up to 48 bytes takes one slot, a
//! longer one up to five, all in one page.
//!
//! | bytes | field |
//! |---|---|
//! | 0-3 | checksum of all slots of the entry |
//! | 4 | slots of the entry, 0 if this slot is free |
//! | 5 | kind of the inode |
//! | 6 | bytes of the name |
//! | 8-15 | inode |
//! | 16- | name |
//!
//! A free slot has 64 zero bytes.

use super::{Kind, PAGE, number64, seal};

/// Bytes of a slot.
pub(crate) const SLOT: u64 = 64;
/// Slots in a page.
pub(crate) const SLOTS: u64 = PAGE / SLOT;
/// Most bytes of a name, as everywhere in Linux.
pub(crate) const NAME_MAX: usize = 255;
/// Most bytes of an entry.
pub(crate) const ENTRY_MAX: usize = SLOT as usize * 5;
const NAME_AT: usize = 16;

/// An entry as it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    pub(crate) inode: u64,
    pub(crate) kind: Kind,
    pub(crate) name: &'a [u8],
    pub(crate) slots: u64,
}

/// Slots that an entry with this name takes.
pub(crate) fn slots_of(name: &[u8]) -> u64 {
    ((NAME_AT + name.len()) as u64).div_ceil(SLOT)
}

impl Named<'_> {
    /// Writes the entry, at slot `slot` of its directory, into `bytes`; its bytes.
    pub(crate) fn encode<'b>(&self, slot: u64, bytes: &'b mut [u8; ENTRY_MAX]) -> &'b [u8] {
        let length = (self.slots * SLOT) as usize;
        bytes.fill(0);
        bytes[4] = self.slots as u8;
        bytes[5] = self.kind.code();
        bytes[6] = self.name.len() as u8;
        bytes[8..16].copy_from_slice(&self.inode.to_le_bytes());
        bytes[NAME_AT..NAME_AT + self.name.len()].copy_from_slice(self.name);
        seal::seal(&mut bytes[..length], slot);
        &bytes[..length]
    }
}

/// What a slot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot<'a> {
    Free,
    Entry(Named<'a>),
    Damaged,
}

/// Slots that the entry in the first slot of `bytes` says it takes, at least 1. It can be wrong if the entry is
/// damaged.
pub(crate) fn slots_said(bytes: &[u8]) -> u64 {
    u64::from(bytes[4]).clamp(1, 5)
}

/// Reads the slot `slot` of a directory, which `bytes` begin with. They end with its page.
pub(crate) fn read_slot(bytes: &[u8], slot: u64) -> Slot<'_> {
    let one = &bytes[..SLOT as usize];
    if one.iter().all(|&byte| byte == 0) {
        return Slot::Free;
    }
    let slots = slots_said(bytes);
    let length = (slots * SLOT) as usize;
    let sound = || {
        let entry = bytes.get(..length).filter(|entry| entry[4] != 0 && seal::is_sound(entry, slot))?;
        let name = entry.get(NAME_AT..NAME_AT + usize::from(entry[6]))?;
        let kind = Kind::of_code(entry[5]).filter(|kind| kind.has_name())?;
        let is_right = slots_of(name) == slots && is_name(name);
        is_right.then_some(Named { inode: number64(entry, 8), kind, name, slots })
    };
    sound().map_or(Slot::Damaged, Slot::Entry)
}

/// Whether `name` can be that of a file: not empty, not a dot or two, no slash, no zero.
pub(crate) fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && name.len() <= NAME_MAX && !name.iter().any(|&byte| byte == 0 || byte == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_lengths_come_back() {
        // Miri takes its time.
        for length in (1..=NAME_MAX).step_by(if cfg!(miri) { 127 } else { 1 }) {
            let name = vec![b'x'; length];
            let entry = Named { inode: 42, kind: Kind::File, name: &name, slots: slots_of(&name) };
            let mut bytes = [0; ENTRY_MAX];
            let encoded = entry.encode(9, &mut bytes);
            assert_eq!(read_slot(encoded, 9), Slot::Entry(entry));
            assert_eq!(read_slot(encoded, 8), Slot::Damaged, "the place counts");
            for bit in [8, 33, 40, 70, 130, encoded.len() * 8 - 1] {
                let mut flipped = encoded.to_vec();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(read_slot(&flipped, 9), Slot::Damaged, "{length} bytes, bit {bit}");
            }
        }
        assert_eq!(read_slot(&[0; 64], 3), Slot::Free);
        assert_eq!(slots_of(&[b'x'; 48]), 1);
        assert_eq!(slots_of(&[b'x'; 255]), 5);
    }
}
