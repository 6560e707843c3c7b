//! What the mapping table and the inodes say is used: read by mounts and checks.

use super::work::Work;
use crate::error::Damage;
use crate::layout::entry::Entry;
use crate::layout::inode::{Inode, PER_PAGE};
use crate::layout::{PAGE, RUN};
use crate::persist::Persist;
use crate::space::Buddy;
use esker_core::bits;

/// A bitmap of used pages.
#[derive(Debug)]
pub(super) struct Used {
    words: Vec<u64>,
    /// Pages that can be used: from `first` to `end`.
    first: u64,
    end: u64,
}

impl Used {
    fn new(first: u64, end: u64) -> Used {
        Used { words: vec![0; bits::words(end as usize)], first, end }
    }

    /// Marks pages; false if one of them is marked already or cannot be used.
    fn mark(&mut self, start: u64, pages: u64) -> bool {
        let is_inside = start >= self.first && start.checked_add(pages).is_some_and(|end| end <= self.end);
        if !is_inside {
            return false;
        }
        let range = start as usize..(start + pages) as usize;
        let is_free = bits::none_set(&self.words, range.clone());
        bits::set_all(&mut self.words, range);
        is_free
    }

    /// Gives the pages that are not marked.
    pub(super) fn give_free(&self, space: &mut Buddy) {
        let mut at = self.first as usize;
        let end = self.end as usize;
        while let Some(free) = bits::first_of(at..end, |word| !self.words[word]) {
            let next = bits::first_of(free..end, |word| self.words[word]).unwrap_or(end);
            space.give(free as u64, (next - free) as u64);
            at = next;
        }
    }
}

/// What a scan has found.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(super) physical: Used,
    pub(super) virtual_space: Used,
    /// Pages that are mapped for somebody.
    pub(crate) mapped: u64,
    /// Null files, with their pages.
    pub(super) nulls: Vec<(u64, u64)>,
    /// Inodes in use without a name.
    pub(crate) orphans: Vec<u64>,
    /// Inodes that are no null files.
    pub(crate) files: u64,
}

/// Reads the mapping table and all inodes. What is damaged is noted, and otherwise passed over.
pub(crate) fn scan<P: Persist>(work: &Work<'_, P>, damages: &mut Vec<Damage>) -> Scan {
    let plan = work.state.plan;
    let mut found = Scan {
        physical: Used::new(plan.data, plan.pages),
        virtual_space: Used::new(plan.files(), plan.virtual_pages),
        mapped: 0,
        nulls: Vec::new(),
        orphans: Vec::new(),
        files: 0,
    };
    mark_leaves(work, &mut found.physical, damages);
    for (start, pages, expected) in
        [(0, RUN, 1), (plan.inode_table(), plan.inode_table_pages_max(), work.state.inode_pages)]
    {
        let mapped = mark_space(work, (start, pages), &mut found.physical, damages);
        found.mapped += mapped;
        if mapped != expected && damages.is_empty() {
            damages.push(Damage::Superblock);
        }
    }
    for number in 1..=work.state.inode_pages * PER_PAGE {
        match work.any_inode(number) {
            Ok(inode) => note(work, number, &inode, &mut found, damages),
            // If its page is not mapped, that is noted already.
            Err(_) => damages.push(Damage::Inode(number)),
        }
    }
    found
}

/// Marks the pages of the mapping table's leaves.
fn mark_leaves<P: Persist>(work: &Work<'_, P>, physical: &mut Used, damages: &mut Vec<Damage>) {
    let plan = work.state.plan;
    let mut page = [0; PAGE as usize];
    for first in (0..plan.regions()).step_by(RUN as usize) {
        work.read(plan.region_entry(first), &mut page);
        if page.iter().all(|&byte| byte == 0) {
            continue;
        }
        for region in first..plan.regions().min(first + RUN) {
            match work.region(region) {
                Ok(Entry::Leaf(leaf)) if !physical.mark(leaf, 1) => damages.push(Damage::Page(leaf)),
                Ok(_) => {}
                Err(_) => damages.push(Damage::Entry(region * RUN)),
            }
        }
    }
}

/// Notes what inode `number` has.
fn note<P: Persist>(work: &Work<'_, P>, number: u64, inode: &Inode, found: &mut Scan, damages: &mut Vec<Damage>) {
    let has_space = inode.reserved > 0;
    if has_space && !found.virtual_space.mark(inode.start, inode.reserved) {
        damages.push(Damage::VirtualPages(number));
        return;
    }
    let mapped = mark_space(work, (inode.start, inode.reserved), &mut found.physical, damages);
    found.mapped += mapped;
    if mapped != inode.mapped && damages.is_empty() {
        damages.push(Damage::VirtualPages(number));
    }
    if inode.kind == crate::layout::Kind::Null {
        found.nulls.push((number, inode.mapped));
        return;
    }
    found.files += 1;
    if inode.kind.has_name() && inode.links == 0 {
        found.orphans.push(number);
    }
}

/// Marks the physical pages of `pages` virtual ones from `start` on; how many there are.
fn mark_space<P: Persist>(
    work: &Work<'_, P>,
    (start, pages): (u64, u64),
    physical: &mut Used,
    damages: &mut Vec<Damage>,
) -> u64 {
    let mut mapped = 0;
    let (mut at, end) = (start, start + pages);
    while at < end {
        let here = (RUN - at % RUN).min(end - at);
        match work.region(at / RUN) {
            Ok(Entry::Run(first)) => {
                if !physical.mark(first + at % RUN, here) {
                    damages.push(Damage::Page(first));
                }
                mapped += here;
            }
            Ok(Entry::Leaf(leaf)) if leaf < work.state.plan.pages => {
                for page in at..at + here {
                    match work.translate(page) {
                        Ok(Some(place)) if !physical.mark(place, 1) => damages.push(Damage::Page(place)),
                        Ok(Some(_)) => mapped += 1,
                        Ok(None) => {}
                        Err(_) => damages.push(Damage::Entry(page)),
                    }
                }
            }
            _ => {}
        }
        at += here;
    }
    mapped
}
