//! Superblocks that are written when a volume is opened.

use super::error::VolumeError;
use super::superblocks::Found;
use super::write_durably;
use crate::backend::OpenDevice;
use crate::format::Superblock;

/// Which superblocks of a device are written.
const LAST: usize = 1;
const FIRST: usize = 0;

/// Notes in all superblocks that the volume is opened to be written, so that a device that is put back from a copy is
/// found out. The last superblocks get a new generation before any superblock says of a device that it has that one. A
/// device that takes none may still be read, and be emptied, if it has nothing to learn; nobody expects it to have this
/// generation.
pub(super) fn begin(devices: &mut [Box<dyn OpenDevice>], found: &mut Found) -> Result<(), VolumeError> {
    let Superblock { members, settings, .. } = found.newest.clone();
    found.newest.generation += 1;
    let mut reached = Vec::new();
    for member in (0..found.given.len()).filter(|&member| found.given[member].is_some()) {
        let own = found.own[member].as_ref().expect("it was given");
        let knows_all = own.says_the_same(&members, &settings);
        // A write that is cut off leaves neither: what is damaged goes first.
        let copies = if found.without_first.contains(&member) { &[FIRST, LAST][..] } else { &[LAST] };
        match copies.iter().try_for_each(|&copy| write(devices, found, member, copy)) {
            Ok(()) => reached.push(member),
            Err(_) if knows_all => {}
            Err(error) => return Err(error),
        }
    }
    let opened = found.newest.generation;
    found.newest.generation += 1;
    reached.iter().for_each(|&member| found.newest.members[member].opened = opened);
    // Where one fails, the other one stays as it is: each device keeps one that counts.
    reached.retain(|&member| write(devices, found, member, FIRST).is_ok());
    reached.retain(|&member| write(devices, found, member, LAST).is_ok());
    Ok(())
}

/// Writes superblocks that are damaged or of an earlier generation, also if a device is missing: what a volume was
/// once, it stays.
pub(super) fn repair(devices: &mut [Box<dyn OpenDevice>], found: &Found) -> Result<(), VolumeError> {
    found.without_first.iter().try_for_each(|&member| write(devices, found, member, FIRST))?;
    for copy in [LAST, FIRST] {
        found.to_write.iter().try_for_each(|&member| write(devices, found, member, copy))?;
    }
    Ok(())
}

/// Writes one of the superblocks of a device.
fn write(devices: &mut [Box<dyn OpenDevice>], found: &Found, member: usize, copy: usize) -> Result<(), VolumeError> {
    let own = found.own[member].as_ref().expect("it was given");
    let given = found.given[member].expect("it was given");
    let superblock = Superblock { index: own.index, layout: own.layout, ..found.newest.clone() };
    let address = superblock.layout.superblocks()[copy];
    write_durably(devices, given, address, &superblock.encode(address))
}
