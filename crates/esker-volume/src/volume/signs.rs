//! Signs that a device holds something already.

use std::io;

use crate::backend::BlockingBackend;
use crate::format::{BLOCK, Damage, Header, Kind, SUPERBLOCK, Superblock};

/// What can be there, where, and the bytes that say so.
const SIGNS: [(&str, u64, &[u8]); 15] = [
    ("a partition table (GPT)", 512, b"EFI PART"),
    ("a partition table (GPT)", 4096, b"EFI PART"),
    ("a partition table or a boot sector", 510, &[0x55, 0xaa]),
    ("an ext2, ext3 or ext4 file system", 1080, &[0x53, 0xef]),
    ("an XFS file system", 0, b"XFSB"),
    ("a btrfs file system", 65_600, b"_BHRfS_M"),
    ("an F2FS file system", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
    ("a swap area", 4086, b"SWAPSPACE2"),
    ("an LVM volume", 512, b"LABELONE"),
    ("a LUKS volume", 0, b"LUKS\xba\xbe"),
    ("a member of a Linux RAID", 0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("a member of a Linux RAID", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("a bcache device", 4120, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca]),
    ("a ZFS pool", 0x2_1000, &[0x0c, 0xb1, 0xba, 0x00]),
    ("a QEMU image (qcow2)", 0, b"QFI\xfb"),
];

/// Bytes at the start in which all of these lie.
const START: u64 = 256 << 10;

/// Bytes at the end in which everything lies that is looked for there: the oldest Linux RAIDs keep their superblock in
/// the last whole 64 KiB, which begin up to 128 KiB before the end.
const END: u64 = 192 << 10;

/// How a superblock of a Linux RAID begins. Version 0.90 has the byte order of the machine that wrote it.
const RAID: [[u8; 4]; 2] = [[0xfc, 0x4e, 0x2b, 0xa9], [0xa9, 0x2b, 0x4e, 0xfc]];

/// Returns what a device holds; `None` if nothing is known there.
pub(super) fn what_is_on(device: &mut dyn BlockingBackend) -> io::Result<Option<&'static str>> {
    let size = device.capacity().0;
    let mut start = vec![0; START.min(size) as usize];
    device.read(0, &mut start)?;
    let of_volume = Superblocks::read(device)?;
    if of_volume.first != SuperblockSign::Absent && of_volume.is_used() {
        return Ok(Some("an esker volume"));
    }
    if let Some((what, ..)) =
        SIGNS.iter().find(|(_, at, sign)| start.get(*at as usize..).is_some_and(|from| from.starts_with(sign)))
    {
        return Ok(Some(what));
    }
    // What was at the start is gone, and may be restored from here.
    if of_volume.is_used() {
        return Ok(Some("an esker volume"));
    }
    what_ends(device, size)
}

/// Returns true if there is nothing of a superblock of a volume on a device, neither at its start nor at its end. One
/// that is damaged is there.
///
/// # Errors
/// If the device cannot be read.
pub fn is_without_superblock(device: &mut dyn BlockingBackend) -> io::Result<bool> {
    let Superblocks { first, last } = Superblocks::read(device)?;
    Ok(first == SuperblockSign::Absent && last == SuperblockSign::Absent)
}

/// What is where a superblock of a volume would be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SuperblockSign {
    /// Something else, or nothing.
    Absent,
    /// The beginning of one, which cannot be read.
    Unreadable,
    Whole(Box<Superblock>),
}

/// What is at both ends of a device.
struct Superblocks {
    first: SuperblockSign,
    last: SuperblockSign,
}

impl Superblocks {
    /// Looks where the superblocks of a volume are looked for when it is opened.
    fn read(device: &mut dyn BlockingBackend) -> io::Result<Self> {
        let size = device.capacity().0;
        let mut bytes = vec![0; SUPERBLOCK];
        let mut at = |address: u64| -> io::Result<(SuperblockSign, Option<u64>)> {
            if address.saturating_add(SUPERBLOCK as u64) > size {
                return Ok((SuperblockSign::Absent, None));
            }
            device.read(address, &mut bytes)?;
            if let Ok(superblock) = Superblock::decode(&bytes, address) {
                let size = superblock.layout.size;
                return Ok((SuperblockSign::Whole(Box::new(superblock)), Some(size)));
            }
            match Header::peek(Kind::Superblock, &bytes) {
                Err(Damage::Absent) => Ok((SuperblockSign::Absent, None)),
                _ => Ok((SuperblockSign::Unreadable, Superblock::size_hint(&bytes))),
            }
        };
        let end = |size: u64| (size - size % BLOCK as u64).saturating_sub(SUPERBLOCK as u64);
        let (first, known) = at(0)?;
        let mut last = at(end(known.unwrap_or(size)))?.0;
        if last == SuperblockSign::Absent {
            // The size may be what is damaged.
            last = at(end(size))?.0;
        }
        Ok(Self { first, last })
    }

    /// Whether a volume uses the device, or did and may be restored.
    fn is_used(&self) -> bool {
        match (&self.first, &self.last) {
            (SuperblockSign::Whole(first), SuperblockSign::Whole(last)) => {
                let newer = if last.generation > first.generation { last } else { first };
                !newer.is_free()
            }
            (SuperblockSign::Whole(one), _) | (SuperblockSign::Absent, SuperblockSign::Whole(one)) => !one.is_free(),
            (SuperblockSign::Absent, SuperblockSign::Absent) => false,
            _ => true,
        }
    }
}

/// Returns what keeps its structures at the end of a device of `size` bytes.
fn what_ends(device: &mut dyn BlockingBackend, size: u64) -> io::Result<Option<&'static str>> {
    let from = (size - size % BLOCK as u64).saturating_sub(END);
    let mut end = vec![0; (size - from) as usize];
    device.read(from, &mut end)?;
    let is_at = |at: Option<u64>, sign: &[u8]| {
        let at = at.and_then(|at| at.checked_sub(from));
        at.and_then(|at| end.get(at as usize..)).is_some_and(|bytes| bytes.starts_with(sign))
    };
    // Version 0.90 lies in the last whole 64 KiB but for those that follow it, version 1.0 in the last 8 KiB or more.
    let raid = [(size - size % (64 << 10)).checked_sub(64 << 10), size.checked_sub(8 << 10).map(|at| at - at % 4096)];
    if raid.iter().any(|&at| RAID.iter().any(|sign| is_at(at, sign))) {
        return Ok(Some("a member of a Linux RAID"));
    }
    let is_table = [512, 4096].iter().any(|&sector| is_at(size.checked_sub(sector), b"EFI PART"));
    Ok(is_table.then_some("a partition table (GPT)"))
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use esker_core::Bytes;

    use super::*;
    use crate::backend::MemoryBackend;
    use crate::format::{Identity, Layout, Member, MemberState};

    #[test]
    fn each_sign_is_found_and_zeroes_are_nothing() {
        let mut device = MemoryBackend::new(Bytes::mib(1));
        assert_eq!(what_is_on(&mut device).unwrap(), None);
        assert_eq!(what_is_on(&mut MemoryBackend::new(Bytes(100))).unwrap(), None);
        for (what, at, sign) in SIGNS {
            let mut device = MemoryBackend::new(Bytes::mib(1));
            device.write(at, &mut [IoSlice::new(sign)], false).unwrap();
            assert_eq!(what_is_on(&mut device).unwrap(), Some(what));
        }
    }

    #[test]
    fn what_lies_at_the_end_is_found() {
        let size = Bytes::mib(1).0 + 5 * 4096;
        for (what, at, sign) in [
            ("a member of a Linux RAID", Bytes::mib(1).0 - (64 << 10), [0xfc, 0x4e, 0x2b, 0xa9].as_slice()),
            ("a member of a Linux RAID", Bytes::mib(1).0 - (64 << 10), &[0xa9, 0x2b, 0x4e, 0xfc]),
            ("a member of a Linux RAID", size - (8 << 10), &[0xfc, 0x4e, 0x2b, 0xa9]),
            ("a partition table (GPT)", size - 512, b"EFI PART"),
            ("a partition table (GPT)", size - 4096, b"EFI PART"),
        ] {
            let mut device = MemoryBackend::new(Bytes(size));
            device.write(at, &mut [IoSlice::new(sign)], false).unwrap();
            assert_eq!(what_is_on(&mut device).unwrap(), Some(what), "at {at}");
        }
    }

    /// A superblock of generation `generation`, of a device in this state.
    fn superblock(generation: u64, state: MemberState) -> Superblock {
        let layout = Layout::plan(Bytes::mib(4), 256 << 10, 8192, 128 << 10).unwrap();
        let data = Bytes(layout.data_length);
        let member =
            Member { id: Identity([1; 16]), data, state, keeps_journal: state == MemberState::InUse, opened: 0 };
        let (volume, settings) = (Identity([2; 16]), String::new());
        Superblock { volume, generation, index: 0, members: vec![member], layout, settings }
    }

    #[test]
    fn a_volume_is_found_by_either_superblock_and_the_newer_one_says_whether_it_is_used() {
        let (used, removed) = (superblock(7, MemberState::InUse), superblock(8, MemberState::Removed));
        let joins = superblock(Superblock::JOINS, MemberState::InUse);
        for (first, last, is_used, is_absent) in [
            (None, None, false, true),
            (Some(&used), None, true, false),
            (None, Some(&used), true, false),
            (None, Some(&removed), false, false),
            (Some(&removed), Some(&used), false, false),
            (Some(&used), Some(&removed), false, false),
            (Some(&joins), Some(&used), true, false),
            (Some(&joins), None, false, false),
        ] {
            // A device may have become larger.
            for size in [Bytes::mib(4), Bytes::mib(5)] {
                let mut device = MemoryBackend::new(size);
                for (superblock, copy) in [(first, 0), (last, 1)] {
                    let Some(superblock) = superblock else { continue };
                    let address = superblock.layout.superblocks()[copy];
                    device.write(address, &mut [IoSlice::new(&superblock.encode(address))], false).unwrap();
                }
                if first.is_none() && size > Bytes::mib(4) {
                    continue;
                }
                let found = what_is_on(&mut device).unwrap();
                assert_eq!(found, is_used.then_some("an esker volume"), "{first:?}, {last:?}");
                assert_eq!(is_without_superblock(&mut device).unwrap(), is_absent, "{first:?}, {last:?}");
            }
        }
    }

    /// Whoever used a device afterwards may have left its start as it was.
    #[test]
    fn what_lies_at_the_end_of_a_device_that_was_removed_is_found() {
        let size = Bytes::mib(4).0;
        for superblock in [superblock(8, MemberState::Removed), superblock(Superblock::JOINS, MemberState::InUse)] {
            for (what, at, sign) in [
                ("a member of a Linux RAID", size - (64 << 10), [0xfc, 0x4e, 0x2b, 0xa9].as_slice()),
                ("a partition table (GPT)", size - 512, b"EFI PART"),
            ] {
                let mut device = MemoryBackend::new(Bytes(size));
                device.write(0, &mut [IoSlice::new(&superblock.encode(0))], false).unwrap();
                assert_eq!(what_is_on(&mut device).unwrap(), None);
                device.write(at, &mut [IoSlice::new(sign)], false).unwrap();
                assert_eq!(what_is_on(&mut device).unwrap(), Some(what), "at {at}");
            }
        }
    }

    #[test]
    fn a_damaged_superblock_at_either_end_is_one() {
        for at in [0, Bytes::mib(1).0 - SUPERBLOCK as u64] {
            let mut device = MemoryBackend::new(Bytes::mib(1));
            device.write(at, &mut [IoSlice::new(b"eskerVOL")], false).unwrap();
            assert_eq!(what_is_on(&mut device).unwrap(), Some("an esker volume"), "at {at}");
            assert!(!is_without_superblock(&mut device).unwrap(), "at {at}");
        }
    }
}
