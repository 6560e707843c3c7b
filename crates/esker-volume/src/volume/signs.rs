//! Signs that a device holds something already.

use std::io;

use crate::backend::BlockingBackend;
use crate::format::{Header, Kind, SUPERBLOCK, Superblock};

/// What can be there, where, and the bytes that say so.
const SIGNS: [(&str, u64, &[u8]); 14] = [
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
    ("a member of a Linux RAID", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("a bcache device", 4120, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca]),
    ("a ZFS pool", 0x2_1000, &[0x0c, 0xb1, 0xba, 0x00]),
    ("a QEMU image (qcow2)", 0, b"QFI\xfb"),
];

/// Bytes in which all signs lie.
const LOOKED_AT: usize = 256 << 10;

/// Returns what a device holds; `None` if nothing is known there.
pub(super) fn what_is_on(device: &mut dyn BlockingBackend) -> io::Result<Option<&'static str>> {
    let mut start = vec![0; LOOKED_AT.min(device.capacity().0 as usize)];
    device.read(0, &mut start)?;
    if start.len() >= Header::BYTES && Header::peek(Kind::Superblock, &start).is_ok() {
        let superblock = start.get(..SUPERBLOCK).and_then(|bytes| Superblock::decode(bytes, 0).ok());
        let is_free = superblock.is_some_and(|superblock| superblock.is_free());
        return Ok(Some("an esker volume").filter(|_| !is_free));
    }
    let found = SIGNS.iter().find(|(_, at, sign)| start.get(*at as usize..).is_some_and(|from| from.starts_with(sign)));
    Ok(found.map(|(what, ..)| *what))
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use esker_core::Bytes;

    use super::*;
    use crate::backend::MemoryBackend;

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
}
