//! Records whose checksum is wrong: found, and repaired if one flipped bit explains it.

use super::Problem;
use crate::error::{Damage, FsError, FsResult};
use crate::layout::entry::Entry;
use crate::layout::header::{HEADER, Header, HeaderFault};
use crate::layout::inode::{INODE, Inode, PER_PAGE};
use crate::layout::name::{ENTRY_MAX, SLOT, SLOTS, Slot, read_slot};
use crate::layout::seal::turn_back_one_bit;
use crate::layout::superblock::{SUPERBLOCK, Superblock};
use crate::layout::{Kind, PAGE, RUN, number64, seal};
use crate::persist::Persist;
use crate::system::{MountError, Work, superblock_address};

/// Stores a repaired record, which is durable afterwards.
fn put<P: Persist>(persist: &P, at: u64, bytes: &[u8]) -> FsResult<()> {
    persist.write(at, bytes);
    persist.write_back(at, bytes.len() as u64);
    Ok(persist.fence()?)
}

/// If both copies of the header are damaged, turns one bit of one of them back.
pub(super) fn repair_header<P: Persist>(persist: &P) -> Result<(), MountError> {
    if persist.len() < 2 * PAGE {
        return Err(MountError::NoPool);
    }
    let mut copies = [[0; HEADER]; 2];
    for (copy, bytes) in copies.iter_mut().enumerate() {
        persist.read(copy as u64 * PAGE, bytes);
    }
    let faults = [0, 1].map(|copy| Header::decode(&copies[copy], copy as u64).err());
    if faults.iter().any(|fault| !matches!(fault, Some(HeaderFault::Damaged | HeaderFault::NoPool))) {
        return Ok(());
    }
    for (mut bytes, copy) in copies.into_iter().zip(0..) {
        let is_sound = |bytes: &[u8]| bytes.try_into().is_ok_and(|bytes| Header::decode(bytes, copy).is_ok());
        if turn_back_one_bit(&mut bytes, is_sound) {
            return Ok(put(persist, copy * PAGE, &bytes)?);
        }
    }
    Ok(())
}

/// Repairs everything behind the header, each record before those that it leads to.
pub(super) fn repair_records<P: Persist>(work: &mut Work<'_, P>) -> FsResult<()> {
    repair_table(work)?;
    let at = superblock_address(work)?;
    let mut bytes = [0; SUPERBLOCK];
    work.read(at, &mut bytes);
    if Superblock::decode(&bytes).is_none() && turn_back_one_bit(&mut bytes, |bytes| seal::is_sound(bytes, 0)) {
        put(work.persist, at, &bytes)?;
    }
    let superblock = Superblock::decode(&bytes).ok_or(FsError::Damaged(Damage::Superblock))?;
    work.state.inode_pages = superblock.inode_table_pages;
    for number in 1..=work.state.inode_pages * PER_PAGE {
        let Ok(at) = work.inode_address(number) else { continue };
        let mut bytes = [0; INODE];
        work.read(at, &mut bytes);
        let is_damaged = Inode::decode(&bytes, number).is_none();
        let is_sound = |bytes: &[u8]| bytes.try_into().is_ok_and(|bytes| Inode::decode(bytes, number).is_some());
        if is_damaged && turn_back_one_bit(&mut bytes, is_sound) {
            put(work.persist, at, &bytes)?;
        }
        match Inode::decode(&bytes, number) {
            Some(inode) if inode.kind == Kind::Directory => repair_slots(work, &inode)?,
            Some(inode) if inode.kind == Kind::Attributes => repair_attributes(work, number, &inode)?,
            _ => {}
        }
    }
    Ok(())
}

/// Repairs the mapping table: its first level, then the leaves.
fn repair_table<P: Persist>(work: &mut Work<'_, P>) -> FsResult<()> {
    let plan = work.state.plan;
    for region in 0..plan.regions() {
        let at = plan.region_entry(region);
        repair_entry(work, at, region)?;
        if let Ok(Entry::Leaf(leaf)) = work.region(region)
            && (plan.data..plan.pages).contains(&leaf)
        {
            (0..RUN).try_for_each(|index| repair_entry(work, leaf * PAGE + index * 8, index))?;
        }
    }
    Ok(())
}

fn repair_entry<P: Persist>(work: &mut Work<'_, P>, at: u64, place: u64) -> FsResult<()> {
    let mut bytes = [0; 8];
    work.read(at, &mut bytes);
    let is_sound = |bytes: &[u8]| Entry::decode(number64(bytes, 0), place).is_some();
    if !is_sound(&bytes) && turn_back_one_bit(&mut bytes, is_sound) {
        put(work.persist, at, &bytes)?;
    }
    Ok(())
}

fn repair_slots<P: Persist>(work: &mut Work<'_, P>, inode: &Inode) -> FsResult<()> {
    for page in 0..inode.size / PAGE {
        let Ok(Some(physical)) = work.translate(inode.start + page) else { continue };
        let mut bytes = [0; PAGE as usize];
        work.read(physical * PAGE, &mut bytes);
        let mut index = 0;
        while index < SLOTS {
            let slot = page * SLOTS + index;
            let first = (index * SLOT) as usize;
            if read_slot(&bytes[first..], slot) == Slot::Damaged && turn_back_slot(&mut bytes[first..], slot) {
                put(work.persist, physical * PAGE + first as u64, &bytes[first..])?;
            }
            index += match read_slot(&bytes[first..], slot) {
                Slot::Entry(entry) => entry.slots,
                _ => 1,
            };
        }
    }
    Ok(())
}

/// Turns the one bit back that makes the slot at the beginning of `bytes` unsound.
fn turn_back_slot(bytes: &mut [u8], slot: u64) -> bool {
    let length = bytes.len().min(ENTRY_MAX);
    turn_back_one_bit(&mut bytes[..length], |bytes| read_slot(bytes, slot) != Slot::Damaged)
}

fn repair_attributes<P: Persist>(work: &mut Work<'_, P>, number: u64, inode: &Inode) -> FsResult<()> {
    let mut bytes = vec![0; inode.size.min(inode.reserved * PAGE) as usize];
    let mut places = Vec::new();
    for (page, piece) in bytes.chunks_mut(PAGE as usize).enumerate() {
        let Ok(Some(physical)) = work.translate(inode.start + page as u64) else { return Ok(()) };
        work.read(physical * PAGE, piece);
        places.push(physical * PAGE);
    }
    let is_damaged = bytes.len() >= seal::SEAL && !seal::is_sound(&bytes, number);
    if is_damaged && turn_back_one_bit(&mut bytes, |bytes| seal::is_sound(bytes, number)) {
        for (place, piece) in places.iter().zip(bytes.chunks(PAGE as usize)) {
            put(work.persist, *place, piece)?;
        }
    }
    Ok(())
}

/// Notes damaged entries of all leaves, and pages that are mapped for nobody: `owned` are mapped for somebody.
pub(super) fn note_entries<P: Persist>(
    work: &Work<'_, P>,
    damages: &mut Vec<Damage>,
    owned: u64,
    problems: &mut Vec<Problem>,
) {
    let plan = work.state.plan;
    let mut mapped = 0;
    for region in 0..plan.regions() {
        match work.region(region) {
            Ok(Entry::Run(_)) => mapped += RUN,
            Ok(Entry::Leaf(leaf)) if (plan.data..plan.pages).contains(&leaf) => {
                for page in region * RUN..(region + 1) * RUN {
                    match work.translate(page) {
                        Ok(physical) => mapped += u64::from(physical.is_some()),
                        Err(_) if damages.contains(&Damage::Entry(page)) => {}
                        Err(_) => damages.push(Damage::Entry(page)),
                    }
                }
            }
            _ => {}
        }
    }
    if damages.is_empty() && mapped != owned {
        problems.push(Problem::MappedForNobody { pages: mapped.saturating_sub(owned) });
    }
}
